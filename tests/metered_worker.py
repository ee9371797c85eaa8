"""A program that works for the bench: it calls its model as often as its brief says, or misbehaves as it says."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

TOOL = {"name": "none", "input_schema": {"type": "object"}}
"""What makes a call one of an agent's: a scripted model answers one without tools by itself."""
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"

NOISE = f"{'noise ' * 170}\n" * 1_000


def ask() -> None:
    """Call the model once; say what came of it."""
    said = {"role": "user", "content": "go on"}
    body = {"model": "scripted", "max_tokens": 100, "messages": [said], "tools": [TOOL]}
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
    headers["anthropic-version"] = "2023-06-01"
    url = f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages"
    with urlopen(Request(url, json.dumps(body).encode(), headers)) as answer:
        told(f"answered {answer.status}")


def told(text: str) -> None:
    """Say a line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def interrupted(*_: object) -> None:
    """Take the wish to end as one to go on, with a call to the model."""
    told("interrupted")
    ask()


def terminated(*_: object) -> None:
    """Pass over the second rung, too."""
    told("terminated")


def tell(word: str, rest: str) -> None:
    """Leave events, the brief, the environment or a great deal of noise."""
    match word:
        case "do":
            lines = [f"{json.dumps(event)}\n" for event in json.loads(rest)]
            Path(os.environ["WORKLOOP_EVENTS"]).write_text("".join(lines))
        case "repeat":
            Path("brief.copy").write_bytes(Path(os.environ["WORKLOOP_BRIEF"]).read_bytes())
        case "show":
            told("\n".join(f"{name}={value}" for name, value in os.environ.items()))
        case _:
            for _ in range(int(rest)):
                sys.stdout.write(NOISE)
                sys.stderr.write(NOISE)


def main() -> int:
    """Do what the brief says."""
    word, _, rest = Path(os.environ["WORKLOOP_BRIEF"]).read_text().strip().partition(" ")
    match word:
        case "talk":
            told("I have thought about it with a model of my own")
        case "stay":
            child = subprocess.Popen(
                [sys.executable, "-c", STUBBORN, rest], start_new_session=True, stdout=subprocess.PIPE
            )
            assert child.stdout is not None
            child.stdout.readline()
            ask()
            signal.pause()
        case "linger":
            subprocess.Popen([sys.executable, "-c", STUBBORN, rest], start_new_session=True, stdout=subprocess.DEVNULL)
            signal.signal(signal.SIGINT, interrupted)
            signal.signal(signal.SIGTERM, terminated)
            ask()
            while True:
                signal.pause()
        case "do" | "repeat" | "show" | "flood":
            ask()
            tell(word, rest)
        case "read":
            told((Path(os.environ["WORKLOOP_RUNTIME"]) / rest).read_text())
            ask()
        case _:
            try:
                for _ in range(int(rest)):
                    ask()
            except HTTPError as refused:
                told(f"refused {refused.code} {refused.read().decode()[:300]}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
