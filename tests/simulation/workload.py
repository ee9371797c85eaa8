"""What people do meanwhile: add, cancel, replace, answer, pause; and what befalls the hosts."""

from dataclasses import dataclass, field
from typing import Any

import anyio
from simagent import Account, Stage
from world import World

from workloop.domain.clock import SECOND_US, Instant
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
    added: list[str] = field(default_factory=list[str])

    def do(self, action: str, **arguments: Any) -> dict[str, Any]:
        """Perform an action; a person shrugs at a refusal."""
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
                "checks": CHECKS,
                "priority": chance.choice([20, 100, 100]),
            }
            if self.added and chance.random() < 0.3:
                wish["depends_on"] = [{"key": chance.choice(self.added)}]
            if chance.random() < 0.15:
                wish["verification"] = chance.choice(["host", "session", "none"])
            if "refused" not in self.do("add_items", items=[wish]):
                self.added.append(key)

    def meddle(self) -> None:
        """Do one of the things that people do."""
        chance = self.world.chance
        key = chance.choice(self.added)
        match chance.choice(["add", "add", "cancel", "supersede", "answer", "answer", "retry", "pause"]):
            case "add" if len(self.added) < 14:
                self.add()
            case "cancel":
                self.do("cancel", key=key, reason="no longer wanted")
            case "supersede":
                self.do("supersede", key=key, replacement=chance.choice(self.added), reason="another way")
            case "answer":
                self.answer_all()
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

    async def live(self, until: float) -> None:
        """Do something now and then."""
        self.add()
        while anyio.current_time() < until:
            await anyio.sleep(self.world.chance.uniform(120, 1200))
            self.meddle()

    def mend_everything(self) -> None:
        """Bring the faults to an end, so that what can be finished will be."""
        self.stage.quiet = True
        for account in self.stage.accounts.values():
            account.limited_until = account.locked_until = None
        self.do("resume")
        self.answer_all()

    def lock_an_account(self) -> None:
        """Let a login lapse for some hours."""
        name = self.world.chance.choice(sorted(self.stage.accounts) or ["one"])
        hours = self.world.chance.uniform(0.5, 4)
        account = self.stage.accounts.setdefault(name, Account())
        account.locked_until = Instant(self.world.now() + round(hours * 3600 * SECOND_US))


def text_of(now: Instant, seconds: float) -> str:
    """Return an instant so many seconds ahead as text."""
    from workloop.domain.clock import to_text

    return to_text(Instant(now + round(seconds * SECOND_US)))
