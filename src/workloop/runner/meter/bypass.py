"""How a session is found out that has spoken to a model past the meter."""

from workloop.domain.session import SessionReport
from workloop.runner.meter.port import MeterReading

SAYINGS = ("text", "tool_call")
SLACK_TOKENS = 1_000  # a CLI may count a title or a summary of its own a little differently


def went_round(report: SessionReport, reading: MeterReading) -> str:
    """Say why a session must have had another way to a model, or nothing.

    What the agent reports is believed only against itself: it can hide a way round the meter, but then the closed
    network of its sandbox has to have had a hole.
    """
    said = sum(report.event_counts.get(kind, 0) for kind in SAYINGS)
    if not reading.calls and not reading.refused and (said or report.tokens.total):
        return f"the session spoke {said} times and reports {report.tokens.total} tokens, but made no call here"
    if reading.unknown_calls or not report.usage_reported:
        return ""
    beyond = report.tokens.beyond(reading.tokens)
    if beyond.output > SLACK_TOKENS or beyond.input > reading.tokens.total + SLACK_TOKENS:
        return (
            f"the session reports {report.tokens.output} tokens of output and {report.tokens.input} of new input, "
            f"of which {reading.tokens.output} and {reading.tokens.input} came through here"
        )
    return ""
