"""How an action's arguments are named and described: one table for every surface."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple


class Shape(StrEnum):
    """What JSON an argument takes."""

    TEXT = "string"
    WHOLE = "integer"
    FLAG = "boolean"
    TEXTS = "array of strings"
    OBJECT = "object"
    OBJECTS = "array of objects"


class Argument(NamedTuple):
    """One argument of one or more actions; `one_of` gives the enumeration that closes the set of its texts."""

    name: str
    shape: Shape
    help: str
    one_of: Callable[[], type[StrEnum]] | None = None

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the texts it may be, or nothing when any text will do."""
        return tuple(choice.value for choice in self.one_of()) if self.one_of is not None else ()


def argument(name: str, shape: Shape, text: str, one_of: Callable[[], type[StrEnum]] | None = None) -> Argument:
    """Describe one argument."""
    return Argument(name=name, shape=shape, help=text, one_of=one_of)


def roles() -> type[StrEnum]:
    """Return the roles of items."""
    from workloop.domain.item import Role

    return Role


def states() -> type[StrEnum]:
    """Return the states of items."""
    from workloop.domain.item import State

    return State


def verdicts() -> type[StrEnum]:
    """Return the verdicts."""
    from workloop.domain.verdict import Outcome

    return Outcome


T, W, F, TS, OBJ, OS = Shape.TEXT, Shape.WHOLE, Shape.FLAG, Shape.TEXTS, Shape.OBJECT, Shape.OBJECTS

ARGUMENTS: Final[dict[str, Argument]] = {
    entry.name: entry
    for entry in (
        argument("key", T, "the item's key"),
        argument("keys", TS, "the items' keys"),
        argument("token", T, "the claim's token, as claim returned it"),
        argument("request_id", T, "any unique text: repeating the call with it returns the first answer"),
        argument("holder", T, "a stable name for this worker slot"),
        argument("executor", T, "who does the work, when it is not the holder"),
        argument("expected_role", T, "refuse an item of another role", roles),
        argument("lease_seconds", W, "a shorter lease than the item's"),
        argument("tools", TS, "take only items whose required tools are all listed here"),
        argument("contract_hash", T, "quoted from the claim"),
        argument(
            "outcome", OBJ, "what was made: {kind: commit|artifact|row|url|no_change, ref}; commit takes a full SHA"
        ),
        argument("evidence", OS, "references: {kind, ref, slot?, digest?, result?, captured_at?, grant?}"),
        argument("versions", OBJ, "versions worked on, when the contract names any"),
        argument("summary", T, "one paragraph for people"),
        argument("verdict", T, "a verifier's verdict", verdicts),
        argument("failed_checks", TS, "ids of failed checks or slots of the contract, or objective"),
        argument("reproduction", T, "how to see it fail, or why it cannot be judged"),
        argument("failed", T, "what failed"),
        argument("cause", T, "the root cause"),
        argument("next_action", T, "what the next attempt does differently"),
        argument("escalate", F, "repeat the same plan on purpose"),
        argument("delay_seconds", W, "hold the item back this long"),
        argument("boundary", T, "a human-only boundary that the contract names"),
        argument("asks", T, "the decision you need, with the options"),
        argument("resume_when", T, "what must be true to go on"),
        argument("reason", T, "why"),
        argument("untouched", F, "nothing was done under this claim"),
        argument("infra", F, "infrastructure ended the claim (host only)"),
        argument("not_before", T, "RFC 3339 time before which nobody may claim it"),
        argument("replacement", T, "the key that takes its place"),
        argument("items", OS, "items to add: {key, title, objective, checks, guards, depends_on, priority, ...}"),
        argument("state", TS, "only these states", states),
        argument("after", T, "go on after this id"),
        argument("limit", W, "how many rows"),
        argument("text", T, "the answer"),
        argument("until", T, "RFC 3339 time at which it ends by itself"),
        argument("lane", T, "the lane's name, when not the contract's only one"),
        argument("resources", TS, "tabs, URLs or processes of the lane"),
        argument("checkout_root", T, "the folder the lane serves"),
        argument("checkout_sha", T, "the commit the lane serves"),
    )
}
