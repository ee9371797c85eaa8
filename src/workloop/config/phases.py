"""Into which phases an item's work is cut: each a session of its own, with its harness, tier, brief and bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workloop.config.names import check_name
from workloop.config.paths import read_path
from workloop.domain.reader import Json, Reader, bad

BRIEFED = ("implement", "review")
OPENING = "implement"
SECONDS_MAX = 7 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseConfig:
    """One phase; an empty harness is the loop's, no brief the one that belongs to the name.

    handoff: True asks for a successor to be allowed and is refused where the harness cannot carry one, False forbids
    it, None allows it where the harness can.
    """

    name: str
    harness: str = ""
    tier: str = ""
    brief: Path | None = None
    turns_max: int | None = None
    wall_seconds: float | None = None
    handoff: bool | None = None


def read_phases(entries: Sequence[tuple[str, Json]], base: Path) -> tuple[PhaseConfig, ...]:
    """Read the list of phases; the rules that need no knowledge of harnesses are kept here."""
    phases = tuple(read_phase(value, path, base) for path, value in entries)
    check_order(phases)
    return phases


def read_phase(value: Json, path: str, base: Path) -> PhaseConfig:
    """Read one phase."""
    reader = Reader(value, path)
    phase = PhaseConfig(
        name=reader.text("name", required=True),
        harness=reader.text("harness"),
        tier=reader.text("tier"),
        brief=read_path(reader, "brief", base),
        turns_max=reader.whole_bound("turns_max", highest=100_000),
        wall_seconds=reader.number_bound("wall_seconds", highest=SECONDS_MAX),
        handoff=reader.flag("handoff") if reader.values.get("handoff") is not None else optional(reader, "handoff"),
    )
    reader.done()
    return phase


def optional(reader: Reader, name: str) -> None:
    """Note that a field may be absent."""
    reader.take(name)


def check_order(phases: Sequence[PhaseConfig]) -> None:
    """Refuse names that repeat or have no brief, and a sequence that leaves every item half done."""
    seen = set[str]()
    for number, phase in enumerate(phases):
        path = f"phase[{number}]"
        check_name(phase.name, f"{path}.name")
        if phase.name in seen:
            raise bad(f"{path}.name", f"{phase.name!r} is there twice", hint="give each phase a name of its own")
        seen.add(phase.name)
        if phase.brief is None and phase.name not in BRIEFED:
            hint = f"name a file with brief, or use a name that has one: {', '.join(BRIEFED)}"
            raise bad(f"{path}.brief", f"phase {phase.name!r} has no brief", hint=hint)
    if phases and phases[-1].name == OPENING:
        hint = "let a review, or a phase of another name, finish what implement began"
        raise bad(f"phase[{len(phases) - 1}].name", "the last phase is implement, which settles nothing", hint=hint)
