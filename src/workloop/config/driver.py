"""How a loop runs: one frozen value with every default, filled by a settings file or written in Python."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workloop.config.budgets import Budgets
from workloop.config.disk import DiskConfig
from workloop.config.harnesses import HarnessConfig, harness_named
from workloop.config.hours import ActiveHours, read_hours
from workloop.config.meter import MeterConfig
from workloop.config.paths import read_path
from workloop.config.phases import SECONDS_MAX, PhaseConfig
from workloop.config.sandbox import SandboxConfig
from workloop.config.targets import SESSIONS_MAX, read_agents
from workloop.domain.limits import OnLimit
from workloop.domain.reader import Json, Reader, bad, one_of
from workloop.domain.versions import VersionPolicy

RUN_SECONDS_MAX = 366 * 86_400.0
BYTES_MAX = 2**50


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBounds:
    """The clocks of one session, in seconds: no event, no progress, and in all."""

    silent_seconds: float = 1200.0
    idle_seconds: float = 1800.0
    wall_seconds: float = 7200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long the folders of ended sessions are kept, and how much room they take at most."""

    kept_days: float = 30.0
    kept_bytes_max: int = 10 * 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverConfig:
    """Everything a loop is told before it starts; what is None has no bound, intervals and clocks are in seconds.

    state_dir is the loop's private folder, never inside a work dir; environment names the variables that sessions may
    see; run_seconds_max ends the loop, at once when nothing else could run before. fruitless_waits is how long an item
    rests after each attempt in a row that brought nothing; after one more it is parked. agents are the harnesses that
    may do the work instead of each other, the preferred one first: the loop's own, whether it is named there or not.
    """

    work_dir: Path | None = None
    state_dir: Path | None = None
    campaign: str = "main"
    harness: str = "claude"
    agents: tuple[str, ...] = ()
    harnesses: Mapping[str, HarnessConfig] = field(default_factory=dict[str, HarnessConfig])
    phases: tuple[PhaseConfig, ...] = ()
    max_iterations: int | None = None
    run_seconds_max: float | None = None
    idle_poll_interval: float = 60.0
    sessions_max: int = 1
    sessions_max_target: int | None = None
    sessions_max_host: int | None = None
    active_hours: ActiveHours | None = None
    on_limit: OnLimit = OnLimit.WAIT
    fruitless_waits: tuple[float, ...] = (900.0, 1800.0)
    untested_versions: VersionPolicy = VersionPolicy.WARN
    keep_awake: bool = True
    bounds: SessionBounds = field(default_factory=SessionBounds)
    retention: Retention = field(default_factory=Retention)
    budgets: Budgets = field(default_factory=Budgets)
    environment: tuple[str, ...] = ()
    integration_branch: str = ""
    checks_overlay: Path | None = None
    sandbox: SandboxConfig = field(default_factory=SandboxConfig)
    disk: DiskConfig = field(default_factory=DiskConfig)
    meter: MeterConfig = field(default_factory=MeterConfig)

    def harness_config(self, name: str = "", path: str = "harness") -> HarnessConfig:
        """Return a harness's settings by name, the loop's own without one; raises BadRequest when there is none."""
        return harness_named(self.harnesses, name or self.harness, path)

    def agent_names(self, own: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the harnesses that may take a target's work, the preferred one first; a target may have its own."""
        return own or tuple(dict.fromkeys((self.harness, *self.agents)))

    def harness_names(self, also: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the harnesses that sessions can be started with: the loop's own first, its phases', and others."""
        phases = (phase.harness or self.harness for phase in self.phases)
        return tuple(dict.fromkeys((*self.agent_names(), *phases, *also)))


def read_driver(
    value: Json, base: Path, harnesses: Mapping[str, HarnessConfig], phases: tuple[PhaseConfig, ...] = ()
) -> DriverConfig:
    """Read how the loop runs."""
    reader, usual = Reader(value, "loop"), DriverConfig()
    agents = read_agents(reader)
    harness = reader.text("harness", default=agents[0] if agents else usual_harness(harnesses, usual.harness))
    if agents and harness != agents[0]:
        raise bad("loop.harness", f"is not the first of loop.agents, which is {agents[0]}", hint="leave it out")
    config = DriverConfig(
        state_dir=read_path(reader, "state_dir", base),
        harness=harness,
        agents=agents,
        harnesses=harnesses,
        phases=phases,
        max_iterations=reader.whole_bound("max_iterations", highest=1_000_000_000),
        run_seconds_max=reader.number_bound("run_seconds_max", highest=RUN_SECONDS_MAX),
        idle_poll_interval=reader.number(
            "idle_poll_interval", default=usual.idle_poll_interval, lowest=0.05, highest=3600.0
        ),
        sessions_max=reader.whole("sessions_max", default=usual.sessions_max, lowest=1, highest=SESSIONS_MAX),
        sessions_max_target=reader.whole_bound("sessions_max_target", highest=SESSIONS_MAX),
        sessions_max_host=reader.whole_bound("sessions_max_host", highest=SESSIONS_MAX),
        active_hours=read_hours(reader),
        fruitless_waits=read_waits(reader, usual.fruitless_waits),
        on_limit=one_of(reader, "on_limit", OnLimit, reader.text("on_limit", default=usual.on_limit)),
        untested_versions=one_of(
            reader,
            "untested_versions",
            VersionPolicy,
            reader.text("untested_versions", default=usual.untested_versions),
        ),
        keep_awake=reader.flag("keep_awake", default=usual.keep_awake),
        bounds=read_bounds(reader),
        retention=read_retention(reader),
        environment=reader.texts("environment"),
        integration_branch=reader.text("integration_branch"),
        checks_overlay=read_path(reader, "checks_overlay", base),
    )
    reader.done()
    return config


def usual_harness(harnesses: Mapping[str, HarnessConfig], usual: str) -> str:
    """Return the harness of a loop that names none: the only declared one, else the usual one."""
    return next(iter(harnesses)) if len(harnesses) == 1 else usual


def read_bounds(reader: Reader) -> SessionBounds:
    """Read a session's clocks."""
    usual = SessionBounds()
    return SessionBounds(
        silent_seconds=seconds(reader, "silent_seconds", usual.silent_seconds),
        idle_seconds=seconds(reader, "idle_seconds", usual.idle_seconds),
        wall_seconds=seconds(reader, "wall_seconds", usual.wall_seconds),
    )


def read_waits(reader: Reader, usual: tuple[float, ...]) -> tuple[float, ...]:
    """Read how long an item rests after each fruitless attempt in a row; one more than there are waits parks it."""
    if reader.values.get("fruitless_waits") is None:
        reader.take("fruitless_waits")
        return usual
    return tuple(wait(value, path) for path, value in reader.entries("fruitless_waits"))


def wait(value: Json, path: str) -> float:
    """Read one wait, in seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= SECONDS_MAX:
        raise bad(path, f"expected a number of seconds from 0 to {SECONDS_MAX:g}")
    return float(value)


def read_retention(reader: Reader) -> Retention:
    """Read how long sessions' folders are kept."""
    usual = Retention()
    return Retention(
        kept_days=reader.number("kept_days", default=usual.kept_days, lowest=0.0, highest=36_500.0),
        kept_bytes_max=reader.whole("kept_bytes_max", default=usual.kept_bytes_max, lowest=0, highest=BYTES_MAX),
    )


def seconds(reader: Reader, name: str, default: float) -> float:
    """Read one of a session's clocks."""
    return reader.number(name, default=default, lowest=0.1, highest=SECONDS_MAX)
