"""How a file of items is checked as a whole and then sent in bounded calls, safe to repeat after any interruption."""

import gc
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from workloop.client import LocalClient
from workloop.domain.errors import BadRequest, Conflict, WorkloopError
from workloop.domain.new_item import NewItem, read_new_item
from workloop.domain.ordering import in_order
from workloop.domain.reader import Json
from workloop.interfaces.cli import acting, exits, render
from workloop.interfaces.cli.intake import Entry, Malformed, read_entries
from workloop.interfaces.cli.invocation import Invocation

if TYPE_CHECKING:
    from workloop.client import Client

CHUNK = 500
PROBLEMS_SHOWN = 50
CHUNKS_PER_LINE = 20
REST_SECONDS = 0.003  # longer than a waiting claim pauses before it asks for the lock again
Send = Callable[[Sequence[str]], dict[str, Any]]


class Problem(NamedTuple):
    """What is wrong with one entry."""

    place: str
    error: WorkloopError


class Wishes(NamedTuple):
    """The items of a file by key, as typed and as written, and where each stands."""

    items: dict[str, NewItem]
    raw: dict[str, Json]
    places: dict[str, str]


def add_file(invocation: Invocation, name: str) -> int:
    """Add every item of a file, or nothing when anything in it is wrong."""
    gc.disable()  # a long list makes many small objects and no circles; looking for some costs a quarter of the time
    wishes, repeated, problems = read_wishes(read_entries(name))
    refuse(name, problems)
    if not wishes.items:
        raise BadRequest("NO_ITEMS", f"{name} holds no items", hint="write one item a line", field="file")
    order = ordered(name, wishes)
    client = invocation.client()
    send = local_sender(client, name, wishes) if isinstance(client, LocalClient) else remote_sender(client, wishes)
    added = send_all(send, order)
    answer = {"file": name, "added": added, "unchanged": len(order) - added + repeated}
    render.answer(invocation, "add_items", answer)
    return exits.OK


def read_wishes(entries: Iterable[Entry | Malformed]) -> tuple[Wishes, int, list[Problem]]:
    """Read every entry; returns the items, how many were there before, and every problem."""
    wishes, problems, repeated = Wishes({}, {}, {}), list[Problem](), 0
    for entry in entries:
        if isinstance(entry, Malformed):
            error = BadRequest("MALFORMED", f"{entry.place}: {entry.problem}", hint="correct the file", field="file")
            problems.append(Problem(entry.place, error))
            continue
        try:
            wish = read_new_item(entry.value, entry.place)
        except WorkloopError as error:
            problems.append(Problem(entry.place, error))
            continue
        earlier = wishes.items.setdefault(wish.key, wish)
        if earlier is wish:
            wishes.raw[wish.key] = entry.value
            wishes.places[wish.key] = entry.place
        elif earlier == wish:
            repeated += 1
        else:
            problems.append(Problem(entry.place, twice(wish.key, entry.place, wishes.places[wish.key])))
    return wishes, repeated, problems


def twice(key: str, place: str, first: str) -> Conflict:
    """Build the refusal of one key with two contents."""
    return Conflict(
        "CONTRACT_CONFLICT",
        f"{place}: key {key!r} has other content than at {first}",
        hint="give each item a key of its own",
    )


def ordered(name: str, wishes: Wishes) -> list[str]:
    """Return the keys with what each needs before it; refuses a circle by where it stands."""
    try:
        return in_order({key: [need.key for need in wish.depends_on] for key, wish in wishes.items.items()})
    except BadRequest as error:
        first = error.message.removeprefix("dependencies go round: ").split(" ")[0]
        refuse(name, [Problem(wishes.places.get(first, "file"), error)])
        raise


def local_sender(client: LocalClient, name: str, wishes: Wishes) -> Send:
    """Compare the whole file with the store, and return what adds some of its items, already read and merged."""
    from workloop.service.importing import examine

    examined = examine(client.queue, wishes.items)
    refuse(name, [Problem(wishes.places[key], error) for key, error in examined.problems.items()])

    def send(keys: Sequence[str]) -> dict[str, Any]:
        """Add items by key."""
        return client.add([wishes.items[key] for key in keys], examined.ready)

    return send


def remote_sender(client: "Client", wishes: Wishes) -> Send:
    """Return what posts some of a file's items as they were written."""

    def send(keys: Sequence[str]) -> dict[str, Any]:
        """Post items by key."""
        return acting.call(client, "add_items", {"items": [wishes.raw[key] for key in keys]})

    return send


def send_all(send: Send, keys: Sequence[str]) -> int:
    """Send every item in bounded calls with rests in which others get their turn; returns how many were added."""
    added = 0
    for start in range(0, len(keys), CHUNK):
        if start:
            time.sleep(REST_SECONDS)
        added += send(keys[start : start + CHUNK])["added"]
        sent = min(start + CHUNK, len(keys))
        if len(keys) > CHUNK and (sent == len(keys) or sent % (CHUNK * CHUNKS_PER_LINE) == 0):
            render.tell(f"{sent} of {len(keys)} items")
    return added


def refuse(name: str, problems: Sequence[Problem]) -> None:
    """Refuse a file that has problems, naming each; one alone keeps its own code."""
    if not problems:
        return
    if len(problems) == 1:
        place, error = problems[0]
        error.message = f"{name}: {at_place(place, error.message)}"
        raise error
    rows: list[Mapping[str, str | int]] = [
        {"place": place, "code": error.code, "message": at_place(place, error.message)}
        for place, error in problems[:PROBLEMS_SHOWN]
    ]
    raise BadRequest(
        "FILE_REFUSED",
        f"{name}: {len(problems)} entries are wrong, so none was added",
        hint="correct them and add the file again",
        problems=rows,
        count=len(problems),
    )


def at_place(place: str, message: str) -> str:
    """Say where something is wrong, once."""
    return message if message.startswith(place) else f"{place}: {message}"
