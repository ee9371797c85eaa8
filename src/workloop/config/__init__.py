"""Where things are and how the loop is set: files that the operator owns become one frozen Settings."""

from workloop.config.budgets import Budgets
from workloop.config.disk import DiskConfig
from workloop.config.driver import DriverConfig, Retention, SessionBounds, read_driver
from workloop.config.folder import make_private, require_own
from workloop.config.harnesses import HarnessConfig, HarnessHome, HarnessKind, read_harness
from workloop.config.hours import ActiveHours
from workloop.config.phases import PhaseConfig
from workloop.config.place import CONFIG_NAME, Place, find_repository, loop_folder, place_of, state_home
from workloop.config.reading import Settings, TargetSettings, control_folder, load, load_loop, parse
from workloop.config.sample import sample
from workloop.config.sandbox import NetworkWish, SandboxConfig, SandboxWish
from workloop.config.targets import TargetConfig
from workloop.config.trackers import TrackerConfig, TrackerKind
from workloop.config.trust import read_secret, read_trusted
from workloop.domain.limits import OnLimit

__all__ = [
    "CONFIG_NAME",
    "ActiveHours",
    "Budgets",
    "DiskConfig",
    "DriverConfig",
    "HarnessConfig",
    "HarnessHome",
    "HarnessKind",
    "NetworkWish",
    "OnLimit",
    "PhaseConfig",
    "Place",
    "Retention",
    "SandboxConfig",
    "SandboxWish",
    "SessionBounds",
    "Settings",
    "TargetConfig",
    "TargetSettings",
    "TrackerConfig",
    "TrackerKind",
    "control_folder",
    "find_repository",
    "load",
    "load_loop",
    "loop_folder",
    "make_private",
    "parse",
    "place_of",
    "read_driver",
    "read_harness",
    "read_secret",
    "read_trusted",
    "require_own",
    "sample",
    "state_home",
]
