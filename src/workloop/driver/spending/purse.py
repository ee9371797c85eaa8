"""What one running session has used, by its own events and by the meter's calls, against what it may use."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from workloop.domain.budget import Bound, Grant
from workloop.domain.charge import Charge
from workloop.domain.clock import Clock
from workloop.domain.session import Tokens, Usage
from workloop.domain.spend import NOTHING, Amount, most
from workloop.domain.units import Unit, share
from workloop.driver.spending.spending import Spending

Price = Callable[[str, str, Tokens], int | None]
"""What tokens of a harness's model cost in micro-dollars; None where nobody knows."""
TIGHT: Final = "commit what you have, finish or hand on, and settle; at the ceiling this session is ended"


def unpriced(harness: str, model: str, tokens: Tokens) -> None:
    """Know no price."""
    del harness, model, tokens


class Purse:
    """One session's part; the meter may come on a thread of its own."""

    def __init__(self, spending: Spending, charge: Charge, clock: Clock, price: Price = unpriced) -> None:
        self.spending = spending
        self.charge = charge
        self.clock = clock
        self.price = price
        self.turn = threading.RLock()
        self.told = Tokens()
        self.told_micros: int | None = None
        self.metered: Amount | None = None
        self.metered_whole = True
        self.past_meter = False
        self.cut: Bound | None = None

    def hear(self, event: Usage) -> Bound | None:
        """Add what a session says that it used; returns the bound that it has reached."""
        with self.turn:
            self.told += event.tokens
            if event.cost_micros is not None:
                self.told_micros = (self.told_micros or 0) + event.cost_micros
            return self.look()

    def meter(self, tokens: Tokens, cost_micros: int | None, *, whole: bool) -> Bound | None:
        """Add what a call came to; `whole` tells whether that is all of it. Returns the bound that is reached."""
        with self.turn:
            self.metered = (self.metered or NOTHING) + Amount(tokens, cost_micros or 0)
            self.metered_whole = self.metered_whole and whole and cost_micros is not None
            return self.look()

    def went_past(self) -> None:
        """Note that the session had another way to a model, so that the meter's figure is not the whole."""
        with self.turn:
            self.past_meter, self.metered_whole = True, False

    @property
    def lists(self) -> bool:
        """Tell whether there is a list of prices."""
        return self.price is not unpriced

    def named(self, model: str) -> None:
        """Note which model the session says that it runs on."""
        with self.turn:
            self.charge = replace(self.charge, model=model or self.charge.model)

    def look(self) -> Bound | None:
        """Compare what is used with what may be used; the first bound that is reached stands."""
        if self.cut is None:
            used = self.used()
            self.cut = self.spending.see(self.charge.session_id, used).crossed(used)
        return self.cut

    def used(self) -> Amount:
        """Return what the session is known to have used, by whoever saw more of it."""
        with self.turn:
            told = Amount(self.told, self.told_micros or self.priced(self.told) or 0)
            wall_us = max(0, self.clock.now() - self.charge.began_at)
            return replaced(most(told, self.metered or NOTHING), wall_us, sessions=0 if self.charge.probe else 1)

    def priced(self, tokens: Tokens) -> int | None:
        """Return what tokens cost by a list of prices; nothing for none."""
        return self.price(self.charge.payer.harness, self.charge.model, tokens) if tokens.total else 0

    def granted(self) -> Grant:
        """Return what the session may use in all as things stand now."""
        return self.spending.granted(self.charge.session_id)

    def notice(self) -> str:
        """Say to the session that little is left of what it may use; nothing while there is enough."""
        with self.turn:
            if self.charge.session_id not in self.spending.entries:
                return ""
            used = self.used()
            near = self.granted().nearing(used)
        return "" if near is None else notice_of(near, used)


def notice_of(near: Bound, used: Amount) -> str:
    """Say how much of a bound is used, and what to do about it."""
    return f"{share(near.unit, used.of(near.unit), near.most)} are used ({near.limit.knob}): {TIGHT}"


def replaced(amount: Amount, wall_us: int, sessions: int) -> Amount:
    """Return an amount with another time and count."""
    return Amount(amount.tokens, amount.cost_micros, wall_us, sessions)


def said_of(cut: Bound, used: Amount) -> str:
    """Say which ceiling ended a session: its unit, how much of it was used, and the knob."""
    return f"{cut.limit.knob} is reached: {share(cut.unit, used.of(cut.unit), cut.most)} used by this session"


def own_ceilings(cost_micros_max: int | None) -> dict[Unit, int]:
    """Return the ceilings that an agent's own settings set on its sessions."""
    return {} if cost_micros_max is None else {Unit.COST: cost_micros_max}
