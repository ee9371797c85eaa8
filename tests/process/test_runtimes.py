"""Runtimes of a harness: built from a commit alone, never changed, looked at again before each worker."""

import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from workloop.domain.errors import BadRequest, Conflict, IntegrityFault, NotFound, Refusal, WorkloopError
from workloop.repair.runtimes.manifest import bytes_of, id_of
from workloop.repair.runtimes.outcomes import Outcome
from workloop.repair.runtimes.store import RuntimeStore
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

FILES = {"harness.toml": "name = 'one'\n", "tools/build.py": "print('build')\n", "tools/lint.py": "print('lint')\n"}
TWICE = """
import sys
from pathlib import Path
from workloop.repair.runtimes.store import RuntimeStore
print(RuntimeStore(Path(sys.argv[1])).build(Path(sys.argv[2]), sys.argv[3]).id)
"""


@pytest.fixture
def harness(tmp_path: Path) -> ScratchRepository:
    """A small repository of a harness."""
    repository = scratch_repository(tmp_path / "harness", FILES)
    (repository.path / "tools" / "build.py").chmod(0o755)
    repository.commit({}, "executable")
    return repository


@pytest.fixture
def store(tmp_path: Path) -> RuntimeStore:
    """An empty store."""
    return RuntimeStore(tmp_path / "runtimes")


def test_a_runtime_holds_the_commit_s_files_and_nothing_may_be_written_to_it(
    harness: ScratchRepository, store: RuntimeStore
) -> None:
    runtime = store.build(harness.path, harness.head)
    modes = {entry.path: entry.mode for entry in runtime.manifest.entries}
    assert modes == {"harness.toml": 0o444, "tools/build.py": 0o555, "tools/lint.py": 0o444}
    assert (runtime.path / "tools" / "lint.py").read_text() == FILES["tools/lint.py"]
    on_disk = [stat.S_IMODE(path.lstat().st_mode) for path in (runtime.path, *runtime.path.rglob("*"))]
    assert not any(mode & 0o222 for mode in on_disk)
    assert runtime.manifest.commit == harness.head
    assert runtime.id == id_of(bytes_of(runtime.manifest))


def test_what_is_not_in_the_commit_is_not_in_the_runtime(harness: ScratchRepository, store: RuntimeStore) -> None:
    head = harness.head
    clean = store.build(harness.path, head)
    (harness.path / "harness.toml").write_text("changed\n")
    (harness.path / "new.py").write_text("new\n")
    harness.git("add", "--all")
    assert store.build(harness.path, head) == clean
    assert store.ids() == (clean.id,)


def test_no_filter_attribute_or_hook_of_the_repository_takes_part(
    harness: ScratchRepository, store: RuntimeStore
) -> None:
    witness = harness.path.parent / "witness"
    harness.git("config", "filter.evil.smudge", f"touch {witness}; cat")
    harness.git("config", "core.autocrlf", "true")
    head = harness.commit({".gitattributes": "* filter=evil text eol=crlf ident\n", "id.txt": "$Id$\nend\n"})
    hook = harness.path / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {witness}\n")
    hook.chmod(0o755)
    runtime = store.build(harness.path, head)
    assert (runtime.path / "id.txt").read_bytes() == b"$Id$\nend\n"
    assert not witness.exists()


def test_the_same_files_at_another_commit_are_another_runtime(harness: ScratchRepository, store: RuntimeStore) -> None:
    first = store.build(harness.path, harness.head)
    second = store.build(harness.path, harness.commit({}, "nothing changed"))
    assert first.manifest.entries == second.manifest.entries
    assert first.id != second.id


@pytest.mark.parametrize("name", ["HEAD", "main", "abcdef1", "0" * 40, "", "-h", "A" * 40])
def test_only_a_full_commit_sha_is_built(harness: ScratchRepository, store: RuntimeStore, name: str) -> None:
    with pytest.raises(BadRequest):
        store.build(harness.path, name)
    with pytest.raises(BadRequest):
        store.build(harness.path, harness.head[:39])
    assert store.ids() == ()


def test_a_sha_of_something_else_or_of_nothing_is_not_built(harness: ScratchRepository, store: RuntimeStore) -> None:
    for wrong in ("1" * 40, harness.git("rev-parse", "HEAD^{tree}"), harness.git("rev-parse", "HEAD:harness.toml")):
        with pytest.raises(NotFound):
            store.build(harness.path, wrong)


def with_link(repository: ScratchRepository) -> str:
    (repository.path / "link").symlink_to("/etc/passwd")
    return repository.commit({})


def with_submodule(repository: ScratchRepository) -> str:
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{repository.head},inner")
    repository.git("commit", "--quiet", "--message", "inner")
    return repository.head


def with_name(name: bytes) -> Callable[[ScratchRepository], str]:
    def make(repository: ScratchRepository) -> str:
        with Path(os.fsdecode(os.fsencode(repository.path) + b"/" + name)).open("wb") as file:
            file.write(b"x\n")
        return repository.commit({})

    return make


