"""Every action by name: what it takes and how it is read and run; one table for every surface."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from workloop.domain.grants import Actor
from workloop.domain.reader import Reader
from workloop.service import requests as read
from workloop.service.call import Queue
from workloop.service.requests import Answer, Written


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action: its arguments by name, the required ones, and how it is read and run.

    `write` turns arguments into a use case to run inside one transaction; `look` answers a read.
    """

    name: str
    help: str
    takes: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    settles: bool = False
    write: Callable[[Reader, Actor, str], Written] | None = None
    look: Callable[[Reader, Actor, Queue], Answer] | None = None


CLAIM_TAKES = ("holder", "key", "expected_role", "executor", "lease_seconds", "tools")
LANE_TAKES = ("token", "lane")

ACTIONS: Final[dict[str, Action]] = {
    action.name: action
    for action in (
        Action(name="status", help="how the campaign stands", look=read.look_status),
        Action(name="list", help="items, narrowed by state", takes=("state", "after", "limit"), look=read.look_list),
        Action(name="show", help="one item whole", takes=("key",), required=("key",), look=read.look_show),
        Action(
            name="why", help="why an item stands where it stands", takes=("key",), required=("key",), look=read.look_why
        ),
        Action(
            name="claim",
            help="take the next item, or exactly key",
            takes=CLAIM_TAKES,
            required=("holder",),
            write=read.write_claim,
        ),
        Action(
            name="verify",
            help="claim the open verifier of a candidate",
            takes=CLAIM_TAKES,
            required=("key", "holder"),
            write=read.write_verify,
        ),
        Action(
            name="heartbeat",
            help="keep the lease; stop writing when refused",
            takes=("token", "lease_seconds"),
            required=("token",),
            write=read.write_heartbeat,
        ),
        Action(
            name="attach",
            help="keep evidence before settling",
            takes=("token", "evidence"),
            required=("token", "evidence"),
            write=read.write_attach,
        ),
        Action(
            name="complete",
            help="settle with a result, or a verifier's verdict",
            takes=(
                "token",
                "contract_hash",
                "outcome",
                "evidence",
                "versions",
                "summary",
                "verdict",
                "failed_checks",
                "reproduction",
            ),
            required=("token", "contract_hash"),
            settles=True,
            write=read.write_complete,
        ),
        Action(
            name="retry",
            help="give back for another attempt; with key alone, a person's new try of a failed item",
            takes=("token", "failed", "cause", "next_action", "escalate", "delay_seconds", "key", "reason"),
            settles=True,
            write=read.write_retry,
        ),
        Action(
            name="defer",
            help="park at a human-only boundary of the contract",
            takes=("token", "boundary", "asks", "resume_when", "summary"),
            required=("token", "boundary", "asks"),
            settles=True,
            write=read.write_defer,
        ),
        Action(
            name="release",
            help="give the claim back unworked",
            takes=("token", "reason", "untouched", "infra", "not_before"),
            required=("token",),
            settles=True,
            write=read.write_release,
        ),
        Action(
            name="supersede",
            help="close an item in favour of another",
            takes=("key", "replacement", "reason", "token"),
            required=("key", "replacement", "reason"),
            write=read.write_supersede,
        ),
        Action(
            name="add_items", help="add items by key", takes=("items",), required=("items",), write=read.write_add_items
        ),
        Action(
            name="answer",
            help="answer an item's question",
            takes=("key", "text"),
            required=("key", "text"),
            write=read.write_answer,
        ),
        Action(name="promote", help="turn proposals into work", takes=("keys", "key"), write=read.write_promote),
        Action(
            name="cancel",
            help="cancel an item and its follow-ups",
            takes=("key", "reason"),
            required=("key", "reason"),
            write=read.write_cancel,
        ),
        Action(
            name="pause",
            help="hand out nothing",
            takes=("reason", "until"),
            required=("reason",),
            write=read.write_pause,
        ),
        Action(name="resume", help="hand out work again", write=read.write_resume),
        Action(
            name="lane_acquire",
            help="take the contract's lane",
            takes=LANE_TAKES,
            required=("token",),
            write=read.write_lane_acquire,
        ),
        Action(
            name="lane_record",
            help="record what you opened in it",
            takes=(*LANE_TAKES, "resources", "checkout_root", "checkout_sha"),
            required=("token",),
            write=read.write_lane_record,
        ),
        Action(
            name="lane_clean",
            help="acknowledge what is closed",
            takes=(*LANE_TAKES, "resources"),
            required=("resources",),
            write=read.write_lane_clean,
        ),
        Action(
            name="lane_release",
            help="give it back",
            takes=LANE_TAKES,
            required=("token",),
            write=read.write_lane_release,
        ),
    )
}
