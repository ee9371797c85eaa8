"""A real agent CLI as the worker of a bench run: behind walls, on the meter, without a key, within its money."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from agent_stage import require
from real_claude import CLAUDE_MODEL, bundled_claude

from repair_stage import LIMITS, Stage, records_of
from workloop.config import (
    DriverConfig,
    HarnessConfig,
    HarnessHome,
    HarnessKind,
    NetworkWish,
    SandboxConfig,
    SandboxWish,
)
from workloop.config.meter import MeterConfig, Metering, ModelPrice
from workloop.domain.session import SessionClass
from workloop.repair.ledger.records import StopReason
from workloop.repair.ledger.verifying import verify
from workloop.repair.port import PhaseContext, SessionOrder, SessionReport, WorkerResult, by_meter
from workloop.store.system import SystemClock
from workloop.testing.model.moves import Call, Say
from workloop.testing.model_server import ModelServer
from workloop.testing.scripted_driver import ScriptedDriver, commit_of, worked
from workloop.wiring.repairing import worker_means

SCRIPT = [Call("Bash", {"command": "echo one"}), Call("Bash", {"command": "echo two"}), Say("all done")]
OUTPUT_MAX = 1_000
WORST = 1_000_000
PRICES = {CLAUDE_MODEL: ModelPrice(input=0, output=1_000_000_000, cache_read=0, cache_write=0)}
CUT = SandboxConfig(kind=SandboxWish.BWRAP, network=NetworkWish.LOOPBACK, checks_network=NetworkWish.NONE)
CALL = 60_000


def settings(folder: Path, url: str) -> DriverConfig:
    """Return settings with one metered agent whose answers alone cost something."""
    key = folder / "provider.key"
    key.write_text("sk-of-the-operator-0123456789abcdef")
    key.chmod(0o600)
    block = HarnessConfig(
        kind=HarnessKind.CLAUDE,
        command=(str(bundled_claude()),),
        home=HarnessHome.OWN,
        meter=Metering(key=f"@{key}", anthropic_url=url),
    )
    return DriverConfig(harness="claude", harnesses={"claude": block}, sandbox=CUT, meter=MeterConfig(prices=PRICES))


@pytest.mark.real_agent
def test_claude_s_money_ends_in_the_middle_of_its_session_and_the_run_with_it(tmp_path: Path) -> None:
    require("claude")
    reports: list[SessionReport] = []
    for name in ("work", "bench", "loop", "home"):
        (tmp_path / name).mkdir(mode=0o700)

    async def run_task(context: PhaseContext, task: object) -> WorkerResult:
        order = SessionOrder(
            harness="claude",
            prompt="do it",
            cwd=tmp_path / "work",
            model=CLAUDE_MODEL,
            environment={"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(OUTPUT_MAX)},
        )
        reports.append(await context.run_session(order))
        return replace(worked(candidate=commit_of(1)), charge=by_meter())

    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path / "home"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    limits = replace(LIMITS, max_runtime_ms=200_000, max_spend_microusd=WORST + CALL // 2)
    with ExitStack() as stack:
        model = stack.enter_context(ModelServer(SCRIPT))
        config = settings(tmp_path, model.url)
        means = stack.enter_context(worker_means(config, tmp_path / "loop", environment, SystemClock()))
        stage = Stage(folder=tmp_path / "bench", limits=limits, means=means)
        driver = ScriptedDriver(script={"run_task": [run_task], "settle": [by_meter()]}, reachable=(tmp_path / "work",))
        ended = stage.run(driver)
        calls = [request for request in model.requests if request.kind not in {"models", "other", "count_tokens"}]
    assert ended.reason is StopReason.SPEND_LIMIT, (ended, reports)
    assert (reports[0].session_class, "BUDGET_SPENT" in reports[0].detail) == (SessionClass.COST_CAP, True)
    assert len(calls) == 1
    records = records_of(stage.ledger)
    charge = next(data for name, data in records if name == "charge")
    end = next(data for name, data in records if name == "phase_end")
    assert (charge["state"], charge["microusd"]) == ("settled", CALL)
    assert end["enforced_by"] == "supervisor", records
    assert verify(stage.ledger).first_bad is None
