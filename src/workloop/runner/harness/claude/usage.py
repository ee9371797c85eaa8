"""How Claude Code's running totals become deltas that are never counted twice."""

from workloop.domain.session import Tokens
from workloop.runner.harness.fields import Fields


class ClaudeUsage:
    """What one process has reported so far."""

    def __init__(self, *, resumed: bool) -> None:
        self.resumed = resumed
        self.by_message: dict[str, Tokens] = {}
        self.counted = Tokens()

    def of_message(self, message: Fields) -> Tokens:
        """Return what a message adds; its output is a lower bound until the result comes."""
        key, tokens = message.text("id"), usage_tokens(message.inner("usage"))
        more = tokens.beyond(self.by_message.get(key, Tokens()))
        if more.total:
            self.by_message[key] = tokens
            self.counted += more
        return more

    def of_result(self, result: Fields) -> tuple[Tokens, int | None]:
        """Return what a result adds to the messages since the one before, and its cost.

        A resumed session's running totals include its earlier processes, so the per-result report is
        used where there is one; without it the cost of a resumed session is over-stated, never under.
        """
        recent = result.inner("model_usage_since_last_result").objects()
        models = recent or ([] if self.resumed else result.inner("modelUsage").objects())
        total = (
            sum((model_tokens(model) for model in models), Tokens()) if models else usage_tokens(result.inner("usage"))
        )
        more = total.beyond(self.counted)
        self.counted = Tokens()
        micros = [amount for model in recent if (amount := model.micros("costUSD")) is not None]
        known = recent and len(micros) == len(recent)
        return more, sum(micros) if known else result.micros("total_cost_usd")


def usage_tokens(usage: Fields) -> Tokens:
    """Fold the provider's usage object into the four buckets."""
    return Tokens(
        input=usage.count("input_tokens"),
        output=usage.count("output_tokens"),
        cache_read=usage.count("cache_read_input_tokens"),
        cache_write=usage.count("cache_creation_input_tokens"),
    )


def model_tokens(model: Fields) -> Tokens:
    """Fold one model's totals into the four buckets."""
    return Tokens(
        input=model.count("inputTokens"),
        output=model.count("outputTokens"),
        cache_read=model.count("cacheReadInputTokens"),
        cache_write=model.count("cacheCreationInputTokens"),
    )
