"""Every action by name: what it takes and which family of code reads and runs it; one table for every surface."""

from typing import Final, Literal, NamedTuple

Family = Literal["reads", "claims", "settles", "backlog", "lanes"]


class Action(NamedTuple):
    """One action: its arguments by name, the required ones, and the family of code that reads and runs it."""

    name: str
    family: Family
    help: str
    takes: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    settles: bool = False


CLAIM_TAKES = ("holder", "key", "expected_role", "executor", "lease_seconds", "tools")
LANE_TAKES = ("token", "lane")

ACTIONS: Final[dict[str, Action]] = {
    action.name: action
    for action in (
        Action(name="status", family="reads", help="how the campaign stands"),
        Action(name="list", family="reads", help="items, narrowed by state", takes=("state", "after", "limit")),
        Action(name="show", family="reads", help="one item whole", takes=("key",), required=("key",)),
        Action(
            name="why", family="reads", help="why an item stands where it stands", takes=("key",), required=("key",)
        ),
        Action(
            name="claim",
            family="claims",
            help="take the next item, or exactly key",
            takes=CLAIM_TAKES,
            required=("holder",),
        ),
        Action(
            name="verify",
            family="claims",
            help="claim the open verifier of a candidate",
            takes=CLAIM_TAKES,
            required=("key", "holder"),
        ),
        Action(
            name="heartbeat",
            family="claims",
            help="keep the lease; stop writing when refused",
            takes=("token", "lease_seconds"),
            required=("token",),
        ),
        Action(
            name="attach",
            family="settles",
            help="keep evidence before settling",
            takes=("token", "evidence"),
            required=("token", "evidence"),
        ),
        Action(
            name="complete",
            family="settles",
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
        ),
        Action(
            name="retry",
            family="settles",
            help="give back for another attempt; with key alone, a person's new try of a failed item",
            takes=("token", "failed", "cause", "next_action", "escalate", "delay_seconds", "key", "reason"),
            settles=True,
        ),
        Action(
            name="defer",
            family="settles",
            help="park at a human-only boundary of the contract",
            takes=("token", "boundary", "asks", "resume_when", "summary"),
            required=("token", "boundary", "asks"),
            settles=True,
        ),
        Action(
            name="release",
            family="settles",
            help="give the claim back unworked",
            takes=("token", "reason", "untouched", "infra", "not_before"),
            required=("token",),
            settles=True,
        ),
        Action(
            name="supersede",
            family="backlog",
            help="close an item in favour of another",
            takes=("key", "replacement", "reason", "token"),
            required=("key", "replacement", "reason"),
        ),
        Action(name="add_items", family="backlog", help="add items by key", takes=("items",), required=("items",)),
        Action(
            name="answer",
            family="backlog",
            help="answer an item's question",
            takes=("key", "text"),
            required=("key", "text"),
        ),
        Action(name="promote", family="backlog", help="turn proposals into work", takes=("keys", "key")),
        Action(
            name="cancel",
            family="backlog",
            help="cancel an item and its follow-ups",
            takes=("key", "reason"),
            required=("key", "reason"),
        ),
        Action(
            name="pause",
            family="backlog",
            help="hand out nothing",
            takes=("reason", "until"),
            required=("reason",),
        ),
        Action(name="resume", family="backlog", help="hand out work again"),
        Action(
            name="lane_acquire",
            family="lanes",
            help="take the contract's lane",
            takes=LANE_TAKES,
            required=("token",),
        ),
        Action(
            name="lane_record",
            family="lanes",
            help="record what you opened in it",
            takes=(*LANE_TAKES, "resources", "checkout_root", "checkout_sha"),
            required=("token",),
        ),
        Action(
            name="lane_clean",
            family="lanes",
            help="acknowledge what is closed",
            takes=(*LANE_TAKES, "resources"),
            required=("resources",),
        ),
        Action(
            name="lane_release",
            family="lanes",
            help="give it back",
            takes=LANE_TAKES,
            required=("token",),
        ),
    )
}
