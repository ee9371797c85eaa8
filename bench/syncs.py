"""How many disk syncs and written bytes one claim and its completion cost, counted in the kernel's calls, not timed."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bench import ours
from bench.result import Result

SYNCS_MAX = 2.05
BYTES_SHARE_MAX = 2.0
BEGIN, END = "MARK-BEGIN", "MARK-END"
CALLS = "fsync,fdatasync,pwrite64,write"
WRITTEN = re.compile(r"pwrite64\(.*= (\d+)$")
BACKLOG = 1_000
WARM = 20


class Counted(NamedTuple):
    """What one cycle costs."""

    syncs: float
    writes: float
    bytes: float


def work(name: str, folder: Path, cycles: int) -> None:
    """Run cycles between two marks that the trace shows."""
    from bench.cycles import CONTENDERS

    contender = CONTENDERS[name]
    contender.create(folder / "store.db", BACKLOG)
    worker = contender.worker(folder / "store.db")
    mark = os.open(os.devnull, os.O_WRONLY)
    for number in range(WARM + cycles):
        if number == WARM:
            os.write(mark, BEGIN.encode())
        assert worker.claim() is not None
        worker.complete()
    os.write(mark, END.encode())
    worker.close()


def count(trace: str, cycles: int) -> Counted:
    """Count the calls between the marks."""
    between = trace.split(BEGIN, 1)[1].split(END, 1)[0].splitlines()
    syncs = sum("fsync(" in line or "fdatasync(" in line for line in between)
    sizes = [int(found[1]) for line in between if (found := WRITTEN.search(line))]
    return Counted(syncs / cycles, len(sizes) / cycles, sum(sizes) / cycles)


def counted(name: str, cycles: int) -> Counted:
    """Run one contender under strace in a process of its own."""
    with ours.scratch() as folder:
        trace = folder / "trace"
        child = [sys.executable, "-m", "bench.syncs", name, str(folder), str(cycles)]
        subprocess.run(
            ["strace", "-f", "-o", str(trace), "-e", f"trace={CALLS}", *child],
            check=True,
            cwd=Path(__file__).parents[1],
        )
        return count(trace.read_text("utf-8", errors="replace"), cycles)


def measure(quick: bool) -> list[Result]:
    """Count ours and the bare queue that keeps as much."""
    if shutil.which("strace") is None:
        return [Result(name="syncs a cycle, counted", values=(0,), unit="", note="not counted: strace is missing")]
    cycles = 100 if quick else 400
    found: Mapping[str, Counted] = {name: counted(name, cycles) for name in ("ours", "rich")}
    mine, rich = found["ours"], found["rich"]
    return [
        Result(name="syncs a cycle, counted", values=(mine.syncs,), unit="", limit=SYNCS_MAX),
        Result(
            name="bytes written a cycle, ours / bare and rich",
            values=(mine.bytes / rich.bytes,),
            unit="x",
            limit=BYTES_SHARE_MAX,
            note=f"{mine.bytes / 1000:.1f} KB in {mine.writes:.1f} writes, "
            f"bare {rich.bytes / 1000:.1f} KB in {rich.writes:.1f}",
        ),
    ]


if __name__ == "__main__":
    work(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
