"""A campaign with the real mini-swe-agent that does not come to its end: by signals, money, bills, empty checks."""

import json
import signal
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from mini_swe import BROKEN_SHELL, need_mini_swe
from mini_swe_model import shell
from repair_campaign import BOUND_SECONDS, CALL_MICROS, SHELL_REPAIR, CampaignModel, RepairCampaign, Told

from workloop.testing.model.conversation import Conversation
from workloop.testing.model.moves import Cut, Hang, Move
from workloop.wiring.runtimes import runtime_store

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(400)]
CHECKS = ("confirmation", "regression", "reproducer", "activation", "acceptance")
LOOK_SECONDS = 0.005
SLEEPER = "touch begun; setsid sleep 987654 & sleep 987653"


@dataclass
class Sleeper:
    """Lets the worker of a part begin something long, in its shell or with its model."""

    part: str
    move: Move
    began: list[str] = field(default_factory=list[str])

    def instead(self, name: str, heard: Conversation) -> Move | None:
        """Return the long move the first time that the part is played."""
        if name != self.part or self.began:
            return None
        self.began.append(name)
        return self.move


def campaign_in(folder: Path, instead: Sleeper | None = None, spend_usd: float = 60) -> RepairCampaign:
    """Return a campaign of one task and one defect, which the first repair would mend."""
    need_mini_swe()
    model = CampaignModel({"bash": (SHELL_REPAIR,)}, instead.instead if instead is not None else None)
    limits = {"maxSpendUsd": spend_usd}
    return RepairCampaign(folder=folder, model=model, tasks=("encode",), defects=(BROKEN_SHELL,), limits=limits)


def ended_by(campaign: RepairCampaign, ready: Callable[[], bool], which: signal.Signals) -> Told:
    """Run a campaign and send it a signal as soon as something is so."""
    running = campaign.start()
    try:
        until = time.monotonic() + BOUND_SECONDS
        while not ready():
            assert time.monotonic() < until
            assert running.poll() is None, running.communicate()
            time.sleep(LOOK_SECONDS)
        running.send_signal(which)
        return campaign.told(running)
    finally:
        running.kill()


def began(campaign: RepairCampaign, kind: str) -> Callable[[], bool]:
    """Return what tells whether a phase of a kind is on record."""
    return lambda: campaign.ledger.exists() and f'"kind":"{kind}"' in campaign.ledger.read_text("utf-8")


def require_closed(campaign: RepairCampaign, told: Told, kind: str) -> None:
    """Require a run that a signal has ended in a phase: on record, nothing open, and no process or tree left of it."""
    assert (told.exit_code, told.of("run_close")[0]["reason"]) == (143, "sigterm"), told.output
    assert told.phases[-1] == kind
    assert told.of("phase_end")[-1]["status"] == "aborted"
    assert (told.verification.first_bad, told.verification.open_phases) == (None, ())
    assert campaign.workloop("ledger", "verify", str(campaign.ledger)).returncode == 0
    assert left_of(campaign) == []
    for repository in (campaign.harness, campaign.project):
        assert len(repository.git("worktree", "list").splitlines()) == 1


def left_of(campaign: RepairCampaign) -> list[str]:
    """Return what still runs of a campaign."""
    place, found = str(campaign.folder), list[str]()
    for process in psutil.process_iter():
        try:
            told = " ".join([*process.cmdline(), *process.environ().values()])
        except psutil.Error:
            continue
        if place in told:
            found.append(told[:200])
    return found


@pytest.mark.parametrize("kind", CHECKS)
def test_sigterm_in_a_check_of_a_repair_ends_its_processes_and_closes_the_ledger(tmp_path: Path, kind: str) -> None:
    campaign = campaign_in(tmp_path)
    store = runtime_store(campaign.environment)
    held = store.lock() if kind == "activation" else nullcontext()
    with campaign.model.server, held:
        told = ended_by(campaign, began(campaign, kind), signal.SIGTERM)
    require_closed(campaign, told, kind)
    assert (store.activations().current is None) is (kind != "acceptance")


