"""How fast `workloop add --file` takes a long list, and how long claims wait meanwhile."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

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


def once(number: int) -> tuple[float, list[float]]:
    """Add a list to a fresh campaign while claiming from it; returns items a second and the claims' milliseconds."""
    from workloop.config import load

    with ours.scratch() as folder:
        repository, environment = prepare(folder)
        listed = folder / "items.jsonl"
        write_list(listed, number)
        settings = load(repository, environment)
        ours.SLUG, before = settings.campaign, ours.SLUG
        begun = time.perf_counter()
        command = (*COMMAND, "-C", str(repository), "add", "--file", str(listed), "--json")
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            times = claim_until_done(child, settings.place.store)
            assert child.stdout is not None
            answer = json.loads(child.stdout.read())
        took = time.perf_counter() - begun
        ours.SLUG = before
    assert answer["added"] == number, answer
    return number / took, times


def measure(quick: bool) -> list[Result]:
    """Add a list several times, each into a fresh store."""
    number, rounds = (10_000, 2) if quick else (100_000, 3)
    runs = [once(number) for _ in range(rounds)]
    waits = [ms for _, times in runs for ms in times]
    return [
        Result(
            name=f"add --file of {number:,} items",
            values=tuple(rate for rate, _ in runs),
            unit="items/s",
            limit=ITEMS_A_SECOND_MIN,
            at_least=True,
            note="the command's start included",
        ),
        Result(
            name="claim max meanwhile",
            values=tuple(max(times) for _, times in runs),
            unit="ms",
            limit=CLAIM_MS_MAX,
            note=f"{len(waits)} claims, p50 {percentile(waits, 0.5):.1f} ms, p99 {percentile(waits, 0.99):.1f} ms",
        ),
    ]
