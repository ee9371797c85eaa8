"""How the answer of an MCP tool is taken out of what Qwen Code hands to its model: structured first, then the text."""

import json
from typing import cast

from workloop.domain.session import MCP_CHARACTERS_MAX

CHARACTERS_MAX = MCP_CHARACTERS_MAX * 8


def plain_answer(content: str) -> str:
    """Return the text that stands behind a structured copy of itself; without one, the content as it is."""
    if not content.startswith("{") or len(content) > CHARACTERS_MAX:
        return content
    try:
        value, end = json.JSONDecoder().raw_decode(content)
    except (ValueError, RecursionError):
        return content
    rest = content[end:].removeprefix("\n")
    copy = cast("dict[str, object]", value).get("result") if isinstance(value, dict) else None
    return rest if rest and copy == rest else content
