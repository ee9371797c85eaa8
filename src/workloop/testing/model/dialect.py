"""What one way of speaking to a model has to give: how requests are read, answers are written and tools are named."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from workloop.testing.model.conversation import Conversation, JsonObject
from workloop.testing.model.moves import Call, Cut, Fail, Say, Usage

Header = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """What every part of one answer repeats: its number, the model it claims to be, its usage, the tools on offer."""

    tag: str
    model: str
    usage: Usage = field(default_factory=Usage)
    declared: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpError:
    """A failure as this dialect's provider would send it."""

    status: int
    body: JsonObject
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One API: what its requests end in, and everything that only it knows.

    read: body and header look-up to a conversation. address: a call under the name and with the arguments that the CLI
    which asked will understand. broken: the beginning of a stream, and the error event if the failure has one.
    """

    name: str
    path: str
    read: Callable[[JsonObject, Header], Conversation]
    address: Callable[[Call, Conversation], Call | Say]
    whole: Callable[[Call | Say, Envelope], JsonObject]
    stream: Callable[[Call | Say, Envelope], Iterator[bytes]]
    broken: Callable[[Cut | Fail, Envelope, str], Iterator[bytes]]
    refuse: Callable[[Fail], HttpError]
