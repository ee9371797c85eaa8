"""How Claude Code's running totals become deltas that are never counted twice."""

from workloop.domain.session import Tokens
from workloop.runner.harness.claude.wire import NO_COUNTS, Counts, Message, ModelCounts, Result
from workloop.runner.harness.fields import micros_of

NONE = Tokens()


class ClaudeUsage:
    """What one process has reported so far."""

    def __init__(self, *, resumed: bool) -> None:
        self.resumed = resumed
        self.by_message: dict[str, Counts] = {}
        self.counted = NONE

    def of_message(self, message: Message) -> Tokens:
        """Return what a message adds; its output is a lower bound until the result comes."""
        known, told = self.by_message.get(message.id), message.usage or NO_COUNTS
        if told == known:
            return NONE
        more = tokens_of(told) if known is None else tokens_of(told).beyond(tokens_of(known))
        if more.total:
            self.by_message[message.id] = told
            self.counted += more
        return more

    def of_result(self, result: Result) -> tuple[Tokens, int | None]:
        """Return what a result adds to the messages since the one before, and its cost.

        A resumed session's running totals include its earlier processes, so the per-result report is
        used where there is one; without it the cost of a resumed session is over-stated, never under.
        """
        recent = list((result.model_usage_since_last_result or {}).values())
        models = recent or ([] if self.resumed else list((result.model_usage or {}).values()))
        first, *others = models or [result.usage or NO_COUNTS]
        total = sum(map(tokens_of, others), tokens_of(first))
        more = total.beyond(self.counted)
        self.counted = NONE
        micros = [amount for model in recent if (amount := micros_of(model.cost)) is not None]
        known = recent and len(micros) == len(recent)
        return more, sum(micros) if known else micros_of(result.total_cost_usd)


def tokens_of(counts: Counts | ModelCounts) -> Tokens:
    """Fold a report into the four buckets."""
    return Tokens(
        counts.input_tokens, counts.output_tokens, counts.cache_read_input_tokens, counts.cache_creation_input_tokens
    )
