"""The commands of a browser lane: one Chromium on a port of the lane's own, and its tabs by their ids.

It is run with the system's python3 and uses nothing but its standard library. `up` starts the browser unless it runs,
`list` prints the ids of its tabs, `close` closes those that the loop names in WORKLOOP_LANE_FILE, `open URL` opens one
and prints its id, `answers URL` tells by its exit code whether something is served there.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
START_SECONDS = 45.0
CLOSE_SECONDS = 10.0
POLL_SECONDS = 0.05
OWN_MARK = "WORKLOOP_RUN"
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def main(words: list[str]) -> int:
    """Run one command; returns its exit code."""
    match words:
        case ["up"]:
            return up()
        case ["list"]:
            sys.stdout.write("".join(f"{tab}\n" for tab in tabs()))
        case ["close"]:
            return close(json.loads(Path(os.environ["WORKLOOP_LANE_FILE"]).read_text(encoding="utf-8"))["resources"])
        case ["open", url]:
            sys.stdout.write(f"{opened(url)}\n")
        case ["answers", url]:
            return 0 if answers(url) else 1
        case _:
            sys.stderr.write(f"{__doc__}\n")
            return 2
    return 0


def base() -> str:
    """Return where the browser of this lane answers."""
    return f"http://127.0.0.1:{os.environ['WORKLOOP_PORT_DEVTOOLS']}"


def ask(path: str, method: str = "GET") -> list[dict[str, Any]] | dict[str, Any]:
    """Ask the browser something; what it says in plain words is not kept."""
    request = urllib.request.Request(base() + path, method=method)
    with DIRECT.open(request, timeout=CLOSE_SECONDS) as answer:
        text = answer.read().decode("utf-8")
    return json.loads(text) if text[:1] in ("{", "[") else {}


def answers(url: str) -> bool:
    """Tell whether something is served at an address."""
    try:
        with DIRECT.open(url, timeout=CLOSE_SECONDS):
            return True
    except OSError:
        return False


def tabs() -> list[str]:
    """Return the ids of the tabs that are open."""
    listed = ask("/json/list")
    assert isinstance(listed, list)
    return [target["id"] for target in listed if target["type"] == "page"]


def opened(url: str) -> str:
    """Open a tab, and return its id."""
    made = ask(f"/json/new?{quote(url)}", "PUT")
    assert isinstance(made, dict)
    return made["id"]


def up() -> int:
    """Start the browser unless it runs; it is nobody's child, so that it outlives the grant, and the loop."""
    if answers(f"{base()}/json/version"):
        return 0
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        sys.stderr.write(f"none of {', '.join(NAMES)} is installed\n")
        return 1
    room = Path(os.environ["WORKLOOP_LANE_DIR"])
    flags = ["--headless=new", "--no-first-run", "--disable-gpu", "--remote-debugging-address=127.0.0.1"]
    own = [f"--remote-debugging-port={os.environ['WORKLOOP_PORT_DEVTOOLS']}", f"--user-data-dir={room / 'profile'}"]
    said = os.environ.get("CHROMIUM_FLAGS", "").split()
    subprocess.Popen(
        [program, *flags, *own, *said, "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=room,
        env={name: value for name, value in os.environ.items() if name != OWN_MARK},
        start_new_session=True,
    )
    return 0 if holds(lambda: answers(f"{base()}/json/version") and bool(tabs()), START_SECONDS) else 1


def close(wanted: list[str]) -> int:
    """Close tabs by their ids, and wait until they are gone; one that is gone already is no fault."""
    for tab in wanted:
        try:
            ask(f"/json/close/{quote(tab, safe='')}")
        except urllib.error.HTTPError as refused:
            sys.stderr.write(f"{tab}: {refused}\n")
    return 0 if holds(lambda: not set(wanted) & set(tabs()), CLOSE_SECONDS) else 1


def holds(what: Callable[[], bool], seconds: float) -> bool:
    """Wait until something holds, but not for ever."""
    until = time.monotonic() + seconds
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(POLL_SECONDS)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
