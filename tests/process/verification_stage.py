"""A harness of one shell script, an operator's folder of probes, and verifications of both behind real walls."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from workloop.domain.clock import Instant
from workloop.repair.port import Confirmation, Verdict
from workloop.repair.verification.ground import Bounds, Ground, Probe
from workloop.repair.verification.guard import GuardRules
from workloop.repair.verification.regression import regression_verdict
from workloop.repair.verification.reproducer import confirmation_of, reproducer_verdict
from workloop.runner.repository import open_repository
from workloop.runner.sandbox.enclosure import Network, find_enclosure
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

# The harness fails for an argument that it should know; what it always could is to say its version.
BROKEN = 'case "$1" in version) echo 1 ;; *) exit 1 ;; esac\n'
MENDED = 'case "$1" in version) echo 1 ;; probe) echo done ;; *) exit 1 ;; esac\n'
RULES = GuardRules(protected=("tests",))
REGRESSION = "sh tool.sh version\n"
REPRODUCER = "sh tool.sh probe\n"


def milliseconds() -> int:
    """Return the real monotonic time."""
    return time.monotonic_ns() // 1_000_000


@dataclass(slots=True)
class Stage:
    """One harness at its base, and everything that a verification needs."""

    folder: Path
    stop: threading.Event = field(default_factory=threading.Event)
    seconds: float = 60.0
    monotonic: Callable[[], int] = milliseconds
    harness: ScratchRepository = field(init=False)
    base: str = field(init=False)
    count: int = 0

    def __post_init__(self) -> None:
        self.harness = scratch_repository(self.folder / "harness", {"tool.sh": BROKEN, "tests/old.sh": "exit 0\n"})
        self.base = self.harness.head
        for name, text in (("regression", REGRESSION), ("reproducer", REPRODUCER)):
            self.write(name, {"probe.sh": text})
        (self.folder / "state").mkdir()

    def write(self, name: str, files: dict[str, str]) -> Path:
        """Write files of the operator."""
        folder = self.folder / "operator" / name
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return folder

    def probe(self, name: str, **more: object) -> Probe:
        """Return a probe whose files lie in the operator's folder."""
        plain = Probe(command=("sh", "probe.sh"), overlay=self.folder / "operator" / name, timeout_seconds=20)
        return replace(plain, **more)  # pyright checks nothing of this, the class does

    def mended(self, tool: str = MENDED) -> str:
        """Commit a repair above the base."""
        self.harness.git("checkout", "--quiet", "--detach", "--force", self.base)
        return self.harness.commit({"tool.sh": tool})

    def ground(self, **more: object) -> Ground:
        """Return a new phase's ground."""
        self.count += 1
        evidence = self.folder / f"evidence-{self.count}"
        evidence.mkdir()
        plain = Ground(
            repository=open_repository(self.harness.path, self.folder / "state", "main"),
            run=f"phase-{self.count}",
            now=Instant(1_000_000),
            evidence=evidence,
            enclosure=find_enclosure("bwrap", Network.NONE),
            environment={"PATH": os.environ["PATH"], "HOME": str(Path.home()), "SOME_TOKEN": "secret"},
        )
        return replace(plain, **more)

    def bounds(self) -> Bounds:
        """Return the bounds of a phase that begins now."""
        return Bounds(deadline_ms=self.monotonic() + int(self.seconds * 1000), monotonic=self.monotonic, stop=self.stop)

    def regression(self, candidate: str, *probes: Probe, ground: Ground | None = None) -> Verdict:
        """Judge a candidate by what has always passed."""
        chosen = probes or (self.probe("regression"),)
        return regression_verdict(ground or self.ground(), self.bounds(), chosen, (self.base, candidate), RULES)

    def reproducer(self, candidate: str, probe: Probe | None = None, *, runs: int = 2) -> Verdict:
        """Judge a candidate by what was observed."""
        commits = (self.base, candidate)
        chosen = probe or self.probe("reproducer")
        return reproducer_verdict(self.ground(), self.bounds(), chosen, commits, RULES, runs=runs)

    def confirmation(self, probe: Probe | None = None) -> Confirmation:
        """Ask whether the observation is reproduced on the base."""
        return confirmation_of(self.ground(), self.bounds(), probe or self.probe("reproducer"), self.base, runs=2)

    def left(self) -> list[str]:
        """Return what a verification left in the state folder, but for the folders that hold others."""
        return [str(path) for path in (self.folder / "state").rglob("*") if path.is_file() and path.suffix != ".lock"]
