"""Where things are and how the loop is set: one file the operator owns becomes one frozen Settings.

Nothing is ever read from a work dir: the file lies in the project's folder of the user's state directory, or is named
by --config or WORKLOOP_CONFIG.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workloop.domain.errors import BadRequest, NotFound
from workloop.domain.reader import Json, Reader, bad

CONFIG_NAME = "workloop.toml"
STORE_NAME = "store.db"
ENDPOINT_NAME = "endpoint.json"
HARNESSES = ("claude", "command", "scripted")
SESSIONS_MAX = 64
SECONDS_MAX = 7 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A project's work dir and its private folder, which never lies inside the work dir."""

    repository: Path
    folder: Path

    @property
    def config(self) -> Path:
        """Return the path of the settings file."""
        return self.folder / CONFIG_NAME

    @property
    def store(self) -> Path:
        """Return the path of the embedded store."""
        return self.folder / STORE_NAME

    @property
    def operator_token(self) -> Path:
        """Return the path of the token that a running loop gives its operator."""
        return self.folder / "operator.token"

    @property
    def endpoint(self) -> Path:
        """Return the path where a running loop says how it is reached."""
        return self.folder / ENDPOINT_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBounds:
    """The clocks of one session, in seconds: no event, no progress, and in all."""

    silent_seconds: float = 1200.0
    idle_seconds: float = 1800.0
    wall_seconds: float = 7200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """How the loop runs; `idle_poll_seconds` is how often it looks when nothing tells it to."""

    harness: str = "claude"
    sessions_max: int = 1
    idle_poll_seconds: float = 60.0
    bounds: SessionBounds = field(default_factory=SessionBounds)
    environment: tuple[str, ...] = ()
    integration_branch: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessSettings:
    """How one agent program is started; what does not apply to it stays empty."""

    command: tuple[str, ...] = ()
    model: str = ""
    home: str = "operator"
    turns_max: int | None = None
    cost_micros_max: int | None = None
    script: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that wiring needs to know."""

    place: Place
    campaign: str
    campaign_table: Json
    loop: LoopSettings
    harnesses: Mapping[str, HarnessSettings]


def state_home(environment: Mapping[str, str]) -> Path:
    """Return the folder of all projects: WORKLOOP_STATE, or workloop in the user's state directory (XDG)."""
    named = environment.get("WORKLOOP_STATE")
    if named:
        return Path(named).expanduser().resolve()
    base = environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base).resolve() / "workloop"


def find_repository(start: Path) -> Path:
    """Return the main work tree that a folder belongs to; raises NotFound outside of git."""
    for folder in (start, *start.parents):
        marker = folder / ".git"
        if marker.is_dir():
            return folder
        if marker.is_file():
            return main_work_tree(folder, marker)
    raise NotFound("NO_REPOSITORY", f"{start} is not inside a git repository", hint="go into one, or name it with -C")


def main_work_tree(folder: Path, marker: Path) -> Path:
    """Return the main work tree of a linked one; a submodule is its own repository."""
    text = marker.read_text(encoding="utf-8", errors="replace").strip()
    target = (folder / text.removeprefix("gitdir:").strip()).resolve()
    if target.parent.name == "worktrees" and target.parent.parent.name == ".git":
        return target.parent.parent.parent
    return folder


def place_of(repository: Path, environment: Mapping[str, str]) -> Place:
    """Return where a repository's private folder is; raises BadRequest when it would lie inside the work dir."""
    repository = repository.resolve()
    name = re.sub(r"[^a-z0-9]+", "-", repository.name.lower()).strip("-")[:30] or "project"
    digest = hashlib.sha256(os.fsencode(repository)).hexdigest()[:10]
    folder = state_home(environment) / f"{name}-{digest}"
    if folder == repository or repository in folder.parents:
        raise BadRequest(
            "STATE_IN_WORK_DIR",
            f"the state directory {folder} lies inside the work dir {repository}",
            hint="set WORKLOOP_STATE to a folder outside of it",
        )
    return Place(repository=repository, folder=folder)


def load(start: Path, environment: Mapping[str, str], config: Path | None = None) -> Settings:
    """Read the settings that hold for a folder; raises NotFound before `workloop init`."""
    place = place_of(find_repository(start.resolve()), environment)
    named = environment.get("WORKLOOP_CONFIG")
    path = config or (Path(named) if named else place.config)
    if not path.is_file():
        raise absent(place, path)
    if place.repository in path.resolve().parents:
        raise BadRequest(
            "CONFIG_IN_WORK_DIR",
            f"{path} lies inside the work dir, where a session could change it",
            hint="move it out of the repository",
        )
    return parse(read_text(path), place, environment, str(path))


def read_text(path: Path) -> str:
    """Read a settings file; raises BadRequest when it is not UTF-8."""
    data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadRequest("CONFIG_MALFORMED", f"{path}: line {line} is not UTF-8", hint="save it as UTF-8") from error


