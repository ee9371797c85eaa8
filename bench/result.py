"""What a figure says: a median with its range, the target it is held to, and whether it meets it."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One figure; `limit` is the target's number, a highest one unless `at_least`."""

    name: str
    values: tuple[float, ...]
    unit: str
    limit: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def median(self) -> float:
        """Return the middle of the values."""
        return statistics.median(self.values)

    @property
    def target(self) -> str:
        """Return the target in words."""
        if self.limit is None:
            return "-"
        return f"{'≥' if self.at_least else '≤'} {number(self.limit)} {self.unit}"

    @property
    def verdict(self) -> str:
        """Tell whether the median meets the target."""
        if self.limit is None:
            return "shown"
        met = self.median >= self.limit if self.at_least else self.median <= self.limit
        return "met" if met else "MISSED"

    def as_json(self) -> dict[str, Any]:
        """Return the figure for a program."""
        return {**asdict(self), "median": self.median, "verdict": self.verdict}


def number(value: float) -> str:
    """Write a number with as many digits as it is worth."""
    if value and abs(value) < 10:
        return f"{value:.2f}"
    return f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def row(result: Result) -> tuple[str, ...]:
    """Return a figure as the cells of one line."""
    spread = f"{number(min(result.values))} to {number(max(result.values))}"
    measured = f"{number(result.median)} {result.unit}"
    return (result.name, measured, spread, result.target, result.verdict, result.note)


def table(results: Sequence[Result]) -> str:
    """Write figures as a table."""
    rows = [("figure", "median", "low to high", "target", "verdict", "note"), *map(row, results)]
    widths = [max(len(cells[column]) for cells in rows) for column in range(5)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False)) + f"  {cells[5]}".rstrip()
        for cells in rows
    ]
    return "\n".join(line.rstrip() for line in lines)
