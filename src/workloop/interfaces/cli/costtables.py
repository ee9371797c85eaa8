"""How costs and forecasts read for people."""

from typing import Any

from workloop.interfaces.cli.layout import Facts

COSTS = ("name", "sessions", "cost_usd", "new_tokens", "reread", "wasted", "hours", "remarks")
FORECAST = ("unit", "middle", "nine_in_ten")
UNKNOWN = "unknown"
SESSIONS = ("role", "harness", "sessions", "cost_usd", "tokens")


def cost_rows(facts: Facts) -> list[dict[str, Any]]:
    """Return the rows of a cost table with its sum."""
    rows: list[dict[str, Any]] = [*facts["rows"], {"name": "in all", **facts["total"]}] if facts["rows"] else []
    return [
        {**row, "cost_usd": money(row), "new_tokens": tokens(row), "reread": part(row["reread_share"]),
         "wasted": part(row["wasted_share"]), "remarks": remarks(row)}
        for row in rows
    ]  # fmt: skip


def money(row: Facts) -> str:
    """Write an amount of money, and that it is not all where some of it is unknown."""
    return UNKNOWN if row["cost_usd"] is None else f"{bound(row)}{row['cost_usd']:.2f}"


def bound(row: Facts) -> str:
    """Say how a sum stands to the truth: a floor where a part is missing, a reckoning where a reserve stands in."""
    if row["unknown"]:
        return "about "
    return "at least " if row["cost_unknown"] else ""


def tokens(row: Facts) -> str:
    """Write a count of tokens, and that it is not all where some of it is unknown."""
    if row["new_tokens"] is None:
        return UNKNOWN
    return ("at least " if row["tokens_unknown"] and not row["unknown"] else "") + str(row["new_tokens"])


def part(share: float | None) -> str:
    """Write a share."""
    return "-" if share is None else f"{share:.0%}"


def remarks(row: Facts) -> str:
    """Say what the figures leave out."""
    said = (
        (row["unknown"], "booked at their reserve"),
        (row["unpriced"], "without a price"),
        (row["tokens_unknown"], "that told no tokens"),
        (row["running"], "running"),
    )
    return ", ".join(f"{count} {words}" for count, words in said if count)


def cost_words(facts: Facts) -> list[str]:
    """Say what one change cost in the mean."""
    told = (("landed", "changes landed"), ("verified", "items were verified"))
    return [f"{facts[name]} {words}: {mean(facts, name)}" for name, words in told if facts[name]]


def mean(facts: Facts, name: str) -> str:
    """Write what each of several cost."""
    usd = facts[f"usd_per_{name}"]
    return "what they cost is unknown" if usd is None else f"{bound(facts['total'])}{usd:.2f} USD each"


def forecast_rows(facts: Facts) -> list[dict[str, Any]]:
    """Return the rows of a forecast."""
    return [
        {"unit": unit.replace("_", " "), **{name: known(one[name]) for name in ("middle", "nine_in_ten")}}
        for unit, one in facts["forecast"].items()
    ]


def known(value: float | None) -> str:
    """Write a figure, or that there is none."""
    return UNKNOWN if value is None else str(value)


def session_rows(facts: Facts) -> list[dict[str, Any]]:
    """Return what one session costs, as middle and as what nine in ten stay under."""
    return [{**row, **{name: ranged(row[name]) for name in ("cost_usd", "tokens")}} for row in facts["per_session"]]


def ranged(one: Facts) -> str:
    """Write a spread, or that nothing is known."""
    return UNKNOWN if one["middle"] is None else f"{one['middle']} to {one['nine_in_ten']}"
