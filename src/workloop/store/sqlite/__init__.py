"""The embedded store: one SQLite file, safe for many processes of one host."""

from workloop.store.sqlite.store import SqliteSettings, SqliteStore

__all__ = ["SqliteSettings", "SqliteStore"]
