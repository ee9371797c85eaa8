"""Which projects one loop drives: each by name with its work dir, MCP files, hours and bounds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workloop.config.hours import ActiveHours, read_hours
from workloop.config.landing import LandingConfig, read_landing
from workloop.config.lanes import LaneConfig, read_lanes
from workloop.config.names import check_name
from workloop.config.paths import absolute, read_path
from workloop.config.trackers import TrackerConfig, read_tracker
from workloop.domain.reader import Json, Reader, bad

SESSIONS_MAX = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetConfig:
    """What one loop over several projects knows of one of them; paused is the reason, empty when it is not."""

    work_dir: Path
    campaign: str = ""
    integration_branch: str = ""
    mcp_config_path: Path | None = None
    mcp_config_paths: Mapping[str, Path] = field(default_factory=dict[str, Path])
    agents: tuple[str, ...] = ()
    active_hours: ActiveHours | None = None
    sessions_max: int | None = None
    paused: str = ""
    tracker: TrackerConfig | None = None
    lanes: Mapping[str, LaneConfig] = field(default_factory=dict[str, LaneConfig])
    landing: LandingConfig = field(default_factory=LandingConfig)


def read_targets(value: Json, base: Path) -> dict[str, TargetConfig]:
    """Read every project of a loop over several; no two share a work dir."""
    reader = Reader(value, "target")
    found = {
        check_name(name, reader.at(name)): read_target(reader.take(name), reader.at(name), base)
        for name in reader.values
    }
    owners = dict[Path, str]()
    for name, target in found.items():
        other = owners.setdefault(target.work_dir, name)
        if other != name:
            raise bad(f"target.{name}.work_dir", f"is the work dir of target {other} too", hint="leave one out")
    return found


def read_target(value: Json, path: str, base: Path) -> TargetConfig:
    """Read one project."""
    reader = Reader(value, path)
    work_dir = absolute(reader.text("work_dir", required=True), base).resolve()
    target = TargetConfig(
        work_dir=work_dir,
        campaign=reader.text("campaign"),
        integration_branch=reader.text("integration_branch"),
        mcp_config_path=read_path(reader, "mcp_config", base),
        mcp_config_paths={name: absolute(text, base) for name, text in reader.table("mcp_configs").items()},
        agents=read_agents(reader),
        active_hours=read_hours(reader),
        sessions_max=reader.whole_bound("sessions_max", highest=SESSIONS_MAX),
        paused=reader.text("paused"),
        tracker=read_tracker(reader.take("tracker"), reader.at("tracker"), work_dir),
        landing=read_landing(reader.take("landing"), reader.at("landing")),
        lanes=read_lanes(reader.take("lane"), base, reader.at("lane")),
    )
    reader.done()
    return target


def read_agents(reader: Reader) -> tuple[str, ...]:
    """Read which harnesses may do the work instead of each other, the preferred one first; none is there twice."""
    agents = reader.texts("agents")
    if len(set(agents)) < len(agents):
        raise bad(reader.at("agents"), "names a harness twice", hint="name each once, the preferred one first")
    return agents
