"""What the host adds to a check: a clean checkout, places of its own, walls, and seeing that all of it has ended.

One value is one whole round of one check on one commit, from the question to the receipt, less the same command in the
same turn in a checkout that is there. A guard that passes is looked at on the candidate only, so a round has one run:
nothing is shared among several checks, and no second side is in it. Each round has a name of its own, as the loop's,
and the base is packed, as that of a repository which was cloned.
"""

import os
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

from bench.result import Result
from workloop.domain.checks import Check, CheckKind
from workloop.domain.clock import Instant
from workloop.runner.checks import CheckPlan, run_checks
from workloop.runner.repository import Repository, open_repository
from workloop.runner.sandbox.enclosure import BARE, Enclosure, Network, find_enclosure
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

ADDED_MS_MAX = 150.0
FILES = 500
COMMAND = "test -s file0.txt"
TESTS = {"tests/check.sh": "test -s file0.txt\n"}


def measure(quick: bool) -> list[Result]:
    """Run the same command in a ready checkout and as a check, in turns."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        files = {f"file{number}.txt": f"{number}\n" for number in range(FILES)}
        shop = scratch_repository(folder / "shop", {**files, **TESTS})
        shop.git("repack", "-a", "-d", "-q")
        repository = open_repository(shop.path, folder / "state")
        base, candidate = shop.head, shop.commit({"file1.txt": "other\n"})
        walls = find_enclosure("auto", Network.OPEN)
        bare, walled, guarded = [], [], []
        for _ in range(10 if quick else 20):
            ready = plain(shop)
            bare.append(checked(repository, base, candidate, BARE) - ready)
            walled.append(checked(repository, base, candidate, walls) - ready)
            guarded.append(checked(repository, base, candidate, walls, ("tests",)) - ready)
    return [
        Result(name="check, above its command", values=tuple(bare), unit="ms", limit=ADDED_MS_MAX),
        Result(name=f"check in {walls.name}, above its command", values=tuple(walled), unit="ms", limit=ADDED_MS_MAX),
        Result(name="the same, with protected tests", values=tuple(guarded), unit="ms", limit=ADDED_MS_MAX),
    ]


def plain(shop: ScratchRepository) -> float:
    """Run the command in a checkout that is there; returns milliseconds."""
    began = time.perf_counter()
    subprocess.run(["/bin/sh", "-c", COMMAND], cwd=shop.path, check=True, env={"PATH": os.defpath})
    return (time.perf_counter() - began) * 1000


def checked(
    repository: Repository, base: str, candidate: str, walls: Enclosure, protected: tuple[str, ...] = ()
) -> float:
    """Run the command as a guard of a candidate; returns milliseconds."""
    check = Check(id="guard", kind=CheckKind.GUARDS, command=COMMAND, timeout_seconds=60)
    plan = CheckPlan(
        run=str(uuid.uuid4()),
        item_id="01bench",
        base_sha=base,
        candidate_sha=candidate,
        checks=(check,),
        now=Instant(1),
        protected=protected,
        enclosure=walls,
    )
    began = time.perf_counter()
    report = run_checks(repository, plan)
    assert report.green, report
    return (time.perf_counter() - began) * 1000
