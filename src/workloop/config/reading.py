"""How a settings file becomes one frozen Settings: named by the operator, or in the project's own private folder.

Nothing is ever read from a work dir. A file with [target.*] tables is about a loop over several projects; each of them
keeps its store, and its [campaign] table, in its own private folder.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from workloop.config.budgets import read_budgets
from workloop.config.disk import read_disk
from workloop.config.driver import DriverConfig, read_driver
from workloop.config.folder import require_own
from workloop.config.harnesses import read_harnesses
from workloop.config.landing import read_landing
from workloop.config.lanes import read_lanes
from workloop.config.meter import read_meter
from workloop.config.place import CONFIG_NAME, Place, find_repository, loop_folder, place_of, refuse_inside, short_name
from workloop.config.sandbox import read_sandbox
from workloop.config.targets import TargetConfig, read_targets
from workloop.config.trackers import read_tracker
from workloop.config.trust import read_trusted
from workloop.domain.errors import BadRequest, NotFound
from workloop.domain.reader import Json, Reader, bad

OF_PROJECTS = ("campaign", "tracker", "landing", "lane", "target")
"""Tables of a settings file that say nothing of agents and walls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSettings:
    """One project of a loop: where it is, which campaign is worked on, and what the file says of it."""

    name: str
    place: Place
    campaign: str
    campaign_table: Json
    config: TargetConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that wiring needs to know: the project that a command is about, and the loop over it and others."""

    place: Place
    campaign: str
    campaign_table: Json
    loop: DriverConfig
    folder: Path
    source: Path | None = None
    targets: tuple[TargetSettings, ...] = field(default=())

    @property
    def harness_names(self) -> tuple[str, ...]:
        """Return every harness that sessions of the loop can be started with, its own first."""
        return self.loop.harness_names(agent for target in self.targets for agent in target.config.agents)


def load(start: Path, environment: Mapping[str, str], config: Path | None = None, *, whole: bool = False) -> Settings:
    """Read the settings that hold for a folder; raises NotFound before `workloop init`.

    With whole, the settings are those of a loop: a file over several projects is read from anywhere, and a settings
    file that lies in a work dir is refused instead of ignored.
    """
    named = environment.get("WORKLOOP_CONFIG")
    chosen = config or (Path(named) if named else None)
    if chosen is None:
        place = place_of(find_repository(start.resolve()), environment)
        settings = load_single(place.config, place, environment)
    else:
        settings = load_named(chosen.absolute(), start, environment, whole=whole)
    if whole:
        refuse_strays(settings, named=chosen is not None)
    return settings


def control_folder(start: Path, environment: Mapping[str, str], config: Path | None = None) -> Path:
    """Return where a loop looks for orders, whatever its settings file says; a mistake in it stops nobody's brake."""
    named = environment.get("WORKLOOP_CONFIG")
    chosen = config or (Path(named) if named else None)
    if chosen is not None:
        folder = loop_folder(chosen.absolute(), environment)
        if folder.is_dir():
            return folder
    return place_of(find_repository(start.resolve()), environment).folder


def load_single(path: Path, place: Place, environment: Mapping[str, str]) -> Settings:
    """Read the settings of one project."""
    if not path.is_file():
        raise absent(place)
    require_own(place.folder)
    refuse_config_inside(path, place.repository)
    return parse(read_trusted(path), place, environment, str(path))


def load_named(path: Path, start: Path, environment: Mapping[str, str], *, whole: bool) -> Settings:
    """Read a named file, which may be about several projects."""
    if not path.is_file():
        hint = "check --config or WORKLOOP_CONFIG, or leave it out"
        raise NotFound("CONFIG_NOT_FOUND", f"there is no settings file {path}", hint=hint)
    text = read_trusted(path)
    values = toml(text, str(path))
    if "target" not in values:
        place = place_of(find_repository(start.resolve()), environment)
        refuse_config_inside(path, place.repository)
        return parse_values(values, place, environment, path)
    settings = parse_targets(values, path, environment)
    return settings if whole else selected(settings, start)