def with_twins(repository: ScratchRepository) -> str:
    return repository.commit({"Tools/other.py": "x\n"})


def with_nothing(repository: ScratchRepository) -> str:
    return repository.commit(dict.fromkeys(FILES))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (with_link, "link is a symbolic link"),
        (with_submodule, "inner is a submodule"),
        (with_name(b"a\xff"), "not UTF-8"),
        (with_name(b"a\nb"), "cannot be seen"),
        (with_name("a\u202eb".encode()), "cannot be seen"),
        (with_name(b"a\\b"), "backslash"),
        (with_twins, "only in case"),
        (with_nothing, "holds no file"),
    ],
)
def test_what_a_runtime_may_not_hold_is_refused_by_name_and_leaves_nothing(
    harness: ScratchRepository, store: RuntimeStore, make: Callable[[ScratchRepository], str], says: str
) -> None:
    with pytest.raises(Refusal) as refused:
        store.build(harness.path, make(harness))
    assert refused.value.code == "RUNTIME_REFUSED"
    assert says in refused.value.message
    assert (store.ids(), list(store.incoming.iterdir())) == ((), [])


def test_a_damaged_object_of_the_repository_is_found(harness: ScratchRepository, store: RuntimeStore) -> None:
    head, blob = harness.head, harness.git("rev-parse", "HEAD:harness.toml")
    other = harness.git("hash-object", "-w", "tools/lint.py")
    folder = harness.path / ".git" / "objects"
    place, stand_in = folder / blob[:2] / blob[2:], folder / other[:2] / other[2:]
    place.chmod(0o644)
    place.write_bytes(stand_in.read_bytes())
    with pytest.raises(WorkloopError):
        store.build(harness.path, head)
    assert (store.ids(), list(store.incoming.iterdir())) == ((), [])


def writable(path: Path) -> Path:
    path.parent.chmod(0o755)
    if not path.is_symlink() and path.exists():
        path.chmod(0o644)
    return path


def change_a_byte(tree: Path) -> None:
    file = writable(tree / "tools" / "build.py")
    file.write_text("print('BUILD')\n")
    file.chmod(0o555)
    file.parent.chmod(0o555)


def add_a_file(tree: Path) -> None:
    writable(tree / "tools" / "more.py").write_text("x")
    (tree / "tools").chmod(0o555)


def remove_a_file(tree: Path) -> None:
    writable(tree / "tools" / "lint.py").unlink()
    (tree / "tools").chmod(0o555)


def put_a_link(tree: Path) -> None:
    file = writable(tree / "tools" / "lint.py")
    (tree.parents[2] / "elsewhere").write_text(FILES["tools/lint.py"])
    file.unlink()
    file.symlink_to(tree.parents[2] / "elsewhere")
    file.parent.chmod(0o555)


def put_a_folder_link(tree: Path) -> None:
    tree.chmod(0o755)
    (tree / "tools").rename(tree.parent.parent.parent / "moved")
    (tree / "tools").symlink_to(tree.parent.parent.parent / "moved")
    tree.chmod(0o555)


def make_executable(tree: Path) -> None:
    (tree / "tools" / "lint.py").chmod(0o555)


def open_a_folder(tree: Path) -> None:
    (tree / "tools").chmod(0o777)


def replace_the_manifest(tree: Path) -> None:
    writable(tree.parent / "manifest.json").write_text("{}")


@pytest.mark.parametrize(
    ("tamper", "path", "how"),
    [
        (change_a_byte, "tools/build.py", "has other bytes"),
        (add_a_file, "tools/more.py", "does not belong there"),
        (remove_a_file, "tools/lint.py", "is missing"),
        (put_a_link, "tools/lint.py", "is no plain file"),
        (put_a_folder_link, "tools", "is no folder"),
        (make_executable, "tools/lint.py", "has the mode 0555 instead of 0444"),
        (open_a_folder, "tools", "is no folder that nobody may write to"),
        (replace_the_manifest, "manifest.json", "is not what the id"),
    ],
)
def test_a_runtime_that_was_touched_starts_no_worker_and_the_first_path_is_named(
    harness: ScratchRepository, store: RuntimeStore, tamper: Callable[[Path], object], path: str, how: str
) -> None:
    runtime = store.build(harness.path, harness.head)
    assert store.for_worker(runtime.id, harness.head) == runtime
    tamper(runtime.path)
    with pytest.raises(IntegrityFault) as found:
        store.for_worker(runtime.id, harness.head)
    assert (found.value.code, found.value.details["path"]) == ("RUNTIME_DAMAGED", path)
    assert how in found.value.message


def test_of_several_differences_the_first_path_is_named(harness: ScratchRepository, store: RuntimeStore) -> None:
    runtime = store.build(harness.path, harness.head)
    for name in ("tools/lint.py", "tools/build.py", "harness.toml"):
        (runtime.path / name).chmod(0o644)
    with pytest.raises(IntegrityFault) as found:
        store.verified(runtime.id)
    assert found.value.details["path"] == "harness.toml"