def test_sigterm_while_real_mini_swe_agent_works_ends_also_what_it_set_loose(tmp_path: Path) -> None:
    campaign = campaign_in(tmp_path, Sleeper("encode", shell(SLEEPER)))
    with campaign.model.server:
        told = ended_by(campaign, lambda: any((tmp_path / "scratch").rglob("begun")), signal.SIGTERM)
    require_closed(campaign, told, "task")
    assert told.of("charge")[0]["microusd"] == CALL_MICROS


def test_sigterm_while_a_repair_waits_for_its_model_is_told_although_nobody_knows_the_charge(tmp_path: Path) -> None:
    sleeper = Sleeper("bash", Hang())
    campaign = campaign_in(tmp_path, sleeper)
    with campaign.model.server:
        told = ended_by(campaign, lambda: bool(sleeper.began), signal.SIGTERM)
    require_closed(campaign, told, "repair")
    assert told.of("charge")[-1]["state"] == "unknown"


def test_answer_of_the_model_that_was_cut_off_leaves_a_charge_unknown_and_ends_the_run(tmp_path: Path) -> None:
    campaign = campaign_in(tmp_path, Sleeper("encode", Cut()))
    told = campaign.run()
    assert (told.exit_code, told.of("run_close")[0]["reason"]) == (6, "unknown-charge"), told.output
    assert told.phases == ["task"]
    assert told.verification.first_bad is None


def test_money_that_ends_in_the_middle_of_a_repair_ends_the_run_after_it(tmp_path: Path) -> None:
    campaign = campaign_in(tmp_path, spend_usd=2.21)
    told = campaign.run()
    assert (told.exit_code, told.of("run_close")[0]["reason"]) == (6, "spend-limit"), told.output
    assert told.phases == ["task", "confirmation", "repair"]
    calls = [data["microusd"] // CALL_MICROS for data in told.of("charge")]
    assert calls == [3, 1]
    assert told.of("run_close")[0]["spent_microusd"] <= 2_210_000
    assert {data["enforced_by"] for data in told.ended("repair")} == {"supervisor"}
    assert told.verification.first_bad is None


def test_reproducer_that_passes_before_the_repair_is_called_vacuous_and_nothing_is_repaired(tmp_path: Path) -> None:
    campaign = campaign_in(tmp_path)
    vacuous = {"kind": "tool_error", "subject": "bash", "probe": campaign.of_harness("regression")}
    campaign.driver = {"reproducers": [vacuous]}
    told = campaign.run()
    assert told.exit_code == 1, told.output
    assert told.phases == ["task", "confirmation"], told.output
    assert [data["reason"] for data in told.of("repair_rejected")] == ["reproducer-vacuous"]
    assert [(data["end"], data["commit"]) for data in told.of("task_outcome")] == [("unchanged-harness", None)]


def test_campaign_whose_supervisor_was_killed_names_the_open_phase_and_is_gone_on_with_by_what_remained(
    tmp_path: Path,
) -> None:
    campaign = campaign_in(tmp_path, Sleeper("encode", shell(SLEEPER)))
    with campaign.model.server:
        killed = ended_by(campaign, lambda: any((tmp_path / "scratch").rglob("begun")), signal.SIGKILL)
        assert killed.exit_code == -signal.SIGKILL
        assert killed.of("run_close") == []
        verified = campaign.workloop("--json", "ledger", "verify", str(campaign.ledger))
        assert (verified.returncode, json.loads(verified.stdout)["open_phases"]) == (1, ["p1 (task of encode)"]), (
            verified.stdout
        )
        assert left_of(campaign) == []
        left = campaign.workloop("repair", "remaining", str(campaign.ledger))
        assert (left.returncode, "uncertain: encode" in left.stderr) == (0, True), left.stderr
        told = campaign.told(campaign.start_with(left.stdout))
    assert told.exit_code == 0, told.output
    assert [(data["task"], data["end"]) for data in told.of("task_outcome")] == [("encode", "accepted")]
    assert told.verification.first_bad is None
