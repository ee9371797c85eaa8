"""A person starts a campaign that cannot begin: told why with exit code 2, and nothing is made or touched."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import psutil
import pytest
from cli_project import Done

from workloop.__main__ import main

SHA = "0123456789abcdef0123456789abcdef01234567"
DRIVER = """
from pathlib import Path
from workloop.testing.scripted_driver import ScriptedDriver

class Driver(ScriptedDriver):
    MORE

def create_work_loop_driver(config):
    return Driver(reachable=(Path(config.driver["worker"]),))
"""


class Desk:
    """An operator's folder with a sound campaign in it, a worker's folder beside it, and one for ledgers."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, said: pytest.CaptureFixture[str]) -> None:
        self.root, self.patch, self.said = root, patch, said
        self.operator, self.worker, self.ledgers = (root / name for name in ("operator", "worker", "ledgers"))
        for folder in (self.operator, self.worker, self.ledgers):
            folder.mkdir(mode=0o700)
        self.ledger = self.ledgers / "run.jsonl"
        self.config = self.operator / "campaign.json"
        self.driver = self.operator / "driver.py"
        self.write(self.driver, sound())
        self.campaign()

    def write(self, path: Path, text: str | bytes) -> None:
        """Write a file of the operator's."""
        path.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
        path.chmod(0o600)

    def campaign(self, **changes: object) -> None:
        """Write the campaign, with some keys changed."""
        values: dict[str, Any] = {
            "tasks": [{"id": "one", "prompt": "do it"}],
            "harness": {"commit": SHA, "runtimeId": "sha256:first"},
            "ledgerPath": str(self.ledger),
            "maxTasks": 1,
            "maxTaskAttempts": 1,
            "maxRepairs": 1,
            "maxRepairAttempts": 1,
            "maxRuntimeMs": 60_000,
            "maxSpendUsd": 1,
            "driver": {"worker": str(self.worker)},
        }
        self.write(self.config, json.dumps({**values, **changes}))

    @property
    def words(self) -> list[str]:
        """Return the words of the command."""
        return ["repair", "--json", "--config", str(self.config), "--driver", str(self.driver)]

    def run(self) -> Done:
        """Run the command here, for it ends before it does anything."""
        self.patch.setattr(sys, "argv", ["workloop", *self.words])
        code = main()
        out, err = self.said.readouterr()
        return Done(code, out, err)

    def started(self) -> Done:
        """Run the command as a child."""
        argv = [sys.executable, "-m", "workloop", *self.words]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        return Done(done.returncode, done.stdout, done.stderr)

    def refused(self, code: str) -> str:
        """Hold that the campaign is refused and nothing whatever was made or changed; returns what was said."""
        before = seen(self.root)
        done = self.run()
        assert "Traceback" not in done.err, done.err
        assert (done.code, done.problem["code"]) == (2, code), done
        assert seen(self.root) == before
        return str(done.problem["detail"])


def sound(more: str = "pass") -> str:
    """Return a driver's file, with one more line in its class."""
    return DRIVER.replace("MORE", more)


def seen(root: Path) -> list[tuple[object, ...]]:
    """Return all that can be told of what lies below a folder."""
    told: list[tuple[object, ...]] = []
    for place in sorted(root.rglob("*")):
        facts = place.lstat()
        held = place.read_bytes() if place.is_file() and not place.is_symlink() else b""
        changed = 0 if place.is_dir() else facts.st_mtime_ns
        told.append((str(place), facts.st_mode, facts.st_ino, changed, held))
    return told


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, monkeypatch, capsys)


def test_a_sound_campaign_of_the_same_desk_is_carried_out(desk: Desk) -> None:
    """So that what the other tests refuse is refused for the one thing that they change."""
    assert desk.started().code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "is not JSON"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"maxTasks": 1, "maxTasks": 2}', "'maxTasks' twice"),
        (b'{"maxSpendUsd": NaN}', "NaN"),
    ],
)
def test_a_file_that_is_no_strict_json_begins_nothing(desk: Desk, text: bytes, said: str) -> None:
    desk.write(desk.config, text)
    message = desk.refused("CONFIG_INVALID")
    assert str(desk.config) in message
    assert said in message


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"budget": 1}, "budget"),
        ({"harness": {"commit": SHA[:12], "runtimeId": "sha256:first"}}, "harness.commit"),
        ({"maxTasks": 0}, "maxTasks"),
        ({"maxRepairs": True}, "maxRepairs"),
        ({"ledgerPath": "run.jsonl"}, "ledgerPath"),
    ],
)
def test_a_wrong_value_begins_nothing_and_its_key_is_named(desk: Desk, changes: dict[str, Any], named: str) -> None:
    desk.campaign(**changes)
    assert f"{named}: " in desk.refused("CONFIG_INVALID")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nothing_of_this_name", "nothing_of_this_name"),
        ("x = 1", "create_work_loop_driver"),
        ("def create_work_loop_driver(config):\n    raise RuntimeError('planted')", "planted"),
        ("def create_work_loop_driver(config):\n    raise SystemExit(0)", "SystemExit"),
        ("def create_work_loop_driver(config):\n    return None", "run_task"),
        (sound("settle = 7"), "settle"),
        (sound("accept_task = None"), "accept_task"),
        (sound("worker_paths = lambda self: ()"), "async def"),
    ],
)
def test_a_driver_that_is_none_begins_nothing_and_what_it_lacks_is_named(desk: Desk, text: str, said: str) -> None:
    desk.write(desk.driver, text)
    assert said in desk.refused("DRIVER_INVALID")


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_can_write_begins_nothing(desk: Desk, mode: int) -> None:
    desk.driver.chmod(mode)
    assert "can be written by others" in desk.refused("DRIVER_INVALID")
    desk.driver.chmod(0o600)
    desk.config.chmod(mode)
    assert "can be written by others" in desk.refused("CONFIG_UNTRUSTED")


