"""What every attack needs: a register of attacks, programs to run, and a way to say that it was held."""

import json
import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Facts = dict[str, Any]
Attack = Callable[[Facts], object]
ATTACKS: dict[str, Attack] = {}


class FailedError(Exception):
    """The attack was held."""


def attack(run: Attack) -> Attack:
    ATTACKS[run.__name__] = run
    return run


def run(*argv: str, cwd: str | None = None, **env: str) -> str:
    """Run a program; what it prints counts only when it succeeds."""
    done = subprocess.run(argv, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise FailedError(f"{done.returncode}: {(done.stderr + done.stdout).strip()[-300:]}")
    return done.stdout


def git(*words: str) -> str:
    return run("git", *words)


def write(path: str | Path, text: str = "attacked\n") -> str:
    Path(path).write_text(text)
    return f"wrote {path}"


def canary(facts: Facts, name: str) -> str:
    """Return a command that shows outside that it ran."""
    return f"touch {facts['marks']}/{name}"


def results(facts: Facts) -> Iterator[tuple[str, Facts]]:
    """Try each attack in a process of its own, so that what one does to itself spoils no other."""
    for name, run_it in ATTACKS.items():
        source, sink = os.pipe()
        if os.fork() == 0:
            os.close(source)
            os.write(sink, json.dumps(result(run_it, facts), default=str).encode()[:60_000])
            os._exit(0)
        os.close(sink)
        with os.fdopen(source) as told:
            yield name, json.loads(told.read() or '{"held": "it died"}')
        os.wait()


def result(run_it: Attack, facts: Facts) -> Facts:
    try:
        return {"got": run_it(facts)}
    except (OSError, FailedError, sqlite3.Error, subprocess.SubprocessError, IndexError) as held:
        return {"held": f"{type(held).__name__}: {held}"}
