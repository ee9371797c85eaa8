"""What the bundled driver needs of the host besides its campaign: agents, walls for checks, runtimes and time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workloop.config.harnesses import HarnessKind
from workloop.domain.clock import Clock
from workloop.repair.runtimes.store import RuntimeStore
from workloop.runner.sandbox.enclosure import Enclosure, Rooms


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent of the settings: what it is, what the operator set of it, and whether its model calls are metered."""

    kind: HarnessKind
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    command: tuple[str, ...] = ()
    metered: bool = False
    walled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """The host; `state` is its own folder for the trees of checks, `rooms` what checks may see or must not."""

    clock: Clock
    monotonic: Callable[[], int]
    store: RuntimeStore
    agent: Callable[[str], Agent]
    enclosure: Enclosure
    rooms: Rooms
    environment: Mapping[str, str]
    state: Path
