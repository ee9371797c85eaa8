"""How the file of a bench campaign is read: exactly the published keys, one `driver` object, and nothing guessed."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from math import isfinite
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias, cast

from workloop.config.trust import read_trusted
from workloop.domain.errors import BadRequest
from workloop.domain.reader import Json, Reader, bad, storable
from workloop.domain.units import MICROS
from workloop.repair.ledger.records import Limits
from workloop.repair.port import HarnessRevision, Task

TASKS_MAX: Final = 1_000
TASK_ID_CHARACTERS_MAX: Final = 128
PROMPT_CHARACTERS_MAX: Final = 200_000
ATTEMPTS_MAX: Final = 100
REPAIRS_MAX: Final = 1_000
RUNTIME_MS_MAX: Final = 31 * 24 * 3_600_000
SPEND_MICROUSD_MAX: Final = 1_000_000 * MICROS

FULL_SHA: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
LABELLED: Final = re.compile(r"(?P<algorithm>[a-z][a-z0-9-]{0,31}):(?P<label>[A-Za-z0-9][A-Za-z0-9._+-]{0,159})")
HEX: Final = re.compile(r"[0-9a-fA-F]+")
DIGEST: Final = re.compile(r"[0-9a-f]{64}")

Exact: TypeAlias = "Decimal | Json"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchConfig:
    """A campaign of the bench: its jobs, the harness it begins with, where its ledger goes, and its limits.

    `driver` is what the file says to the driver alone; nobody else reads it.
    """

    tasks: tuple[Task, ...]
    harness: HarnessRevision
    ledger_path: Path
    limits: Limits
    driver: Mapping[str, Json]
    path: Path
    digest: str


class _NotJson(ValueError):
    """A text that is not JSON as it is taken here."""


def read_bench_config(path: Path) -> BenchConfig:
    """Read a campaign's file; raises BadRequest that names the file and the key."""
    text = _text(path)
    try:
        return _campaign(Reader(_values(text)), path, hashlib.sha256(text.encode()).hexdigest())
    except _NotJson as error:
        raise _refused(path, str(error), "correct the file") from error
    except RecursionError as error:
        raise _refused(path, "is nested too deeply", "make it flatter") from error
    except BadRequest as error:
        field = str(error.details.get("field", ""))
        raise BadRequest("CONFIG_INVALID", f"{path}: {error.message}", hint=error.hint, field=field) from error


def full_sha(text: object) -> bool:
    """Tell whether something is a whole commit SHA in lower case that can name a commit."""
    return isinstance(text, str) and FULL_SHA.fullmatch(text) is not None and set(text) != {"0"}


def runtime_id_problem(text: str) -> str:
    """Say what keeps a text from naming a runtime; empty when nothing does."""
    if DIGEST.fullmatch(text):
        return ""
    match = LABELLED.fullmatch(text)
    if match is None:
        return "is neither 64 hexadecimal digits nor an algorithm and a label, such as sha256:label"
    label = match["label"]
    if match["algorithm"] == "sha256" and HEX.fullmatch(label) and not DIGEST.fullmatch(label):
        return "looks like a SHA-256 of the wrong length or case"
    return ""


def _refused(path: Path, problem: str, hint: str) -> BadRequest:
    return BadRequest("CONFIG_INVALID", f"{path} {problem}", hint=hint, field=str(path))


def _text(path: Path) -> str:
    if path.is_symlink():
        raise _refused(path, "is a symbolic link", "name the file itself")
    try:
        text = read_trusted(path)
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}", "name a file that can be read") from error
    if text.startswith("\ufeff"):
        raise _refused(path, "begins with a byte order mark", "save it as UTF-8 without one")
    return text


def _values(text: str) -> Json:
    try:
        return json.loads(text, object_pairs_hook=_members, parse_constant=_constant, parse_float=_exact)
    except json.JSONDecodeError as error:
        raise _NotJson(f"is not JSON: {error.msg} at line {error.lineno} column {error.colno}") from error
    except _NotJson:
        raise
    except ValueError as error:
        raise _NotJson("has a number with too many digits") from error


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _NotJson(f"has {twice!r} twice in one object")
    return values


def _constant(text: str) -> NoReturn:
    raise _NotJson(f"holds {text}, which is no JSON number")


