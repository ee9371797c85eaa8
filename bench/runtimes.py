"""How fast a runtime is looked at again before a worker starts, against sha256sum over the same files."""

import random
import subprocess
import time
from pathlib import Path

from bench import ours
from bench.result import Result

SHARE_MIN = 0.7
FILES = 200
FILE_BYTES = 100 * 1024
SEED = 20


def harness(folder: Path, files: int) -> str:
    """Make a repository with files of chance in several folders; returns its commit."""
    chance = random.Random(SEED)
    folder.mkdir()
    for number in range(files):
        file = folder / f"part-{number % 8}" / f"file-{number:04}.bin"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(chance.randbytes(FILE_BYTES))
    run = ("git", "-C", str(folder), "-c", "user.name=Bench", "-c", "user.email=bench@localhost")
    for words in (("init", "-q", "-b", "main"), ("add", "--all"), ("commit", "-q", "-m", "A harness")):
        subprocess.run((*run, *words), check=True, stdout=subprocess.DEVNULL)
    return subprocess.run((*run, "rev-parse", "HEAD"), check=True, capture_output=True, text=True).stdout.strip()


def measure(quick: bool) -> list[Result]:
    """Let both read the same files in turns, so that the machine's noise meets the one and the other."""
    from workloop.repair.runtimes.store import RuntimeStore

    rounds = 9 if quick else 25
    with ours.scratch() as folder:
        commit = harness(folder / "harness", FILES)
        store = RuntimeStore(folder / "runtimes")
        begun = time.perf_counter()
        runtime = store.build(folder / "harness", commit)
        built = time.perf_counter() - begun
        paths = [str(runtime.path / entry.path) for entry in runtime.manifest.entries]
        theirs: list[float] = []
        own: list[float] = []
        for _ in range(rounds):
            begun = time.perf_counter()
            subprocess.run(("sha256sum", "--", *paths), check=True, stdout=subprocess.DEVNULL)
            theirs.append((time.perf_counter() - begun) * 1_000)
            begun = time.perf_counter()
            store.for_worker(runtime.id, commit)
            own.append((time.perf_counter() - begun) * 1_000)
    what = f"{FILES} files of {FILE_BYTES // 1024} KB"
    return [
        Result(
            name="runtime looked at again, share of sha256sum",
            values=tuple(their / our for their, our in zip(theirs, own, strict=True)),
            unit="x",
            limit=SHARE_MIN,
            at_least=True,
            note=f"{what}, names, kinds and modes as well",
        ),
        Result(name="runtime looked at again", values=tuple(own), unit="ms", note=what),
        Result(name="sha256sum", values=tuple(theirs), unit="ms", note=f"{what}, its start included"),
        Result(name="runtime built", values=(built * 1_000,), unit="ms", note=f"{what}, on disk to stay"),
    ]
