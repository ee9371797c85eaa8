"""How a limited account is tried and opened again, seen through a driver with a clock of the test's own."""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from loop_bench import BOUND_SECONDS, Facts, LoopBench, honest, rule
from workloop.config import DriverConfig, HarnessConfig, HarnessKind, SandboxConfig, SandboxWish
from workloop.domain.clock import Instant
from workloop.domain.gate import GatePolicy, GateState
from workloop.domain.rates import FleetPolicy
from workloop.driver.control import Control
from workloop.driver.report import LoopOptions, LoopReport
from workloop.driver.target import Target
from workloop.driver.turn.desk import LoopParts
from workloop.driver.turn.fleet import Fleets
from workloop.driver.turn.loop import Loop
from workloop.interfaces.serving import make_endpoint
from workloop.store.journal.memory import MemoryJournal
from workloop.store.system import SystemClock, SystemIds
from workloop.wiring import operator
from workloop.wiring.harnesses import make_harnesses
from workloop.wiring.planning import Aim, Plan, site_of
from workloop.wiring.running import end_session


class ShiftedClock:
    """The machine's clock, moved forward at will."""

    def __init__(self) -> None:
        self.real = SystemClock()
        self.shift_us = 0

    def now(self) -> Instant:
        return Instant(self.real.now() + self.shift_us)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LoopBench]:
    made = LoopBench(tmp_path).open()
    yield made
    made.close()


class Stage:
    """A loop in this process, over one project, with a memory journal and a clock that can be moved."""

    def __init__(self, bench: LoopBench, policy: GatePolicy, fleet: FleetPolicy | None = None) -> None:
        self.bench = bench
        self.fleet = fleet
        self.clock = ShiftedClock()
        self.journal = MemoryJournal()
        self.events: list[Facts] = []
        self.more = anyio.Event()
        self.control = Control()
        self.policy = policy

    def tell(self, kind: str, facts: Mapping[str, Any]) -> None:
        self.events.append({"event": kind, **facts})
        self.more.set()
        self.more = anyio.Event()

    async def wait_for(self, kind: str, count: int = 1) -> Facts:
        with anyio.fail_after(BOUND_SECONDS):
            while len(found := [told for told in self.events if told["event"] == kind]) < count:
                await self.more.wait()
        return found[count - 1]

    async def run(self, story: Callable[["Stage"], Any]) -> LoopReport:
        bench = self.bench
        script = HarnessConfig(kind=HarnessKind.SCRIPTED, script=bench.script)
        config = DriverConfig(
            harness="scripted",
            harnesses={"scripted": script},
            integration_branch="main",
            sandbox=SandboxConfig(kind=SandboxWish.NONE),
        )
        folder = bench.folder / "loop"
        target = Target("shop", None, bench.repository.path, queue=bench.queue)
        aim = Aim(target=target, folder=folder, integration_branch="main")
        plan = Plan(
            config=config,
            folder=folder,
            harnesses=make_harnesses(config, folder),
            aims=(aim,),
            options=LoopOptions(idle_poll_seconds=0.2),
            tell=self.tell,
            operator=operator(),
        )
        endpoint = make_endpoint(bench.queue)
        reports: list[LoopReport] = []
        async with anyio.create_task_group() as services:
            await services.start(endpoint.serve)
            site = site_of(plan, aim, endpoint, self.tell)
            assert site.project is not None
            site.project = replace(site.project, clock=self.clock)
            site.fleets = Fleets(self.fleet)
            parts = LoopParts(
                sites=(site,),
                folder=folder,
                journal=self.journal,
                clock=self.clock,
                ids=SystemIds(),
                tell=self.tell,
                end_session=end_session,
                options=plan.options,
                policy=self.policy,
            )
            services.start_soon(self.play, story)
            reports.append(await Loop(parts, self.control).run())
            services.cancel_scope.cancel()
        return reports[0]

    async def play(self, story: Callable[["Stage"], Any]) -> None:
        try:
            await story(self)
        finally:
            self.control.force()

    def gate(self) -> GateState:
        (gate,) = self.journal.gates()
        return gate.state


def test_an_early_probe_finds_the_limit_over_and_work_goes_on_long_before_the_stated_reset(bench: LoopBench) -> None:
    """The probe is one short session of the same agent, booked like any other, and there is one at a time."""
    bench.rules(
        {"match": {"key": "a", "attempt": 1}, "do": [{"say": "I begin"}, {"limit": 7200}]},
        rule("a", *honest()),
        rule("b", *honest()),
        {"match": {}, "do": [{"say": "OK"}]},
    )
    bench.add("a", verification="none", checks=[])
    bench.add("b", verification="none", checks=[])

    async def story(stage: Stage) -> None:
        await stage.wait_for("limited")
        await stage.wait_for("ended")
        stage.clock.shift_us = 61_000_000
        await stage.wait_for("probed")
        await stage.wait_for("reopened")
        await stage.wait_for("ended", 2)

    stage = Stage(bench, GatePolicy(probe_us=60_000_000))
    asyncio.run(stage.run(story))
    sessions = stage.journal.sessions(limit=50)
    probes = [row for row in sessions if row.probe]
    assert [(row.harness, row.session_class) for row in probes] == [("scripted", "clean")], sessions
    assert probes[0].run == 1
    assert not (Path(probes[0].cwd) / ".git").exists()
    assert bench.state("b") == "succeeded"
    assert stage.gate() is GateState.OPEN
    assert stage.journal.gates()[0].probes == 1


