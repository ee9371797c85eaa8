"""Which journal a loop writes and people read, and which places its host has for sessions."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from workloop.config import Settings, state_home
from workloop.domain.errors import IntegrityFault
from workloop.store.journal.port import HostSlots, Journal, JournalReading

JOURNAL_NAME: Final = "journal.db"
SLOTS_NAME: Final = "host-slots"


def open_journal(folder: Path, told: Callable[[IntegrityFault, Path], None]) -> Journal:
    """Open a loop's journal in its private folder; one beyond use is renamed, which `told` is given, and begun anew."""
    from workloop.store.journal.sqlite import SqliteJournal

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return SqliteJournal(folder / JOURNAL_NAME, told)


def read_journal(settings: Settings) -> JournalReading:
    """Open the journal of the loop that settings are about; raises NotFound before its first run."""
    from workloop.store.journal.sqlite import read_journal as read

    return read(settings.folder / JOURNAL_NAME)


def host_slots(environment: Mapping[str, str]) -> HostSlots:
    """Return the places for sessions that all loops of this user share on this host."""
    from workloop.store.journal.slots import FileHostSlots

    return FileHostSlots(state_home(environment) / SLOTS_NAME)
