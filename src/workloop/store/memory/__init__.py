"""The executable model of a store: what the others must do, in dictionaries."""

from workloop.store.memory.store import MemoryStore

__all__ = ["MemoryStore"]
