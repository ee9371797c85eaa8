"""What the loop asks of the place where work is done: work trees, candidates, checks, landing, and what was left."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from workloop.domain.campaign import Landing
from workloop.domain.checks import Check, CheckResult
from workloop.domain.clock import Instant
from workloop.runner.sandbox.enclosure import BARE, Enclosure, Rooms
from workloop.service.call import OutcomeProbe


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTree:
    """A folder that the loop made for one attempt: its branch, the base it is compared with, and where it started."""

    path: Path
    branch: str
    base: str
    start: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOrder:
    """What a work tree is made for; dependencies are merged into its base, a repair names the commit it starts from."""

    root_id: str
    attempt: int
    title: str
    created: Instant
    dependencies: tuple[str, ...] = ()
    start: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutAway:
    """What became of a work tree: what was saved of it, and why it had to stay where it is (empty when it is gone).

    `unsent` says why the work is not on the remote that was to have it.
    """

    path: Path
    saved: str | None = None
    files: tuple[str, ...] = ()
    stays: str = ""
    unsent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOrder:
    """Which commit the host checks for which root item; run names this round and must be new.

    The enclosure is the walls each check gets, the rooms what it may reach beside its own checkout, and the overlay a
    folder of the operator's whose files take the place of the candidate's.
    """

    run: str
    root_id: str
    item_id: str
    sha: str
    now: Instant
    checks: tuple[Check, ...] = ()
    protected: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    enclosure: Enclosure = BARE
    rooms: Rooms = field(default_factory=Rooms)
    overlay: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What the host saw of a commit: with problems it is no candidate, with violations nothing was run."""

    base: str = ""
    results: tuple[CheckResult, ...] = ()
    violations: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LandOrder:
    """Which verified commit is to land for which item, and which way; guards must be green on the merge.

    `stands` tells whether the result still is the item's own to land. Guards are judged as the candidate was: with what
    is protected, and with the operator's overlay.
    """

    item_id: str
    attempt: int
    sha: str
    title: str
    now: Instant
    guards: tuple[Check, ...] = ()
    protected: tuple[str, ...] = ()
    overlay: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    enclosure: Enclosure = BARE
    rooms: Rooms = field(default_factory=Rooms)
    landing: Landing = Landing.LOCAL_MERGE
    stands: Callable[[], bool] = lambda: True


class LandingWord(StrEnum):
    """What a landing means for the item: it is in, it was refused for good, or it is tried again later."""

    LANDED = "landed"
    REFUSED = "refused"
    LATER = "later"


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """How a landing ended: the word that counts, the outcome as it is told, the commit that is in, and why not.

    `submitted` names where the commit itself was seen on the remote.
    """

    word: LandingWord
    outcome: str
    sha: str
    reason: str = ""
    submitted: str = ""


class Workshop(Protocol):
    """Every call blocks; a Refusal says what is wrong and how to mend it, a retryable one passes by itself."""

    def make(self, order: WorkOrder) -> WorkTree:
        """Make the work tree of an attempt; raises Conflict or Refusal and leaves nothing behind when it cannot.

        It goes on from the branch's tip when that is ahead. Trees that earlier attempts of this root left are put away.
        """
        ...

    def reopen(self, path: Path) -> WorkTree | None:
        """Return the work tree an earlier attempt left to be gone on with, or None when it is not as it was left."""
        ...

    def put_away(self, tree: WorkTree, reason: str, *, keep: bool = False) -> PutAway:
        """Save what is not committed, then remove the tree if nothing would be lost; keep it for whoever resumes."""
        ...

    def sweep(self, over: Callable[[str], bool]) -> tuple[PutAway, ...]:
        """Remove the trees that are kept for whoever resumes them and whose root is over, if nothing would be lost."""
        ...

    def rooms(self, tree: Path) -> Rooms:
        """Return what must stand open for whoever works in a tree or checkout, and no more."""
        ...

    def receive(self, tree: Path) -> tuple[str, ...]:
        """Take over what an ended session committed behind walls; returns what was refused of it."""
        ...

    def room(self) -> str:
        """Say why the disk leaves no room for another work tree; nothing when it does."""
        ...

    def collect(self, now: Instant) -> tuple[PutAway, ...]:
        """Remove the trees that are beyond the operator's bounds and hold nothing; returns those that went."""
        ...

    def tip(self, tree: WorkTree) -> str | None:
        """Return the commit that stands checked out."""
        ...

    def advanced(self, tree: WorkTree, since: str) -> bool:
        """Tell whether there is a new commit since that one, and it changes something."""
        ...

    def probe(self, tree: WorkTree, protected: tuple[str, ...]) -> OutcomeProbe:
        """Return what looks at the commits that this tree's session calls its result."""
        ...

    def problem(self, tree: WorkTree, sha: str, protected: tuple[str, ...]) -> str:
        """Return the first reason why a commit cannot stand as this attempt's result, else nothing."""
        ...

    def unlanded(self, shas: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of the commits that exist and that the integration branch does not contain."""
        ...

    def examine(self, order: CheckOrder, stop: threading.Event) -> Examined:
        """Look at a commit and run its checks; raises Conflict when stop is set before the end."""
        ...

    def checkout(self, sha: str | None, name: str, now: Instant) -> WorkTree:
        """Make a clean checkout of a commit, or of the integration branch, that can move nothing of the operator's."""
        ...

    def discard(self, checkout: WorkTree) -> None:
        """Delete a clean checkout with whatever was done in it."""
        ...

    def land(self, order: LandOrder, stop: threading.Event) -> Landed:
        """Bring a verified commit to where work lands, once the guards are green on the merge."""
        ...

    def arrived(self, landing: Landing) -> str:
        """Return where the branch that work lands on is now: the remote's where work lands there, freshly fetched."""
        ...

    def missing(self, tip: str, commits: tuple[str, ...]) -> str:
        """Say that a tip of the branch that work lands on contains none of the commits; nothing when it has one."""
        ...

    def recheck(self, order: CheckOrder, base: str, stop: threading.Event) -> tuple[CheckResult, ...]:
        """Run checks on a commit of the branch that work lands on, against one that was green there.

        One that passes there, but not with the files that judge it as they were before the item, is not green.
        """
        ...

    def end_session(self, session_dir: Path) -> tuple[int, ...]:
        """Kill what a dead loop's session left running; returns the processes that would not die."""
        ...

    def recover(self, spared: frozenset[Path]) -> tuple[PutAway, ...]:
        """End what runs in the folders a dead loop left, save the work in them and remove them; the spared ones stay.

        A spared tree is saved all the same, and its stale locks are broken, so that its session can be resumed there;
        so it is with one that was kept for that before.
        """
        ...
