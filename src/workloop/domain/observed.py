"""Which item a session claimed by itself, learnt from what our own tool answered it and never from what it asked.

Where a target has only a poller, the session claims over MCP and the loop looks on. A claim counts when the tool
answered with an item; it is settled when the tool accepted the settle. A lost race leaves nothing, and an answer that
cannot be read is said aloud, because the claim behind it would be held by nobody.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from workloop.domain.reader import Json, JsonObject
from workloop.domain.session import SessionEvent, ToolCall, ToolResult, ToolResultClass

OWN_TOOL: Final = re.compile(r"(?:^|[^a-z0-9])work_loop$", re.IGNORECASE)
CLAIMING: Final = frozenset({"claim", "verify"})
SETTLING: Final = frozenset({"complete", "retry", "defer", "release", "supersede"})
UNREADABLE: Final = ""
DECIDING: Final = CLAIMING | SETTLING | {UNREADABLE}
UNDECIDED: Final = frozenset(
    {ToolResultClass.TIMEOUT, ToolResultClass.CANCELLED, ToolResultClass.INFRASTRUCTURE, ToolResultClass.UNKNOWN}
)
"""Ends of a call after which nobody knows whether it took effect."""
LAYERS_MAX: Final = 10
ENVELOPES: Final = ("structuredContent", "structured_content", "content", "Ok", "result", "output", "text")
"""What agent programs wrap around the text that a tool answered with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedClaim:
    """A claim that a session made by itself; the token, where it was seen, is what lets a releaser end it."""

    key: str
    item_id: str
    fence: int
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What is known of a session's own claims: the ones held, the ones it settled and how, and what stayed unclear."""

    held: tuple[ObservedClaim, ...] = ()
    settled: tuple[tuple[ObservedClaim, str], ...] = ()
    asked: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    unclear: tuple[str, ...] = ()

    @property
    def claim(self) -> ObservedClaim | None:
        """Return the claim that the session holds now: the newest that it did not settle."""
        return self.held[-1] if self.held else None


def observe(seen: Observed, event: SessionEvent) -> Observed:
    """Take one event of the session into account."""
    if isinstance(event, ToolCall) and OWN_TOOL.search(event.name):
        return asked(seen, event)
    if isinstance(event, ToolResult) and event.call_id in seen.asked:
        return answered(seen, event)
    return seen


def observed(events: Iterable[SessionEvent]) -> Observed:
    """Fold a whole session; a claim that was asked for and never answered is named as unclear."""
    seen = Observed()
    for event in events:
        seen = observe(seen, event)
    return ended(seen)


def ended(seen: Observed) -> Observed:
    """Return what is known when no further event comes."""
    lost = [call for call in seen.asked.values() if call.get("action") in CLAIMING]
    return replace(seen, asked={}, unclear=(*seen.unclear, *(f"{named(call)} was never answered" for call in lost)))


def asked(seen: Observed, call: ToolCall) -> Observed:
    """Note a call of our tool; what it asks decides nothing yet."""
    arguments = read_object(call.arguments)
    if arguments is None:
        return replace(seen, asked={**seen.asked, call.call_id: {"action": UNREADABLE}})
    return replace(seen, asked={**seen.asked, call.call_id: arguments})


def answered(seen: Observed, result: ToolResult) -> Observed:
    """Judge a call of our tool by its answer."""
    call = seen.asked[result.call_id]
    rest = replace(seen, asked={key: value for key, value in seen.asked.items() if key != result.call_id})
    action, answer = call.get("action"), unwrapped(result.answer)
    if action not in DECIDING or (answer is not None and is_problem(answer)):
        return rest
    if result.result is not ToolResultClass.OK:
        return doubting(rest, f"{named(call)} ended as {result.result}") if result.result in UNDECIDED else rest
    if answer is None:
        return doubting(rest, f"the answer to {named(call)} could not be read")
    if action in SETTLING:
        return settle(rest, str(action), call, answer)
    if action in CLAIMING or "item" in answer:
        return claim(rest, call, answer)
    touched = any(held.key == answer.get("key") for held in rest.held)
    return doubting(rest, f"{named(call)} was accepted for {answer['key']}") if touched else rest


def doubting(seen: Observed, why: str) -> Observed:
    """Keep a reason why not everything is known."""
    return replace(seen, unclear=(*seen.unclear, why))


def claim(seen: Observed, call: JsonObject, answer: JsonObject) -> Observed:
    """Take over a claim that was granted; an answer without an item is one that got nothing."""
    item = answer.get("item")
    if item is None and "item" in answer:
        return seen
    made = read_claim(item, answer)
    if made is None:
        return doubting(seen, f"the answer to {named(call)} names no item")
    held = tuple(known for known in seen.held if (known.item_id, known.fence) != (made.item_id, made.fence))
    return replace(seen, held=(*held, made))


def read_claim(item: Json, answer: JsonObject) -> ObservedClaim | None:
    """Read which item was claimed; None when the answer does not say."""
    if not isinstance(item, Mapping):
        return None
    key, item_id, fence, token = item.get("key"), item.get("id"), item.get("attempt"), answer.get("token")
    if not isinstance(key, str) or not isinstance(item_id, str) or not isinstance(fence, int):
        return None
    return ObservedClaim(key=key, item_id=item_id, fence=fence, token=token if isinstance(token, str) else "")


def settle(seen: Observed, action: str, call: JsonObject, answer: JsonObject) -> Observed:
    """End the claim whose item the tool says is settled; the token tells two attempts at one item apart."""
    key, token = answer.get("key"), call.get("token")
    if not isinstance(key, str):
        return doubting(seen, f"the answer to {named(call)} names no item")
    matching = [held for held in seen.held if held.key == key and (not token or not held.token or held.token == token)]
    if not matching:
        return seen
    done = matching[-1]
    return replace(
        seen,
        held=tuple(held for held in seen.held if held is not done),
        settled=(*seen.settled, (done, action)),
    )


def named(call: JsonObject) -> str:
    """Say which call is meant, as far as it could be read."""
    action = call.get("action") or "a call of work_loop whose arguments could not be read"
    key = call.get("key")
    return f"{action} of {key}" if isinstance(key, str) and key else str(action)


def read_object(text: str) -> JsonObject | None:
    """Read a text as one JSON object; None when it is none."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, Mapping) else None


def unwrapped(text: str) -> JsonObject | None:
    """Find our tool's own answer inside what the agent program wrapped around it."""
    value: Json = text
    for _ in range(LAYERS_MAX):
        match value:
            case str():
                try:
                    value = json.loads(value)
                except (ValueError, RecursionError):
                    return None
            case list():
                value = first_text(value)
            case Mapping():
                inner = next((value[name] for name in ENVELOPES if value.get(name) and not is_answer(value)), None)
                if inner is None:
                    return value
                value = inner
            case _:
                return None
    return None


def is_problem(answer: JsonObject) -> bool:
    """Tell whether an answer is a refusal."""
    return "code" in answer and "suggested_fix" in answer


def is_answer(value: JsonObject) -> bool:
    """Tell whether an object is an answer of ours rather than an envelope."""
    return "item" in value or "key" in value or "code" in value


def first_text(parts: list[Json]) -> Json:
    """Return the first part of a list of content parts that carries a text."""
    return next((part for part in parts if isinstance(part, Mapping) and part.get("text")), None)
