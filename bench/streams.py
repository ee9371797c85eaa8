"""How fast recorded sessions are cut into lines and read as events, beside msgspec decoding the same lines.

Reading is what is done while a session runs: bytes to lines to events. What is done once at its end is shown apart.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from bench.result import Result
from workloop.runner.framing import LineSplitter, OverlongLine
from workloop.runner.harness.claude.launch import ClaudeConfig, ClaudeHarness
from workloop.runner.harness.codex.launch import CodexConfig, CodexHarness, CodexMode
from workloop.runner.harness.port import Harness, LaunchRequest, StreamReader

RECORDINGS = Path(__file__).parents[1] / "tests" / "recordings"
CHUNK_BYTES = 65_536
RATIO_MIN = 0.5
GROUPS: dict[str, tuple[Harness, str]] = {
    "claude": (ClaudeHarness(ClaudeConfig()), "claude/*.jsonl"),
    "codex app-server": (CodexHarness(CodexConfig(mode=CodexMode.APP_SERVER)), "codex/appserver-*.jsonl"),
    "codex exec": (CodexHarness(CodexConfig(mode=CodexMode.EXEC)), "codex/exec-*.jsonl"),
}


def read(reader: StreamReader, chunks: list[bytes]) -> None:
    """Cut and read one session as the runner does."""
    splitter = LineSplitter()
    for chunk in [*chunks, b""]:
        for line in splitter.feed(chunk) if chunk else splitter.finish():
            if isinstance(line, OverlongLine):
                reader.overlong(line.size, 0)
            else:
                reader.feed(line, 0)


def decode(lines: list[bytes]) -> None:
    """Decode lines that are already cut, to plain objects; the few that are no JSON are left out beforehand."""
    for line in lines:
        msgspec.json.decode(line)


def is_json(line: bytes) -> bool:
    """Tell whether the other side can read a line at all."""
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError:
        return False
    return True


def judge(reader: StreamReader) -> None:
    """End one session well."""
    reader.finish(0, None, "")


def seconds(act: Callable[..., object], calls: Sequence[tuple[object, ...]]) -> float:
    """Return the processor time that some calls take; what else the machine does counts for neither side."""
    begun = time.process_time()
    for arguments in calls:
        act(*arguments)
    return time.process_time() - begun


def group_results(name: str, request: LaunchRequest, rounds: int) -> list[Result]:
    """Measure one program's recordings: both sides in turn, so that the machine's load weighs on both alike."""
    harness, pattern = GROUPS[name]
    sessions = [path.read_bytes() for path in sorted(RECORDINGS.glob(pattern))]
    chunks = [[data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)] for data in sessions]
    lines = [[line for line in data.splitlines() if is_json(line)] for data in sessions]
    size = sum(map(len, sessions)) / 1e6
    ours, theirs, judged = list[float](), list[float](), list[float]()
    for _ in range(rounds):
        readers = [harness.reader(request) for _ in sessions]
        ours.append(seconds(read, list(zip(readers, chunks, strict=True))))
        theirs.append(seconds(decode, [(session,) for session in lines]))
        judged.append(seconds(judge, [(reader,) for reader in readers]))
    number = sum(map(len, lines))
    note = (
        f"{len(sessions)} sessions, {number} lines, {size:.2f} MB; msgspec {size / statistics.median(theirs):.0f} MB/s"
    )
    return [
        Result(
            name=f"{name}: of msgspec's speed", values=ratios(ours, theirs), unit="x", limit=RATIO_MIN, at_least=True
        ),
        Result(name=f"{name}: read", values=tuple(size / took for took in ours), unit="MB/s", note=note),
        Result(name=f"{name}: a line", values=tuple(took / number * 1e6 for took in ours), unit="us"),
        Result(
            name=f"{name}: a session judged", values=tuple(took / len(sessions) * 1e6 for took in judged), unit="us"
        ),
    ]


def ratios(ours: list[float], theirs: list[float]) -> tuple[float, ...]:
    """Return how fast we are of the other side's speed, round by round."""
    return tuple(other / own for own, other in zip(ours, theirs, strict=True))


def measure(quick: bool) -> list[Result]:
    """Measure every program whose recordings are there."""
    rounds = 15 if quick else 60
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        request = LaunchRequest(prompt="", cwd=place, session_dir=place, session_id="bench", environment={})
        return [result for name in GROUPS for result in group_results(name, request, rounds)]
