"""Whether a server that was started offers exactly what its bundle declares: no tool more, none less, none changed."""

from collections.abc import Iterable
from typing import Final

from workloop.domain.reader import Json, Reader
from workloop.repair.bundled.files import refused
from workloop.repair.bundled.packages.bundle import TOOLS_MAX, Bundle

RULE: Final = "announced-declared"


def require_announced(bundle: Bundle, announced: Iterable[str]) -> None:
    """Refuse a server whose tools are not those of its bundle's manifest; raises BadRequest that names one."""
    require_same(bundle.tools, announced, bundle.path)


def require_same(declared: Iterable[str], announced: Iterable[str], at: str) -> None:
    """Refuse a server that does not announce exactly what is declared at a place, each once."""
    names, wanted = list(announced), set(declared)
    if len(set(names)) != len(names):
        raise refused(RULE, at, "the server announces a tool twice")
    for name in sorted(set(names) - wanted):
        raise refused(RULE, at, f"the server announces {name[:80]!r}, which its manifest does not declare")
    for name in sorted(wanted - set(names)):
        raise refused(RULE, at, f"the manifest declares {name!r}, which the server does not announce")


def announced_in(answer: Json, at: str) -> tuple[str, ...]:
    """Return the tools that one whole answer to tools/list names; raises BadRequest for one that goes on or is none."""
    if not isinstance(answer, dict) or not isinstance(answer.get("tools"), list):
        raise refused(RULE, at, "the server does not say which tools it has")
    if answer.get("nextCursor"):
        raise refused(RULE, at, f"the server's list goes on after the first page of up to {TOOLS_MAX} tools")
    names: list[str] = []
    for path, entry in Reader(answer, at).entries("tools"):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or len(names) >= TOOLS_MAX:
            raise refused(RULE, path, "is no tool with a name, or one too many")
        names.append(name)
    return tuple(names)
