"""What landed is watched for a while: its guards run again on a branch that moved, and a break has one repair."""

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from workloop.domain.campaign import Landing
from workloop.domain.checks import Check, CheckOutcome
from workloop.domain.clock import Instant, seconds_us
from workloop.domain.errors import WorkloopError
from workloop.domain.ids import id_text
from workloop.domain.standins import LIFTED, named
from workloop.driver.project import Project
from workloop.driver.workshop import CheckOrder
from workloop.service.call import require_campaign
from workloop.service.delivery import Landed, landed_since, repair_for, report_contained, report_green, report_red
from workloop.service.perform import run_as_host

RED_NOW = (CheckOutcome.FAILED, CheckOutcome.PASSED)


class Guard(NamedTuple):
    """One command that guards, however many results name it and whatever they call it."""

    command: str | tuple[str, ...]
    cwd: str


def guard_of(check: Check) -> Guard:
    """Return what makes two checks the same."""
    return Guard(check.command, check.cwd)


def kept_from(protected: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return what several contracts together protect for one guard: all that any names, less what all lift."""
    names = [pattern for patterns in protected for pattern in named(patterns)]
    lifts = [pattern for pattern in protected[0] if pattern.startswith(LIFTED)]
    return (*dict.fromkeys(names), *(lift for lift in lifts if all(lift in patterns for patterns in protected)))


class Seen(NamedTuple):
    """What a look showed: the guards that pass, those that are red and were green before, and what came of neither."""

    green: frozenset[Guard]
    red: frozenset[Guard]
    unclear: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class GreenWatch:
    """The watch over one project's branch; used by one thread at a time."""

    project: Project
    stop: threading.Event
    looked_at: Instant | None = None
    told: str = ""
    repairs: list[str] = field(default_factory=list[str])

    def due(self, now: Instant) -> bool:
        """Tell whether a look may be taken: at most one per interval."""
        config = self.project.landing
        if config.watch_seconds <= 0:
            return False
        return self.looked_at is None or now >= self.looked_at + seconds_us(config.watch_every_seconds)

    def look(self) -> bool:
        """Look whether the branch moved, and what that did to what landed; tells whether a repair was made."""
        self.looked_at = self.project.now()
        before = len(self.repairs)
        try:
            self.look_now(self.looked_at)
            self.told = ""
        except (WorkloopError, OSError) as failed:
            if not self.stop.is_set() and self.told != str(failed):
                self.told = str(failed)
                self.project.tell("watch", {"error": self.told})
        return len(self.repairs) > before

    def look_now(self, now: Instant) -> None:
        """Run the guards of what landed on a tip of which nothing was said yet."""
        project = self.project
        since = Instant(now - seconds_us(project.landing.watch_seconds))
        with project.queue.store.read() as tx:
            campaign = require_campaign(tx, project.queue.slug)
            way = campaign.settings.landing
            landed = landed_since(tx, campaign.id, since) if way is not Landing.NONE else []
        if not landed:
            return
        tip = project.workshop.arrived(way)
        landed = [one for one in landed if self.contained(one, tip)]
        unsaid = [one for one in landed if one.guards and not one.said(tip)]
        if not unsaid:
            return
        seen = self.run(unsaid, tip, now)
        if seen.unclear:
            self.project.tell("watch", {"tip": tip, "unclear": list(seen.unclear)})
        for one in unsaid:
            if all(guard_of(check) in seen.green for check in one.guards):
                self.report_green(one, tip)
        if seen.red:
            self.report_red(landed, unsaid, seen.red, tip)

    def contained(self, one: Landed, tip: str) -> bool:
        """Look whether the tip still contains a result, and state it when that changed."""
        project, key = self.project, one.item.key
        missing = project.workshop.missing(tip, (one.landed.ref, one.item.candidate_sha or ""))
        if one.gone is not bool(missing):
            run_as_host(
                project.queue, project.host, "watch", lambda call: dict(report_contained(call, key, tip, missing))
            )
            project.tell("watch", {"key": key, "tip": tip, "contained": not missing, "reason": missing})
        return not missing

    def run(self, unsaid: Sequence[Landed], tip: str, now: Instant) -> Seen:
        """Run each guard once on the tip, against the newest commit at which it was known to be green."""
        green: set[Guard] = set()
        red: set[Guard] = set()
        unclear: list[str] = []
        wanted = {guard_of(check): (check, landed) for landed in unsaid for check in landed.guards}
        for guard, (check, one) in wanted.items():
            guarded = [landed for landed in unsaid if any(guard_of(mine) == guard for mine in landed.guards)]
            digest = hashlib.sha256(repr((guard, now)).encode()).hexdigest()[:12]
            order = CheckOrder(
                run=f"watch-{tip[:12]}-{digest}",
                root_id=id_text(guarded[0].item.id),
                item_id=id_text(one.item.id),
                sha=tip,
                now=now,
                checks=(check,),
                protected=kept_from([landed.protected for landed in guarded]),
                overlay=self.project.check_overlay,
                environment=self.project.check_environment,
                enclosure=self.project.check_walls.enclosure,
                rooms=self.project.check_walls.rooms,
            )
            results = self.project.workshop.recheck(order, one.green, self.stop)
            unclear += [] if results else [f"{check.id} (nothing was run)"]
            for result in results:
                if result.green:
                    green.add(guard)
                elif (result.outcome_on_candidate, result.outcome_on_base) == RED_NOW:
                    red.add(guard)
                else:
                    unclear.append(f"{result.check_id} ({result.reason})")
        return Seen(frozenset(green), frozenset(red), tuple(unclear))

    def report_green(self, one: Landed, tip: str) -> None:
        """State that a result is still green."""
        project, key = self.project, one.item.key
        answer = run_as_host(project.queue, project.host, "watch", lambda call: dict(report_green(call, key, tip)))
        if answer["repair"]:
            project.tell("watch", {"key": key, "tip": tip, "repair": answer["repair"], "reason": answer["reason"]})

    def report_red(self, landed: Sequence[Landed], unsaid: Sequence[Landed], red: frozenset[Guard], tip: str) -> None:
        """See that each break has one repair: that of the newest result it guards; the others are served by it."""
        served: dict[Guard, str] = {}
        for guard in sorted(red, key=repr):
            served[guard] = self.served_by(landed, guard) or self.made_for(landed, red, guard, tip)
        for one in unsaid:
            mine = [check for check in one.guards if guard_of(check) in red]
            if mine:
                names, key = [check.id for check in mine], one.item.key
                repair = served[guard_of(mine[0])]
                self.report(key, tip, names, "" if repair == key else repair)

    def served_by(self, landed: Sequence[Landed], guard: Guard) -> str:
        """Return the key of an open repair of a command, whichever result it was made for."""
        check = next(check for one in landed for check in one.guards if guard_of(check) == guard)
        with self.project.queue.store.read() as tx:
            repair = repair_for(tx, landed, check)
        return repair.key if repair is not None else ""

    def made_for(self, landed: Sequence[Landed], red: frozenset[Guard], guard: Guard, tip: str) -> str:
        """Have the newest result that a red command guards repaired; returns the repair, or the result without one."""
        root = [one for one in landed if any(guard_of(check) == guard for check in one.guards)][-1]
        names = [check.id for check in root.guards if guard_of(check) in red]
        return self.report(root.item.key, tip, names) or root.item.key

    def report(self, key: str, tip: str, names: Sequence[str], served_by: str = "") -> str:
        """State that checks of a result are red, and say so; returns its repair."""
        project = self.project
        answer = run_as_host(
            project.queue, project.host, "watch", lambda call: dict(report_red(call, key, tip, names, served_by))
        )
        if answer["made"]:
            self.repairs.append(answer["repair"])
        if not served_by:
            facts = {"key": key, "tip": tip, "red": list(names), "repair": answer["repair"], "reason": answer["reason"]}
            project.tell("watch", facts)
        return answer["repair"] or ""
