"""How a command looks into the journal of the loop that drives a project, which only this host's user can."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from workloop.domain.errors import BadRequest
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Option
from workloop.service.arguments import Shape

if TYPE_CHECKING:
    from workloop.domain.journal import RunRow
    from workloop.store.journal.port import JournalReading

LIMIT_USUAL = 20
LIMIT_MOST = 5_000
TARGET = Option(("--target",), "target", Shape.TEXT, "of one target of the loop only")


def limit_option(usual: int) -> Option:
    """Return the option that bounds a list."""
    return Option(("--limit",), "limit", Shape.WHOLE, f"the newest so many at most, {usual} unless given")


def is_remote(invocation: Invocation) -> bool:
    """Tell whether the caller is an agent or reaches a loop over the network, who see no journal."""
    return bool(invocation.environment.get("WORKLOOP_URL") or invocation.environment.get("WORKLOOP_TOKEN"))


def require_here(invocation: Invocation, said: str) -> None:
    """Raise BadRequest for a caller who is not at the loop's own host."""
    if is_remote(invocation):
        raise BadRequest("LOCAL_ONLY", said, hint="unset WORKLOOP_URL and WORKLOOP_TOKEN")


@contextmanager
def journal_of(invocation: Invocation) -> "Generator[JournalReading]":
    """Open the loop's journal for one command; raises NotFound before the loop's first run."""
    require_here(invocation, "the loop's journal is read on its own host")
    from workloop.wiring.journal import read_journal

    journal = read_journal(invocation.settings())
    try:
        yield journal
    finally:
        journal.close()


def loop_alive(journal: "JournalReading") -> bool | None:
    """Tell whether the last loop of a journal still runs; None when that cannot be known from here."""
    runs = journal.runs(1)
    return is_alive(runs[0] if runs else None)


def is_alive(run: "RunRow | None") -> bool | None:
    """Tell whether the process of a run is there; None when that cannot be known from here."""
    if run is None or run.ended_at is not None:
        return False
    if run.host != os.uname().nodename:
        return None
    try:
        os.kill(run.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