def test_h05_a_clock_that_jumps_over_a_reset_lets_work_go_on_at_once(bench: LoopBench) -> None:
    """H05: deadlines are kept by the wall clock, also when the machine slept over them."""
    bench.rules(rule("a", {"say": "I begin"}, {"limit": 7200}, attempt=1), rule("*", *honest()))
    bench.add("a", verification="none", checks=[], priority=1)
    bench.add("b", verification="none", checks=[])

    async def story(stage: Stage) -> None:
        await stage.wait_for("limited")
        stage.clock.shift_us = 2 * 3600 * 1_000_000 + 1_000_000
        await stage.wait_for("reopened")
        await stage.wait_for("ended", 2)

    stage = Stage(bench, GatePolicy())
    asyncio.run(stage.run(story))
    assert "succeeded" in bench.states().values()
    rows = stage.journal.sessions(limit=50)
    assert [(row.session_class, row.probe) for row in reversed(rows)] == [("limited", False), ("clean", False)]


def test_c18_l05_a_crash_is_an_outcome_and_its_record_says_all_that_is_needed(bench: LoopBench) -> None:
    """C18: the agent's crash never ends the loop. L05: agent, session, folder, log and base are on record."""
    crash = ({"emit": {"type": "error", "code": "x", "message": "No messages returned"}}, {"exit": 1})
    bench.rules(rule("a", *crash, attempt=1), rule("*", *honest()))
    bench.add("a", verification="none", checks=[])
    bench.add("b", verification="none", checks=[], priority=900)

    async def story(stage: Stage) -> None:
        await stage.wait_for("ended")
        stage.clock.shift_us = 20_000_000
        await stage.wait_for("ended", 2)

    stage = Stage(bench, GatePolicy())
    asyncio.run(stage.run(story))
    last = stage.journal.sessions(limit=50)[-1]
    assert (last.item_key, last.session_class, last.harness, last.target) == ("a", "crashed", "scripted", "shop")
    assert last.resume_id == last.session_id
    assert Path(last.log_path).parent.name == last.session_id
    assert len(last.base_sha) == 40
    assert last.cwd
    assert last.ended_at is not None


def test_no_session_is_spent_and_no_decision_repeated_while_nothing_is_claimable(bench: LoopBench) -> None:
    """Model requests while nothing is claimable: none, however often the loop looks."""
    bench.rules(rule("*", *honest()))

    async def story(stage: Stage) -> None:
        with anyio.fail_after(BOUND_SECONDS):
            while not stage.journal.decisions(None, 5):
                await anyio.sleep(0.05)
        for number in range(8):
            stage.control.changed()
            await anyio.lowlevel.checkpoint()
            bench.add(f"later-{number}", verification="none", checks=[], depends_on=[f"later-{number - 1}"][:number])
            bench.client.call("cancel", {"key": f"later-{number}", "reason": "not now"})

    stage = Stage(bench, GatePolicy())
    bench.client.call("pause", {"reason": "lunch"})
    asyncio.run(stage.run(story))
    assert stage.journal.sessions(limit=5) == []
    assert [row.decision.code for row in stage.journal.decisions(None, 50)].count("queue_paused") == 1


def test_an_agent_that_does_nothing_on_item_after_item_rests_with_one_question_and_its_answer_lets_it_go_on(
    bench: LoopBench,
) -> None:
    """Not the items are at fault: a person hears the rate out of how many, and what to do."""
    bench.rules(rule("c", *honest()), {"match": {"attempt": 1}, "do": [{"say": "I did it"}]}, rule("*", *honest()))
    for priority, key in enumerate(("a", "b", "c"), 1):
        bench.add(key, verification="none", checks=[], priority=priority)
    asked: list[Facts] = []

    async def story(stage: Stage) -> None:
        await stage.wait_for("held_back")
        stage.clock.shift_us = 20_000_000
        await stage.wait_for("asked")
        asked.extend(bench.client.call("status", {})["questions"])
        assert bench.ends("c") == []
        bench.client.call("answer", {"key": "b", "text": "I did"})
        with anyio.fail_after(BOUND_SECONDS):
            while not {"b", "c"} & {key for key, state in bench.states().items() if state == "succeeded"}:
                stage.clock.shift_us += 20_000_000
                await stage.more.wait()

    stage = Stage(bench, GatePolicy(), FleetPolicy(sessions_min=2))
    asyncio.run(stage.run(story))
    assert [row["key"] for row in asked] == ["b"]
    assert "scripted rests on this target" in str(asked[0])
    assert re.search(r"\((\d) of \1\)", str(asked[0]))
    assert "workloop rates" in str(asked[0])
