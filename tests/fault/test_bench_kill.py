"""A bench run killed at each of its named points: its ledger can be believed, and names the phase that was open."""

from pathlib import Path

from killing import killer

from workloop.repair.ledger.verifying import verify
from workloop.repair.supervisor.points import Point

TESTS = Path(__file__).parents[1]
CHILD = (
    f"import runpy, sys; sys.path[:0] = [{str(TESTS)!r}, {str(TESTS / 'fault')!r}]; "
    f"runpy.run_path({str(TESTS / 'fault' / 'bench_child.py')!r}, run_name='__main__')"
)
IN_A_PHASE = {Point.PHASE_STARTED, Point.ANSWERED, Point.CHARGED}
RUNS_MAX = 100


def test_a_killed_run_is_never_silent_about_where_it_stood(tmp_path: Path) -> None:
    """A start is durable before the worker exists: a kill can leave an open phase, never an unknown one."""
    reached: set[Point] = set()
    killed = True
    with killer("-c", CHILD) as killed_at:
        for step in range(1, RUNS_MAX):
            folder = tmp_path / str(step)
            killed = killed_at(step, str(folder))
            points = [Point(line) for line in (folder / "points").read_text().splitlines()]
            reached.add(points[-1])
            found = verify(folder / "run.jsonl")
            assert found.first_bad is None, (points[-1], found.first_bad)
            if not killed:
                break
            assert len(points) == step
            starts = points.count(Point.PHASE_STARTED)
            named = [start.phase for start in found.open_phases]
            assert named == ([f"p{starts}"] if points[-1] in IN_A_PHASE else []), points[-1]
            assert (found.close is not None) is (points[-1] is Point.RUN_CLOSED)
            worker = bool(found.open_phases) and found.open_phases[0].kind in ("task", "repair")
            assert found.standing is not None
            assert found.standing.unknown_charges == int(worker and points[-1] is not Point.CHARGED)
    assert not killed, "the story has an end"
    assert reached == set(Point), "every point is one at which it was killed"
