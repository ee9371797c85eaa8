"""A campaign with the real mini-swe-agent whole: its defects fail a task, are found, repaired, judged and in force."""

import json
from pathlib import Path

import pytest
from mini_swe import SHELL, SKILL, need_mini_swe
from repair_campaign import (
    CALL_MICROS,
    DEAF_REPAIR,
    SHELL_REPAIR,
    SKILL_REPAIR,
    CampaignModel,
    RepairCampaign,
    Told,
)

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(600)]
REPAIRED = ["repair", "regression", "reproducer", "activation"]
STORY = [
    "task",
    *("confirmation", *REPAIRED),
    *("confirmation", "repair", "regression", *REPAIRED),
    *("task", "acceptance"),
    *("task", "acceptance"),
]
LOOKING = "ls -A {place} {place}/probes/harness; cat {place}/campaign.json {place}/probes/harness/probe.py; true"


def test_defects_of_real_mini_swe_agent_are_repaired_and_the_failed_task_goes_well_with_the_new_runtime(
    tmp_path: Path,
) -> None:
    need_mini_swe()
    place = tmp_path / "operator"
    curious = SHELL_REPAIR.looking_first(LOOKING.format(place=place))
    model = CampaignModel(repairs={"run_tests": (SKILL_REPAIR,), "bash": (DEAF_REPAIR, curious)})
    campaign = RepairCampaign(folder=tmp_path, model=model)
    told = campaign.run()
    assert told.exit_code == 0, told.output
    assert told.phases == STORY
    assert [(data["repair"], data["reason"]) for data in told.of("repair_rejected")] == [(2, "regression-failed")]
    assert [(data["task"], data["end"], data["attempts"]) for data in told.of("task_outcome")] == [
        ("encode", "accepted", 2),
        ("format", "accepted", 1),
    ]
    require_in_force(campaign, told)
    require_bounded(campaign, told)
    require_unseen(campaign, place)
    require_cleared(campaign)


def require_in_force(campaign: RepairCampaign, told: Told) -> None:
    """Require that the runtime of the last repair is in force, is what was verified, and changed two files alone."""
    first, last = told.of("activation")
    assert first["previous"] == told.of("run_open")[0]["harness"]
    assert last["previous"] == first["harness"]
    task_runtimes = [data["harness"] for data in told.of("phase_start") if data["kind"] == "task"]
    assert task_runtimes == [first["previous"], last["harness"], last["harness"]]
    judged = [(data["kind"], data["commit"]) for data in told.of("verdict") if data["passed"]]
    for activation in (first, last):
        commit = activation["harness"]["commit"]
        assert {kind for kind, about in judged if about == commit} == {"regression", "reproducer"}
    changed = campaign.harness.git("diff", "--name-only", "main", last["harness"]["commit"]).splitlines()
    assert sorted(changed) == [SHELL, SKILL]
    listed = json.loads(campaign.workloop("--json", "runtime", "list").stdout)
    assert (listed["current"], len(listed["runtimes"])) == (last["harness"]["runtime_id"], 3)
    assert campaign.workloop("runtime", "verify").returncode == 0


def require_bounded(campaign: RepairCampaign, told: Told) -> None:
    """Require that the supervisor kept every worker's limits, and that each call is in the ledger."""
    workers = [*told.ended("task"), *told.ended("repair")]
    assert {data["enforced_by"] for data in workers} == {"supervisor"}, told.of("note")
    spent = sum(data["microusd"] for data in told.of("charge"))
    assert spent == told.of("run_close")[0]["spent_microusd"] == CALL_MICROS * len(campaign.model.heard)
    assert told.verification.first_bad is None
    verified = campaign.workloop("ledger", "verify", str(campaign.ledger))
    assert verified.returncode == 0, verified.stdout + verified.stderr


def require_unseen(campaign: RepairCampaign, place: Path) -> None:
    """Require that a repair's worker that looked for them saw neither campaign nor probes, and the model no key."""
    (looked,) = {
        call.result for heard in campaign.model.heard for call in heard.calls if str(place) in str(call.arguments)
    }
    assert looked is not None
    assert "No such file" in looked
    assert "what nobody printed" not in json.dumps([heard.body for heard in campaign.model.heard])
    assert "sk-of-the-operator" not in json.dumps([heard.body for heard in campaign.model.heard])


def require_cleared(campaign: RepairCampaign) -> None:
    """Require that no work tree is left, and that nobody moved the branches of the operator."""
    for repository in (campaign.harness, campaign.project):
        assert len(repository.git("worktree", "list").splitlines()) == 1
        assert repository.git("rev-list", "--count", "main") == "1"
    assert not [place for place in (campaign.folder / "scratch").rglob("*") if place.is_file() and place.stat().st_size]
