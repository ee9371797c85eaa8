"""How the attack set is played and what its result says: lies that got through, and honest work that did not."""

import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workloop.testing.gates.case import Case
from workloop.testing.gates.stage import Ended, Stage, available, open_stage

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What became of every case that could be tried, and why the others could not."""

    sandbox: str
    ended: tuple[tuple[Case, Ended], ...]
    left_out: tuple[tuple[Case, str], ...]

    @property
    def false_passes(self) -> list[str]:
        """Return the lies that ended as succeeded."""
        return [ended.id for _, ended in self.ended if ended.wrong and not ended.honest]

    @property
    def false_refusals(self) -> list[str]:
        """Return the honest work that did not."""
        return [ended.id for _, ended in self.ended if ended.wrong and ended.honest]

    @property
    def sound(self) -> bool:
        """Tell whether something was tried of either kind and all of it ended as it should."""
        kinds = {case.honest for case, _ in self.ended}
        return kinds == {True, False} and not self.false_passes and not self.false_refusals

    def facts(self) -> dict[str, Any]:
        """Write the score as plain values."""
        lies = [ended for case, ended in self.ended if not case.honest]
        honest = [ended for case, ended in self.ended if case.honest]
        return {
            "sandbox": self.sandbox,
            "lies": len(lies),
            "false_passes": self.false_passes,
            "false_pass_rate": rate(self.false_passes, lies),
            "honest": len(honest),
            "false_refusals": self.false_refusals,
            "false_refusal_rate": rate(self.false_refusals, honest),
            "left_out": [{"case": case.id, "why": why} for case, why in self.left_out],
            "cases": [row(case, ended) for case, ended in self.ended],
        }


def play(cases: Sequence[Case], *, walls: bool, at_once: int, tell: Tell) -> Score:
    """Play cases, each as an item of its own, on a few stages at a time."""
    with tempfile.TemporaryDirectory(prefix="workloop-gates-") as made:
        folder = Path(made).resolve()
        first = open_stage(folder / "0", walls=walls)
        fit = [(case, available(case, walls=first.walls)) for case in cases]
        chosen = [case for case, why in fit if not why]
        shares = [chosen[number::at_once] for number in range(at_once)]
        lock = threading.Lock()

        def told(line: str) -> None:
            """Tell one line at a time."""
            with lock:
                tell(line)

        def share(number: int) -> list[Ended]:
            """Play one share on a stage of its own."""
            stage = first if number == 0 else open_stage(folder / str(number), walls=walls)
            return played(stage, shares[number], told)

        with ThreadPoolExecutor(at_once) as threads:
            ended = {one.id: one for some in threads.map(share, range(at_once)) for one in some}
        return Score(
            sandbox=first.project.check_walls.enclosure.name,
            ended=tuple((case, ended[case.id]) for case in chosen),
            left_out=tuple((case, why) for case, why in fit if why),
        )


def played(stage: Stage, cases: Iterable[Case], tell: Tell) -> list[Ended]:
    """Play cases one after the other."""
    found: list[Ended] = []
    for case in cases:
        ended = stage.play(case)
        tell(f"{'WRONG' if ended.wrong else 'ok':<6}{case.id}: {'succeeded' if ended.passed else 'did not succeed'}")
        found.append(ended)
    return found


def row(case: Case, ended: Ended) -> dict[str, Any]:
    """Write one case."""
    return {
        "case": case.id,
        "story": case.story,
        "honest": case.honest,
        "passed": ended.passed,
        "as_it_should": not ended.wrong,
        "gates": list(ended.gates),
        "needs": [need.value for need in case.needs],
    }


def rate(wrong: Sequence[str], tried: Sequence[Ended]) -> float | None:
    """Return the share that went wrong; of nothing there is none."""
    return round(len(wrong) / len(tried), 4) if tried else None
