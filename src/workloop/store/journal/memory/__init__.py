"""A journal and a host's places that live as long as their process, for simulations and tests."""

from workloop.store.journal.memory.journal import MemoryJournal
from workloop.store.journal.memory.slots import MemoryHostSlots

__all__ = ["MemoryHostSlots", "MemoryJournal"]
