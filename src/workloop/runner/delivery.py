"""How a claim's commit gets onto a remote: under its branch while the claim stands, set aside when it was lost."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from workloop.runner.gitfacts import HEADS
from workloop.runner.registry import WIP_REFS, require_item_id
from workloop.runner.remote import PushWord, RefPush, Remote, push, require_same, seen_at

Stands = Callable[[], bool]


class DeliveryWord(StrEnum):
    """What the remote has now: the branch at the commit, or only a reference beside it, or nothing of it."""

    DELIVERED = "delivered"
    SET_ASIDE = "set_aside"
    DIVERGED = "diverged"
    REFUSED = "refused"
    UNCONFIRMED = "unconfirmed"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryOrder:
    """A commit, the branch that is to have it, and whose claim it is of; the claim is asked for when it matters."""

    item_id: str
    attempt: int
    sha: str
    branch: str
    stands: Stands

    @property
    def aside(self) -> str:
        """Return the reference for what a lost claim brings."""
        return f"{WIP_REFS}{require_item_id(self.item_id)}/{self.attempt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How a delivery ended: where on the remote the commit was read back, and what was said against it."""

    word: DeliveryWord
    ref: str = ""
    reason: str = ""


def push_result(remote: Remote, order: DeliveryOrder) -> Delivery:
    """Push a claim's commit to its branch and read it back; what a lost claim brings never moves the branch.

    The claim is looked at before the push and after it: a claim that was lost in between has pushed nothing but its
    own commits on top of what was there, and is told so.
    """
    require_same(remote)
    if not order.stands():
        return set_aside(remote, order)
    ref = HEADS + order.branch
    pushed = push(remote, RefPush(order.sha, ref))
    if seen_at(remote, ref) != order.sha:
        words = {PushWord.BEHIND: DeliveryWord.DIVERGED, PushWord.REFUSED: DeliveryWord.REFUSED}
        word = words.get(pushed.word, DeliveryWord.UNCONFIRMED)
        return Delivery(word=word, ref=ref, reason=pushed.said or "the remote does not show it")
    if not order.stands():
        return set_aside(remote, order)
    return Delivery(word=DeliveryWord.DELIVERED, ref=ref)


def set_aside(remote: Remote, order: DeliveryOrder) -> Delivery:
    """Keep a lost claim's commit on the remote beside the branches, so that it is not lost with its machine."""
    pushed = push(remote, RefPush(order.sha, order.aside))
    there = seen_at(remote, order.aside) == order.sha
    reason = "the claim was lost" if there else f"the claim was lost, and its work not taken: {pushed.said}"
    return Delivery(word=DeliveryWord.SET_ASIDE if there else DeliveryWord.REFUSED, ref=order.aside, reason=reason)
