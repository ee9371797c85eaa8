"""How a driver's file becomes a driver, and each way in which it is refused by the name of what is missing."""

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from workloop.domain.errors import BadRequest
from workloop.repair.loading import MODULE, checked_driver, children_of_this_process, load_driver_file
from workloop.repair.port import CALLBACKS
from workloop.repair.supervisor.bench import end_all
from workloop.testing.scripted_driver import ScriptedDriver


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    """Write a driver's file."""
    folder.chmod(0o700)
    path = folder / "driver.py"
    path.write_text(dedent(text))
    path.chmod(mode)
    return path


def refusal(path: Path) -> str:
    """Return what is said against a file."""
    with pytest.raises(BadRequest) as caught:
        load_driver_file(path)
    assert caught.value.code == "DRIVER_INVALID"
    return caught.value.message


def test_a_file_is_run_once_and_its_factory_and_digest_are_kept(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        from dataclasses import dataclass

        @dataclass
        class Made:
            config: object

        def create_work_loop_driver(config):
            return Made(config)
        """,
    )
    file = load_driver_file(path)
    assert getattr(file.factory, "__module__", "") == MODULE
    assert len(file.digest) == 64
    assert (file.threads, file.children) == ((), ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import does_not_exist_anywhere", "ModuleNotFoundError"),
        ("def create_work_loop_driver(config:", "SyntaxError"),
        ("raise RuntimeError('planted')", "planted"),
        ("raise SystemExit(3)", "SystemExit"),
        ("1 / 0", "ZeroDivisionError"),
        ("x = 1", "create_work_loop_driver"),
        ("create_work_loop_driver = 7", "create_work_loop_driver"),
    ],
)
def test_a_file_that_does_not_load_or_has_no_factory_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(written(tmp_path, text))


def test_a_file_that_is_not_the_operators_alone_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in refusal(tmp_path / "driver.py")
    assert "can be written by others" in refusal(written(tmp_path, "x = 1", 0o622))
    (tmp_path / "link.py").symlink_to(written(tmp_path, "x = 1"))
    assert "symbolic link" in refusal(tmp_path / "link.py")


@pytest.mark.parametrize("name", CALLBACKS)
@pytest.mark.parametrize("wrong", ["missing", 7])
def test_a_driver_without_a_callback_is_refused_by_its_name(name: str, wrong: object) -> None:
    given = {callback: getattr(ScriptedDriver(), callback) for callback in CALLBACKS}
    made = type(
        "Made", (), {**given, name: wrong} if wrong != "missing" else {k: v for k, v in given.items() if k != name}
    )
    with pytest.raises(BadRequest, match=f"(no {name}|{name} is not callable)"):
        checked_driver(made(), "driver.py")
    assert checked_driver(ScriptedDriver(), "driver.py")


def test_what_a_file_leaves_running_is_listed_and_its_children_are_ended(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        f"""
        import subprocess, threading

        child = subprocess.Popen([{sys.executable!r}, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
        ended = threading.Event()
        thread = threading.Thread(target=ended.wait, name="left-running", daemon=True)
        thread.start()

        def create_work_loop_driver(config):
            return None
        """,
    )
    file = load_driver_file(path)
    module = sys.modules[MODULE]
    try:
        assert file.threads == ("left-running",)
        assert file.children == (module.child.pid,)
        end_all(file.children)
        assert module.child.pid not in children_of_this_process()
        module.child.wait(5)
    finally:
        module.ended.set()
        module.child.stdin.close()
