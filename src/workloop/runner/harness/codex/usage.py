"""How Codex's running totals become deltas that are never counted twice, in buckets that do not overlap."""

from workloop.domain.session import Tokens
from workloop.runner.harness.codex.wire import Counts, SnakeCounts, TokenUsage
from workloop.runner.harness.fields import INTEGER_MAX


class CodexUsage:
    """What one thread has reported so far; a resumed thread begins with what it had cost before."""

    def __init__(self, *, resumed: bool) -> None:
        self.baseline_due = resumed
        self.counted = Tokens()

    def start_from(self, total: Tokens) -> None:
        """Take a total as already counted."""
        self.baseline_due = False
        self.counted = total

    def of_report(self, usage: TokenUsage, *, own_turn: bool) -> Tokens:
        """Return what a running total adds; the first one after a resume only says where the counting starts."""
        total = bill_of(usage.total)
        if self.baseline_due:
            self.start_from(total.beyond(bill_of(usage.last)) if own_turn else total)
        return self.of_total(total)

    def of_total(self, total: Tokens) -> Tokens:
        """Return what a total has over what was counted; a total that fell adds nothing."""
        before = self.counted
        more = total.beyond(before)
        self.counted = total if more.total == total.total - before.total else before + more
        return more


def bill_of(counts: Counts | SnakeCounts) -> Tokens:
    """Fold a report into the four buckets; cached and newly cached input are parts of the input there."""
    read, written = sane(counts.cached_input_tokens), sane(counts.cache_write_input_tokens)
    given = max(0, sane(counts.input_tokens) - read - written)
    return Tokens(given, sane(counts.output_tokens), read, written)


def sane(number: int) -> int:
    """Return a count; nonsense counts nothing."""
    return number if 0 <= number <= INTEGER_MAX else 0
