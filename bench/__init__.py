"""Measurements of Workloop against bare SQLite on the same machine in the same run."""
