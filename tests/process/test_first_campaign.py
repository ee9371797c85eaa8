"""What `workloop repair init` makes does what it is for: its probes judge behind real walls, its flaw can be mended."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from verification_stage import milliseconds
from walls import NEEDS_WALLS

from workloop.domain.clock import Instant
from workloop.repair.bundled.announcing import require_servers
from workloop.repair.bundled.files import files_of_commit
from workloop.repair.bundled.manifest import read_harness
from workloop.repair.verification.ground import Bounds, Ground, Probe
from workloop.repair.verification.guard import GuardRules
from workloop.repair.verification.regression import regression_verdict
from workloop.repair.verification.reproducer import confirmation_of, reproducer_verdict
from workloop.runner.repository import open_repository
from workloop.runner.sandbox.enclosure import Network, find_enclosure
from workloop.testing.gitrepo import ScratchRepository
from workloop.wiring.repair_init import InitOrder, begin_campaign

pytestmark = NEEDS_WALLS
TOOL = "tools/count-lines/bin/count.py"


class First:
    """A first campaign, and the ground on which its harness is judged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        said = begin_campaign(
            InitOrder(folder=folder / "bench", agent="claude"), {"WORKLOOP_STATE": str(folder / "state")}
        )
        self.harness = ScratchRepository(path=Path(said["harness"]))
        self.base = self.harness.head
        self.driver: dict[str, Any] = json.loads(Path(said["campaign"]).read_text("utf-8"))["driver"]
        self.count = 0

    def probe(self, values: dict[str, Any]) -> Probe:
        """Return a probe as the campaign has it."""
        return Probe(
            command=tuple(values["command"]), overlay=Path(values["files"]), timeout_seconds=values["timeoutSeconds"]
        )

    @property
    def regression(self) -> Probe:
        """Return what the harness always could."""
        return self.probe(self.driver["regression"][0])

    @property
    def reproducer(self) -> Probe:
        """Return what shows the flaw."""
        return self.probe(self.driver["reproducers"][0]["probe"])

    def mended(self, program: str) -> str:
        """Commit another program of the tool above the base."""
        self.harness.git("checkout", "--quiet", "--detach", "--force", self.base)
        return self.harness.commit({TOOL: program})

    def ground(self) -> Ground:
        """Return a new phase's ground."""
        self.count += 1
        evidence = self.folder / f"evidence-{self.count}"
        evidence.mkdir()
        return Ground(
            repository=open_repository(self.harness.path, self.folder / "checks", "main"),
            run=f"phase-{self.count}",
            now=Instant(1_000_000),
            evidence=evidence,
            enclosure=find_enclosure("bwrap", Network.NONE),
            worker_paths=tuple(Path(self.driver[name]) for name in ("project", "harnessRepository", "scratch")),
            readable=tuple(dict.fromkeys((Path(sys.prefix), Path(sys.base_prefix)))),
            environment={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"},
        )

    def bounds(self) -> Bounds:
        """Return the bounds of a phase that begins now."""
        return Bounds(deadline_ms=milliseconds() + 120_000, monotonic=milliseconds)


@pytest.fixture
def first(tmp_path: Path) -> First:
    return First(tmp_path)


def test_the_flaw_is_confirmed_and_a_repair_of_it_passes_both_checks(first: First) -> None:
    program = (first.harness.path / TOOL).read_text("utf-8")
    commits = first.base, first.mended(program.replace('read_text("utf-8")', 'read_text("latin-1")'))
    rules = GuardRules(protected=tuple(first.driver["protected"]))
    runs = first.driver["reproducerRuns"]
    assert confirmation_of(first.ground(), first.bounds(), first.reproducer, first.base, runs=runs).confirmed
    said = regression_verdict(first.ground(), first.bounds(), (first.regression,), commits, rules)
    assert (said.passed, said.why) == (True, "")
    said = reproducer_verdict(first.ground(), first.bounds(), first.reproducer, commits, rules, runs=runs)
    assert (said.passed, said.why) == (True, "")


def test_a_repair_that_knows_only_the_flaw_is_refused_by_the_regression(first: First) -> None:
    commits = first.base, first.mended("print(3 if 'latin' in input() else 0)\n")
    said = regression_verdict(first.ground(), first.bounds(), (first.regression,), commits, GuardRules())
    assert not said.passed
    assert said.why.startswith("regression-failed")


def test_the_harness_s_own_tool_server_announces_its_tool(first: First) -> None:
    ground = first.ground()
    require_servers(ground, first.bounds(), read_harness(files_of_commit(first.harness.path, first.base)), first.base)
    (row,) = json.loads((ground.evidence / "servers.json").read_text("utf-8"))
    assert row["tools"] == ["count_lines"]
