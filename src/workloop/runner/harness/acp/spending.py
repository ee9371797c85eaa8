"""How the tokens and the cost that agents report, each in its own way, are added up once."""

from workloop.domain.session import Tokens
from workloop.runner.harness.fields import Fields

DOLLARS = "USD"


class Spending:
    """What one session has reported so far."""

    def __init__(self) -> None:
        self.counted = Tokens()
        self.cost = 0
        self.cost_told: int | None = None

    def of_chunk(self, meta: Fields) -> Tokens:
        """Return what a model call reports that an agent hangs on its text."""
        more = tokens_of(meta.inner("usage"))
        self.counted += more
        return more

    def of_session(self, update: Fields, *, before: bool) -> None:
        """Take the running cost; what was spent before our prompt is another session's."""
        cost = update.inner("cost")
        amount = cost.micros("amount") if cost.text("currency") == DOLLARS else None
        if amount is not None and before:
            self.cost = amount
        elif amount is not None:
            self.cost_told = amount

    def of_end(self, usage: Fields, meta: Fields) -> tuple[Tokens, int | None]:
        """Return what the end of the turn adds, and the cost if one was reported."""
        quota = meta.inner("quota").inner("token_count")
        told = Tokens(input=quota.count("input_tokens"), output=quota.count("output_tokens"))
        total = tokens_of(usage) if usage else told
        cost = None if self.cost_told is None else max(0, self.cost_told - self.cost)
        return total.beyond(self.counted), cost


def tokens_of(usage: Fields) -> Tokens:
    """Fold a report into the four buckets, whether or not its input counts what came from the cache."""
    read, write = usage.count("cachedReadTokens"), usage.count("cachedWriteTokens")
    given, output, thought = (usage.count(name) for name in ("inputTokens", "outputTokens", "thoughtTokens"))
    if usage.count("totalTokens") >= given + output + thought + read + write:
        return Tokens(input=given, output=output + thought, cache_read=read, cache_write=write)
    return Tokens(input=max(0, given - read - write), output=output, cache_read=read, cache_write=write)
