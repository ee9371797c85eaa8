"""What the `driver` object of a campaign says to the bundled driver, read strictly: every task with its checks."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from workloop.domain.checks import Check, CheckKind
from workloop.domain.errors import BadRequest
from workloop.domain.new_item import outside
from workloop.domain.reader import Json, Reader, bad, one_of
from workloop.repair.bundled.mapping import TOOL_SERVER
from workloop.repair.config import BenchConfig, full_sha
from workloop.repair.observations.finding import Observation, ObservationKind
from workloop.repair.observations.thresholds import COUNT_MAX, SLOW_MS, SLOW_MS_MAX, Thresholds
from workloop.repair.port import Task
from workloop.repair.verification.ground import Probe
from workloop.repair.verification.reproducer import RUNS, RUNS_MIN

ANY: Final = "*"
RUNS_MAX: Final = 20
PROBES_MAX: Final = 100
REGRESSIONS_MAX: Final = 1_000
SECONDS_MAX: Final = 900
CODE_MAX: Final = 125
DIGEST_CHARACTERS: Final = 12
SERVER_PREFIX: Final = re.compile(r"__|[./:]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """One check of a task's candidate, and the folder of the operator's files that are laid over for it."""

    check: Check
    files: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproducer:
    """What reproduces observations of one kind about one subject, or about any."""

    kind: ObservationKind
    subject: str
    probe: Probe


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledCampaign:
    """Repositories, agents and checks of one campaign; acceptance is by task."""

    project: Path
    project_commit: str
    harness_repository: Path
    scratch: Path
    task_agent: str
    repair_agent: str
    task_model: str | None
    repair_model: str | None
    acceptance: Mapping[str, tuple[Acceptance, ...]]
    regression: tuple[Probe, ...]
    reproducers: tuple[Reproducer, ...]
    reproducer_runs: int
    project_protected: tuple[str, ...]
    protected: tuple[str, ...]
    regressions_max: int
    without_walls: bool
    thresholds: Thresholds = field(default_factory=Thresholds)

    def reproducer_of(self, observation: Observation) -> Probe | None:
        """Return the probe of an observation: one for its very subject before one for any."""
        fitting = [one for one in self.reproducers if one.kind is observation.kind]
        names = (*names_of(observation.subject), ANY)
        found = sorted((one for one in fitting if one.subject in names), key=lambda one: names.index(one.subject))
        return found[0].probe if found else None

    def digest_of(self, task: Task) -> str:
        """Tell a task from another of the same name: by its project, what it asks and what accepts it."""
        checks = [(one.check.command, one.check.kind, str(one.files)) for one in self.acceptance[task.id]]
        facts = (str(self.project), self.project_commit, task.prompt, checks, self.project_protected)
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:DIGEST_CHARACTERS]

    @property
    def workplaces(self) -> tuple[Path, ...]:
        """Return every folder that some worker can reach: what it works on, and where its trees are."""
        return self.project, self.harness_repository, self.scratch

    def folders(self) -> tuple[Path, ...]:
        """Return every folder of the operator's that judges, none of which a worker may see."""
        judging = [one.files for checks in self.acceptance.values() for one in checks]
        judging += [probe.overlay for probe in (*self.regression, *(one.probe for one in self.reproducers))]
        return tuple(dict.fromkeys(folder for folder in judging if folder is not None))


def names_of(subject: str) -> tuple[str, ...]:
    """Return what a tool may be called besides: agents put its server's name before its own, each in another way."""
    plain = SERVER_PREFIX.split(subject)[-1]
    return tuple(dict.fromkeys((subject, plain, plain.removeprefix(f"{TOOL_SERVER}_"))))


def read_campaign(config: BenchConfig) -> BundledCampaign:
    """Read the object; raises BadRequest that names the campaign's file and the key."""
    try:
        return campaign_in(Reader(config.driver, "driver"), config)
    except BadRequest as error:
        place = str(error.details.get("field", ""))
        raise BadRequest("CONFIG_INVALID", f"{config.path}: {error.message}", hint=error.hint, field=place) from error


