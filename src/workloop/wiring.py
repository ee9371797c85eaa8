"""Settings become a store, a queue, a client and a harness; the only module that names concrete ones."""

import getpass
from collections.abc import Mapping
from pathlib import Path

from workloop.client import Client, LocalClient, RemoteClient
from workloop.config import HarnessSettings, Place, Settings
from workloop.domain.errors import BadRequest
from workloop.domain.grants import Actor, Grant
from workloop.runner.harness.port import Harness
from workloop.service.call import OutcomeProbe, Queue
from workloop.store.port import Store
from workloop.store.system import SystemClock, SystemIds


def open_store(place: Place, *, create: bool = False, read_only: bool = False) -> Store:
    """Open a project's embedded store; raises StoreUnavailable or IntegrityFault saying what to do."""
    from workloop.store.sqlite.store import SqliteSettings, SqliteStore

    def inside(path: Path) -> bool:
        return place.repository in path.parents

    settings = SqliteSettings(path=place.store, create=create, read_only=read_only, inside_work_dir=inside)
    return SqliteStore(settings, SystemClock(), SystemIds())


def open_queue(settings: Settings, probe: OutcomeProbe | None = None) -> Queue:
    """Open the campaign that settings name."""
    return Queue(store=open_store(settings.place), ids=SystemIds(), slug=settings.campaign, probe=probe)


def operator() -> Actor:
    """Return the person at this terminal, who may do everything but make receipts."""
    return Actor(principal=f"person:{getpass.getuser()}", grant=Grant.OPERATOR)


def host_actor() -> Actor:
    """Return the loop itself, the only one that makes receipts."""
    return Actor(principal="host", grant=Grant.OPERATOR, host=True)


def remote_client(environment: Mapping[str, str]) -> Client | None:
    """Return a client of the loop that WORKLOOP_URL names, or None when it names none."""
    url = environment.get("WORKLOOP_URL")
    if not url:
        return None
    token_file = environment.get("WORKLOOP_TOKEN_FILE")
    if not token_file:
        raise BadRequest(
            "TOKEN_MISSING",
            "WORKLOOP_URL is set but WORKLOOP_TOKEN_FILE is not",
            hint="point WORKLOOP_TOKEN_FILE at the file that holds the token",
        )
    try:
        token = Path(token_file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise BadRequest(
            "TOKEN_UNREADABLE", f"{token_file} cannot be read: {error.strerror}", hint="check the path and its mode"
        ) from error
    return RemoteClient(url, token)


def local_client(settings: Settings, actor: Actor | None = None) -> Client:
    """Return a client on a project's own store, as the person at this terminal unless another actor is given."""
    from workloop.runner.probe import RepositoryProbe

    probe = RepositoryProbe(settings.place.repository, settings.loop.integration_branch or None)
    return LocalClient(open_queue(settings, probe), actor or operator())


def make_harness(settings: Settings, name: str) -> Harness:
    """Return the adapter of one agent program, configured."""
    chosen = settings.harnesses.get(name, HarnessSettings())
    match name:
        case "claude":
            from workloop.runner.harness.claude import ClaudeConfig, ClaudeHarness, ClaudeHome

            home = ClaudeHome(chosen.home)
            return ClaudeHarness(
                ClaudeConfig(
                    binary=chosen.command[0] if chosen.command else None,
                    extra_args=chosen.command[1:],
                    home=home,
                    home_dir=settings.place.folder / "homes" / "claude" if home is ClaudeHome.OWN else None,
                )
            )
        case "command":
            from workloop.runner.harness.command import CommandConfig, CommandHarness

            return CommandHarness(CommandConfig(argv=chosen.command))
        case "scripted":
            from workloop.runner.harness.scripted import ScriptedConfig, ScriptedHarness

            return ScriptedHarness(ScriptedConfig(script=Path(chosen.script)))
        case _:
            raise BadRequest(
                "HARNESS_UNKNOWN", f"no harness {name!r}", hint="use claude, command or scripted", field="harness"
            )
