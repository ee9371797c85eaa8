"""How the loop learns what tokens cost, and what a dead loop's sessions spent by their kept output."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from workloop.config import DriverConfig, HarnessKind
from workloop.domain.clock import Clock
from workloop.domain.errors import Fault
from workloop.domain.journal import SessionRow
from workloop.domain.session import SessionEvent, Started, Text, Tokens, ToolCall, Usage
from workloop.domain.units import Unit
from workloop.driver.spending.leftover import Reread, Retold
from workloop.driver.spending.purse import Price, unpriced
from workloop.runner.archive import STREAM_NAME, replay
from workloop.runner.framing import OverlongLine
from workloop.runner.harness.port import Harness, LaunchRequest
from workloop.wiring.metering import own_prices

PROVIDERS: Final[Mapping[HarnessKind, str]] = {
    HarnessKind.CLAUDE: "anthropic",
    HarnessKind.CODEX: "openai",
    HarnessKind.COPILOT: "openai",
}
USUAL: Final = "anthropic"
"""Whose dearest model stands for one of an unknown provider."""
KNOWN: Final = ("anthropic", "openai", "google", "mistral", "deepseek", "x-ai")


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
        path, harness = Path(row.log_path), harnesses.get(row.harness)
        path = path if path.is_file() else path.with_name(STREAM_NAME)
        if harness is None or not row.log_path or not path.is_file():
            return None
        try:
            events = events_of(harness, row, path)
        except (Fault, OSError, EOFError):
            return None
        return retold(events, reports_cost=harness.capabilities.reports_cost or price is not unpriced)

    return reread


def events_of(harness: Harness, row: SessionRow, path: Path) -> list[SessionEvent]:
    """Read kept output with its harness, what it says at its end included."""
    reader = harness.reader(
        LaunchRequest(prompt="", cwd=Path(row.cwd), session_dir=path.parent, session_id=row.session_id, environment={})
    )
    reader.replies()
    events: list[SessionEvent] = []
    for number, line in enumerate(replay(path)):
        found = reader.overlong(line.size, number) if isinstance(line, OverlongLine) else reader.feed(line, number)
        events += [event for event in found if isinstance(event, Started | Text | ToolCall | Usage)]
        reader.replies()
    return [*events, *reader.finish(None, None, "").events]


def retold(events: list[SessionEvent], *, reports_cost: bool) -> Retold:
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