def campaign_in(reader: Reader, config: BenchConfig) -> BundledCampaign:
    """Read what the object holds."""
    project_commit = reader.text("projectCommit", required=True)
    if not full_sha(project_commit):
        raise bad(reader.at("projectCommit"), "is not a full commit SHA", hint="git rev-parse HEAD")
    campaign = BundledCampaign(
        project=place_in(reader, "project"),
        project_commit=project_commit,
        harness_repository=place_in(reader, "harnessRepository"),
        scratch=place_in(reader, "scratch"),
        task_agent=reader.text("taskAgent", required=True),
        repair_agent=reader.text("repairAgent", required=True),
        task_model=reader.optional_text("taskModel"),
        repair_model=reader.optional_text("repairModel"),
        acceptance=acceptance_in(reader, config),
        regression=probes_in(reader, "regression"),
        reproducers=reproducers_in(reader),
        reproducer_runs=reader.whole("reproducerRuns", default=RUNS, lowest=RUNS_MIN, highest=RUNS_MAX),
        project_protected=patterns_in(reader, "projectProtected"),
        protected=patterns_in(reader, "protected"),
        regressions_max=reader.whole("regressionsMax", default=1, lowest=1, highest=REGRESSIONS_MAX),
        without_walls=reader.flag("withoutWalls"),
        thresholds=thresholds_in(reader),
    )
    reader.done()
    return campaign


def place_in(reader: Reader, name: str) -> Path:
    """Return an existing folder by its absolute path."""
    path = Path(reader.text(name, required=True))
    if not path.is_absolute() or not path.is_dir():
        raise bad(reader.at(name), f"{path} is not the absolute path of a folder", hint="make it, or correct the path")
    return path


def patterns_in(reader: Reader, name: str) -> tuple[str, ...]:
    """Return patterns of paths from a repository's top; raises for one that could never match."""
    patterns = reader.texts(name)
    for number, pattern in enumerate(patterns):
        if outside(pattern) or any(part in ("", ".") for part in pattern.rstrip("/").split("/")):
            hint = "write paths from the repository's top, such as tests/**"
            raise bad(f"{reader.at(name)}[{number}]", f"{pattern!r} matches no path of a repository", hint=hint)
    return patterns


def words_in(reader: Reader, name: str) -> tuple[str, ...]:
    """Return a program with its arguments; a text alone would be taken for the program's name."""
    if isinstance(reader.values.get(name), str):
        hint = 'write each word by itself, such as ["python3", "probe.py"]'
        raise bad(reader.at(name), "expected a list: a program and its arguments", hint=hint)
    return reader.texts(name)


def acceptance_in(outer: Reader, config: BenchConfig) -> dict[str, tuple[Acceptance, ...]]:
    """Return the checks of every task; `*` stands for all tasks that have none of their own."""
    reader = Reader(outer.take("acceptance"), outer.at("acceptance"))
    named = {name: checks_in(reader, name) for name in sorted(reader.values)}
    unknown = set(named) - {ANY, *(task.id for task in config.tasks)}
    if unknown:
        raise bad(reader.at(min(unknown)), "is no task of the campaign", hint="correct the name, or take it out")
    found: dict[str, tuple[Acceptance, ...]] = {}
    for task in config.tasks:
        checks = named.get(task.id) or named.get(ANY)
        if not checks:
            raise bad(reader.at(task.id), "is missing: nothing could accept the task", hint="give a check for it")
        found[task.id] = checks
    return found


