"""Which probe reproduces an observation, whatever an agent calls the tool."""

from pathlib import Path

import pytest

from workloop.repair.bundled.driver.campaign import ANY, BundledCampaign, Reproducer
from workloop.repair.observations.finding import ObservationKind
from workloop.repair.verification.ground import Probe
from workloop.testing.scripted_driver import finding


def probe(name: str) -> Probe:
    """Return a probe that can be told from others."""
    return Probe(command=(name,))


def campaign(*subjects: str, kind: ObservationKind = ObservationKind.TOOL_ERROR) -> BundledCampaign:
    """Return a campaign with reproducers for these subjects."""
    return BundledCampaign(
        project=Path("/p"),
        project_commit="a" * 40,
        harness_repository=Path("/h"),
        scratch=Path("/s"),
        task_agent="a",
        repair_agent="a",
        task_model=None,
        repair_model=None,
        acceptance={},
        regression=(probe("regression"),),
        reproducers=tuple(Reproducer(kind=kind, subject=name, probe=probe(name)) for name in subjects),
        reproducer_runs=2,
        project_protected=(),
        protected=(),
        regressions_max=1,
        without_walls=False,
    )


@pytest.mark.parametrize("subject", ["edit", "mcp__harness__edit", "harness.edit", "harness/edit", "harness_edit"])
def test_tool_is_found_by_its_own_name_whatever_an_agent_calls_it(subject: str) -> None:
    assert campaign(ANY, "write", "edit").reproducer_of(finding(subject)) == probe("edit")


def test_very_subject_comes_before_the_plain_name_and_that_before_any() -> None:
    whole = "mcp__notes__edit"
    assert campaign("edit", whole, ANY).reproducer_of(finding(whole)) == probe(whole)
    assert campaign("edit", ANY).reproducer_of(finding(whole)) == probe("edit")
    assert campaign(ANY).reproducer_of(finding(whole)) == probe(ANY)


def test_other_tools_and_other_kinds_of_observations_have_no_reproducer() -> None:
    assert campaign("edit").reproducer_of(finding("reedit")) is None
    assert campaign("edit", kind=ObservationKind.SLOW_TOOL).reproducer_of(finding("edit")) is None
