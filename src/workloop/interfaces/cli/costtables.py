"""How costs and forecasts read for people."""

from typing import Any

from workloop.interfaces.cli.layout import Facts

COSTS = ("name", "sessions", "cost_usd", "new_tokens", "reread", "wasted", "hours", "remarks")
FORECAST = ("unit", "middle", "nine_in_ten")
SESSIONS = ("role", "harness", "sessions", "cost_usd", "tokens")


def cost_rows(facts: Facts) -> list[dict[str, Any]]:
    """Return the rows of a cost table with its sum."""
    rows: list[dict[str, Any]] = [*facts["rows"], {"name": "in all", **facts["total"]}] if facts["rows"] else []
    return [
        {**row, "cost_usd": f"{row['cost_usd']:.2f}", "reread": part(row["reread_share"]),
         "wasted": part(row["wasted_share"]), "remarks": remarks(row)}
        for row in rows
    ]  # fmt: skip


def part(share: float | None) -> str:
    """Write a share."""
    return "-" if share is None else f"{share:.0%}"


def remarks(row: Facts) -> str:
    """Say what the figures leave out."""
    said = (
        (row["unknown"], "booked at their reserve"),
        (row["unpriced"], "without a price"),
        (row["running"], "running"),
    )
    return ", ".join(f"{count} {words}" for count, words in said if count)


def cost_words(facts: Facts) -> list[str]:
    """Say what one change cost in the mean."""
    said: list[str] = []
    if facts["usd_per_landed"] is not None:
        said.append(f"{facts['landed']} changes landed: {facts['usd_per_landed']:.2f} USD each")
    if facts["usd_per_verified"] is not None:
        said.append(f"{facts['verified']} items were verified: {facts['usd_per_verified']:.2f} USD each")
    return said


def forecast_rows(facts: Facts) -> list[dict[str, Any]]:
    """Return the rows of a forecast."""
    return [{"unit": unit.replace("_", " "), **one} for unit, one in facts["forecast"].items()]


def session_rows(facts: Facts) -> list[dict[str, Any]]:
    """Return what one session costs, as middle and as what nine in ten stay under."""
    return [
        {**row, **{name: f"{row[name]['middle']} to {row[name]['nine_in_ten']}" for name in ("cost_usd", "tokens")}}
        for row in facts["per_session"]
    ]
