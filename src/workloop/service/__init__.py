"""The use cases: each write is one transaction and one event per changed item."""
