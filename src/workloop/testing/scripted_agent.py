"""A deterministic agent in a process of its own: it follows a script and tells events."""

import fnmatch
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workloop.domain.reader import Json

EXIT_LIMITED = 75
WAIT_SECONDS = 30.0
POLL_SECONDS = 0.02
CALL_SECONDS = 30.0
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Step = dict[str, Any]


class StepFailed(Exception):
    """A step of the script went another way than the script says."""


@dataclass
class Agent:
    """One run of a script for one item."""

    item: dict[str, Any]
    call_ids: Iterator[int] = field(default_factory=lambda: count(1))

    def tell(self, event: Mapping[str, Json]) -> None:
        """Print one event."""
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()

    def follow(self, steps: list[Step]) -> None:
        """Take the steps one after the other."""
        for step in steps:
            known = [name for name in STEPS if name in step]
            if len(known) != 1:
                raise StepFailed(f"a step needs exactly one of {', '.join(STEPS)}: {step}")
            STEPS[known[0]](self, step)

    def fill(self, value: str) -> str:
        """Put the item's facts and the present commit in the place of {sha}, {key}, {contract_hash} and the like."""
        if "{" not in value:
            return value
        facts = {name: str(fact) for name, fact in self.item.items() if isinstance(fact, str | int)}
        facts["candidate_sha"] = str((self.item.get("candidate") or {"sha": ""})["sha"])
        if "{sha}" in value:
            facts["sha"] = git("rev-parse", "HEAD").strip()
        for name, fact in facts.items():
            value = value.replace("{" + name + "}", fact)
        return value

    def fill_all(self, value: Json) -> Json:
        """Fill every text inside a value."""
        match value:
            case str():
                return self.fill(value)
            case list():
                return [self.fill_all(inner) for inner in value]
            case Mapping():
                return {name: self.fill_all(inner) for name, inner in value.items()}
            case _:
                return value

    def tool(self, name: str, kind: str, work: Callable[[], tuple[str, int | None]]) -> None:
        """Tell a tool call, do it, and tell how it ended."""
        call_id = f"call-{next(self.call_ids)}"
        self.tell({"type": "tool_call", "call_id": call_id, "name": name, "kind": kind})
        result, exit_code = work()
        ended = {"type": "tool_result", "call_id": call_id, "name": name, "class": result, "exit_code": exit_code}
        self.tell(ended)

    def say(self, step: Step) -> None:
        """Say something."""
        text = step["say"]
        self.tell({"type": "text", "text": self.fill(text)})

    def emit(self, step: Step) -> None:
        """Tell any event, for instance usage."""
        self.tell(step["emit"])

    def write(self, step: Step) -> None:
        """Write a file below the work dir."""
        file = step["write"]

        def work() -> tuple[str, None]:
            path = Path(file["path"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.fill(file["text"]), encoding="utf-8")
            return "ok", None

        self.tool("write", "edit", work)

    def run(self, step: Step) -> None:
        """Run a shell command and insist on its exit code."""
        command = step["run"]

        def work() -> tuple[str, int]:
            done = subprocess.run(["/bin/sh", "-c", self.fill(command)], stdout=sys.stderr, check=False)
            if done.returncode != step.get("expect", 0):
                raise StepFailed(f"exit code {done.returncode}: {command}")
            return ("ok" if done.returncode == 0 else "command_nonzero"), done.returncode

        self.tool("shell", "shell", work)

    def use(self, step: Step) -> None:
        """Run a shell command as a tool of some name, whose failure is the tool's own; then go on in any case."""
        used = step["use"]

        def work() -> tuple[str, None]:
            done = subprocess.run(["/bin/sh", "-c", self.fill(used["command"])], stdout=sys.stderr, check=False)
            return ("tool_fault" if done.returncode else "ok"), None

        self.tool(used["name"], "other", work)

    def commit(self, step: Step) -> None:
        """Commit everything in the work dir."""
        message = step["commit"]

        def work() -> tuple[str, None]:
            git("add", "--all")
            identity = ("-c", "user.name=Scripted Agent", "-c", "user.email=agent@example.invalid")
            git(*identity, "commit", "--quiet", "--message", self.fill(message))
            return "ok", None

        self.tool("commit", "shell", work)

    def call(self, step: Step) -> None:
        """Call an action of the loop and insist on its answer."""
        call = step["call"]

        def work() -> tuple[str, None]:
            code = post(call["action"], self.fill_all(call.get("arguments", {})))
            if code != step.get("expect_error"):
                raise StepFailed(f"{call['action']} answered {code or 'without an error'}")
            return ("tool_fault" if code else "ok"), None

        self.tool("work_loop", "mcp", work)

    def ask(self, step: Step) -> None:
        """Ask a queue by a command of one's own, tell what was asked and answered, and keep the answer's facts."""
        asked = step["ask"]
        call_id = f"call-{next(self.call_ids)}"
        arguments = self.fill_all(asked["arguments"])
        told = {"type": "tool_call", "call_id": call_id, "name": "work_loop", "kind": "mcp"}
        self.tell({**told, "arguments": json.dumps(arguments)})
        command = [self.fill(word) for word in asked["command"]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != asked.get("expect", 0):
            raise StepFailed(f"exit code {done.returncode}: {command}: {done.stderr}")
        ended = {"type": "tool_result", "call_id": call_id, "name": "work_loop"}
        self.tell({**ended, "class": "tool_fault" if done.returncode else "ok", "answer": done.stdout.strip()})
        self.item.update(json.loads(done.stdout or "{}"))

    def die(self, step: Step) -> None:
        """Die at once by a signal: kill, term, segv and so on."""
        how = step["die"]
        os.kill(os.getpid(), signal.Signals[f"SIG{how.upper()}"])

    def deaf(self, _step: Step) -> None:
        """Ignore the polite signals from here on."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)

    def hang(self, _step: Step) -> None:
        """Wait for ever on a pipe that nobody writes to."""
        read, _write = os.pipe()
        os.read(read, 1)

    def touch(self, step: Step) -> None:
        """Make a file that a test waits for."""
        path = step["touch"]
        Path(self.fill(path)).touch()

    def wait_for(self, step: Step) -> None:
        """Wait for a file that a test makes."""
        path = step["wait_for"]
        deadline = time.monotonic() + WAIT_SECONDS
        while not Path(self.fill(path)).exists():
            if time.monotonic() > deadline:
                raise StepFailed(f"{path} did not appear")
            time.sleep(POLL_SECONDS)

    def limit(self, step: Step) -> None:
        """Run into a usage limit that ends in so many seconds; null does not say when."""
        seconds = step["limit"]
        reset = None
        if seconds is not None:
            moment = EPOCH + timedelta(microseconds=time.time_ns() // 1_000) + timedelta(seconds=seconds)
            reset = moment.isoformat()
        self.tell({"type": "limit", "kind": "window", "reset_at": reset})
        sys.exit(EXIT_LIMITED)

    def exit(self, step: Step) -> None:
        """End with an exit code."""
        code = step["exit"]
        sys.exit(code)


STEPS: dict[str, Callable[[Agent, Step], None]] = {
    "say": Agent.say,
    "emit": Agent.emit,
    "write": Agent.write,
    "run": Agent.run,
    "use": Agent.use,
    "commit": Agent.commit,
    "call": Agent.call,
    "ask": Agent.ask,
    "die": Agent.die,
    "deaf": Agent.deaf,
    "hang": Agent.hang,
    "touch": Agent.touch,
    "wait_for": Agent.wait_for,
    "limit": Agent.limit,
    "exit": Agent.exit,
}


def git(*arguments: str) -> str:
    """Run git in the work dir and return what it printed."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise StepFailed(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def post(action: str, arguments: Json) -> str | None:
    """Call an action over HTTP; returns the error's code, or None when it was accepted."""
    token = Path(os.environ["WORKLOOP_TOKEN_FILE"]).read_text(encoding="utf-8").strip()
    url = urlsplit(os.environ["WORKLOOP_URL"])
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection = HTTPConnection(url.hostname or "", url.port, timeout=CALL_SECONDS)
    try:
        connection.request("POST", f"{url.path.rstrip('/')}/v1/{action}", json.dumps(arguments).encode(), headers)
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    return None if answer.status < HTTPStatus.BAD_REQUEST else code_of(body, answer.status)


def code_of(body: bytes, status: int) -> str:
    """Find the stable code in an error's body."""
    try:
        problem: Step = json.loads(body)
        return str(problem["code"])
    except (ValueError, TypeError, KeyError):
        return f"HTTP_{status}"


def matches(rule: Step, item: dict[str, Any]) -> bool:
    """Say whether a rule is for this item; what it does not name, it does not mind."""
    wanted: Step = rule.get("match") or {}
    return (
        fnmatch.fnmatchcase(str(item.get("key", "")), wanted.get("key") or "*")
        and wanted.get("role") in {None, item.get("role")}
        and wanted.get("attempt") in {None, item.get("attempt")}
        and wanted.get("resumed") in {None, "WORKLOOP_RESUME" in os.environ}
    )


def main(arguments: list[str]) -> int:
    """Follow the first rule of the script that matches the item."""
    rules = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    item_file = os.environ.get("WORKLOOP_ITEM")
    item: Step = json.loads(Path(item_file).read_text(encoding="utf-8")) if item_file else {}
    agent = Agent(item)
    agent.tell({"type": "started", "resume_id": os.environ.get("WORKLOOP_SESSION", ""), "model": "script"})
    rule = next((rule for rule in rules if matches(rule, item)), None)
    if rule is None:
        sys.stderr.write(f"no rule for {item.get('key')} as {item.get('role')}\n")
        return 1
    try:
        agent.follow(rule["do"])
    except StepFailed as failure:
        agent.tell({"type": "error", "code": "STEP_FAILED", "message": str(failure)})
        sys.stderr.write(f"{failure}\n")
        return 1
    agent.tell({"type": "finished", "failed": False, "reason": "script ended"})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
