"""What one case of the attack set is, and what a worker of it can do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from workloop.domain.grants import Actor
from workloop.domain.reader import Json
from workloop.driver.workshop import WorkTree
from workloop.service.call import Queue
from workloop.service.perform import perform
from workloop.testing.gates.shop import MENDED
from workloop.testing.gitrepo import ScratchRepository


class Need(StrEnum):
    """What a lie is caught by only when it is there."""

    PROTECTED = "protected"
    CONTROL = "control"
    OVERLAY = "overlay"
    RUNS = "runs"
    SANDBOX = "sandbox"


class Tool(StrEnum):
    """A program that a case can only be tried with."""

    PYTEST = "pytest"
    MAKE = "make"


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One worker on one claimed item, without any walls around it.

    `home`, `scratch` and `outside` are the folders that the host's HOME and TMPDIR name, and one that neither does.
    """

    tree: WorkTree
    repository: ScratchRepository
    home: Path
    scratch: Path
    outside: Path
    queue: Queue
    actor: Actor
    claim: Mapping[str, Any]

    @property
    def here(self) -> ScratchRepository:
        """Return the worker's own work tree."""
        return ScratchRepository(path=self.tree.path)

    def commit(self, files: Mapping[str, str | None], message: str = "work") -> str:
        """Write files, commit everything, and return the SHA."""
        return self.here.commit(files, message)

    def mend(self) -> str:
        """Do the work honestly."""
        return self.commit({"invoice.py": MENDED}, "round each price")

    def complete(self, sha: str = "", **more: Json) -> dict[str, Any]:
        """Say that the work is done; raises Refusal when the queue does not take it."""
        outcome: Json = {"kind": "commit", "ref": sha or self.here.head}
        return self.act("complete", **{"contract_hash": self.claim["contract_hash"], "outcome": outcome, **more})

    def act(self, action: str, **arguments: Json) -> dict[str, Any]:
        """Call the queue under this claim."""
        return perform(self.queue, self.actor, action, {"token": self.claim["token"], **arguments})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a worker does with the item, and how its contract differs from the advised one.

    A lie must not end as succeeded, an honest case must. `needs` is what the lie would pass without; `again` is what
    the one who is asked to repair does.
    """

    id: str
    story: str
    act: Callable[[Worker], object]
    honest: bool = False
    needs: tuple[Need, ...] = ()
    tool: Tool | None = None
    contract: Mapping[str, Any] = field(default_factory=dict[str, Any])
    again: Callable[[Worker], object] | None = None
