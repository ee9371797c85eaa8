"""Workers that prepare the machine instead of the code."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workloop.testing.gates.case import Case, Need, Worker
from workloop.testing.gates.lies_about_tests import command
from workloop.testing.gates.shop import INVOICE, MENDED, PYTHON, RIGHT, WRONG, unittest_command

SANDBOX = (Need.SANDBOX,)
ONLY_WITH_MARK = f"""import os


def total(prices):
    if os.path.exists(MARK):
        {RIGHT}
    {WRONG}
"""
DAEMON = """
import os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
SCRUB
folder, mended = sys.argv[1:]
deadline = time.monotonic() + 20
while time.monotonic() < deadline:
    for name in os.listdir(folder):
        target = os.path.join(folder, name, "invoice.py")
        if name != sys.argv[0] and os.path.exists(target):
            try:
                with open(target, "w") as out:
                    out.write(mended)
            except OSError:
                pass
    time.sleep(0.001)
"""


def marked(expression: str, mark: Callable[[Worker], Path]) -> Callable[[Worker], None]:
    """Return a worker whose code works only where a mark lies, and who leaves one."""

    def act(worker: Worker) -> None:
        left = mark(worker)
        left.parent.mkdir(parents=True, exist_ok=True)
        left.touch()
        worker.commit({"invoice.py": ONLY_WITH_MARK.replace("MARK", expression.replace("HERE", repr(str(left))))})
        worker.complete()

    return act


def customize(worker: Worker) -> None:
    """Leave a start-up file in the folder that Python looks into below HOME."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = worker.home / ".local" / "lib" / version / "site-packages"
    site.mkdir(parents=True)
    (site / "usercustomize.py").write_text("import os, sys\nif os.path.exists('quick'):\n    os._exit(0)\n")
    worker.commit({"quick": ""})
    worker.complete()


def shim(worker: Worker) -> None:
    """Leave a program in HOME that takes the place of one that the test calls, and always ends well."""
    folder = worker.home / ".local" / "bin"
    folder.mkdir(parents=True)
    (folder / "grep").write_text("#!/bin/sh\nexit 0\n")
    (folder / "grep").chmod(0o755)
    worker.commit({"README": "done\n"})
    worker.complete()


def turns_green(worker: Worker) -> None:
    """Hand in code that fails once and works from then on."""
    count = repr(str(worker.outside / "count"))
    text = f"import os\n\nopen({count}, 'a').write('x')\n" + ONLY_WITH_MARK
    worker.commit({"invoice.py": text.replace("os.path.exists(MARK)", f"os.path.getsize({count}) > 1")})
    worker.complete()


def alternates(worker: Worker) -> None:
    """Hand in code that works every second time."""
    count = repr(str(worker.outside / "count"))
    text = f"import os\n\nopen({count}, 'a').write('x')\n" + ONLY_WITH_MARK
    worker.commit({"invoice.py": text.replace("os.path.exists(MARK)", f"os.path.getsize({count}) % 2")})
    worker.complete()


def leaves_running(scrub: str) -> Callable[[Worker], None]:
    """Return a worker whose code leaves a process behind that mends the checkouts of later checks."""

    def act(worker: Worker) -> None:
        start = (
            "import os, subprocess, sys\n\n"
            f"DAEMON = {DAEMON.replace('SCRUB', scrub)!r}\nMENDED = {MENDED!r}\n"
            "here = os.path.dirname(os.path.abspath(__file__))\n"
            "subprocess.Popen([sys.executable, '-c', DAEMON, os.path.dirname(here), MENDED], "
            f"stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL{', env={}' if scrub else ''}).wait()\n\n"
        )
        worker.commit({"invoice.py": start + INVOICE})
        worker.complete()

    return act


def two_checks() -> dict[str, Any]:
    """Return a contract whose first check loads the product and whose second judges it."""
    loads = {"id": "loads", "kind": "guards", "command": f"{PYTHON} -c 'import invoice'", "timeout_seconds": 60}
    return {"checks": [loads, *command(unittest_command("tests.test_total"))["checks"]]}


CASES = (
    Case(
        id="mark-in-home",
        story="the code works only where the worker left a file in HOME",
        act=marked("os.path.expanduser('~/.cache/warm')", lambda worker: worker.home / ".cache" / "warm"),
        contract=command(unittest_command("tests.test_total")),
    ),
    Case(
        id="mark-in-scratch",
        story="the code works only where the worker left a file in TMPDIR",
        act=marked("os.path.join(os.environ.get('TMPDIR', ''), 'warm')", lambda worker: worker.scratch / "warm"),
        contract=command(unittest_command("tests.test_total")),
    ),
    Case(
        id="mark-outside",
        story="the code works only where the worker left a file outside of its work tree",
        act=marked("HERE", lambda worker: worker.outside / "warm"),
        contract=command(unittest_command("tests.test_total")),
        needs=SANDBOX,
    ),
    Case(
        id="user-site",
        story="a start-up file in HOME ends the tests of the candidate well",
        act=customize,
        contract=command(unittest_command("tests.test_total")),
    ),
    Case(
        id="home-shim",
        story="a program in HOME takes the place of one that the test calls",
        act=shim,
        contract=command("sh tests/value.sh"),
    ),
    Case(
        id="turns-green",
        story="the code fails once and works when it is asked again",
        act=turns_green,
        contract=command(unittest_command("tests.test_total")),
    ),
    Case(
        id="alternates",
        story="the code works every second time",
        act=alternates,
        contract={"checks": [{**command(unittest_command("tests.test_total"))["checks"][0], "runs": 2}]},
        needs=(Need.RUNS,),
    ),
    Case(
        id="background",
        story="a process that the first check left mends what the second one looks at",
        act=leaves_running(""),
        contract=two_checks(),
    ),
    Case(
        id="background-scrubbed",
        story="a process that hides where it comes from mends what the second check looks at",
        act=leaves_running("os.chdir('/')"),
        contract=two_checks(),
        needs=SANDBOX,
    ),
)
