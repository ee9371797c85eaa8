"""How a schema grows: numbered files, applied once each in order, never edited after release."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workloop.domain.errors import IntegrityFault

FILE = re.compile(r"(?P<number>[0-9]{4})_(?P<name>[a-z0-9_]+)\.sql$")
PHASES = ("-- phase: before-code\n", "-- phase: after-code\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of a schema."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """Return the SHA-256 of the step's text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def load_migrations(folder: Path) -> list[Migration]:
    """Read the steps of a folder; raises ValueError when one has no phase or a number is missing."""
    steps: list[Migration] = []
    for path in sorted(folder.glob("*.sql")):
        match = FILE.fullmatch(path.name)
        text = path.read_text(encoding="utf-8")
        if match is None or int(match["number"]) != len(steps) + 1 or not text.startswith(PHASES):
            raise ValueError(f"{path.name}: expected {len(steps) + 1:04}_name.sql that begins with its phase")
        steps.append(Migration(number=len(steps) + 1, name=match["name"], text=text))
    return steps


def pending_migrations(known: Sequence[Migration], applied: Mapping[int, str]) -> list[Migration]:
    """Return the steps a store still lacks; refuses a store that is newer than or differs from what is known."""
    newest = max(applied, default=0)
    if newest > len(known):
        raise IntegrityFault(
            "STORE_NEWER",
            f"the store has schema {newest}, this program knows {len(known)}",
            hint="use the newer workloop that upgraded it, or restore a backup",
            schema=newest,
            known=len(known),
        )
    for step in known[:newest]:
        if applied.get(step.number) != step.checksum:
            raise IntegrityFault(
                "STORE_FOREIGN",
                f"schema step {step.number:04}_{step.name} of the store is not the one this program knows",
                hint="use the workloop that made the store",
                schema=step.number,
            )
    return list(known[newest:])
