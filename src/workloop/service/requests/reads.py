"""How each read is asked for and answered."""

from collections.abc import Mapping, Sequence
from typing import Final

from workloop.domain.grants import Actor
from workloop.domain.item import State
from workloop.domain.reader import Reader, one_of
from workloop.service.call import Queue
from workloop.service.insights import LIST_ROWS, list_items, show
from workloop.service.reasons import why
from workloop.service.requests.words import Answer, Look
from workloop.service.standing import status


def read_states(reader: Reader) -> Sequence[State]:
    """Read a filter of states."""
    return tuple(one_of(reader, "state", State, text) for text in reader.texts("state"))


def look_status(reader: Reader, actor: Actor, queue: Queue) -> Answer:
    """Answer how a campaign stands."""
    return status(queue)


def look_list(reader: Reader, actor: Actor, queue: Queue) -> Answer:
    """Answer which items there are."""
    states, after = read_states(reader), reader.text("after")
    return list_items(queue, states, after, reader.whole("limit", default=LIST_ROWS, lowest=1, highest=1000))


def look_show(reader: Reader, actor: Actor, queue: Queue) -> Answer:
    """Answer one item whole."""
    return show(queue, actor, reader.text("key", required=not actor.token))


def look_why(reader: Reader, actor: Actor, queue: Queue) -> Answer:
    """Answer why an item stands where it stands."""
    return why(queue, actor, reader.text("key", required=not actor.token))


LOOKS: Final[Mapping[str, Look]] = {"status": look_status, "list": look_list, "show": look_show, "why": look_why}
