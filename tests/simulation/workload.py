"""What people do meanwhile: add, cancel, replace, answer, pause; and what befalls the hosts."""

from dataclasses import dataclass, field
from typing import Any

import anyio
from stage import Stage
from world import World

from workloop.domain.clock import SECOND_US, Instant, to_text
from workloop.domain.errors import Refusal
from workloop.domain.grants import Actor, Grant
from workloop.service.call import Queue
from workloop.service.perform import perform

OPERATOR = Actor(principal="ann", grant=Grant.OPERATOR)
CHECKS = [{"id": "proof", "command": "test it"}]


@dataclass
class Workload:
    """A person with a backlog, at one terminal."""

    world: World
    stage: Stage
    queue: Queue
    checks: bool = True
    added: list[str] = field(default_factory=list[str])
    acted_at: float = -1.0

    def do(self, action: str, **arguments: Any) -> dict[str, Any]:
        """Perform an action; a person shrugs at a refusal."""
        if action not in ("list", "show", "add_items"):
            self.acted_at = anyio.current_time()
        try:
            return dict(perform(self.queue, OPERATOR, action, arguments))
        except Refusal as refused:
            return {"refused": refused.code}

    def add(self) -> None:
        """File a few items, some of which need others."""
        chance = self.world.chance
        for _ in range(chance.randint(2, 4)):
            key = f"item-{len(self.added)}"
            wish: dict[str, Any] = {
                "key": key,
                "title": key,
                "priority": chance.choice([20, 100, 100]),
            }
            if self.checks:
                wish["checks"] = CHECKS
            if self.added and chance.random() < 0.3:
                wish["depends_on"] = [{"key": chance.choice(self.added)}]
            if self.checks and chance.random() < 0.15:
                wish["verification"] = chance.choice(["host", "session", "none"])
            if "refused" not in self.do("add_items", items=[wish]):
                self.added.append(key)

    def meddle(self) -> None:
        """Do one of the things that people do."""
        chance = self.world.chance
        key = chance.choice(self.added)
        match chance.choice(["add", "add", "cancel", "supersede", "answer", "answer", "retry", "pause", "promote"]):
            case "add" if len(self.added) < 10:
                self.add()
            case "cancel":
                self.do("cancel", key=key, reason="no longer wanted")
            case "supersede":
                self.do("supersede", key=key, replacement=chance.choice(self.added), reason="another way")
            case "answer":
                self.answer_all()
            case "promote":
                self.promote_all()
            case "retry":
                self.do("retry", key=key)
            case "pause":
                self.do("pause", reason="lunch", until=text_of(self.world.now(), chance.uniform(60, 3600)))
            case _:
                pass

    def answer_all(self) -> None:
        """Answer whatever is asked."""
        for row in self.do("list", state="deferred", limit=100).get("items", []):
            self.do("answer", key=row["key"], text="go on")

    def promote_all(self) -> None:
        """Turn what agents proposed into work."""
        for row in self.do("list", state="proposed", limit=100).get("items", []):
            self.do("promote", key=row["key"])

    async def live(self, until: float) -> None:
        """Do something now and then."""
        self.add()
        while anyio.current_time() < until:
            await anyio.sleep(self.world.chance.uniform(120, 1200))
            self.meddle()

    def mend_everything(self) -> None:
        """Bring the faults to an end, so that what can be finished will be."""
        self.do("resume")
        self.promote_all()
        self.answer_all()


def text_of(now: Instant, seconds: float) -> str:
    """Return an instant so many seconds ahead as text."""
    return to_text(Instant(now + round(seconds * SECOND_US)))
