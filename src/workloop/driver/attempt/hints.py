"""What is kept of an interrupted session, so that a later attempt can go on with it in the same work tree."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workloop.domain.clock import Instant
from workloop.domain.gate import GateKey
from workloop.domain.happening import Scalar
from workloop.domain.lease import Claim
from workloop.domain.progress import report_of
from workloop.domain.reader import JsonObject
from workloop.domain.resumption import RESUMES_MAX, resume_at
from workloop.runner.harness.files import write_private

NOTE_NAME: Final = "claim.json"
FIELDS: Final = ("harness", "account", "resume_id", "session", "path", "phase", "sha")
PREFIX: Final = "resume_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """Which session may be gone on with: whose it was, its own name for it, where it worked, in which phase, from
    which commit. `vain` counts how often it was resumed without any output. Without a resume id, only the work tree and
    the phase are to be gone on with.
    """

    harness: str = ""
    account: str = ""
    resume_id: str = ""
    session: str = ""
    path: str = ""
    phase: str = ""
    sha: str = ""
    vain: int = 0

    def fits(self, gate: GateKey) -> bool:
        """Tell whether the agent behind a gate can go on with it; another account does not know the conversation."""
        return bool(self.resume_id) and (self.harness, self.account) == (gate.harness, gate.account)

    def due(self, ended_at: Instant, now: Instant) -> bool:
        """Tell whether it may be resumed by itself once more: at once, then at growing distances, then not any more."""
        at = resume_at(self.vain, ended_at)
        return self.vain < RESUMES_MAX and at is not None and at <= now


def hint_notes(hint: Hint | None) -> dict[str, Scalar]:
    """Write a hint as what is kept with an ended claim."""
    if hint is None:
        return {}
    found: dict[str, Scalar] = {PREFIX + name: getattr(hint, name) for name in FIELDS if getattr(hint, name)}
    return {**found, PREFIX + "vain": hint.vain}


def read_hint(report: JsonObject) -> Hint | None:
    """Read the hint that was kept with an ended claim."""
    texts = {name: report.get(PREFIX + name) for name in FIELDS}
    vain = report.get(PREFIX + "vain")
    if not isinstance(vain, int):
        return None
    return Hint(**{name: text for name, text in texts.items() if isinstance(text, str)}, vain=vain)


def last_hint(claims: list[Claim]) -> tuple[Hint, Instant] | None:
    """Return the hint that the newest ended claim left, and when it ended; an older one is stale."""
    ended = [claim for claim in claims if claim.ended_at is not None]
    if not ended or ended[-1].ended_at is None:
        return None
    hint = read_hint(report_of(ended[-1]))
    return None if hint is None else (hint, ended[-1].ended_at)


def write_note(folder: Path, note: Mapping[str, Any]) -> None:
    """Write down, in a session's private folder, what the next loop needs when this one is killed."""
    write_private(folder / (NOTE_NAME + ".new"), json.dumps(note)).replace(folder / NOTE_NAME)


def read_note(path: Path) -> dict[str, Any]:
    """Read what was written down of a session."""
    note: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return note


def began(note: Mapping[str, Any]) -> int:
    """Return which of a claim's sessions a note is about, counted from 1."""
    return int(note.get("number") or 0)


def hint_of_note(note: Mapping[str, Any]) -> Hint | None:
    """Return what a killed loop's session left to be gone on with; None when its program never named itself."""
    if not note.get("resume_id"):
        return None
    told = {name: str(note.get(name) or "") for name in FIELDS}
    return Hint(
        harness=told["harness"],
        account=told["account"],
        resume_id=told["resume_id"],
        session=told["session"],
        path=str(note.get("cwd") or ""),
        phase=told["phase"],
        sha=told["sha"],
        vain=int(note.get("vain") or 0),
    )
