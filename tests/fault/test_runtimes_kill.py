"""A store of runtimes whose process is killed between any two steps holds what it held before, or what it was to."""

from pathlib import Path

from killing import killer

from workloop.repair.runtimes.store import RuntimeStore
from workloop.testing.gitrepo import scratch_repository

# Killed just before it starts a program, opens a file, or makes, renames, changes or removes something on the disk.
CHILD = """
import sys
from pathlib import Path
from killing import die_before, serve
from workloop.repair.runtimes.store import RuntimeStore

STEPS = {"subprocess.Popen", "open", "os.mkdir", "os.rename", "os.chmod", "os.remove", "os.rmdir", "os.truncate"}

def work(step, folder):
    die_before(step, lambda event, _: event in STEPS)
    store = RuntimeStore(Path(sys.argv[2]) / folder)
    if sys.argv[1] == "build":
        store.build(Path(sys.argv[3]), sys.argv[4])
    else:
        store.roll_back()

serve(work)
"""


def test_a_build_that_is_killed_leaves_no_runtime_or_the_whole_one(tmp_path: Path) -> None:
    harness = scratch_repository(tmp_path / "harness", {"a.txt": "a\n", "inner/b.py": "b\n"})
    expected = RuntimeStore(tmp_path / "stores" / "whole").build(harness.path, harness.head)
    seen: list[bool] = []
    step = 1
    with killer("-c", CHILD, "build", str(tmp_path / "stores"), str(harness.path), harness.head) as killed_at:
        while killed_at(step, f"s{step}"):
            store = RuntimeStore(tmp_path / "stores" / f"s{step}")
            seen.append(expected.id in store.ids())
            for runtime_id in store.ids():
                assert store.verified(runtime_id).manifest == expected.manifest
            assert store.build(harness.path, harness.head).manifest == expected.manifest
            assert list(store.incoming.iterdir()) == []
            step += 1
    assert step > 30
    assert seen == sorted(seen)
    assert {*seen} == {False, True}


def test_a_roll_back_that_is_killed_leaves_the_present_runtime_in_force_or_the_one_before(tmp_path: Path) -> None:
    harness = scratch_repository(tmp_path / "harness", {"a.txt": "a\n"})
    store = RuntimeStore(tmp_path / "stores" / "one")
    old = store.build(harness.path, harness.head)
    new = store.build(harness.path, harness.commit({"a.txt": "b\n"}))
    seen: list[str | None] = []
    step = 1
    with killer("-c", CHILD, "rollback", str(tmp_path / "stores")) as killed_at:
        while True:
            for runtime in (old, new):
                store.activate(runtime.id, runtime.manifest.commit)
            if not killed_at(step, "one"):
                break
            seen.append(store.activations().current)
            step += 1
    assert step > 8
    assert {*seen} == {old.id, new.id}
    assert store.activations().current == old.id
