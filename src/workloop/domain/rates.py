"""How often sessions die, per harness, version and phase, always with the number they are out of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from workloop.domain.session import SessionClass

COUNTED_NOT: Final = frozenset(
    {
        SessionClass.STOPPED,
        SessionClass.LIMITED,
        SessionClass.TRANSIENT,
        SessionClass.AUTH,
        SessionClass.BILLING,
        SessionClass.CONFIG,
        SessionClass.MODEL_MISSING,
    }
)
"""Ends that say nothing about the health of the agent program: it never got to work, or was not let."""


class Population(NamedTuple):
    """Whose rate it is: a phase may run on a harness that cannot vouch for another's."""

    harness: str
    version: str
    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """One ended session, as the rates see it.

    `held` tells whether it ever held a claim: one that did not counts in neither part of a rate. `acted` is any tool
    call, `settled` whether its claim ended by its own doing, `item` which item it had.
    """

    population: Population
    session_class: SessionClass
    held: bool
    acted: bool
    settled: bool
    exit_code: int | None = None
    item: str = ""


def is_dead(session: Ended) -> bool:
    """Tell whether a session died: it produced nothing."""
    return session.session_class is SessionClass.DEAD


def is_quiet(session: Ended) -> bool:
    """Tell whether a death looked like success: exit 0 with nothing to show."""
    return is_dead(session) and session.exit_code == 0


def is_no_op(session: Ended) -> bool:
    """Tell whether a session ended well and did nothing: no tool called, nothing settled."""
    return session.session_class is SessionClass.CLEAN and not session.acted and not session.settled


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How many of a population's counted sessions died, died quietly, or did nothing."""

    population: Population
    sessions: int
    dead: int
    quiet: int
    no_op: int


def counts(session: Ended) -> bool:
    """Tell whether a session belongs to the number that rates are out of."""
    return session.held and session.session_class not in COUNTED_NOT


def rates(ended: Iterable[Ended]) -> list[Rate]:
    """Return the rates of all populations, in the order of their names."""
    by: dict[Population, list[Ended]] = {}
    for session in ended:
        if counts(session):
            by.setdefault(session.population, []).append(session)
    return [
        Rate(
            population=population,
            sessions=len(found),
            dead=sum(map(is_dead, found)),
            quiet=sum(map(is_quiet, found)),
            no_op=sum(map(is_no_op, found)),
        )
        for population, found in sorted(by.items())
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPolicy:
    """When deaths are the program's doing: so many in a row over different items, or such a share of the newest."""

    deaths_in_a_row: int = 5
    items_min: int = 2
    window: int = 20
    sessions_min: int = 8
    share: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Whether a harness is to be paused on a target, with the figures that say so."""

    pause: bool
    sessions: int
    failed: int
    in_a_row: int
    why: str = ""


def fleet(ended: Sequence[Ended], policy: FleetPolicy | None = None) -> Fleet:
    """Judge one harness by its sessions, oldest first; a single session, or a single item, never condemns it."""
    rules = policy or FleetPolicy()
    counted = [session for session in ended if counts(session)]
    row = in_a_row(counted)
    newest = counted[-rules.window :]
    failed = [session for session in newest if failed_to_work(session)]
    enough = len(newest) >= rules.sessions_min and len(failed) >= rules.share * len(newest)
    why = ""
    if len(row) >= rules.deaths_in_a_row and several_items(row, rules):
        why = f"the last {len(row)} sessions died one after the other"
    elif enough and several_items(failed, rules):
        why = f"{len(failed)} of the last {len(newest)} sessions died or did nothing"
    return Fleet(pause=bool(why), sessions=len(newest), failed=len(failed), in_a_row=len(row), why=why)


def failed_to_work(session: Ended) -> bool:
    """Tell whether a session died or did nothing."""
    return is_dead(session) or is_no_op(session)


def in_a_row(counted: Sequence[Ended]) -> list[Ended]:
    """Return the deaths at the end, newest first."""
    row: list[Ended] = []
    for session in reversed(counted):
        if not is_dead(session):
            break
        row.append(session)
    return row


def several_items(ended: Sequence[Ended], rules: FleetPolicy) -> bool:
    """Tell whether more than one item was hit, so that no item can be the reason."""
    return len({session.item for session in ended}) >= rules.items_min
