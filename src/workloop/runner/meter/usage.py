"""What a call has used, as far as its answer tells, and what is assumed where it does not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from workloop.domain.session import Tokens

CHARACTERS_PER_TOKEN = 3  # of the copy that was seen; real text has more, so that a guess is rather too dear
BYTES_PER_INPUT_TOKEN = 4
TOKENS_MAX = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What one answer came to.

    complete: the provider named its final figure, so that the tokens are its own; failed: the answer said that it
    broke off. extras are counts beside the four buckets that have a price of their own, context what the price
    depends on, both under the names that the price list has for them.
    """

    tokens: Tokens = field(default_factory=Tokens)
    model: str = ""
    complete: bool = False
    failed: bool = False
    input_known: bool = False
    extras: Mapping[str, int] = field(default_factory=dict[str, int])
    context: Mapping[str, str] = field(default_factory=dict[str, str])


class UsageCounter(Protocol):
    """Reads one answer in one dialect; never raises, whatever it is given."""

    def event(self, data: bytes) -> None:
        """Take the data of one event of a stream."""
        ...

    def whole(self, body: bytes) -> None:
        """Take an answer that is no stream."""
        ...

    def counted(self) -> Counted:
        """Return what is known so far."""
        ...


def count(value: object) -> int:
    """Return a token count of a provider, or 0 for anything that cannot be one."""
    return value if type(value) is int and 0 <= value <= TOKENS_MAX else 0


def guessed_output(characters: int) -> int:
    """Guess the tokens of a text that no figure was given for."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def guessed_input(size_bytes: int) -> int:
    """Guess the tokens of a request that no figure was given for."""
    return -(-size_bytes // BYTES_PER_INPUT_TOKEN)