def _exact(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation as error:
        raise _NotJson(f"holds {text[:40]}, which is no number") from error
    if not isfinite(float(number)):
        raise _NotJson(f"holds {text[:40]}, which is too large")
    return number


def _campaign(reader: Reader, path: Path, digest: str) -> BenchConfig:
    tasks = _tasks(reader)
    harness = _harness(reader)
    ledger_path = _ledger_path(reader)
    limits = _limits(reader)
    driver = _driver(reader)
    reader.done()
    return BenchConfig(
        tasks=tasks,
        harness=harness,
        ledger_path=ledger_path,
        limits=limits,
        driver=driver,
        path=path,
        digest=digest,
    )


def _tasks(reader: Reader) -> tuple[Task, ...]:
    entries = list(reader.entries("tasks"))
    if not 1 <= len(entries) <= TASKS_MAX:
        raise bad("tasks", f"expected a list of 1 to {TASKS_MAX} tasks")
    tasks: list[Task] = []
    places: dict[str, str] = {}
    for at, value in entries:
        task = _task(Reader(value, at))
        same = unicodedata.normalize("NFKC", task.id).casefold()
        if same in places:
            raise bad(f"{at}.id", f"{task.id!r} is the same as that of {places[same]}")
        places[same] = at
        tasks.append(task)
    return tuple(tasks)


def _task(reader: Reader) -> Task:
    name, prompt = _string(reader, "id"), _string(reader, "prompt")
    reader.done()
    at = reader.at("id")
    if not 1 <= len(name) <= TASK_ID_CHARACTERS_MAX:
        raise bad(at, f"expected 1 to {TASK_ID_CHARACTERS_MAX} characters")
    if name.strip() != name or not name.isprintable() or "/" in name or "\\" in name or ".." in name or name == ".":
        raise bad(at, "may hold no slash, no '..', no control character and no blank at its ends")
    if not prompt.strip():
        raise bad(reader.at("prompt"), "is blank", hint="say what is to be done")
    if len(prompt) > PROMPT_CHARACTERS_MAX:
        raise bad(reader.at("prompt"), f"is longer than {PROMPT_CHARACTERS_MAX} characters")
    return Task(id=name, prompt=prompt)


def _string(reader: Reader, name: str) -> str:
    value = reader.take(name)
    if value is None:
        raise bad(reader.at(name), "is required")
    if not isinstance(value, str):
        raise bad(reader.at(name), "expected a text")
    return storable(value, reader.at(name))


def _harness(outer: Reader) -> HarnessRevision:
    reader = Reader(outer.take("harness"), "harness")
    commit, runtime_id = _string(reader, "commit"), _string(reader, "runtimeId")
    reader.done()
    if not full_sha(commit):
        hint = "write the output of `git rev-parse`: 40 (or 64) lower-case hexadecimal digits"
        raise bad("harness.commit", "is not a full commit SHA", hint=hint)
    problem = runtime_id_problem(runtime_id)
    if problem:
        raise bad("harness.runtimeId", problem)
    return HarnessRevision(commit=commit, runtime_id=runtime_id)


def _ledger_path(reader: Reader) -> Path:
    text = _string(reader, "ledgerPath")
    path = Path(text)
    if not path.is_absolute() or not text.isprintable() or path.name in ("", "..") or text.endswith("/"):
        raise bad("ledgerPath", "expected an absolute path of a file that is not there yet")
    return path


def _limits(reader: Reader) -> Limits:
    return Limits(
        max_tasks=_whole(reader, "maxTasks", 1, TASKS_MAX),
        max_task_attempts=_whole(reader, "maxTaskAttempts", 1, ATTEMPTS_MAX),
        max_repairs=_whole(reader, "maxRepairs", 0, REPAIRS_MAX),
        max_repair_attempts=_whole(reader, "maxRepairAttempts", 1, ATTEMPTS_MAX),
        max_runtime_ms=_whole(reader, "maxRuntimeMs", 1, RUNTIME_MS_MAX),
        max_spend_microusd=_microusd(reader, "maxSpendUsd"),
    )


def _whole(reader: Reader, name: str, lowest: int, highest: int) -> int:
    value = reader.take(name)
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        problem = "is required" if name not in reader.values else f"expected a whole number from {lowest} to {highest}"
        raise bad(name, problem)
    return value


def _microusd(reader: Reader, name: str) -> int:
    value = cast("Exact", reader.take(name))
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise bad(name, "expected a number of US dollars" if name in reader.values else "is required")
    micros = Decimal(value) * MICROS
    if not 0 <= micros <= SPEND_MICROUSD_MAX:
        raise bad(name, f"expected 0 to {SPEND_MICROUSD_MAX // MICROS} US dollars")
    if micros != micros.to_integral_value():
        raise bad(name, "has a part smaller than a millionth of a dollar")
    return int(micros)


def _driver(reader: Reader) -> Mapping[str, Json]:
    value = reader.take("driver")
    if "driver" not in reader.values:
        return {}
    if not isinstance(value, Mapping):
        raise bad("driver", "expected an object")
    return cast("Mapping[str, Json]", _plain(value))


def _plain(value: Exact) -> Json:
    """Return a value with numbers of JSON's own kinds; only money is read exactly."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return value
