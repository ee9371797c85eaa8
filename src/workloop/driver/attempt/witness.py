"""What the host itself sees of an attempt when its claim ends: progress, where the work stands, how it may go on."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from workloop.domain.errors import WorkloopError
from workloop.domain.happening import Scalar
from workloop.domain.ids import Fence, ItemId
from workloop.domain.progress import PROGRESS
from workloop.driver.workshop import Workshop, WorkTree
from workloop.service.braking import OUTSIDE

BRANCH, SHA = "branch", "sha"


@dataclass(slots=True, kw_only=True)
class AttemptWitness:
    """Watches one claim; without a work tree there is nothing but what the loop adds to `extra`.

    `since` is the commit that stood there when the claim began; `outside` says that somebody else had moved the work on
    since the attempt before.
    """

    item_id: ItemId
    fence: Fence
    workshop: Workshop
    tree: WorkTree | None = None
    since: str = ""
    outside: bool = False
    extra: dict[str, Scalar] = field(default_factory=dict[str, Scalar])

    def notes(self, item_id: ItemId, fence: Fence) -> Mapping[str, Scalar]:
        """Return what is to be kept with the claim, when it is the watched one."""
        if (item_id, fence) != (self.item_id, self.fence):
            return {}
        return {**self.seen(), **self.extra}

    def seen(self) -> dict[str, Scalar]:
        """Look at the work tree; where it cannot be looked at, nothing is said."""
        if self.tree is None:
            return {}
        try:
            tip = self.workshop.tip(self.tree)
            found: dict[str, Scalar] = {PROGRESS: self.workshop.advanced(self.tree, self.since)}
            ahead = tip is not None and self.workshop.advanced(self.tree, self.tree.base)
        except WorkloopError:
            return {}
        if ahead:
            found |= {BRANCH: self.tree.branch, SHA: tip}
        if self.outside:
            found[OUTSIDE] = True
        return found

    def tip(self) -> str:
        """Return the commit that stands there now, nothing when there is no telling."""
        try:
            return (self.workshop.tip(self.tree) or "") if self.tree is not None else ""
        except WorkloopError:
            return ""
