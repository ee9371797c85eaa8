"""What an idle loop with its endpoint costs, and how soon it claims an item that another process adds."""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from bench.result import Result, percentile, table
from workloop.client import LocalClient
from workloop.config import parse, place_of
from workloop.domain.clock import from_text
from workloop.domain.settings import read_settings
from workloop.service.call import Queue
from workloop.service.campaigns import create_campaign
from workloop.store.system import SystemIds
from workloop.testing.gitrepo import scratch_repository
from workloop.wiring import open_store, operator

TICKS = os.sysconf("SC_CLK_TCK")
BOUND_SECONDS = 60.0
SETTLE_SECONDS = 3.0
SETTINGS = """
[campaign]
name = "idle"
[loop]
harness = "command"
integration_branch = "main"
[harness.command]
command = ["true"]
"""


class Stage:
    """A project with an empty campaign and a loop over it, as a child process."""

    def __init__(self, folder: Path) -> None:
        self.repository = scratch_repository(folder / "repository")
        self.environment = {**os.environ, "WORKLOOP_STATE": str(folder / "state")}
        place = place_of(self.repository.path, self.environment)
        place.folder.mkdir(parents=True, mode=0o700)
        place.config.write_text(SETTINGS)
        settings = parse(SETTINGS, place, self.environment, "the bench")
        self.store = open_store(place, create=True)
        create_campaign(self.store, "idle", read_settings(settings.campaign_table))
        self.client = LocalClient(Queue(store=self.store, ids=SystemIds(), slug="idle"), operator())
        self.loop = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        """Start the loop and wait until it serves."""
        argv = [sys.executable, "-m", "workloop", "-C", str(self.repository.path), "--json", "run"]
        child = subprocess.Popen(
            argv, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert child.stderr is not None
        self.serving = json.loads(child.stderr.readline())
        assert self.serving["event"] == "serving", self.serving
        threading.Thread(target=child.stderr.read, daemon=True).start()
        return child

    def cpu_seconds(self) -> float:
        """Return the processor time of the loop so far."""
        fields = Path(f"/proc/{self.loop.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident_mebibytes(self) -> float:
        """Return the loop's resident memory."""
        lines = Path(f"/proc/{self.loop.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def use_mcp(self) -> None:
        """Ask over MCP once, so that all of it is loaded."""
        token = Path(self.serving["token_file"]).read_text().strip()
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
        with urlopen(
            Request(f"{self.serving['url']}/mcp", data=body, headers=headers), timeout=BOUND_SECONDS
        ) as answer:
            assert b"work_loop" in answer.read()

    def claimed_after(self, number: int) -> float:
        """Add an item and return after how many milliseconds it was claimed, by the store's own instants."""
        key = f"item-{number}"
        added = self.client.call(
            "add_items", {"items": [{"key": key, "title": key, "attempts_max": 1, "checks": ["true"]}]}
        )
        assert added["items"][0]["key"] == key, added
        shown = self.wait_until_ended(key)
        begun = next(from_text(event["at"]) for event in shown["events"] if event["action"] == "add_items")
        return (from_text(shown["claims"][0]["claimed_at"]) - begun) / 1000

    def wait_until_ended(self, key: str) -> dict[str, Any]:
        """Wait until an item's only claim has ended."""
        deadline = time.monotonic() + BOUND_SECONDS
        while time.monotonic() < deadline:
            shown = self.client.call("show", {"key": key})
            if shown["claims"] and shown["claims"][0]["ended_at"]:
                return shown
            time.sleep(0.1)
        raise TimeoutError(f"{key} was not attended to: {json.dumps(self.client.call('status', {}))}")

    def close(self) -> None:
        """End the loop and give the store back."""
        self.loop.send_signal(signal.SIGINT)
        self.loop.wait(BOUND_SECONDS)
        self.store.close()


def measure(windows: int, seconds: float, items: int) -> list[Result]:
    """Watch an idle loop for some windows, then add items one after the other."""
    with tempfile.TemporaryDirectory(prefix="workloop-idle-") as folder:
        stage = Stage(Path(folder))
        try:
            time.sleep(SETTLE_SECONDS)
            costs = [idle_minute(stage, seconds) for _ in range(windows)]
            resident = stage.resident_mebibytes()
            waits = [paused_then(stage, number) for number in range(items)]
            worked = stage.resident_mebibytes()
            stage.use_mcp()
            time.sleep(SETTLE_SECONDS)
            loaded = [idle_minute(stage, seconds) for _ in range(windows)]
            full = stage.resident_mebibytes()
        finally:
            stage.close()
    load = f"load {os.getloadavg()[0]:.1f}"
    return [
        Result(name="idle: processor seconds a minute", values=tuple(costs), unit="s", limit=0.3, note=load),
        Result(name="idle: resident memory", values=(resident,), unit="MiB", limit=120),
        Result(name=f"resident memory after {items} sessions", values=(worked,), unit="MiB", limit=120),
        Result(name="idle with MCP loaded: processor", values=tuple(loaded), unit="s", limit=0.3, note=load),
        Result(name="idle with MCP loaded: memory", values=(full,), unit="MiB", limit=120),
        Result(name="added to claimed, median", values=tuple(waits), unit="ms", limit=60, note=load),
        Result(name="added to claimed, 95 of 100", values=(percentile(waits, 0.95),), unit="ms", limit=200),
    ]


def idle_minute(stage: Stage, seconds: float) -> float:
    """Return the processor seconds that an idle minute costs, from a window."""
    before = stage.cpu_seconds()
    time.sleep(seconds)
    return (stage.cpu_seconds() - before) * 60 / seconds


def paused_then(stage: Stage, number: int) -> float:
    """Let the loop come to rest, then add an item at no particular moment of its own rhythm."""
    time.sleep(0.3 + (number * 37 % 50) / 1000)
    return stage.claimed_after(number)


def main() -> int:
    """Measure and print a table; 1 when a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.idle", description=__doc__)
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--items", type=int, default=40)
    asked = parser.parse_args()
    results = measure(asked.windows, asked.seconds, asked.items)
    print(table(results))
    return 1 if any(result.verdict == "MISSED" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
