"""What a short command costs, beside a bare Python script that runs the same SQLite statements.

`python bench/commands.py [--runs N]` prints a table and writes JSON. All contestants run in turn within one process
tree, each on a fresh copy of the same store, so that what else the machine does weighs on all of them alike.
"""

import argparse
import json
import os
import shutil
import socketserver
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

BARE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in open(sys.argv[2]).read().split("\\0"):
    connection.execute(statement).fetchall()
connection.close()
print("{}")
"""
HELLO = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    }
)
RUNS = 31


def git(folder: Path, *words: str) -> None:
    """Run git quietly, as nobody in particular."""
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def workloop(*words: str) -> list[str]:
    """Return the command as a user has it: the console script's own start."""
    return [sys.executable, "-c", "import sys; from workloop.__main__ import main; sys.exit(main())", *words]


class Answering(socketserver.BaseRequestHandler):
    """Stands for a loop that runs already, and answers at once."""

    def handle(self) -> None:
        """Answer one request."""
        self.request.recv(65536)
        self.request.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}")


class Bench:
    """A project with a pristine store, of which every run gets a copy."""

    def __init__(self, folder: Path, items: int) -> None:
        self.repository = folder / "project"
        self.repository.mkdir()
        git(self.repository, "init", "-q")
        git(self.repository, "commit", "-q", "--allow-empty", "-m", "first")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self.environment = {**kept, "WORKLOOP_STATE": str(folder / "state")}
        self.store = Path(self.ask("init")["store"])
        lines = "".join(json.dumps({"key": f"k{number}", "title": f"Item {number}"}) + "\n" for number in range(items))
        listed = folder / "items.jsonl"
        listed.write_text(lines)
        self.ask("add", "--file", str(listed))
        self.token = self.ask("claim", "--holder", "bench-0")["token"]
        self.pristine = folder / "pristine.db"
        connection = sqlite3.connect(self.store)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        shutil.copy(self.store, self.pristine)
        (folder / "token").write_text("token")
        self.loop = socketserver.TCPServer(("127.0.0.1", 0), Answering)
        threading.Thread(target=self.loop.serve_forever, daemon=True).start()
        self.remote = {
            "WORKLOOP_URL": f"http://127.0.0.1:{self.loop.server_address[1]}",
            "WORKLOOP_TOKEN_FILE": str(folder / "token"),
        }
        self.bare = folder / "bare.py"
        self.bare.write_text(BARE)

    def ask(self, *words: str) -> dict[str, Any]:
        """Run one command and return its answer."""
        done = subprocess.run(
            workloop(*words), cwd=self.repository, env=self.environment, check=True, capture_output=True
        )
        return json.loads(done.stdout)

    def reset(self) -> None:
        """Put the pristine store back, as every contestant finds it."""
        for suffix in ("-wal", "-shm"):
            self.store.with_name(self.store.name + suffix).unlink(missing_ok=True)
        shutil.copy(self.pristine, self.store)

    def record(self, name: str, words: list[str]) -> Path:
        """Note every statement, with its values, that a command runs; it is replayed on the same pristine store."""
        self.reset()
        notes = self.bare.with_name(f"{name}.sql")
        spy = (
            "import sqlite3, sys\n"
            "real, said = sqlite3.connect, []\n"
            "def connect(*a, **k):\n"
            "    made = real(*a, **k)\n"
            "    made.set_trace_callback(said.append)\n"
            "    return made\n"
            "sqlite3.connect = connect\n"
            "from workloop.__main__ import main\n"
            "code = main()\n"
            f"open({str(notes)!r}, 'w').write('\\0'.join(said))\n"
            "sys.exit(code)\n"
        )
        subprocess.run(
            [sys.executable, "-c", spy, *words], cwd=self.repository, env=self.environment, check=True,
            capture_output=True,
        )  # fmt: skip
        return notes

    def timed(self, argv: list[str], *, remote: bool = False) -> tuple[float, float]:
        """Run a process to its end; returns wall and processor seconds."""
        self.reset()
        began = time.perf_counter()
        process = subprocess.Popen(
            argv,
            cwd=self.repository,
            env={**self.environment, **(self.remote if remote else {})},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.stderr is not None
        said = process.stderr.read()
        process.stderr.close()
        assert process.returncode == 0, (argv, said)
        return wall, usage.ru_utime + usage.ru_stime

    def greeted(self) -> tuple[float, float]:
        """Start the MCP server and time its answer to initialize; it is ended afterwards."""
        self.reset()
        began = time.perf_counter()
        process = subprocess.Popen(
            workloop("mcp"), cwd=self.repository, env=self.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(HELLO + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        wall = time.perf_counter() - began
        assert "serverInfo" in answer, answer
        process.stdin.close()
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
        process.stdout.close()
        return wall, usage.ru_utime + usage.ru_stime


def contestants(bench: Bench) -> dict[str, Callable[[], tuple[float, float]]]:
    """Return what runs in turn, by name."""
    commands = {
        "heartbeat": ["heartbeat", "--token", bench.token],
        "claim": ["claim", "--holder", "bench-1"],
        "status": ["status"],
    }
    runs: dict[str, Callable[[], tuple[float, float]]] = {
        "python -c pass": lambda: bench.timed([sys.executable, "-c", "pass"]),
        "import sqlite3": lambda: bench.timed([sys.executable, "-c", "import sqlite3"]),
    }
    for name, words in commands.items():
        notes = bench.record(name, words)
        bare = [sys.executable, str(bench.bare), str(bench.store), str(notes)]
        runs[f"bare {name}"] = partial(bench.timed, bare)
        runs[f"workloop {name}"] = partial(bench.timed, workloop(*words))
    runs["heartbeat to a loop"] = lambda: bench.timed(workloop("heartbeat"), remote=True)
    runs["workloop --help"] = lambda: bench.timed(workloop("--help"))
    runs["workloop mcp"] = bench.greeted
    return runs


RATIOS = (
    ("workloop heartbeat", "bare heartbeat", 2.5),
    ("workloop claim", "bare claim", 2.5),
    ("workloop status", "bare status", None),
    ("heartbeat to a loop", "bare heartbeat", 2.5),
    ("workloop mcp", "python -c pass", 5.0),
)


def spread(values: list[float]) -> dict[str, float]:
    """Return median and range in milliseconds."""
    return {
        "median": round(statistics.median(values) * 1000, 1),
        "lowest": round(min(values) * 1000, 1),
        "highest": round(max(values) * 1000, 1),
    }


def main() -> None:
    """Run every contestant in turn, as often as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = contestants(Bench(Path(folder), asked.items))
        walls: dict[str, list[float]] = {name: [] for name in runs}
        cpus: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(asked.runs):
            for name, run in runs.items():
                wall, cpu = run()
                walls[name].append(wall)
                cpus[name].append(cpu)
    report(walls, cpus, asked.out)


def report(walls: dict[str, list[float]], cpus: dict[str, list[float]], out: Path | None) -> None:
    """Print the table and the ratios, and write both as JSON."""
    rows = {name: {"wall_ms": spread(walls[name]), "cpu_ms": spread(cpus[name])} for name in walls}
    for name, row in rows.items():
        wall, cpu = row["wall_ms"], row["cpu_ms"]
        print(
            f"{name:<20} wall {wall['median']:>7} ms ({wall['lowest']} to {wall['highest']})"
            f"   processor {cpu['median']:>7} ms ({cpu['lowest']} to {cpu['highest']})"
        )
    ratios: list[dict[str, Any]] = []
    for ours, theirs, target in RATIOS:
        in_turn = [mine / other for mine, other in zip(walls[ours], walls[theirs], strict=True)]
        cpu = statistics.median(cpus[ours]) / statistics.median(cpus[theirs])
        ratio = statistics.median(walls[ours]) / statistics.median(walls[theirs])
        ratios.append({"of": ours, "to": theirs, "wall": round(ratio, 2), "cpu": round(cpu, 2), "target": target})
        goal = f"target {target}" if target is not None else "no target"
        turns = f"in turn {min(in_turn):.2f} to {max(in_turn):.2f}"
        print(f"{ours} : {theirs} = {ratio:.2f} wall, {cpu:.2f} processor, {turns}; {goal}")
    text = json.dumps({"runs": len(walls["python -c pass"]), "rows": rows, "ratios": ratios}, indent=2)
    if out is not None:
        out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
