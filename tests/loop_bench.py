"""What the loop's tests share: a repository, a campaign, and the loop as a child whose events can be awaited."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workloop.client import LocalClient
from workloop.config import Settings, parse, place_of
from workloop.domain.settings import read_settings
from workloop.runner.processtable import row_of
from workloop.service.call import Queue
from workloop.service.campaigns import create_campaign
from workloop.store.port import Store
from workloop.store.system import SystemIds
from workloop.testing.gitrepo import ScratchRepository, scratch_repository
from workloop.wiring import open_store, operator

BOUND_SECONDS = 150.0
Facts = dict[str, Any]
Wanted = Callable[[Facts], bool]
NewBench = Callable[..., "LoopBench"]

SETTINGS = """
[campaign]
name = "bench"
{campaign}
[campaign.boundaries]
choose-colour = "Which colour shall it be?"
[campaign.defaults]
boundaries = ["choose-colour"]
[loop]
harness = "{harness}"
integration_branch = "main"
idle_poll_interval = {poll}
fruitless_waits = {waits}
{loop}
[sandbox]
{sandbox}
[harness.scripted]
script = "{script}"
{harnesses}
"""


class LoopProcess:
    """A running loop: its events as they come, its report and its exit code."""

    def __init__(self, argv: list[str], env: Mapping[str, str]) -> None:
        self.popen = subprocess.Popen(
            argv,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.events: list[Facts] = []
        self.plain: list[str] = []
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        """Collect what the loop tells on stderr."""
        assert self.popen.stderr is not None
        for line in self.popen.stderr:
            with self.changed:
                try:
                    told = {"event": "error", **json.loads(line)}
                except ValueError:
                    told = {"event": "plain", "text": line}
                self.events.append(told)
                self.changed.notify_all()
        with self.changed:
            self.events.append({"event": "gone"})
            self.changed.notify_all()

    def wait_for(self, name: str, count: int = 1, **facts: object) -> Facts:
        """Wait for the count-th event of a name with these facts."""

        def found() -> list[Facts]:
            wanted = {"event": name, **facts}.items()
            return [told for told in self.events if wanted <= {k: str_or(v) for k, v in told.items()}.items()]

        with self.changed:
            self.changed.wait_for(lambda: len(found()) >= count or self.gone(), BOUND_SECONDS)
            matches = found()
        assert len(matches) >= count, f"no {name} {facts} number {count} in {self.events}"
        return matches[count - 1]

    def gone(self) -> bool:
        """Tell whether the loop will tell nothing more."""
        return bool(self.events) and self.events[-1]["event"] == "gone"

    def named(self, name: str) -> list[Facts]:
        """Return the events of a name so far."""
        with self.changed:
            return [told for told in self.events if told["event"] == name]

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the loop alone."""
        self.popen.send_signal(number)

    def end(self) -> tuple[int, Facts]:
        """Wait for the loop's end; returns its exit code and its report."""
        assert self.popen.stdout is not None
        out = self.popen.stdout.read()
        code = self.popen.wait(BOUND_SECONDS)
        self.reader.join(BOUND_SECONDS)
        self.popen.stdout.close()
        if self.popen.stderr is not None:
            self.popen.stderr.close()
        return code, json.loads(out) if out.strip() else {}

    def kill(self) -> None:
        """Kill the loop and nothing else, as a crash would."""
        if self.popen.poll() is None:
            self.popen.kill()
        self.end()


def str_or(value: object) -> object:
    """Make a value comparable."""
    return value if isinstance(value, str | int | float | bool | None) else json.dumps(value)


