"""Durable state behind one port: memory is the executable model, SQLite the embedded engine."""
