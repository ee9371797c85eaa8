"""How soon an MCP client that starts `workloop mcp` has its answers, against an empty Python."""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
BARE = "from workloop.interfaces.mcp.stdio import serve_stdio; serve_stdio(lambda: None, 'coordinator')"
SERVERS = {
    "bare module": (sys.executable, "-c", BARE),
    "workloop mcp": (sys.executable, "-m", "workloop", "mcp", "--profile", "coordinator"),
}


def empty() -> float:
    """Time an empty Python, in milliseconds."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return (time.perf_counter() - start) * 1000


def served(argv: Sequence[str]) -> tuple[float, float]:
    """Time a server from its spawn to its first two answers, in milliseconds."""
    start = time.perf_counter()
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        times: list[float] = []
        for request in (INITIALIZE, LIST):
            child.stdin.write(json.dumps(request).encode() + b"\n")
            answer = json.loads(read_line(child.stdout.fileno()))
            assert "result" in answer, answer
            times.append((time.perf_counter() - start) * 1000)
        child.stdin.close()
    return times[0], times[1]


def read_line(descriptor: int) -> bytes:
    """Read one line from a pipe."""
    with open(descriptor, "rb", buffering=0, closefd=False) as pipe:
        return pipe.readline()


def told(name: str, times: Sequence[float], base: float) -> str:
    """Write one row: median, range, and how many times an empty Python it is."""
    middle = statistics.median(times)
    return f"{name:32} {middle:7.1f} ms  [{min(times):.1f} to {max(times):.1f}]  {middle / base:.1f} x"


def main() -> None:
    """Measure in turns and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    plain: list[float] = []
    initialized: dict[str, list[float]] = {name: [] for name in SERVERS}
    listed: dict[str, list[float]] = {name: [] for name in SERVERS}
    for _ in range(rounds):
        plain.append(empty())
        for name, argv in SERVERS.items():
            first, second = served(argv)
            initialized[name].append(first)
            listed[name].append(second)
    base = statistics.median(plain)
    print(told("python -c pass", plain, base))
    for name in SERVERS:
        print(told(f"{name}: initialize", initialized[name], base))
        print(told(f"{name}: tools/list", listed[name], base))


if __name__ == "__main__":
    main()
