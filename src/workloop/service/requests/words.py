"""What every family of requests speaks in: an answer, a use case ready to run, and arguments that several take."""

from collections.abc import Callable, Mapping
from typing import Any

from workloop.domain.grants import Actor
from workloop.domain.reader import Reader
from workloop.service.call import Call, Queue

Answer = dict[str, Any]
Written = Callable[[Call], Mapping[str, Any]]
Write = Callable[[Reader, Actor, str], Written]
"""Turns arguments, a caller and the call's digest into a use case to run inside one transaction."""
Look = Callable[[Reader, Actor, Queue], Answer]


def token_of(reader: Reader, actor: Actor, *, required: bool = True) -> str:
    """Read the claim's token; a session's own is known."""
    return reader.text("token", default=actor.token, required=required)


def optional_seconds(reader: Reader, name: str, highest: int) -> int | None:
    """Read a number of seconds that may be absent."""
    return reader.whole(name, default=1, lowest=1, highest=highest) if reader.values.get(name) is not None else None
