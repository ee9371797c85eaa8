"""Workloop keeps coding agents working through a backlog and believes nothing it has not checked."""

__version__ = "0.1.0"

PUBLISHED = (
    "BacklogMd",
    "Driver",
    "DriverConfig",
    "HarnessConfig",
    "HarnessKind",
    "LoopEndReason",
    "LoopReport",
    "Mirror",
    "NetworkWish",
    "ObservedClaim",
    "Poll",
    "Poller",
    "Releaser",
    "SandboxConfig",
    "SandboxWish",
    "Target",
    "open_queue",
)
USUAL = "workloop.interfaces.python"
ELSEWHERE = {
    "BacklogMd": "workloop.trackers.backlog_md",
    "Mirror": "workloop.trackers.mirror",
}


def __getattr__(name: str) -> object:
    """Load a published name when it is first asked for, so that a short command loads none of them."""
    if name not in PUBLISHED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(ELSEWHERE.get(name, USUAL)), name)


def __dir__() -> list[str]:
    """Name what is published."""
    return sorted(("__version__", *PUBLISHED))
