"""What a campaign's file may say, and each way in which it is refused before anything is made."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from workloop.domain.errors import BadRequest
from workloop.repair.config import PROMPT_CHARACTERS_MAX, TASKS_MAX, read_bench_config
from workloop.repair.ledger.records import Limits
from workloop.repair.port import HarnessRevision, Task

SHA = "0123456789abcdef0123456789abcdef01234567"
GONE = object()


def sample(folder: Path) -> dict[str, Any]:
    """Return a campaign as it is published."""
    return {
        "tasks": [{"id": "fix-one", "prompt": "fix $(the) `thing`\n"}],
        "harness": {"commit": SHA, "runtimeId": "sha256:first-runtime"},
        "ledgerPath": str(folder / "run.jsonl"),
        "maxTasks": 1,
        "maxTaskAttempts": 2,
        "maxRepairs": 2,
        "maxRepairAttempts": 1,
        "maxRuntimeMs": 1_800_000,
        "maxSpendUsd": 1,
    }


def written(folder: Path, data: bytes | str) -> Path:
    """Write a campaign's file that only its owner may change."""
    path = folder / "campaign.json"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    path.chmod(0o600)
    return path


def refusal(path: Path) -> str:
    """Return what is said against a file."""
    with pytest.raises(BadRequest) as caught:
        read_bench_config(path)
    return caught.value.message


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


def test_the_published_keys_are_read_and_the_prompt_stays_as_it_is(folder: Path) -> None:
    path = written(folder, json.dumps({**sample(folder), "driver": {"rate": 0.5, "deep": [{"a": 1}]}}))
    config = read_bench_config(path)
    assert config.tasks == (Task(id="fix-one", prompt="fix $(the) `thing`\n"),)
    assert config.harness == HarnessRevision(commit=SHA, runtime_id="sha256:first-runtime")
    assert config.ledger_path == folder / "run.jsonl"
    assert config.driver == {"rate": 0.5, "deep": [{"a": 1}]}
    assert config.limits == Limits(
        max_tasks=1,
        max_task_attempts=2,
        max_repairs=2,
        max_repair_attempts=1,
        max_runtime_ms=1_800_000,
        max_spend_microusd=1_000_000,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("maxRepairs", 0),
        ("maxSpendUsd", 0),
        ("maxSpendUsd", 0.000001),
        ("maxRuntimeMs", 1),
        ("maxTasks", TASKS_MAX),
    ],
)
def test_the_edges_of_what_is_legal_are_taken(folder: Path, name: str, value: object) -> None:
    read_bench_config(written(folder, json.dumps({**sample(folder), name: value})))


def test_money_is_read_exactly_where_a_float_is_not(folder: Path) -> None:
    text = json.dumps(sample(folder)).replace('"maxSpendUsd": 1', '"maxSpendUsd": 1.100001')
    assert read_bench_config(written(folder, text)).limits.max_spend_microusd == 1_100_001


