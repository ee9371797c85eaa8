"""Measure everything and print one table; `--json` keeps the figures, `--quick` takes a minute, `--full` takes many.

Figures that are ratios or counts carry over to other machines; the absolute ones belong to this one, at its load.
"""

import argparse
import importlib
import importlib.util
import json
import os
import platform
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.backlog import SIZE_VARIABLE
from bench.result import Result, table

FIGURES = (
    "cycles",
    "syncs",
    "latency",
    "herd",
    "backlog",
    "intake",
    "streams",
    "sessions",
    "sandbox",
    "checks",
    "worktrees",
    "loop",
    "meter",
    "ledger",
    "runtimes",
    "supervisor",
)
PROGRAMS = ("commands", "mcp_start", "idle")
FULL_BACKLOG = 1_000_000


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("figures", nargs="*", help=f"only these: {', '.join((*FIGURES, *PROGRAMS))}")
    parser.add_argument("--quick", action="store_true", help="small stores and few rounds")
    parser.add_argument("--full", action="store_true", help=f"backlogs of {FULL_BACKLOG:,} instead of 100,000")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser.parse_args()


def machine() -> dict[str, Any]:
    """Return what the figures belong to."""
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def figure(name: str, quick: bool) -> list[Result]:
    """Measure one figure, saying how long it took and at what load."""
    begun = time.perf_counter()
    found: list[Result] = importlib.import_module(f"bench.{name}").measure(quick)
    took = time.perf_counter() - begun
    print(f"{name}: {took:.0f} s, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    return found


def program(name: str) -> str:
    """Run a figure that prints a table of its own."""
    if importlib.util.find_spec(f"bench.{name}") is None:
        return f"{name}: not there\n"
    done = subprocess.run([sys.executable, "-m", f"bench.{name}"], capture_output=True, text=True, check=False)
    return done.stdout or f"{name} failed:\n{done.stderr}"


def main(asked: argparse.Namespace) -> int:
    """Measure, print, and return 1 when a target is missed."""
    names: Sequence[str] = asked.figures or (*FIGURES, *PROGRAMS)
    if asked.full:
        os.environ.setdefault(SIZE_VARIABLE, str(FULL_BACKLOG))
    before = machine()
    results = [result for name in FIGURES if name in names for result in figure(name, asked.quick)]
    after = machine()
    print(" ".join(f"{key} {value}" for key, value in before.items()) + f", load at the end {after['load']}")
    if results:
        print(table(results))
    told = {name: program(name) for name in PROGRAMS if name in names}
    for name, text in told.items():
        print(f"\n{name}\n{text.rstrip()}")
    if asked.json is not None:
        figures = [result.as_json() for result in results]
        asked.json.write_text(json.dumps({"before": before, "after": after, "figures": figures, **told}, indent=2))
    return 1 if any(result.verdict == "MISSED" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main(options()))