def test_a_runtime_of_another_commit_than_the_verified_one_starts_no_worker(
    harness: ScratchRepository, store: RuntimeStore
) -> None:
    runtime = store.build(harness.path, harness.head)
    with pytest.raises(Conflict) as refused:
        store.for_worker(runtime.id, "1" * 40)
    assert refused.value.code == "RUNTIME_OF_OTHER_COMMIT"


def test_builders_at_the_same_time_make_one_runtime(harness: ScratchRepository, store: RuntimeStore) -> None:
    argv = [sys.executable, "-c", TWICE, str(store.root), str(harness.path), harness.head]
    children = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    told = {child.communicate(timeout=60)[0].strip() for child in children}
    assert told == set(store.ids())
    assert len(told) == 1
    assert list(store.incoming.iterdir()) == []


def test_a_store_that_others_can_write_to_is_not_used(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path)
    for folder in (shared, tmp_path / "link"):
        with pytest.raises(Refusal, match="RUNTIME_STORE_UNTRUSTED"):
            RuntimeStore(folder)


def test_a_roll_back_leads_to_the_runtime_before_and_further_back(
    harness: ScratchRepository, store: RuntimeStore
) -> None:
    commits = [harness.head, *(harness.commit({"harness.toml": f"{number}\n"}) for number in range(2))]
    one, two, three = (store.build(harness.path, commit) for commit in commits)
    with pytest.raises(Conflict, match="NOTHING_TO_ROLL_BACK"):
        store.roll_back()
    for runtime in (one, two, three, three):
        store.activate(runtime.id, runtime.manifest.commit)
    assert store.activations().line == (one.id, two.id, three.id)
    assert store.roll_back().current == two.id
    assert store.roll_back().current == one.id
    with pytest.raises(Conflict, match="NOTHING_TO_ROLL_BACK"):
        store.roll_back()
    store.activate(three.id, commits[2])
    assert store.roll_back(one.id).line == (one.id,)
    with pytest.raises(Conflict):
        store.roll_back(three.id)


def test_no_roll_back_leads_to_a_runtime_that_was_touched(harness: ScratchRepository, store: RuntimeStore) -> None:
    one = store.build(harness.path, harness.head)
    two = store.build(harness.path, harness.commit({"harness.toml": "two\n"}))
    for runtime in (one, two):
        store.activate(runtime.id, runtime.manifest.commit)
    change_a_byte(one.path)
    with pytest.raises(IntegrityFault):
        store.roll_back()
    assert store.activations().current == two.id


def test_a_record_that_nobody_here_wrote_is_not_begun_anew(harness: ScratchRepository, store: RuntimeStore) -> None:
    runtime = store.build(harness.path, harness.head)
    for text in ("", "{}", '{"v":2,"steps":[]}', '{"v":1,"steps":[["x","activated"]]}'):
        (store.root / "active.json").write_text(text)
        with pytest.raises(IntegrityFault, match="RUNTIME_RECORD_DAMAGED"):
            store.activate(runtime.id, harness.head)
        assert (store.root / "active.json").read_text() == text


def judged(store: RuntimeStore, runtime_id: str, **tasks: bool) -> None:
    for task, accepted in tasks.items():
        store.record_outcome(Outcome(runtime_id=runtime_id, task_id=task, run_id="run-1", accepted=accepted))


def test_a_runtime_has_regressed_at_its_number_of_tasks_that_went_well_before(
    harness: ScratchRepository, store: RuntimeStore
) -> None:
    one = store.build(harness.path, harness.head).id
    two = store.build(harness.path, harness.commit({"harness.toml": "two\n"})).id
    judged(store, one, a=True, b=True, c=False)
    judged(store, two, a=False, b=True, c=False, d=False)
    assert store.standing(two).regressed == ("a",)
    assert (store.has_regressed(two, 1), store.has_regressed(two, 2)) == (True, False)
    judged(store, two, b=False)
    assert store.has_regressed(two, 2)
    judged(store, two, a=True)
    assert store.standing(two).regressed == ("b",)
    assert (store.standing(two).accepted, store.standing(two).failed) == (2, 4)
    assert store.standing(one).regressed == ()
    with pytest.raises(BadRequest):
        store.has_regressed(two, 0)


def test_an_outcome_that_a_crash_cut_off_does_not_count_and_the_next_one_stands_alone(
    harness: ScratchRepository, store: RuntimeStore
) -> None:
    runtime_id = store.build(harness.path, harness.head).id
    judged(store, runtime_id, a=True)
    with (store.root / "outcomes.jsonl").open("ab") as file:
        file.write(b'{"v":1,"runtime":"' + b"x" * 1_000)
    assert store.standing(runtime_id).accepted == 1
    judged(store, runtime_id, b=True)
    assert store.standing(runtime_id).accepted == 2
    with pytest.raises(NotFound):
        judged(store, hashlib.sha256().hexdigest(), a=True)
