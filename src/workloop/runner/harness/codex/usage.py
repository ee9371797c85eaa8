"""How Codex's running totals become deltas that are never counted twice, in buckets that do not overlap."""

from workloop.domain.session import Tokens
from workloop.runner.harness.fields import Fields


class CodexUsage:
    """What one thread has reported so far; a resumed thread begins with what it had cost before."""

    def __init__(self, *, resumed: bool) -> None:
        self.baseline_due = resumed
        self.counted = Tokens()

    def start_from(self, total: Tokens) -> None:
        """Take a total as already counted."""
        self.baseline_due = False
        self.counted = total

    def of_report(self, usage: Fields, *, own_turn: bool) -> Tokens:
        """Return what a running total adds; the first one after a resume only says where the counting starts."""
        total, last = bill_of(usage.inner("total")), bill_of(usage.inner("last"))
        if self.baseline_due:
            self.start_from(total.beyond(last) if own_turn else total)
        return self.of_total(total)

    def of_total(self, total: Tokens) -> Tokens:
        """Return what a total has over what was counted; a total that fell adds nothing."""
        more = total.beyond(self.counted)
        self.counted += more
        return more


def bill_of(usage: Fields) -> Tokens:
    """Fold a report into the four buckets; cached and newly cached input are parts of the input there."""
    given = usage.count("inputTokens") or usage.count("input_tokens")
    read = usage.count("cachedInputTokens") or usage.count("cached_input_tokens")
    written = usage.count("cacheWriteInputTokens") or usage.count("cache_write_input_tokens")
    return Tokens(
        input=max(0, given - read - written),
        output=usage.count("outputTokens") or usage.count("output_tokens"),
        cache_read=read,
        cache_write=written,
    )