COUNTERS = ("maxTasks", "maxTaskAttempts", "maxRepairAttempts", "maxRuntimeMs")
WRONG_VALUES: list[tuple[str, object, str]] = [
    ("extra", 1, "extra"),
    ("tasks", GONE, "tasks"),
    ("tasks", [], "tasks"),
    ("tasks", {"id": "a"}, "tasks"),
    ("tasks", "fix", "tasks"),
    ("tasks", [{"id": str(n), "prompt": "p"} for n in range(TASKS_MAX + 1)], "tasks"),
    ("tasks", [7], "tasks[0]"),
    ("tasks", [{"prompt": "p"}], "tasks[0].id"),
    ("tasks", [{"id": "a"}], "tasks[0].prompt"),
    ("tasks", [{"id": "a", "prompt": None}], "tasks[0].prompt"),
    ("tasks", [{"id": "a", "prompt": " \n\t"}], "tasks[0].prompt"),
    ("tasks", [{"id": "a", "prompt": "p" * (PROMPT_CHARACTERS_MAX + 1)}], "tasks[0].prompt"),
    ("tasks", [{"id": "a", "prompt": "p\x00"}], "tasks[0].prompt"),
    ("tasks", [{"id": 7, "prompt": "p"}], "tasks[0].id"),
    ("tasks", [{"id": "", "prompt": "p"}], "tasks[0].id"),
    ("tasks", [{"id": "a/b", "prompt": "p"}], "tasks[0].id"),
    ("tasks", [{"id": "a..b", "prompt": "p"}], "tasks[0].id"),
    ("tasks", [{"id": "a\x00", "prompt": "p"}], "tasks[0].id"),
    ("tasks", [{"id": "a\nb", "prompt": "p"}], "tasks[0].id"),
    ("tasks", [{"id": " a", "prompt": "p"}], "tasks[0].id"),
    ("tasks", [{"id": "a" * 129, "prompt": "p"}], "tasks[0].id"),
    ("tasks", [{"id": "a", "prompt": "p", "base": "main"}], "tasks[0].base"),
    ("tasks", [{"id": "A", "prompt": "p"}, {"id": "b", "prompt": "p"}, {"id": "a", "prompt": "p"}], "tasks[2].id"),
    ("tasks", [{"id": "ﬁ", "prompt": "p"}, {"id": "FI", "prompt": "p"}], "tasks[1].id"),
    ("harness", GONE, "harness"),
    ("harness", "main", "harness"),
    ("harness", {"commit": SHA}, "harness.runtimeId"),
    ("harness", {"commit": SHA, "runtimeId": "sha256:x", "branch": "main"}, "harness.branch"),
    *[("harness", {"commit": commit, "runtimeId": "sha256:x"}, "harness.commit") for commit in (
        SHA[:12], SHA[:39], SHA + "0", SHA.upper(), "main", "0" * 40, "0" * 64, 7, "", f"{SHA}\n",
    )],
    *[("harness", {"commit": SHA, "runtimeId": runtime}, "harness.runtimeId") for runtime in (
        "label", "", "sha256:", "sha256:" + "a" * 63, "sha256:" + "A" * 64, "a" * 63, "sha256:a b", "sha256:../x", 7,
    )],
    *[("ledgerPath", path, "ledgerPath") for path in (
        GONE, "", "run.jsonl", "./run.jsonl", "~/run.jsonl", 7, "/", "/a/", "/a\nb",
    )],
    *[(name, value, name) for name in COUNTERS for value in (GONE, None, 0, -1, 1.5, 2.0, True, "2", [2], 10**18)],
    *[("maxRepairs", value, "maxRepairs") for value in (GONE, None, -1, 0.5, False, "2", 10**18)],
    *[("maxSpendUsd", value, "maxSpendUsd") for value in (GONE, None, -1, -0.01, True, "1", [1], 10**12, 0.0000001)],
    *[("driver", value, "driver") for value in (None, [], "x", 7)],
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "named"), WRONG_VALUES)
def test_a_wrong_value_is_refused_by_file_and_key(folder: Path, name: str, value: object, named: str) -> None:
    values = {key: entry for key, entry in {**sample(folder), name: value}.items() if entry is not GONE}
    path = written(folder, json.dumps(values))
    said = refusal(path)
    assert said.startswith(str(path))
    assert f"{named}: " in said
    assert sorted(entry.name for entry in folder.iterdir()) == ["campaign.json"], "nothing else was made"


def test_both_places_of_a_double_task_are_named(folder: Path) -> None:
    tasks = [{"id": "Straße", "prompt": "p"}, {"id": "STRASSE", "prompt": "p"}]
    said = refusal(written(folder, json.dumps({**sample(folder), "tasks": tasks})))
    assert "tasks[0]" in said
    assert "tasks[1]" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[]", "expected an object"),
        (b"null", "expected an object"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"a": "\xff"}', "is not UTF-8"),
        (b'{"maxTasks": 1, "maxTasks": 2}', "'maxTasks' twice"),
        (b'{"harness": {"commit": "a", "commit": "b"}}', "'commit' twice"),
        (b'{"maxSpendUsd": NaN}', "NaN"),
        (b'{"maxSpendUsd": Infinity}', "Infinity"),
        (b'{"maxSpendUsd": -Infinity}', "-Infinity"),
        (b'{"maxSpendUsd": 1e999}', "too large"),
        (b'{"driver": {"a": NaN}}', "NaN"),
        (b'{"maxTasks": ' + b"9" * 5_000 + b"}", "too many digits"),
        (b"[" * 20_000, "nested too deeply"),
    ],
)
def test_a_text_that_is_no_strict_json_is_refused(folder: Path, text: bytes, said: str) -> None:
    assert said in refusal(written(folder, text))


def test_a_missing_file_is_refused(folder: Path) -> None:
    assert "cannot be read" in refusal(folder / "campaign.json")


def test_a_folder_or_a_link_is_no_file(folder: Path) -> None:
    assert refusal(folder)
    real = written(folder, json.dumps(sample(folder)))
    (folder / "link.json").symlink_to(real)
    assert "symbolic link" in refusal(folder / "link.json")


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_refused(folder: Path, mode: int) -> None:
    path = written(folder, json.dumps(sample(folder)))
    path.chmod(mode)
    assert "can be written by others" in refusal(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(folder: Path) -> None:
    path = written(folder, json.dumps(sample(folder)))
    os.chown(path, 12345, -1)
    assert "belongs to user 12345" in refusal(path)