@dataclass
class LoopBench:
    """A repository with one commit, its campaign, and loops over it; without walls unless a test is about them."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    loops: list[LoopProcess] = field(default_factory=list)
    harness: str = "scripted"
    harnesses: str = ""
    campaign: str = ""
    loop: str = ""
    sandbox: str = 'kind = "none"'
    poll: float = 3600.0
    waits: tuple[float, ...] = (0.0, 0.0)

    def __post_init__(self) -> None:
        files = {"thing.txt": "broken\n", "other.txt": "as it was\n", ".gitignore": "__pycache__/\n"}
        self.repository: ScratchRepository = scratch_repository(self.folder / "shop", files)
        (self.folder / "marks").mkdir()

    def open(self) -> "LoopBench":
        """Write the settings and make the campaign."""
        self.environment = {
            **os.environ,
            "WORKLOOP_STATE": str(self.folder / "state"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "WORKLOOP_DEBUG": "",
            **self.environment,
        }
        place = place_of(self.repository.path, self.environment)
        place.folder.mkdir(mode=0o700, parents=True)
        text = SETTINGS.format(
            campaign=self.campaign,
            harness=self.harness,
            poll=self.poll,
            waits=list(self.waits),
            loop=self.loop,
            sandbox=self.sandbox,
            script=self.script,
            harnesses=self.harnesses,
        )
        place.config.write_text(text, encoding="utf-8")
        self.settings: Settings = parse(text, place, self.environment, "the bench")
        self.store: Store = open_store(place, create=True)
        create_campaign(self.store, "bench", read_settings(self.settings.campaign_table))
        self.queue = Queue(store=self.store, ids=SystemIds(), slug="bench")
        self.client = LocalClient(self.queue, operator())
        return self

    @property
    def script(self) -> Path:
        """Return where the scripted agent's rules are."""
        return self.folder / "script.json"

    def mark(self, name: str) -> Path:
        """Return the path of a file by which an agent and a test wait for each other."""
        return self.folder / "marks" / name

    def rules(self, *rules: Facts) -> None:
        """Say what the scripted agent does for whom."""
        self.script.write_text(json.dumps(list(rules)), encoding="utf-8")

    def add(self, key: str, **fields: Any) -> None:
        """Add one item whose check passes once thing.txt says fixed."""
        item: Facts = {"key": key, "title": f"Mend {key}", "checks": [check()], "verification": "host", **fields}
        self.client.call("add_items", {"items": [item]})

    def argv(self, *arguments: str) -> list[str]:
        """Return a command line of the workloop command."""
        return [sys.executable, "-m", "workloop", "-C", str(self.repository.path), "--json", *arguments]

    def start(self, *arguments: str) -> LoopProcess:
        """Start a loop."""
        started = LoopProcess(self.argv("run", *arguments), self.environment)
        self.loops.append(started)
        return started

    def run(self, *arguments: str) -> tuple[int, Facts, LoopProcess]:
        """Run a loop to its own end; returns the exit code, the report, and the loop with its events."""
        loop = self.start(*arguments)
        code, report = loop.end()
        assert report, (code, loop.events)
        return code, report, loop

    def ask(self, *words: str, code: int = 0) -> Any:
        """Run a command as a person at another terminal does; returns what it answers or is refused with."""
        done = subprocess.run(self.argv(*words), env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout or done.stderr)

    def show(self, key: str) -> Facts:
        """Show an item."""
        return self.client.call("show", {"key": key})

    def ends(self, key: str) -> list[str | None]:
        """Return how an item's claims ended."""
        return [claim["end"] for claim in self.show(key)["claims"]]

    def state(self, key: str) -> str:
        """Return an item's state."""
        return self.show(key)["state"]

    def states(self) -> dict[str, str]:
        """Return the state of every item."""
        listed = self.client.call("list", {"limit": 500})["items"]
        return {row["key"]: row["state"] for row in listed}

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait for a change of the store after which something holds."""
        deadline = time.monotonic() + BOUND_SECONDS
        stopped = threading.Event()

        def late(seconds: float) -> bool:
            return stopped.wait(seconds) or time.monotonic() > deadline

        for _ in self.store.changes(late):
            if holds():
                return
        raise TimeoutError("the store never came to hold it")

    def close(self) -> None:
        """End every loop that still runs and close the store."""
        for loop in self.loops:
            if loop.popen.poll() is None:
                loop.kill()
        self.store.close()


def gone(pid: int) -> bool:
    """Tell whether a process has ended, reaped or not."""
    row = row_of(pid)
    return row is None or row.zombie


def wait_for_file(path: Path, seconds: float = BOUND_SECONDS) -> None:
    """Wait until another process has made a file."""
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        pause.wait(0.02)


def check(command: str = "grep -q fixed thing.txt", name: str = "fixed", **fields: Any) -> Facts:
    """Return a check of an item."""
    return {"id": name, "command": command, "timeout_seconds": 30, **fields}


def rule(key: str, *steps: Facts, role: str = "work", attempt: int | None = None) -> Facts:
    """Return one rule of the scripted agent."""
    return {"match": {"key": key, "role": role, "attempt": attempt}, "do": list(steps)}


def write(path: str = "thing.txt", text: str = "fixed\n") -> Facts:
    """Return the step that writes a file."""
    return {"write": {"path": path, "text": text}}


def commit(message: str = "work") -> Facts:
    """Return the step that commits everything."""
    return {"commit": message}


def complete(ref: str = "{sha}", error: str | None = None, **arguments: Any) -> Facts:
    """Return the step that hands in a commit, or is refused with an error code."""
    given = {"contract_hash": "{contract_hash}", "outcome": {"kind": "commit", "ref": ref}, **arguments}
    return call("complete", error, **given)


def call(action: str, error: str | None = None, **arguments: Any) -> Facts:
    """Return the step that calls an action."""
    called: Facts = {"call": {"action": action, "arguments": arguments}}
    if error is not None:
        called["expect_error"] = error
    return called


def honest(*, before: tuple[Facts, ...] = (), text: str = "fixed\n") -> tuple[Facts, ...]:
    """Return the steps of a worker who does the job."""
    return (*before, {"say": "I mend it"}, write(text=text), commit(), complete())


def verdict(word: str = "passed") -> tuple[Facts, ...]:
    """Return the steps of a verifier."""
    evidence = [{"kind": "commit", "ref": "{candidate_sha}"}]
    given = {"contract_hash": "{contract_hash}", "verdict": word, "evidence": evidence}
    return ({"say": "I look"}, call("complete", None, **given))
