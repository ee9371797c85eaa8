"""How the loop learns what tokens cost, and what a dead loop's sessions spent by their kept output."""

from collections.abc import Mapping, Sequence
from typing import Final

from workloop.config import DriverConfig, HarnessKind
from workloop.domain.clock import Clock
from workloop.domain.errors import Fault
from workloop.domain.journal import SessionRow
from workloop.domain.session import SessionEvent, Started, Text, Tokens, ToolCall, Usage
from workloop.domain.units import Unit
from workloop.driver.spending.leftover import Reread, Retold
from workloop.driver.spending.purse import Price, unpriced
from workloop.runner.archive import replay
from workloop.runner.harness.port import Harness
from workloop.wiring.logs import events_in, stream_of
from workloop.wiring.metering import own_prices

PROVIDERS: Final[Mapping[HarnessKind, str]] = {
    HarnessKind.CLAUDE: "anthropic",
    HarnessKind.CODEX: "openai",
    HarnessKind.COPILOT: "openai",
}
USUAL: Final = "anthropic"
"""Whose dearest model stands for one of an unknown provider."""
KNOWN: Final = ("anthropic", "openai", "google", "mistral", "deepseek", "x-ai")
TELLING: Final = (Started, Text, ToolCall, Usage)


def price_list(config: DriverConfig, clock: Clock) -> Price:
    """Return what tokens cost by the bundled list; nobody asks where no ceiling on money is set, so none is loaded."""
    if not config.budgets.budget.caps(Unit.COST):
        return unpriced
    from workloop.runner.meter.prices import ListedPrices
    from workloop.runner.meter.usage import Counted

    prices = ListedPrices(own=own_prices(config.meter))
    prices.warm()

    def price(harness: str, model: str, tokens: Tokens) -> int | None:
        """Return what a session's tokens cost; a model that nobody knows is as dear as its provider's dearest."""
        block = config.harnesses.get(harness)
        provider, name = listed_as(block.kind.value if block is not None else harness, model)
        return prices.price(provider, name, Counted(tokens=tokens), clock.now()).cost_micros

    return price


def listed_as(kind: str, model: str) -> tuple[str, str]:
    """Return the list's names of a provider and a model; some agents write both into one."""
    prefix, slash, rest = model.partition("/")
    if slash and prefix in KNOWN:
        return prefix, rest
    return next((provider for known, provider in PROVIDERS.items() if known.value == kind), USUAL), model


def reread_with(harnesses: Mapping[str, Harness], price: Price) -> Reread:
    """Return how a session's kept output is read once more for what it says that it spent."""

    def reread(row: SessionRow) -> Retold | None:
        """Read a session's output; None when it is not kept, or nobody can read it."""
        path, harness = stream_of(row), harnesses.get(row.harness)
        if harness is None or path is None:
            return None
        try:
            events = [event for event in events_in(replay(path), harness, row) if isinstance(event, TELLING)]
        except (Fault, OSError, EOFError):
            return None
        return retold(events, reports_cost=harness.capabilities.reports_cost or price is not unpriced)

    return reread


def retold(events: Sequence[SessionEvent], *, reports_cost: bool) -> Retold:
    """Add up what a session's events say."""
    usage = [event for event in events if isinstance(event, Usage)]
    costs = [event.cost_micros for event in usage if event.cost_micros is not None]
    return Retold(
        tokens=sum((event.tokens for event in usage), Tokens()) if usage else None,
        cost_micros=sum(costs) if costs else None,
        model=next((event.model for event in events if isinstance(event, Started) and event.model), ""),
        produced=any(isinstance(event, Text | ToolCall) for event in events),
        reports_cost=reports_cost,
    )
