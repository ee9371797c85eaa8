"""How named statements are kept in .sql files: a name, one sentence, the statement."""

import re
from pathlib import Path

BLOCK = re.compile(r"^-- name: (?P<name>\w+)\n-- (?P<sentence>[^\n]+)\n(?P<statement>.+?;)$", re.MULTILINE | re.DOTALL)


def load_queries(folder: Path) -> dict[str, str]:
    """Read every named statement of a folder; raises ValueError for a name given twice or a block without one."""
    queries: dict[str, str] = {}
    for path in sorted(folder.glob("*.sql")):
        text = path.read_text(encoding="utf-8")
        blocks = list(BLOCK.finditer(text))
        if len(blocks) != text.count("-- name:"):
            raise ValueError(f"{path.name}: a block is not a name, one sentence and a statement")
        for block in blocks:
            if queries.setdefault(block["name"], block["statement"]) != block["statement"]:
                raise ValueError(f"{path.name}: {block['name']} is defined twice")
    return queries
