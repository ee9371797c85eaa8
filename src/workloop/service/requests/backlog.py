"""How items enter, leave and are decided about, and how a campaign is halted, as a caller asks for it."""

from collections.abc import Mapping
from typing import Final

from workloop.domain.grants import Actor
from workloop.domain.new_item import read_new_item
from workloop.domain.reader import Reader, read_instant
from workloop.service.adding import add_items
from workloop.service.answering import answer
from workloop.service.campaigns import pause, resume
from workloop.service.closing import cancel, promote, supersede
from workloop.service.requests.words import Write, Written, token_of


def write_supersede(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a supersession."""
    key, new = reader.text("key", required=True), reader.text("replacement", required=True)
    reason, token = reader.text("reason", required=True), token_of(reader, actor, required=False)
    return lambda call: supersede(call, key, new, reason, token)


def write_add_items(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare new items."""
    items = [read_new_item(value, path) for path, value in reader.entries("items")]
    return lambda call: add_items(call, items)


def write_answer(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a person's answer."""
    key, text = reader.text("key", required=True), reader.text("text", required=True)
    return lambda call: answer(call, key, text)


def write_promote(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare promotions."""
    keys = reader.texts("keys") or (reader.text("key", required=True),)
    reader.take("key")
    return lambda call: promote(call, keys)


def write_cancel(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a cancellation."""
    key, reason = reader.text("key", required=True), reader.text("reason", required=True)
    return lambda call: cancel(call, key, reason)


def write_pause(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a pause."""
    reason, until = reader.text("reason", required=True), read_instant(reader, "until")
    return lambda call: pause(call, reason, until)


def write_resume(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare the end of a pause."""
    return resume


WRITES: Final[Mapping[str, Write]] = {
    "supersede": write_supersede,
    "add_items": write_add_items,
    "answer": write_answer,
    "promote": write_promote,
    "cancel": write_cancel,
    "pause": write_pause,
    "resume": write_resume,
}
