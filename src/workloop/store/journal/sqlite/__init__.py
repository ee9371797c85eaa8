"""A journal in one SQLite file."""

from workloop.store.journal.sqlite.journal import SqliteJournal, read_journal

__all__ = ["SqliteJournal", "read_journal"]
