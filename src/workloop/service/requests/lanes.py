"""How lanes are taken, recorded, cleaned and given back, as a caller asks for it."""

from collections.abc import Mapping
from typing import Final

from workloop.domain.grants import Actor
from workloop.domain.reader import Reader
from workloop.service.lanes import acquire, clean, record, release_lane
from workloop.service.requests.words import Write, Written, token_of


def write_lane_acquire(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a lane's grant."""
    token, lane = token_of(reader, actor), reader.text("lane")
    return lambda call: acquire(call, token, lane)


def write_lane_record(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare the record of what a lane holds."""
    token, lane, resources = token_of(reader, actor), reader.text("lane"), reader.texts("resources")
    checkout = (reader.text("checkout_root"), reader.text("checkout_sha"))
    return lambda call: record(call, token, lane, resources, checkout)


def write_lane_clean(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare the acknowledgement of a lane's cleaning."""
    token, lane, resources = token_of(reader, actor, required=False), reader.text("lane"), reader.texts("resources")
    return lambda call: clean(call, token, lane, resources)


def write_lane_release(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a lane's return."""
    token, lane = token_of(reader, actor), reader.text("lane")
    return lambda call: release_lane(call, token, lane)


WRITES: Final[Mapping[str, Write]] = {
    "lane_acquire": write_lane_acquire,
    "lane_record": write_lane_record,
    "lane_clean": write_lane_clean,
    "lane_release": write_lane_release,
}
