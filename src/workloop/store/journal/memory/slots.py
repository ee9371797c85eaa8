"""A host's places for sessions that only the loops of one process share."""

from workloop.domain.journal import SlotHolder


class MemorySlotHold:
    """One place of a process's own places."""

    def __init__(self, slots: "MemoryHostSlots", number: int) -> None:
        self.slots = slots
        self.number = number

    def release(self) -> None:
        """Give the place back; repeating it is harmless."""
        self.slots.taken.pop(self.number, None)


class MemoryHostSlots:
    """Places that only the loops of one process share, for simulations and tests."""

    def __init__(self) -> None:
        self.taken: dict[int, str] = {}
        self.given = 0

    def take(self, most: int, what: str) -> MemorySlotHold | None:
        """Take a place unless `most` are taken."""
        if len(self.taken) >= most:
            return None
        self.given += 1
        self.taken[self.given] = what
        return MemorySlotHold(self, self.given)

    def holders(self) -> list[SlotHolder]:
        """Return who has a place now."""
        return [SlotHolder(number=number, pid=0, what=what) for number, what in sorted(self.taken.items())]
