"""How fast `workloop add --file` takes a long list, and how long claims wait meanwhile."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from bench import ours
from bench.result import Result, percentile

ITEMS_A_SECOND_MIN = 10_000
CLAIM_MS_MAX = 250
PAUSE_SECONDS = 0.02
COMMAND = (sys.executable, "-m", "workloop")


def write_list(path: Path, number: int) -> None:
    """Write items, one a line."""
    with path.open("w", encoding="utf-8") as lines:
        lines.writelines(f"{json.dumps(ours.item(index))}\n" for index in range(number))


def prepare(folder: Path) -> tuple[Path, dict[str, str]]:
    """Make a repository with a campaign; returns it and the environment that finds the campaign."""
    repository = folder / "project"
    environment = {**os.environ, "WORKLOOP_STATE": str(folder / "state"), "GIT_CONFIG_GLOBAL": os.devnull}
    environment.pop("WORKLOOP_URL", None)
    identity = ("-c", "user.name=Bench", "-c", "user.email=bench@localhost")
    run = ("git", "-C", str(repository))
    repository.mkdir()
    for command in (
        (*run, "init", "-q", "-b", "main"),
        (*run, *identity, "commit", "-q", "--allow-empty", "-m", "A project"),
        (*COMMAND, "-C", str(repository), "init"),
    ):
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return repository, environment


def claim_until_done(child: "subprocess.Popen[bytes]", store: Path) -> list[float]:
    """Claim and complete, with pauses, as long as the other process adds; returns the milliseconds of each claim."""
    worker = ours.Ours(store)
    times: list[float] = []
    while child.poll() is None:
        begun = time.perf_counter()
        key = worker.claim()
        times.append((time.perf_counter() - begun) * 1000)
        if key is not None:
            worker.complete()
        time.sleep(PAUSE_SECONDS)
    worker.close()
    return times


class Run(NamedTuple):
    """One list added: items a second by the clock and by the command's processor time, and the claims meanwhile."""

    by_clock: float
    by_processor: float
    claim_ms: list[float]


def processor_seconds() -> float:
    """Return the processor time of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def once(number: int) -> Run:
    """Add a list to a fresh campaign while claiming from it."""
    from workloop.config import load

    with ours.scratch() as folder:
        repository, environment = prepare(folder)
        listed = folder / "items.jsonl"
        write_list(listed, number)
        settings = load(repository, environment)
        ours.SLUG, before = settings.campaign, ours.SLUG
        begun, spent = time.perf_counter(), processor_seconds()
        command = (*COMMAND, "-C", str(repository), "add", "--file", str(listed), "--json")
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            times = claim_until_done(child, settings.place.store)
            assert child.stdout is not None
            answer = json.loads(child.stdout.read())
        took, spent = time.perf_counter() - begun, processor_seconds() - spent
        ours.SLUG = before
    assert answer["added"] == number, answer
    return Run(number / took, number / spent, times)


def measure(quick: bool) -> list[Result]:
    """Add a list several times, each into a fresh store."""
    number, rounds = (10_000, 2) if quick else (100_000, 3)
    runs = [once(number) for _ in range(rounds)]
    waits = [ms for run in runs for ms in run.claim_ms]
    return [
        Result(
            name=f"add --file of {number:,} items",
            values=tuple(run.by_clock for run in runs),
            unit="items/s",
            limit=ITEMS_A_SECOND_MIN,
            at_least=True,
            note="the command's start included",
        ),
        Result(
            name="the same by processor time",
            values=tuple(run.by_processor for run in runs),
            unit="items/s",
            note="what it would be on a machine with nothing else to do",
        ),
        Result(
            name="claim max meanwhile",
            values=tuple(max(run.claim_ms) for run in runs),
            unit="ms",
            limit=CLAIM_MS_MAX,
            note=f"{len(waits)} claims, p50 {percentile(waits, 0.5):.1f} ms, p99 {percentile(waits, 0.99):.1f} ms",
        ),
    ]
