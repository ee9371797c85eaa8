"""Lying workers against the real gates: none gets through, and honest work is not held up."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from workloop.domain.errors import NotFound
from workloop.testing.gates.case import Case, Need
from workloop.testing.gates.catalogue import CASES, HONEST, LIES
from workloop.testing.gates.report import Score, play
from workloop.testing.gates.run import main
from workloop.testing.gates.shop import advised
from workloop.testing.gates.stage import Ended, Stage, available, open_stage

BY_ID = {case.id: case for case in CASES}
QUICK = (
    "edited-then-hidden",
    "stand-in-module",
    "attributes",
    "library-module",
    "path-shim",
    "exit-at-end",
    "hard-coded",
    "turns-green",
    "home-shim",
    "moved-base",
    "foreign-credential",
    "stale-commit",
    "plain",
    "folders",
)
WITHOUT = [case for case in LIES if set(case.needs) & {Need.PROTECTED, Need.CONTROL, Need.OVERLAY, Need.RUNS}]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stage whose checks run without walls, which is the harder place to hold."""
    made = open_stage(tmp_path_factory.mktemp("gates").resolve() / "stage", walls=False)
    yield made
    made.project.queue.store.close()


@pytest.fixture(scope="module")
def lenient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stage that knows of no check yet that it has once been moody."""
    made = open_stage(tmp_path_factory.mktemp("lenient").resolve() / "stage", walls=False)
    yield made
    made.project.queue.store.close()


@pytest.mark.parametrize("name", QUICK)
def test_a_lie_does_not_succeed_and_honest_work_does(stage: Stage, name: str) -> None:
    """E01, E09, E11, E18: each gate on its own worst day, without a sandbox."""
    ended = stage.play(BY_ID[name])
    assert not ended.wrong, ended


def test_the_set_holds_lies_and_honest_work_under_names_of_their_own() -> None:
    """Decision: gates that refuse everything would be as bad, so both rates are told."""
    assert len(BY_ID) == len(CASES)
    assert len(LIES) >= 60
    assert len(HONEST) >= 15
    assert all(case.honest for case in HONEST)
    assert not any(case.honest for case in LIES)


def test_a_score_of_nothing_is_not_sound() -> None:
    """E01: nothing examined is never a pass."""
    assert not Score(sandbox="none", ended=(), left_out=()).sound
    lie = (BY_ID["edited-test"], Ended(id="edited-test", honest=False, passed=False, gates=()))
    work = (BY_ID["plain"], Ended(id="plain", honest=True, passed=True, gates=()))
    assert not Score(sandbox="none", ended=(lie,), left_out=()).sound
    assert Score(sandbox="none", ended=(lie, work), left_out=()).sound
    through = (lie[0], replace(lie[1], passed=True))
    score = Score(sandbox="none", ended=(through, work), left_out=())
    assert (score.sound, score.false_passes, score.facts()["false_pass_rate"]) == (False, ["edited-test"], 1.0)
    held_up = Score(sandbox="none", ended=(lie, (work[0], replace(work[1], passed=False))), left_out=())
    assert (held_up.sound, held_up.false_refusals) == (False, ["plain"])


def test_what_cannot_be_tried_here_is_said_and_not_counted() -> None:
    """Decision: a case that needs the sandbox tells nothing on a machine without one."""
    assert available(BY_ID["mark-outside"], walls=False) == "needs the sandbox"
    assert available(BY_ID["mark-outside"], walls=True) == ""


def test_an_unknown_case_is_refused_with_the_names_there_are() -> None:
    """Decision: a misspelt name never looks like a gate that held."""
    with pytest.raises(NotFound) as refused:
        main(("no-such-case",), walls=False, tell=lambda line: None)
    assert "edited-test" in refused.value.hint


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("walls", [True, False])
def test_no_lie_gets_through_and_no_honest_work_is_held_up(walls: bool) -> None:
    """The whole set, as `workloop bench gates` plays it."""
    score = play(CASES, walls=walls, at_once=2, tell=lambda line: None)
    assert (score.false_passes, score.false_refusals) == ([], [])
    assert score.sound


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", WITHOUT, ids=lambda case: case.id)
def test_a_lie_gets_through_where_what_it_needs_is_missing(lenient: Stage, case: Case) -> None:
    """Decision: what the documentation says a contract must hold is shown to matter, lie by lie."""
    if available(case, walls=False):
        pytest.skip(available(case, walls=False))
    bare = replace(case, id=f"{case.id}-without", contract=without(case))
    project = replace(lenient.project, check_overlay=None)
    assert replace(lenient, project=project).play(bare).passed


def without(case: Case) -> dict[str, object]:
    """Return a case's contract without what its lie is caught by."""
    contract = {**advised(), **case.contract}
    dropped = {need.value for need in case.needs} & {"control", "runs"}
    checks = [{name: value for name, value in check.items() if name not in dropped} for check in contract["checks"]]
    if Need.OVERLAY in case.needs:
        checks = checks[:1]
    if Need.PROTECTED in case.needs:
        contract["protected"] = []
        checks = [{name: value for name, value in check.items() if name != "control"} for check in checks]
    return {**contract, "checks": checks}
