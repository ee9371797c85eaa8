"""How things that are made for every line of a session are kept from being changed: by the type checker, for nothing.

A frozen dataclass makes sure at run time too, and that costs more than all the rest of making one.
"""

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def frozen(cls: type[T]) -> type[T]:
    """Make a dataclass with slots that compares and hashes by value."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
