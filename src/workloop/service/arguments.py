"""How an action's arguments are named, described and read: one table for every surface."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from workloop.domain.clock import Instant
from workloop.domain.contract import OutcomeKind
from workloop.domain.evidence import EvidenceKind, NewEvidence
from workloop.domain.item import Role, State
from workloop.domain.new_item import one_of, read_instant
from workloop.domain.reader import Json, Reader
from workloop.domain.verdict import Outcome


class Shape(StrEnum):
    """What JSON an argument takes."""

    TEXT = "string"
    WHOLE = "integer"
    FLAG = "boolean"
    TEXTS = "array of strings"
    OBJECT = "object"
    OBJECTS = "array of objects"


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of one or more actions; `choices` closes the set of its texts."""

    name: str
    shape: Shape
    help: str
    choices: tuple[str, ...] = ()


def argument(name: str, shape: Shape, text: str, choices: type[StrEnum] | None = None) -> Argument:
    """Describe one argument."""
    allowed = tuple(choice.value for choice in choices) if choices is not None else ()
    return Argument(name=name, shape=shape, help=text, choices=allowed)


T, W, F, TS, OBJ, OS = Shape.TEXT, Shape.WHOLE, Shape.FLAG, Shape.TEXTS, Shape.OBJECT, Shape.OBJECTS

ARGUMENTS = {
    entry.name: entry
    for entry in (
        argument("key", T, "the item's key"),
        argument("keys", TS, "the items' keys"),
        argument("token", T, "the claim's token, as claim returned it"),
        argument("request_id", T, "any unique text: repeating the call with it returns the first answer"),
        argument("holder", T, "a stable name for this worker slot"),
        argument("executor", T, "who does the work, when it is not the holder"),
        argument("expected_role", T, "refuse an item of another role", Role),
        argument("lease_seconds", W, "a shorter lease than the item's"),
        argument("tools", TS, "take only items whose required tools are all listed here"),
        argument("contract_hash", T, "quoted from the claim"),
        argument(
            "outcome", OBJ, "what was made: {kind: commit|artifact|row|url|no_change, ref}; commit takes a full SHA"
        ),
        argument("evidence", OS, "references: {kind, ref, slot?, digest?, result?, captured_at?, grant?}"),
        argument("versions", OBJ, "versions worked on, when the contract names any"),
        argument("summary", T, "one paragraph for people"),
        argument("verdict", T, "a verifier's verdict", Outcome),
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
        argument("state", TS, "only these states", State),
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


def read_evidence(reader: Reader) -> tuple[NewEvidence, ...]:
    """Read the evidence list of a call."""
    pieces: list[NewEvidence] = []
    for path, value in reader.entries("evidence"):
        pieces.append(read_piece(value, path))
    return tuple(pieces)


def read_piece(value: Json, path: str) -> NewEvidence:
    """Read one reference."""
    reader = Reader(value, path)
    piece = NewEvidence(
        kind=one_of(reader, "kind", EvidenceKind, reader.text("kind", required=True)),
        ref=reader.text("ref", required=True),
        slot=reader.optional_text("slot") or reader.optional_text("check_id"),
        digest=reader.optional_text("digest"),
        result=reader.optional_text("result"),
        captured_at=read_instant(reader, "captured_at"),
        grant=reader.whole("grant", default=0, lowest=0, highest=2**31) or None,
        checkout_sha=reader.optional_text("checkout_sha"),
    )
    reader.done()
    return piece


def read_outcome(reader: Reader) -> tuple[OutcomeKind | None, str]:
    """Read what a completion says it made."""
    value = reader.take("outcome")
    if value is None:
        return None, ""
    outcome = Reader(value, reader.at("outcome"))
    kind = one_of(outcome, "kind", OutcomeKind, outcome.text("kind", required=True))
    ref = outcome.text("ref")
    outcome.done()
    return kind, ref


def read_verdict(reader: Reader) -> Outcome | None:
    """Read a verifier's verdict."""
    text = reader.text("verdict")
    if not text:
        return None
    try:
        return Outcome(text)
    except ValueError as error:
        from workloop.domain.errors import EvidenceRejected

        raise EvidenceRejected(
            "VERDICT_REQUIRED", f"{text!r} is no verdict", hint="verdict: passed, rejected or inconclusive"
        ) from error


def read_role(reader: Reader) -> Role | None:
    """Read an expected role."""
    text = reader.text("expected_role")
    return one_of(reader, "expected_role", Role, text) if text else None


def read_states(reader: Reader) -> Sequence[State]:
    """Read a filter of states."""
    return tuple(one_of(reader, "state", State, text) for text in reader.texts("state"))


def optional_seconds(reader: Reader, name: str, highest: int) -> int | None:
    """Read a number of seconds that may be absent."""
    value = reader.whole(name, default=0, lowest=0, highest=highest)
    return value or None


def read_until(reader: Reader) -> Instant | None:
    """Read the end of a pause."""
    return read_instant(reader, "until")
