"""A loop killed between any two steps of a landing: nothing is lost, and nothing lands twice."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from killing import killer

from queue_bench import Bench as QueueBench
from queue_bench import bench_on, settings
from remote_bench import RemoteBench
from workloop.domain.campaign import Landing
from workloop.domain.ids import id_text
from workloop.service.call import Queue
from workloop.store.sqlite.store import SqliteSettings, SqliteStore
from workloop.store.system import SystemClock, SystemIds
from workloop.testing.clocks import FakeClock

CHILD = Path(__file__).with_name("landing_child.py")
PASSED = {"__typename": "CheckRun", "name": "build", "status": "COMPLETED", "conclusion": "SUCCESS"}
READY = {"mergeable": "MERGEABLE", "mergeStateStatus": "CLEAN", "statusCheckRollup": [PASSED]}
WAYS = [Landing.LOCAL_MERGE, Landing.PUSH, Landing.PR]
# Every step is somebody's: parts share them, as a repository with many landings behind it is slow.
PARTS = 6
EVERY_STEP = [pytest.param(part + 1, PARTS, marks=pytest.mark.slow) for part in range(PARTS)]


class Bench(RemoteBench):
    """A remote, a queue with verified results, and a landing that can be killed."""

    def __init__(self, folder: Path, way: Landing) -> None:
        super().__init__(folder)
        store = SqliteStore(SqliteSettings(path=folder / "queue.db"), SystemClock(), SystemIds())
        self.queue: QueueBench = bench_on(store, FakeClock(), folder, settings(landing=way))
        self.queue = QueueBench(store, Queue(store=store, ids=SystemIds(), slug="night"), FakeClock(), folder)
        self.way = way
        (folder / "forge.json").write_text(json.dumps({"opened": READY}))
        self.ending = ExitStack()
        self.killed_at = self.ending.enter_context(killer(str(CHILD), str(folder)))

    def verified(self, number: int) -> str:
        """Make a result that waits to land; returns its commit."""
        key = f"item-{number}"
        self.queue.add(key, verification="none")
        taken = self.queue.claim(key)
        sha = self.work(id_text(self.queue.item(key).id), {f"{key}.txt": "done\n"})
        self.queue.do(
            "complete",
            token=taken["token"],
            contract_hash=taken["contract_hash"],
            outcome={"kind": "commit", "ref": sha},
        )
        return sha

    def run(self, step: int = 0) -> bool:
        """Land, and be killed before a step; tells whether it was."""
        return self.killed_at(step)

    @property
    def branch_owner(self) -> Any:
        """Return the repository whose main is where work lands."""
        return self.operator if self.way is Landing.LOCAL_MERGE else self.origin

    def merges(self, sha: str) -> int:
        """Count how often main took a commit in."""
        lines = self.branch_owner.git("log", "--format=%P", "main").splitlines()
        return sum(line.split()[1:] == [sha] for line in lines)

    def facts(self, number: int) -> list[str]:
        """Return the facts of a result."""
        return [fact.kind.value for fact in self.queue.dossier(f"item-{number}").facts]

    def close(self) -> None:
        """End the child."""
        self.ending.close()
        self.queue.store.close()


@pytest.fixture(params=WAYS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """A bench for each way to land."""
    made = Bench(tmp_path, request.param)
    yield made
    made.close()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("first", "stride"), [(7, 7), *EVERY_STEP])
def test_a_loop_killed_before_any_step_of_a_landing_goes_on_where_it_was(bench: Bench, first: int, stride: int) -> None:
    """F02, F17, A33: after each kill the next run lands what waited once, and says so once."""
    step, before = first - stride, bench.branch_owner.git("rev-parse", "main")
    killed = True
    while killed:
        step += stride
        sha = bench.verified(step)
        killed = bench.run(step)
        assert bench.merges(sha) <= 1
        assert not bench.run()
        assert bench.merges(sha) == 1
        assert bench.facts(step).count("landed") == 1
        assert "landing_refused" not in bench.facts(step)
        bench.is_tidy()
        assert bench.operator.git("status", "--porcelain") == ""
        tip = bench.branch_owner.git("rev-parse", "main")
        assert before in bench.branch_owner.git("rev-list", "--first-parent", tip).splitlines()
        before = tip
    assert step > 25
    if bench.way is Landing.PR:
        pulls = json.loads((bench.folder / "forge.json").read_text())["pulls"]
        assert [pull["state"] for pull in pulls] == ["MERGED"] * len(range(first, step + 1, stride))
    assert bench.queue.broken() == []


def test_a_loop_killed_while_its_push_is_under_way_finds_it_landed(tmp_path: Path) -> None:
    """F02: the push goes on without its loop; the next one reads what the remote has and pushes nothing again."""
    bench = Bench(tmp_path, Landing.PUSH)
    sha = bench.verified(1)
    bench.hook("pre-receive", f"kill -9 $(cat '{bench.folder}/loop.pid')")
    assert bench.run()
    bench.hook("pre-receive", "echo 'nothing may be pushed twice' >&2; exit 1")
    deadline = time.monotonic() + 150
    while bench.at() == bench.tip:
        assert time.monotonic() < deadline
    assert not bench.run()
    assert (bench.merges(sha), bench.facts(1)) == (1, ["landed"])
    bench.close()
