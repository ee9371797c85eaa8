"""What an agent is allowed when it asks: anything in a working session, only what changes no file in a reading one."""

from dataclasses import dataclass

from workloop.runner.harness.fields import Fields

READING_KINDS = frozenset({"read", "search", "fetch", "think", "execute"})
ALLOW = ("allow_once", "allow_always")
REJECT = ("reject_once", "reject_always")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What one session may do; kinds are the protocol's own words."""

    read_only: bool = False
    denied_kinds: frozenset[str] = frozenset()

    def allows(self, kind: str, *, mcp: bool) -> bool:
        """Say whether a call of this kind may be made; a tool of a server that the session was given always may."""
        if mcp:
            return True
        if kind in self.denied_kinds:
            return False
        return not self.read_only or kind in READING_KINDS


def choose(options: list[Fields], *, allowed: bool) -> str:
    """Return the option to choose, the least far-reaching first; empty when the agent offers none that fits."""
    wanted = ALLOW if allowed else REJECT
    by_kind = {option.text("kind"): option.text("optionId") for option in reversed(options)}
    return next((by_kind[kind] for kind in wanted if by_kind.get(kind)), "")
