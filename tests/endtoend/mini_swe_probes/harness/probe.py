"""Drives the harness as a program of its own against a model in this process, and looks at what the model was told."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

HAND_IN = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
SECONDS = 60
SKILL = Path("skills/run-tests/SKILL.md")
Request = dict[str, Any]


class Model(HTTPServer):
    """A model that has some commands run, then hands in; keeps what it was asked."""

    def __init__(self, *commands: str) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.commands = [*commands, HAND_IN]
        self.asked: list[Request] = []

    def answer(self, request: Request) -> Request:
        """Return the next command as a tool call."""
        self.asked.append(request)
        number = min(len(self.asked), len(self.commands)) - 1
        function = {"name": "bash", "arguments": json.dumps({"command": self.commands[number]})}
        call = {"id": f"call-{number}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        return {"id": "1", "object": "chat.completion", "choices": [choice], "usage": {"prompt_tokens": 1}}


class Answer(BaseHTTPRequestHandler):
    """One request of the harness."""

    def do_POST(self) -> None:
        """Answer it."""
        assert isinstance(self.server, Model)
        said = self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(self.server.answer(json.loads(said))).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


def driven(*commands: str) -> tuple[Model, int, list[Request]]:
    """Run the harness once; return the model, the harness's exit code and the events that it told."""
    folder = Path(tempfile.mkdtemp())
    (folder / "brief.md").write_text("Do what is asked.")
    with Model(*commands) as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        environment = {
            **os.environ,
            "OPENAI_BASE_URL": f"http://127.0.0.1:{model.server_port}/v1",
            "OPENAI_API_KEY": "none",
            "WORKLOOP_MODEL": "probe",
            "WORKLOOP_EVENTS": str(folder / "events.jsonl"),
            "NO_PROXY": "127.0.0.1",
        }
        argv = ["python3", str(Path.cwd() / "agent" / "main.py"), str(folder / "brief.md")]
        done = subprocess.run(argv, cwd=folder, env=environment, timeout=SECONDS, stdout=subprocess.PIPE, check=False)
        model.shutdown()
    lines = (folder / "events.jsonl").read_text().splitlines()
    return model, done.returncode, [json.loads(line) for line in lines]


def told(model: Model) -> str:
    """Return what the model was told of its commands."""
    messages = model.asked[-1]["messages"]
    said = "\n".join(str(message["content"]) for message in messages if message["role"] == "tool")
    sys.stdout.write(f"{said}\n")
    return said


def regression() -> bool:
    """Commands run, and their output, errors and exit codes are told; the harness hands in and says so."""
    model, code, events = driven("echo out; echo err >&2; exit 3", "pwd")
    said = told(model)
    ends = [(event["class"], event.get("exit_code")) for event in events if event["type"] == "tool_result"]
    return (
        code == 0
        and all(word in said for word in ('"returncode": 3', "out", "err", '"returncode": 0'))
        and ends == [("command_nonzero", 3), ("ok", 0), ("ok", None)]
    )


def shell() -> bool:
    """What a command prints beyond ASCII is told."""
    model, _, _ = driven(r"printf 'gr\303\274n'")
    return "gr\\u00fcn" in told(model)


def skill() -> bool:
    """The tool that the skill names is one that the harness offers."""
    model, _, _ = driven()
    offered = {tool["function"]["name"] for tool in model.asked[0]["tools"]}
    named = SKILL.read_text("utf-8").split("with the tool `")[1].partition("`")[0]
    sys.stdout.write(f"{named} of {sorted(offered)}\n")
    return named in offered


def control() -> bool:
    """What no command has printed is told, which is false of every sound harness."""
    model, _, _ = driven("echo out")
    return "what nobody printed" in told(model)


CHECKS = {check.__name__: check for check in (regression, shell, skill, control)}


def main(name: str) -> int:
    """Return 0 where a check holds and 1 where it does not; 2 where it could not be made."""
    try:
        return 0 if CHECKS[name]() else 1
    except (OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError) as failed:
        sys.stdout.write(f"{type(failed).__name__}: {failed}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