def parse(text: str, place: Place, environment: Mapping[str, str], name: str) -> Settings:
    """Read one project's settings strictly: unknown keys are refused by their path."""
    return parse_values(toml(text, name), place, environment, Path(name))


def parse_values(values: Mapping[str, Json], place: Place, environment: Mapping[str, str], source: Path) -> Settings:
    """Read one project's settings out of its tables."""
    reader = Reader(values)
    slug, table = read_campaign(reader.take("campaign"), environment)
    loop = read_loop(reader, source.parent)
    tracker = read_tracker(reader.take("tracker"), "tracker", place.repository)
    landing = read_landing(reader.take("landing"))
    lanes = read_lanes(reader.take("lane"), source.parent)
    reader.done()
    loop = replace(loop, work_dir=place.repository, state_dir=loop.state_dir or place.folder, campaign=slug)
    return finished(
        Settings(
            place=place,
            campaign=slug,
            campaign_table=table,
            loop=loop,
            folder=loop.state_dir or place.folder,
            source=source,
            targets=(
                TargetSettings(
                    name=short_name(place.repository),
                    place=place,
                    campaign=slug,
                    campaign_table=table,
                    config=TargetConfig(
                        work_dir=place.repository,
                        integration_branch=loop.integration_branch,
                        tracker=tracker,
                        lanes=lanes,
                        landing=landing,
                    ),
                ),
            ),
        )
    )


def parse_targets(values: Mapping[str, Json], path: Path, environment: Mapping[str, str]) -> Settings:
    """Read a loop over several projects out of its tables."""
    reader = Reader(values)
    targets = read_targets(reader.take("target"), path.parent)
    if not targets:
        raise bad("target", "names no project", hint='for example [target.shop] work_dir = "~/shop"')
    if reader.take("campaign") is not None:
        hint = "it belongs into the settings file of each project, in its private folder"
        raise bad("campaign", "is refused beside [target.*]", hint=hint)
    if reader.take("tracker") is not None:
        hint = "name the project that it belongs to: [target.NAME.tracker]"
        raise bad("tracker", "is refused beside [target.*]", hint=hint)
    if reader.take("lane") is not None:
        hint = "name the project that it belongs to: [target.NAME.lane.LANE]"
        raise bad("lane", "is refused beside [target.*]", hint=hint)
    loop = with_agents(read_loop(reader, path.parent), targets)
    reader.done()
    places = tuple(read_project(name, target, environment) for name, target in targets.items())
    folder = loop.state_dir or loop_folder(path, environment)
    first = places[0]
    return finished(
        Settings(
            place=first.place,
            campaign=first.campaign,
            campaign_table=first.campaign_table,
            loop=replace(loop, state_dir=folder),
            folder=folder,
            source=path,
            targets=places,
        )
    )


def with_agents(loop: DriverConfig, targets: Mapping[str, TargetConfig]) -> DriverConfig:
    """Return settings that describe every harness that a project names for itself."""
    found = dict(loop.harnesses)
    for name, target in targets.items():
        for number, agent in enumerate(target.agents):
            found[agent] = loop.harness_config(agent, f"target.{name}.agents[{number}]")
    return replace(loop, harnesses=found)


def read_project(name: str, target: TargetConfig, environment: Mapping[str, str]) -> TargetSettings:
    """Read what one project of several says of its own campaign."""
    path = f"target.{name}.work_dir"
    if not target.work_dir.is_dir():
        raise bad(path, f"{target.work_dir} is not a folder", hint="name the project's folder")
    place = place_of(find_repository(target.work_dir), environment)
    if place.repository != target.work_dir:
        raise bad(path, f"{target.work_dir} is not the top of its repository", hint=f"name {place.repository}")
    if not place.config.is_file():
        raise absent(place)
    require_own(place.folder)
    own = toml(read_trusted(place.config), str(place.config))
    slug, table = read_campaign(own.get("campaign"), {})
    campaign = target.campaign or slug
    return TargetSettings(name=name, place=place, campaign=campaign, campaign_table=table, config=target)


