"""How an operator's driver comes from its file into this process: what was judged and hashed is what runs.

The file is host code with every right of the operator; nothing of it is sandboxed.
"""

import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from workloop.config.trust import read_trusted
from workloop.domain.errors import BadRequest
from workloop.repair.config import BenchConfig
from workloop.repair.port import CALLBACKS, RepairDriver

FACTORY: Final = "create_work_loop_driver"
MODULE: Final = "workloop_repair_driver"

Factory = Callable[[BenchConfig], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverFile:
    """A driver's file that was read and run once: its factory, what it holds, and what it left running."""

    path: Path
    digest: str
    factory: Factory
    threads: tuple[str, ...]
    children: tuple[int, ...]


def load_driver_file(path: Path) -> DriverFile:
    """Run a driver's file as a module; raises BadRequest that says what is wrong with it."""
    text = _text(path)
    threads, children = set(threading.enumerate()), set(children_of_this_process())
    try:
        module = _run(text, path)
    except (Exception, SystemExit) as error:
        raise _refused(path, f"does not load: {type(error).__name__}: {error}", "run it by itself to see") from error
    factory = getattr(module, FACTORY, None)
    if not callable(factory):
        raise _refused(path, f"has no function {FACTORY}", f"define {FACTORY}(config) that returns a driver")
    return DriverFile(
        path=path,
        digest=hashlib.sha256(text.encode()).hexdigest(),
        factory=factory,
        threads=tuple(sorted(thread.name for thread in set(threading.enumerate()) - threads)),
        children=tuple(sorted(set(children_of_this_process()) - children)),
    )


class _TextLoader(importlib.abc.InspectLoader):
    """Gives the import system the text that was judged, so that the file is not read a second time."""

    def __init__(self, text: str, path: Path) -> None:
        self.text = text
        self.path = path

    def get_source(self, fullname: str) -> str:
        """Return the text that was judged."""
        return self.text

    def get_code(self, fullname: str) -> types.CodeType:
        """Return that text compiled under the name of its file."""
        return self.source_to_code(self.text, str(self.path))


def _run(text: str, path: Path) -> types.ModuleType:
    loader = _TextLoader(text, path)
    module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(MODULE, loader, origin=str(path)))
    module.__file__ = str(path)
    sys.modules[MODULE] = module
    loader.exec_module(module)
    return module


def checked_driver(value: object, where: str) -> RepairDriver:
    """Return a driver that has every callback; raises BadRequest that names the first it lacks."""
    for name in CALLBACKS:
        found = cast("Any", getattr(value, name, None))
        if found is None:
            raise BadRequest("DRIVER_INVALID", f"{where}: the driver has no {name}", hint="define it", field=name)
        if not callable(found):
            raise BadRequest("DRIVER_INVALID", f"{where}: {name} is not callable", hint="make it async def", field=name)
    return cast("RepairDriver", value)


def children_of_this_process() -> tuple[int, ...]:
    """Return the ids of the processes that this one has started and that still run."""
    import psutil

    return tuple(child.pid for child in psutil.Process().children(recursive=True))


def _text(path: Path) -> str:
    if path.is_symlink():
        raise _refused(path, "is a symbolic link", "name the file itself")
    try:
        return read_trusted(path)
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}", "name a file that can be read") from error
    except BadRequest as error:
        raise BadRequest("DRIVER_INVALID", error.message, hint=error.hint, field=str(path)) from error


def _refused(path: Path, problem: str, hint: str) -> BadRequest:
    return BadRequest("DRIVER_INVALID", f"{path} {problem}", hint=hint, field=str(path))
