"""What is written down of a grant before its session begins, for a loop that comes after this one was killed."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from workloop.runner.harness.files import write_private

NAME = "grant.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One grant: for which item, which checkout it serves, and what was in the lane before, which is nobody's here."""

    grant: int
    key: str
    checkout: str
    sha: str
    foreign: tuple[str, ...] = ()


def write_note(folder: Path, note: Note) -> None:
    """Write a note in place of the last one."""
    write_private(folder / NAME, json.dumps(asdict(note)) + "\n")


def read_note(folder: Path, grant: int) -> Note | None:
    """Return the note of a grant; None when that one never came so far, or what is there cannot be read."""
    try:
        values = json.loads((folder / NAME).read_bytes())
        note = Note(
            grant=int(values["grant"]),
            key=str(values["key"]),
            checkout=str(values["checkout"]),
            sha=str(values["sha"]),
            foreign=tuple(str(one) for one in values["foreign"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return note if note.grant == grant else None