def checks_in(outer: Reader, name: str) -> tuple[Acceptance, ...]:
    """Return the checks of one task."""
    found: list[Acceptance] = []
    for at, value in outer.entries(name):
        reader = Reader(value, at)
        kind = reader.text("kind", default=CheckKind.PROVES)
        probe = probe_in(reader)
        check = Check(
            id=f"{name}-{len(found) + 1}",
            kind=one_of(Reader({}, at), "kind", CheckKind, kind),
            command=probe.command,
            timeout_seconds=probe.timeout_seconds,
            cwd=probe.cwd,
            red_exit_codes=probe.red_exit_codes,
            control=probe.control or None,
        )
        found.append(Acceptance(check=check, files=probe.overlay))
        reader.done()
    if not 1 <= len(found) <= PROBES_MAX:
        raise bad(outer.at(name), f"expected a list of 1 to {PROBES_MAX} checks")
    return tuple(found)


def probes_in(outer: Reader, name: str) -> tuple[Probe, ...]:
    """Return a list of probes, of which there has to be one."""
    found: list[Probe] = []
    for at, value in outer.entries(name):
        reader = Reader(value, at)
        found.append(probe_in(reader))
        reader.done()
    if not 1 <= len(found) <= PROBES_MAX:
        raise bad(outer.at(name), f"expected a list of 1 to {PROBES_MAX} probes")
    return tuple(found)


def reproducers_in(outer: Reader) -> tuple[Reproducer, ...]:
    """Return the reproducers; without one for it, no observation is ever confirmed."""
    found: list[Reproducer] = []
    for at, value in outer.entries("reproducers"):
        reader = Reader(value, at)
        inner = Reader(reader.take("probe"), reader.at("probe"))
        reproducer = Reproducer(
            kind=ObservationKind(reader.choice("kind", ObservationKind, required=True)),
            subject=reader.text("subject", default=ANY),
            probe=probe_in(inner),
        )
        inner.done()
        reader.done()
        if any((one.kind, one.subject) == (reproducer.kind, reproducer.subject) for one in found):
            raise bad(at, f"is a second reproducer for {reproducer.kind} of {reproducer.subject}")
        found.append(reproducer)
    return tuple(found)


def probe_in(reader: Reader) -> Probe:
    """Return a probe; whoever calls says what else its object may hold."""
    files = reader.text("files")
    cwd = reader.text("cwd", default=".")
    if outside(cwd):
        raise bad(reader.at("cwd"), "leaves the tree", hint="name a folder inside it")
    try:
        return Probe(
            command=words_in(reader, "command"),
            overlay=place_in(reader, "files") if files else None,
            cwd=cwd,
            timeout_seconds=reader.number("timeoutSeconds", default=300.0, lowest=0.1, highest=SECONDS_MAX),
            red_exit_codes=codes_in(reader),
            control=words_in(reader, "control"),
        )
    except BadRequest as error:
        if "field" in error.details:
            raise
        raise bad(reader.path, error.message) from error


def codes_in(reader: Reader) -> tuple[int, ...]:
    """Return the exit codes that mean a failed assertion."""
    codes: list[int] = []
    for at, value in reader.entries("redExitCodes"):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= CODE_MAX:
            raise bad(at, f"expected an exit code from 1 to {CODE_MAX}")
        codes.append(value)
    return tuple(codes) or (1,)


def thresholds_in(outer: Reader) -> Thresholds:
    """Return from when on something is worth a look."""
    value: Json = outer.take("thresholds")
    if value is None:
        return Thresholds()
    reader = Reader(value, outer.at("thresholds"))
    slow = Reader(reader.take("slowMsOf") or {}, reader.at("slowMsOf"))
    thresholds = Thresholds(
        errors=reader.whole("errors", default=1, lowest=1, highest=COUNT_MAX),
        missing=reader.whole("missing", default=1, lowest=1, highest=COUNT_MAX),
        slow_ms=reader.whole("slowMs", default=SLOW_MS, lowest=1, highest=SLOW_MS_MAX),
        slow_ms_of={name: slow.whole(name, default=SLOW_MS, lowest=1, highest=SLOW_MS_MAX) for name in slow.values},
    )
    reader.done()
    return thresholds
