"""What any other tracker's backlog is reduced to before it may enter ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Standing(StrEnum):
    """Where an entry stands in its own tracker: free to be taken, in somebody's hands, or over."""

    OPEN = "open"
    TAKEN = "taken"
    OVER = "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of another tracker; `needs` are ids of the same tracker, `source` is where a person finds it."""

    id: str
    title: str
    objective: str
    standing: Standing
    source: str
    needs: tuple[str, ...] = ()
    priority: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Every entry that could be read, and one sentence for each that could not."""

    entries: tuple[Entry, ...]
    problems: tuple[str, ...] = ()


class Tracker(Protocol):
    """A backlog that is kept elsewhere."""

    @property
    def name(self) -> str:
        """Return the short name that principals and families are made of."""
        ...

    def stamp(self) -> Sequence[object]:
        """Return something cheap that differs whenever the backlog may have changed."""
        ...

    def read(self) -> Listing:
        """Read all of it; raises NotFound or OSError when it is not there."""
        ...
