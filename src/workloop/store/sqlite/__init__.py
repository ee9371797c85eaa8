"""The embedded engine: one file, safe for many processes on one host."""
