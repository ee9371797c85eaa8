"""The published Python interface, as a program of one's own uses it: real stores, real git, real sessions."""

import asyncio
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import workloop
from loop_bench import BOUND_SECONDS, Facts, LoopBench, commit, honest, rule, write
from workloop import (
    DriverConfig,
    HarnessConfig,
    HarnessKind,
    LoopEndReason,
    LoopReport,
    ObservedClaim,
    Poll,
    SandboxConfig,
    SandboxWish,
    Target,
)
from workloop.domain.clock import Instant
from workloop.domain.errors import BadRequest, Conflict, Forbidden
from workloop.driver.attempt.hints import write_note

NewBench = Callable[[str], LoopBench]


@pytest.fixture
def new_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NewBench]:
    made: list[LoopBench] = []
    monkeypatch.setenv("WORKLOOP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)

    def make(name: str) -> LoopBench:
        folder = tmp_path / name
        folder.mkdir()
        made.append(LoopBench(folder, environment={"WORKLOOP_STATE": str(tmp_path / "state")}).open())
        return made[-1]

    yield make
    for bench in made:
        bench.close()


class Told:
    """What a driver said, and a way to wait for it."""

    def __init__(self) -> None:
        self.events: list[Facts] = []
        self.more = anyio.Event()

    def __call__(self, kind: str, facts: Mapping[str, Any]) -> None:
        self.events.append({"event": kind, **facts})
        self.more.set()
        self.more = anyio.Event()

    def named(self, kind: str, **facts: object) -> list[Facts]:
        wanted = {"event": kind, **facts}
        return [told for told in self.events if all(told.get(name) == value for name, value in wanted.items())]

    async def wait_for(self, kind: str, **facts: object) -> Facts:
        with anyio.fail_after(BOUND_SECONDS):
            while not self.named(kind, **facts):
                await self.more.wait()
        return self.named(kind, **facts)[0]


def config(bench: LoopBench, **fields: Any) -> DriverConfig:
    given: dict[str, Any] = {
        "work_dir": bench.repository.path,
        "state_dir": bench.folder / "loop",
        "harnesses": {"scripted": HarnessConfig(kind=HarnessKind.SCRIPTED, script=bench.script)},
        "integration_branch": "main",
        "keep_awake": False,
        "environment": ("WORKLOOP_STATE", "GIT_CONFIG_GLOBAL"),
        "idle_poll_interval": 3600.0,
        "sandbox": SandboxConfig(kind=SandboxWish.NONE),
        **fields,
    }
    return DriverConfig(**given)


async def until(driver: workloop.Driver, condition: Callable[[Told], Any]) -> Told:
    """Run a driver until something was told, then stop it as a program does: by cancelling it."""
    told = Told()
    driver.tell = told
    async with anyio.create_task_group() as group:
        group.start_soon(driver.run)
        await condition(told)
        group.cancel_scope.cancel()
    return told


class Backlog:
    """A poller of one's own: a folder in which each file is one thing to do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.looks = 0
        folder.mkdir()

    async def poll(self) -> Poll:
        self.looks += 1
        names = sorted(path.name for path in self.folder.iterdir())
        return Poll(version=self.looks, claimable=len(names))


class StorePoller:
    """A poller over a real store that the loop itself does not claim from."""

    def __init__(self, bench: LoopBench) -> None:
        self.bench = bench

    async def poll(self) -> Poll:
        rows = self.bench.client.call("list", {"state": ["pending"]})["items"]
        return Poll(version=1, claimable=len(rows))


class StoreReleaser:
    """Gives back what a session left open, through the public surface of the store."""

    def __init__(self, bench: LoopBench) -> None:
        self.bench = bench
        self.released: list[tuple[str, Instant | None]] = []

    async def release(self, claim: ObservedClaim, reason: str, not_before: Instant | None) -> None:
        self.bench.client.call("release", {"token": claim.token, "reason": reason})
        self.released.append((claim.key, not_before))


def cli(bench: LoopBench, *words: str) -> list[str]:
    return [sys.executable, "-m", "workloop", "-C", str(bench.repository.path), "--json", *words]


def claiming(bench: LoopBench) -> Facts:
    """Return the step by which a session claims for itself."""
    command = cli(bench, "claim", "--holder", "self", "--executor", "own-session")
    return {"ask": {"command": command, "arguments": {"action": "claim", "holder": "self"}}}


def own(*steps: Facts) -> Facts:
    """Return the rule of a session that was given no item."""
    return {"match": {}, "do": list(steps)}


def completing(bench: LoopBench) -> Facts:
    """Return the step by which it completes what it claimed."""
    given = ("--token", "{token}", "--contract-hash", "{contract_hash}", "--commit", "{sha}")
    arguments = {"action": "complete", "token": "{token}"}
    return {"ask": {"command": cli(bench, "complete", *given), "arguments": arguments}}


def test_a_program_drives_one_project_and_is_told_why_it_ended(new_bench: NewBench) -> None:
    bench = new_bench("shop")
    bench.rules(rule("*", *honest()))
    bench.add("a", verification="none", checks=[])
    driver = workloop.Driver(config(bench, max_iterations=1), "scripted", workloop.open_queue(bench.repository.path))
    report = asyncio.run(driver.run())
    assert isinstance(report, LoopReport)
    assert (report.reason, report.sessions, report.attended) == (LoopEndReason.SESSIONS, 1, 1)
    assert bench.state("a") == "succeeded"


def test_a_program_hands_in_an_adapter_of_its_own_making(new_bench: NewBench, tmp_path: Path) -> None:
    from workloop.runner.harness.command import CommandConfig, CommandHarness

    bench = new_bench("shop")
    work = "echo fixed > thing.txt; git -c user.name=P -c user.email=p@example.invalid commit -qam mended"
    harness = CommandHarness(CommandConfig(argv=("/bin/sh", "-c", work), name="mine"))
    bench.add("a", verification="none", checks=[])
    queue = workloop.open_queue(bench.repository.path)
    report = asyncio.run(workloop.Driver(config(bench, max_iterations=1), harness, queue).run())
    assert (report.sessions, bench.state("a")) == (1, "succeeded")


def test_two_real_stores_in_one_loop_one_claimed_by_the_loop_and_one_by_its_sessions(new_bench: NewBench) -> None:
    """Both ways of claiming work side by side, and targets take turns."""
    ours, theirs = new_bench("ours"), new_bench("theirs")
    ours.rules(
        rule("a", *honest()),
        own(claiming(theirs), {"run": "git checkout -q -b mine", "expect": 0}, write(), commit(), completing(theirs)),
    )
    ours.add("a", verification="none", checks=[])
    theirs.add("b", verification="none", checks=[])
    releaser = StoreReleaser(theirs)
    targets = [
        Target("ours", None, ours.repository.path, queue=workloop.open_queue(ours.repository.path)),
        Target("theirs", StorePoller(theirs), theirs.repository.path, releaser=releaser),
    ]
    driver = workloop.Driver.multi(config(ours, work_dir=None, max_iterations=2), "scripted", targets)
    told = Told()
    driver.tell = told
    report = asyncio.run(driver.run())
    assert (report.reason, report.sessions) == (LoopEndReason.SESSIONS, 2), told.events
    assert (ours.ends("a"), theirs.ends("b")) == (["complete"], ["complete"]), told.events
    assert releaser.released == []


@pytest.mark.parametrize("with_releaser", [True, False])
def test_what_a_session_claimed_and_left_open_is_given_back_where_somebody_can(
    new_bench: NewBench, with_releaser: bool
) -> None:
    """Without a releaser the claim ends with its lease; nothing breaks."""
    bench = new_bench("shop")
    bench.rules(own(claiming(bench), {"say": "I give up"}))
    bench.add("b")
    releaser = StoreReleaser(bench)
    target = Target("shop", StorePoller(bench), bench.repository.path, releaser=releaser if with_releaser else None)
    driver = workloop.Driver.multi(config(bench, max_iterations=1), "scripted", [target])
    told = Told()
    driver.tell = told
    report = asyncio.run(driver.run())
    assert (report.reason, report.sessions) == (LoopEndReason.SESSIONS, 1), told.events
    assert [event["key"] for event in told.named("claimed", by="session")] == ["b"]
    if with_releaser:
        assert (releaser.released, bench.ends("b"), bench.state("b")) == ([("b", None)], ["release"], "pending")
    else:
        assert (bench.ends("b"), bench.state("b")) == ([None], "in_progress")
        assert "no releaser" in told.named("unreleased")[0]["reason"]


def test_a_releaser_that_fails_is_told_and_the_loop_goes_on(new_bench: NewBench) -> None:
    class Broken(StoreReleaser):
        async def release(self, claim: ObservedClaim, reason: str, not_before: Instant | None) -> None:
            raise RuntimeError("boom")

    bench = new_bench("shop")
    bench.rules(own(claiming(bench), {"say": "I give up"}))
    bench.add("b")
    target = Target("shop", StorePoller(bench), bench.repository.path, releaser=Broken(bench))
    driver = workloop.Driver.multi(config(bench, max_iterations=1), "scripted", [target])
    told = Told()
    driver.tell = told
    assert asyncio.run(driver.run()).reason is LoopEndReason.SESSIONS
    assert "boom" in told.named("unreleased")[0]["reason"]


def test_a_poller_alone_is_enough_and_a_broken_one_stops_nobody_else(new_bench: NewBench, tmp_path: Path) -> None:
    class Broken:
        async def poll(self) -> Poll:
            raise RuntimeError("the tracker is down")

    bench = new_bench("shop")
    backlog = Backlog(tmp_path / "todo")
    (backlog.folder / "one").touch()
    program = f"rm {backlog.folder}/*; echo done > {tmp_path}/done"
    block = HarnessConfig(kind=HarnessKind.COMMAND, command=("/bin/sh", "-c", program))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    targets = [Target("down", Broken(), elsewhere), Target("shop", backlog, bench.repository.path)]
    settings = config(bench, work_dir=None, harnesses={"command": block}, max_iterations=1)
    driver = workloop.Driver.multi(settings, "command", targets)
    told = Told()
    driver.tell = told
    report = asyncio.run(driver.run())
    assert (report.reason, report.sessions) == (LoopEndReason.SESSIONS, 1)
    assert (tmp_path / "done").read_text() == "done\n"
    assert "the tracker is down" in told.named("store", target="down")[0]["error"]


def test_a_backlog_that_refuses_the_loop_itself_ends_it(new_bench: NewBench) -> None:
    """Every session would be refused, too, so none is spent."""

    class Refusing:
        async def poll(self) -> Poll:
            raise Forbidden("FORBIDDEN", "the key is worthless")

    bench = new_bench("shop")
    driver = workloop.Driver(config(bench), "scripted", Refusing())
    bench.rules(rule("*", *honest()))
    with pytest.raises(Forbidden, match="the key is worthless"):
        asyncio.run(driver.run())


def test_a_campaign_that_is_lost_while_the_loop_begins_is_its_own_target_s_affair(new_bench: NewBench) -> None:
    """What cannot be taken up at one target keeps nobody else from working."""
    good, bad = new_bench("good"), new_bench("bad")
    good.rules(rule("*", *honest()))
    good.add("a", verification="none", checks=[])
    left = good.folder / "loop" / "targets" / "good" / "sessions" / "s-1"
    left.mkdir(parents=True, mode=0o700)
    write_note(left, {"key": "old", "item_id": "i-1", "attempt": 1})
    targets = [
        Target(one.folder.name, None, one.repository.path, queue=workloop.open_queue(one.repository.path))
        for one in (good, bad)
    ]
    driver = workloop.Driver.multi(config(good, work_dir=None, max_iterations=1), "scripted", targets)
    told = Told()

    def lose(kind: str, facts: Mapping[str, Any]) -> None:
        told.events.append({"event": kind, **facts})
        if kind == "recovered":
            with sqlite3.connect(bad.settings.place.store) as raw:
                raw.execute("PRAGMA writable_schema = ON")
                raw.execute("DELETE FROM campaign")

    driver.tell = lose
    report = asyncio.run(driver.run())
    assert (report.reason, good.state("a")) == (LoopEndReason.SESSIONS, "succeeded")
    assert "no campaign" in told.named("store", target="bad")[0]["error"]


def test_cancelling_the_driver_ends_its_sessions_and_gives_their_items_back(new_bench: NewBench) -> None:
    """A program that cancels its task, or whose timeout expires, leaves neither a process nor a claim behind."""
    bench = new_bench("shop")
    bench.rules(rule("a", {"say": "I begin"}, write("half.txt", "half\n"), {"hang": True}))
    bench.add("a", lease_seconds=3600)
    driver = workloop.Driver(config(bench), "scripted", workloop.open_queue(bench.repository.path))
    told = Told()
    driver.tell = told

    async def cancelled() -> None:
        task = asyncio.create_task(driver.run())
        await told.wait_for("agent", what="write ok")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert (bench.ends("a"), bench.state("a")) == (["infra"], "pending"), told.events
    assert told.named("ended", **{"class": "stopped"})


def test_an_idle_driver_polls_on_and_reacts_to_new_work(new_bench: NewBench) -> None:
    """An empty queue is no end; only the change itself wakes this loop."""
    bench = new_bench("shop")
    bench.rules(rule("*", *honest()))
    driver = workloop.Driver(config(bench), "scripted", workloop.open_queue(bench.repository.path))

    async def story(told: Told) -> None:
        await anyio.lowlevel.checkpoint()
        bench.add("a", verification="none", checks=[])
        await told.wait_for("ended", key="a")

    asyncio.run(until(driver, story))
    assert bench.state("a") == "succeeded"


def test_two_drivers_in_one_process_need_folders_of_their_own(new_bench: NewBench) -> None:
    one, other = new_bench("one"), new_bench("other")
    for bench in (one, other):
        bench.rules(rule("*", *honest()))
        bench.add("a", verification="none", checks=[])

    def driver(bench: LoopBench) -> workloop.Driver:
        return workloop.Driver(config(bench, max_iterations=1), "scripted", workloop.open_queue(bench.repository.path))

    async def both() -> tuple[LoopReport, LoopReport]:
        return await asyncio.gather(driver(one).run(), driver(other).run())

    assert [report.sessions for report in asyncio.run(both())] == [1, 1]
    assert (one.state("a"), other.state("a")) == ("succeeded", "succeeded")

    async def clash(told: Told) -> None:
        await anyio.lowlevel.checkpoint()
        with pytest.raises(Conflict, match="another loop"):
            await driver(one).run()

    asyncio.run(until(driver_of(one), clash))


def driver_of(bench: LoopBench) -> workloop.Driver:
    return workloop.Driver(config(bench), "scripted", workloop.open_queue(bench.repository.path))


def test_what_cannot_work_is_refused_when_the_driver_is_made(new_bench: NewBench) -> None:
    bench = new_bench("shop")
    bench.rules(rule("*"))
    backlog = StorePoller(bench)
    path = bench.repository.path
    with pytest.raises(BadRequest, match="work_dir"):
        workloop.Driver(config(bench, work_dir=None), "scripted", backlog)
    with pytest.raises(BadRequest, match="no harness 'nobody'"):
        workloop.Driver(config(bench), "nobody", backlog)
    with pytest.raises(BadRequest, match="two targets"):
        workloop.Driver.multi(config(bench), "scripted", [Target("a", backlog, path), Target("a", backlog, path)])
    with pytest.raises(BadRequest, match="neither poller nor queue"):
        Target("a", None, path)
    with pytest.raises(BadRequest, match="lies inside the work dir"):
        workloop.Driver(config(bench, state_dir=path / "loop"), "scripted", backlog)
    missing = Target("a", backlog, path, mcp_config_paths={"nobody": path / "x.json"})
    with pytest.raises(BadRequest, match=r"target\.a\.mcp_config_paths\.nobody"):
        workloop.Driver.multi(config(bench), "scripted", [missing])


def test_the_published_names_are_there_and_load_late() -> None:
    for name in workloop.PUBLISHED:
        assert getattr(workloop, name).__name__ == name
    assert set(workloop.PUBLISHED) < set(dir(workloop))
    with pytest.raises(AttributeError):
        getattr(workloop, "Nothing" + "Published")