def absent(place: Place, path: Path) -> NotFound:
    """Build the refusal of settings that are not there: the project's own come with init, named ones are a mistake."""
    if path == place.config:
        return NotFound("NOT_INITIALISED", f"{place.repository} has no campaign yet", hint="run workloop init")
    hint = "check --config or WORKLOOP_CONFIG, or leave it out"
    return NotFound("CONFIG_NOT_FOUND", f"there is no settings file {path}", hint=hint)


def parse(text: str, place: Place, environment: Mapping[str, str], name: str) -> Settings:
    """Read settings strictly: unknown keys are refused by their path."""
    import tomllib

    try:
        values: Json = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadRequest("CONFIG_MALFORMED", f"{name}: {error}", hint="correct the file") from error
    reader = Reader(values)
    table = Reader(reader.take("campaign") or {}, "campaign")
    slug = table.text("name", default="main")
    campaign: Json = {key: value for key, value in table.values.items() if key != "name"}
    settings = Settings(
        place=place,
        campaign=environment.get("WORKLOOP_CAMPAIGN") or slug,
        campaign_table=campaign,
        loop=read_loop(reader.take("loop") or {}),
        harnesses=read_harnesses(reader.take("harness") or {}),
    )
    reader.done()
    return settings


def read_loop(value: Json) -> LoopSettings:
    """Read how the loop runs."""
    reader, usual, bounds = Reader(value, "loop"), LoopSettings(), SessionBounds()
    harness = reader.text("harness", default=usual.harness)
    if harness not in HARNESSES:
        raise bad("loop.harness", f"{harness!r} is not one of {', '.join(HARNESSES)}")
    loop = LoopSettings(
        harness=harness,
        sessions_max=reader.whole("sessions_max", default=usual.sessions_max, lowest=1, highest=SESSIONS_MAX),
        idle_poll_seconds=reader.number("idle_poll_seconds", default=60.0, lowest=0.05, highest=3600.0),
        bounds=SessionBounds(
            silent_seconds=seconds(reader, "silent_seconds", bounds.silent_seconds),
            idle_seconds=seconds(reader, "idle_seconds", bounds.idle_seconds),
            wall_seconds=seconds(reader, "wall_seconds", bounds.wall_seconds),
        ),
        environment=reader.texts("environment"),
        integration_branch=reader.text("integration_branch"),
    )
    reader.done()
    return loop


def seconds(reader: Reader, name: str, default: float) -> float:
    """Read one of a session's clocks."""
    return reader.number(name, default=default, lowest=0.1, highest=SECONDS_MAX)


def read_harnesses(value: Json) -> dict[str, HarnessSettings]:
    """Read how each agent program is started."""
    reader = Reader(value, "harness")
    found = {name: read_harness(reader.take(name) or {}, f"harness.{name}") for name in HARNESSES}
    reader.done()
    return found


def read_harness(value: Json, path: str) -> HarnessSettings:
    """Read how one agent program is started."""
    reader = Reader(value, path)
    home = reader.text("home", default="operator")
    if home not in ("operator", "own"):
        raise bad(reader.at("home"), f"{home!r} is not operator or own")
    cost = reader.number("cost_usd_max", default=0.0, lowest=0.0, highest=100_000.0)
    settings = HarnessSettings(
        command=reader.texts("command"),
        model=reader.text("model"),
        home=home,
        turns_max=reader.whole("turns_max", default=0, lowest=0, highest=100_000) or None,
        cost_micros_max=round(cost * 1_000_000) or None,
        script=reader.text("script"),
    )
    reader.done()
    return settings


SAMPLE = """\
# Workloop's settings for {repository}
# Only this file is read; nothing in the repository can change it.

[campaign]
name = "main"
slots = 3                     # items in work at the same time
landing = "none"              # or "local-merge": merge what is verified into the integration branch

[campaign.boundaries]         # decisions that only a person may take, and the question each one asks
spend-money = "May this cost money, and how much?"
delete-data = "May this data be deleted for good?"

[campaign.defaults]
boundaries = ["spend-money", "delete-data"]
# verification = "both"       # host checks, then an independent session; or "host", "session", "none"
# guards = [{{ id = "suite", command = "python -m pytest -q" }}]

[loop]
harness = "claude"            # or "command", "scripted"
sessions_max = 1              # agent sessions at the same time
integration_branch = "{branch}"
# environment = ["ANTHROPIC_API_KEY"]   # variables that sessions may see, beyond PATH, HOME and the locale

[harness.claude]
# model = "sonnet"
# turns_max = 200
# cost_usd_max = 5.0          # per session
"""


def sample(place: Place, branch: str) -> str:
    """Return the settings file that `workloop init` writes."""
    return SAMPLE.format(repository=place.repository, branch=branch)