def inside(desk: Desk) -> Path:
    """Return a worker's folder by its own name."""
    return desk.worker


def through_a_link(desk: Desk) -> Path:
    """Return a worker's folder by a link to it."""
    (desk.root / "link").symlink_to(desk.worker)
    return desk.root / "link"


def roundabout(desk: Desk) -> Path:
    """Return a worker's folder by a way that leads up again."""
    return desk.operator / ".." / "worker"


@pytest.mark.parametrize("way", [inside, through_a_link, roundabout])
@pytest.mark.parametrize("what", ["config", "driver", "ledger"])
def test_what_a_worker_can_reach_begins_nothing(desk: Desk, what: str, way: Callable[[Desk], Path]) -> None:
    place = way(desk) / getattr(desk, what).name
    if what == "ledger":
        desk.campaign(ledgerPath=str(place))
    else:
        getattr(desk, what).rename(place)
        setattr(desk, what, place)
    assert what in desk.refused("PLACEMENT_INVALID")


KINDS: dict[str, Callable[[Path], object]] = {
    "file": lambda path: path.write_text("kept\n"),
    "empty": Path.touch,
    "link": lambda path: path.symlink_to(path.with_name("target")),
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.head", "run.jsonl.evidence"])
def test_whatever_stands_where_a_ledger_goes_begins_nothing(desk: Desk, kind: str, name: str) -> None:
    """A link leads to nothing, so that a name alone is enough."""
    KINDS[kind](desk.ledgers / name)
    code = "PLACEMENT_INVALID" if name.endswith("evidence") or kind == "link" else "LEDGER_EXISTS"
    assert name in desk.refused(code)


def test_a_folder_for_the_ledger_that_is_missing_or_anybody_s_begins_nothing(desk: Desk) -> None:
    desk.ledgers.chmod(0o777)
    desk.refused("LEDGER_PARENT_UNSAFE")
    desk.ledgers.rmdir()
    desk.refused("LEDGER_PARENT_MISSING")


def test_a_second_supervisor_of_a_campaign_that_runs_begins_nothing(desk: Desk) -> None:
    """The first one's worker starts the same command once more, and the first goes on to its end."""
    again = [sys.executable, "-m", "workloop", *desk.words]
    desk.write(
        desk.driver,
        f"""
        import subprocess
        from pathlib import Path
        from workloop.testing.scripted_driver import ScriptedDriver, worked

        def once_more(context, task):
            done = subprocess.run({again!r}, capture_output=True, text=True)
            Path({str(desk.worker)!r}, "said").write_text(f"{{done.returncode}} {{done.stderr}}")
            return worked(candidate="1" * 40)

        def create_work_loop_driver(config):
            return ScriptedDriver(script={{"run_task": [once_more]}}, reachable=(Path({str(desk.worker)!r}),))
        """,
    )
    assert desk.started().code == 0
    code, _, said = (desk.worker / "said").read_text().partition(" ")
    assert code == "2"
    assert "is there already" in json.loads(said.splitlines()[-1])["detail"]
    verified = subprocess.run([sys.executable, "-m", "workloop", "ledger", "verify", str(desk.ledger)], check=False)
    assert verified.returncode == 0


def test_what_a_driver_s_file_leaves_running_is_on_record_and_ended_with_the_run(desk: Desk) -> None:
    starts = (
        "import subprocess, sys, threading\nchild = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=-1)\n"
    )
    waits = "threading.Thread(target=threading.Event().wait, name='left-behind', daemon=True).start()\n"
    desk.write(desk.driver, starts + waits + sound())
    assert desk.started().code == 0
    lines = [json.loads(line) for line in desk.ledger.read_text("utf-8").splitlines()]
    (told,) = [line["data"]["text"] for line in lines if line["data"].get("topic") == "left-running"]
    threads, _, processes = told.partition("; processes: ")
    assert threads == "threads: left-behind"
    assert not psutil.pid_exists(int(processes))