def read_campaign(value: Json, environment: Mapping[str, str]) -> tuple[str, Json]:
    """Return the campaign's name, and its table without it."""
    table = Reader({} if value is None else value, "campaign")
    slug = table.text("name", default="main")
    rest: Json = {key: entry for key, entry in table.values.items() if key != "name"}
    return environment.get("WORKLOOP_CAMPAIGN") or slug, rest


def read_loop(reader: Reader, base: Path) -> DriverConfig:
    """Read what the tables of a file say of the loop, its harnesses and its phases."""
    harnesses = read_harnesses(reader.take("harness") or {}, base)
    phases = reader.take("phase")
    if phases:
        from workloop.config.phases import read_phases

        found = read_phases(tuple(reader.entries("phase")), base)
    else:
        found = ()
    loop = read_driver(reader.take("loop") or {}, base, harnesses, found)
    loop = replace(loop, budgets=read_budgets(reader.take("budget")))
    loop = replace(loop, sandbox=read_sandbox(reader.take("sandbox"), base))
    loop = replace(loop, disk=read_disk(reader.take("disk")))
    loop = replace(loop, meter=read_meter(reader.take("meter")))
    loop.harness_config(path="loop.harness")
    for number, name in enumerate(loop.agents):
        loop.harness_config(name, f"loop.agents[{number}]")
    for number, phase in enumerate(found):
        loop.harness_config(phase.harness, f"phase[{number}].harness")
    return loop


def load_loop(path: Path) -> DriverConfig:
    """Read what a settings file says of agents, walls and the meter, whatever projects it is about."""
    if not path.is_file():
        raise NotFound("CONFIG_NOT_FOUND", f"there is no settings file {path}", hint="check --settings")
    reader = Reader(toml(read_trusted(path), str(path)))
    for name in OF_PROJECTS:
        reader.take(name)
    loop = read_loop(reader, path.parent)
    reader.done()
    return loop


def finished(settings: Settings) -> Settings:
    """Refuse settings whose private folder or file lies where a session can write."""
    work_dirs = tuple(target.place.repository for target in settings.targets)
    refuse_inside(settings.folder.resolve(), work_dirs)
    if settings.source is not None and settings.source.is_absolute():
        for work_dir in work_dirs:
            refuse_config_inside(settings.source, work_dir)
    return settings


def selected(settings: Settings, start: Path) -> Settings:
    """Return the settings for the project that a folder belongs to; raises NotFound when it is none of the loop's."""
    repository = find_repository(start.resolve()).resolve()
    for target in settings.targets:
        if target.place.repository == repository:
            return replace(settings, place=target.place, campaign=target.campaign, campaign_table=target.campaign_table)
    names = ", ".join(f"{target.name} ({target.place.repository})" for target in settings.targets)
    hint = f"go into one with -C: {names}"
    raise NotFound("NOT_A_TARGET", f"{repository} is no project of {settings.source}", hint=hint)


def refuse_config_inside(path: Path, repository: Path) -> None:
    """Raise BadRequest for a settings file that a session could change."""
    if repository in path.resolve().parents or repository in path.parents:
        raise BadRequest(
            "CONFIG_IN_WORK_DIR",
            f"{path} lies inside the work dir, where a session could change it",
            hint="move it out of the repository",
        )


def refuse_strays(settings: Settings, *, named: bool) -> None:
    """Refuse to run beside a settings file that looks as if it held, while another one does."""
    for target in () if named else settings.targets:
        stray = target.place.repository / CONFIG_NAME
        if stray.exists() or stray.is_symlink():
            raise BadRequest(
                "CONFIG_IN_WORK_DIR",
                f"{stray} is never read: a session could change it",
                hint=f"move what you want of it to {target.place.config} and remove it, or name that with --config",
            )


def toml(text: str, name: str) -> Mapping[str, Json]:
    """Read TOML; raises BadRequest for what is none."""
    import tomllib

    try:
        values: Mapping[str, Json] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadRequest("CONFIG_MALFORMED", f"{name}: {error}", hint="correct the file") from error
    return values


def absent(place: Place) -> NotFound:
    """Build the refusal of a project without settings of its own."""
    return NotFound("NOT_INITIALISED", f"{place.repository} has no campaign yet", hint="run workloop init")
