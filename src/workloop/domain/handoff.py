"""How a session asks for a successor: one marker line in its final message, under guards that refuse by name."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MARKER: Final = "=====WORKLOOP HANDOFF====="
PROMPT_BYTES_MAX: Final = 4096
CHAIN_MAX: Final = 3

FENCE: Final = re.compile(r" {0,3}(?P<mark>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)$")


class HandoffRefusal(StrEnum):
    """Why a hand-off is not followed."""

    EMPTY = "empty"
    TOO_LONG = "too_long"
    UNTRUSTED = "untrusted"
    NOT_CLEAN = "not_clean"
    DEAD = "dead"
    CLAIM_GONE = "claim_gone"
    CHAIN_SPENT = "chain_spent"
    ITERATIONS_SPENT = "iterations_spent"
    BUDGET_SPENT = "budget_spent"
    STOPPING = "stopping"


EXPLAINED: Final = {
    HandoffRefusal.EMPTY: "nothing follows the marker line",
    HandoffRefusal.TOO_LONG: f"the prompt is longer than {PROMPT_BYTES_MAX} bytes; it is refused, never cut",
    HandoffRefusal.UNTRUSTED: "the session's output could not be read to its end",
    HandoffRefusal.NOT_CLEAN: "the session did not end well by itself",
    HandoffRefusal.DEAD: "the session died",
    HandoffRefusal.CLAIM_GONE: "the session no longer holds its claim",
    HandoffRefusal.CHAIN_SPENT: f"there were {CHAIN_MAX} hand-offs already",
    HandoffRefusal.ITERATIONS_SPENT: "the run has no session left",
    HandoffRefusal.BUDGET_SPENT: "the budget has no room for a successor",
    HandoffRefusal.STOPPING: "the loop is ending",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """A successor's prompt, as its predecessor wrote it."""

    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffRefused:
    """A hand-off that is not followed, and why."""

    reason: HandoffRefusal
    detail: str


def refused(reason: HandoffRefusal, facts: str = "") -> HandoffRefused:
    """Refuse a hand-off in plain words."""
    words = EXPLAINED[reason]
    return HandoffRefused(reason=reason, detail=f"{words} ({facts})" if facts else words)


def read_handoff(final_text: str) -> Handoff | HandoffRefused | None:
    """Read the hand-off of a session's final message; None when it asks for none."""
    lines = final_text.replace("\r\n", "\n").split("\n")
    at = marker_line(lines)
    if at is None:
        return None
    prompt = "\n".join(lines[at + 1 :]).strip()
    if not prompt:
        return refused(HandoffRefusal.EMPTY)
    size = len(prompt.encode("utf-8", errors="surrogatepass"))
    if size > PROMPT_BYTES_MAX:
        return refused(HandoffRefusal.TOO_LONG, f"it has {size}")
    return Handoff(prompt=prompt)


def marker_line(lines: list[str]) -> int | None:
    """Return the last line that is the marker alone, not indented and in no code block; trailing blanks are fine."""
    found, fence = None, ""
    for number, line in enumerate(lines):
        match = FENCE.fullmatch(line.rstrip())
        if fence:
            fence = "" if match is not None and closes(match, fence) else fence
        elif match is not None:
            fence = match["mark"]
        elif line.rstrip(" \t\r") == MARKER:
            found = number
    return found


def closes(match: re.Match[str], fence: str) -> bool:
    """Tell whether a fence line ends the block that another one began."""
    return match["mark"][0] == fence[0] and len(match["mark"]) >= len(fence) and not match["info"].strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seam:
    """How things stand where one session ends and its successor would begin.

    `chain` is the number of hand-offs followed before this one; `iterations_left` is None without a ceiling.
    """

    trusted: bool
    clean: bool
    dead: bool
    held: bool
    chain: int
    iterations_left: int | None = None
    budget_left: bool = True
    stopping: bool = False


def admit_handoff(asked: Handoff, seam: Seam) -> Handoff | HandoffRefused:
    """Follow a hand-off, or refuse it for the first reason there is; called before anything is spent on it."""
    reasons = {
        HandoffRefusal.UNTRUSTED: not seam.trusted,
        HandoffRefusal.DEAD: seam.dead,
        HandoffRefusal.NOT_CLEAN: not seam.clean,
        HandoffRefusal.CLAIM_GONE: not seam.held,
        HandoffRefusal.STOPPING: seam.stopping,
        HandoffRefusal.CHAIN_SPENT: seam.chain >= CHAIN_MAX,
        HandoffRefusal.ITERATIONS_SPENT: seam.iterations_left is not None and seam.iterations_left <= 0,
        HandoffRefusal.BUDGET_SPENT: not seam.budget_left,
    }
    return next((refused(reason) for reason, holds in reasons.items() if holds), asked)
