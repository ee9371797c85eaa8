"""Which runtime is in force and which were before it, in one file that is replaced whole at each step."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import cast

from workloop.domain.errors import Conflict, IntegrityFault
from workloop.repair.runtimes.disk import replace_file
from workloop.repair.runtimes.manifest import RUNTIME_ID

VERSION = 1
STEPS_MAX = 1_000


class Step(StrEnum):
    """How a runtime came into force."""

    ACTIVATED = "activated"
    ROLLED_BACK = "rolled_back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Activations:
    """Everything that was put into force, oldest first; a roll-back is a step as well and takes nothing away."""

    steps: tuple[tuple[str, Step], ...] = ()

    @property
    def line(self) -> tuple[str, ...]:
        """Return the runtimes that stand behind each other, the one in force last."""
        line: list[str] = []
        for runtime_id, step in self.steps:
            if step is Step.ROLLED_BACK and runtime_id in line:
                del line[len(line) - line[::-1].index(runtime_id) :]
            elif not line or line[-1] != runtime_id:
                line.append(runtime_id)
        return tuple(line)

    @property
    def current(self) -> str | None:
        """Return the runtime in force."""
        return self.steps[-1][0] if self.steps else None

    def with_step(self, runtime_id: str, step: Step) -> "Activations":
        """Return the record with one step more; very old ones are forgotten."""
        return Activations(steps=(*self.steps, (runtime_id, step))[-STEPS_MAX:])

    def target(self, runtime_id: str | None) -> str:
        """Return what a roll-back leads to: the one before, or one that was in force before; else raises Conflict."""
        before = self.line[:-1]
        if not before:
            raise Conflict("NOTHING_TO_ROLL_BACK", "no runtime was in force before", hint="workloop runtime list")
        if runtime_id is None:
            return before[-1]
        if runtime_id not in before:
            raise Conflict(
                "NEVER_IN_FORCE", f"{runtime_id} was not in force before the present one", hint="workloop runtime list"
            )
        return runtime_id


def read_activations(path: Path) -> Activations:
    """Read what was put into force; nothing was where there is no file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Activations()
    try:
        facts = cast("Mapping[str, object]", json.loads(data))
        return activations_in(facts)
    except (ValueError, KeyError, TypeError) as wrong:
        raise IntegrityFault(
            "RUNTIME_RECORD_DAMAGED", f"{path} cannot be read: {wrong}", hint="look at it; remove it to begin anew"
        ) from wrong


def activations_in(facts: Mapping[str, object]) -> Activations:
    """Read the steps that a file holds; raises ValueError for what this program did not write."""
    rows = cast("list[list[str]]", facts["steps"])
    steps = tuple((runtime_id, Step(step)) for runtime_id, step in rows)
    if facts["v"] != VERSION or not all(RUNTIME_ID.fullmatch(runtime_id) for runtime_id, _ in steps):
        raise ValueError("it is of another version or names no runtime")
    return Activations(steps=steps)


def write_activations(path: Path, record: Activations) -> None:
    """Put a record in the place of the one before."""
    rows = [[runtime_id, step.value] for runtime_id, step in record.steps]
    replace_file(path, json.dumps({"v": VERSION, "steps": rows}, separators=(",", ":")).encode() + b"\n")
