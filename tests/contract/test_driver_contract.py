"""The scripted driver keeps the contract of drivers, and every check of it can fail."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workloop.repair.ledger.records import VerdictKind
from workloop.repair.observations.finding import EvidenceRef
from workloop.repair.port import (
    CALLBACKS,
    Confirmation,
    EvidenceFile,
    HarnessRevision,
    PhaseContext,
    Task,
    Verdict,
    settled,
    unknown,
)
from workloop.testing.driver_contract import DRIVER_CONTRACT, ContractBroken, DriverCase, check_driver
from workloop.testing.scripted_driver import ScriptedDriver, commit_of, finding, hanging, raising, runs, worked

HARNESS = HarnessRevision(commit="a" * 40, runtime_id="sha256:first")
REPAIRED = commit_of(7)
CHECKS = {check.__name__: check for check in DRIVER_CONTRACT}


def case_of(folder: Path, *, bound_ms: int = 5_000, **script: list[Any]) -> DriverCase:
    """Return a case of a driver that follows a script."""
    own = folder / "operator"
    own.mkdir(mode=0o700)
    return DriverCase(
        make=lambda: ScriptedDriver(
            script={name: list(entries) for name, entries in script.items()}, reachable=(folder / "worker",)
        ),
        task=Task(id="one", prompt="do one"),
        harness=HARNESS,
        observation=finding(),
        repaired=REPAIRED,
        folder=own,
        bound_ms=bound_ms,
    )


@pytest.mark.parametrize("name", CHECKS)
def test_the_scripted_driver_keeps_the_contract(tmp_path: Path, name: str) -> None:
    check_driver(case_of(tmp_path), CHECKS[name])


def named(context: PhaseContext, *_: object) -> object:
    """Name evidence that is not there."""
    result = worked(candidate=commit_of(1))
    return type(result)(
        status=result.status,
        base=result.base,
        candidate=result.candidate,
        charge=result.charge,
        evidence=(EvidenceFile(path="missing", digest="e" * 64),),
    )


def pointing(*_: object) -> object:
    """Find something, and point at no evidence of the phase."""
    elsewhere = EvidenceRef(session_id="s1", places=(1,), digest="e" * 64, stream="e" * 64)
    return worked(candidate=None, observations=(replace(finding(), evidence=(elsewhere,)),))


def verdict(kind: VerdictKind, *, passed: bool = True, commit: str = REPAIRED, proof: tuple[Any, ...] = ()) -> Verdict:
    """Return a verdict on the case's repair."""
    return Verdict(kind=kind, commit=commit, passed=passed, runs=proof)


VACUOUS = (*runs(HARNESS.commit, True, True), *runs(REPAIRED, True, True))
BROKEN: list[tuple[str, dict[str, list[Any]]]] = [
    ("check_worker_paths_are_absolute", {"worker_paths": [()]}),
    ("check_worker_paths_are_absolute", {"worker_paths": [(Path("relative"),)]}),
    ("check_worker_paths_are_absolute", {"worker_paths": [(Path("/"),)]}),
    ("check_a_task_is_worked_on", {"run_task": [worked(candidate="abc123")]}),
    ("check_a_task_is_worked_on", {"run_task": [named]}),
    ("check_a_task_is_worked_on", {"run_task": [pointing]}),
    ("check_a_task_is_worked_on", {"run_task": [None]}),
    ("check_a_repair_goes_on_from_the_harness", {"run_repair": [worked(candidate=commit_of(1))]}),
    ("check_a_bill_is_the_same_whoever_asks", {"settle": [settled(1)]}),
    ("check_a_bill_is_the_same_whoever_asks", {"settle": [settled(1_000), settled(2_000)]}),
    ("check_a_bill_is_the_same_whoever_asks", {"run_task": [worked(candidate=None, cost=2_000_000)]}),
    ("check_an_abort_ends_a_worker_and_it_is_billed", {"run_task": [hanging]}),
    ("check_an_abort_ends_a_worker_and_it_is_billed", {"run_task": [raising], "settle": [unknown("lost")]}),
    ("check_an_observation_is_answered", {"confirm_observation": [Confirmation(confirmed=True, why="yes")]}),
    ("check_an_observation_is_answered", {"confirm_observation": [Confirmation(confirmed=False, why="no")]}),
    ("check_a_good_repair_is_proved", {"verify_regression": [verdict(VerdictKind.REGRESSION)]}),
    ("check_a_good_repair_is_proved", {"verify_regression": [verdict(VerdictKind.REGRESSION, commit=commit_of(9))]}),
    ("check_a_good_repair_is_proved", {"verify_reproducer": [verdict(VerdictKind.REPRODUCER, proof=VACUOUS)]}),
    (
        "check_the_harness_in_force_is_no_repair_of_itself",
        {"verify_reproducer": [verdict(VerdictKind.REPRODUCER, commit=HARNESS.commit)]},
    ),
    (
        "check_an_activation_is_of_the_verified_commit",
        {"activate_harness": [HarnessRevision(commit=commit_of(9), runtime_id="sha256:new")]},
    ),
    (
        "check_an_activation_is_of_the_verified_commit",
        {"activate_harness": [HarnessRevision(commit=REPAIRED, runtime_id=HARNESS.runtime_id)]},
    ),
    ("check_an_acceptance_is_about_the_candidate", {"accept_task": [verdict(VerdictKind.ACCEPTANCE)]}),
    ("check_it_can_be_closed_twice", {"close": [hanging]}),
]


@pytest.mark.parametrize(("name", "script"), BROKEN)
def test_a_driver_that_breaks_a_rule_is_caught_by_the_check_of_that_rule(
    tmp_path: Path, name: str, script: dict[str, list[Any]]
) -> None:
    bound_ms = 100 if any(entry is hanging for entries in script.values() for entry in entries) else 5_000
    with pytest.raises(ContractBroken):
        check_driver(case_of(tmp_path, bound_ms=bound_ms, **script), CHECKS[name])


def test_a_driver_without_a_callback_is_caught(tmp_path: Path) -> None:
    made = ScriptedDriver()
    lacking: Any = SimpleNamespace(**{name: getattr(made, name) for name in CALLBACKS if name != "settle"})
    case = replace(case_of(tmp_path), make=lambda: lacking)
    with pytest.raises(ContractBroken, match="settle"):
        check_driver(case, CHECKS["check_every_callback_is_there"])


def test_every_check_has_a_driver_that_it_catches() -> None:
    assert {name for name, _ in BROKEN} | {"check_every_callback_is_there"} == set(CHECKS)
