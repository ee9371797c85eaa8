"""Where runtimes are kept, how one comes to be there, and that no worker starts with one that is not what was built."""

import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from workloop.domain.errors import BadRequest, Conflict, NotFound
from workloop.repair.runtimes.activations import Activations, Step, read_activations, write_activations
from workloop.repair.runtimes.committed import blobs_of, contents_of
from workloop.repair.runtimes.disk import private_folder, remove_tree, sync_folder, write_new, write_tree
from workloop.repair.runtimes.manifest import FOLDER_MODE, RUNTIME_ID, Manifest, bytes_of, damaged, id_of, read_manifest
from workloop.repair.runtimes.outcomes import Outcome, append_outcome, counts, has_regressed, read_outcomes, regressions
from workloop.repair.runtimes.rehash import first_difference
from workloop.runner.git import printable

TREE = "tree"
MANIFEST = "manifest.json"
MARK = ".lock"
LOOK_SECONDS = 0.02
MANIFEST_BYTES_MAX = 64 * 1024 * 1024


def always() -> bool:
    """Say that something goes on being wanted."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """A runtime in the store: its id, where its files are, and what they are."""

    id: str
    path: Path
    manifest: Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a runtime has done: how often a task was accepted or not under it, and which tasks it made fail."""

    accepted: int
    failed: int
    regressed: tuple[str, ...]


class RuntimeStore:
    """All runtimes of one operator, in a folder that is theirs alone and that no worker may reach but to read."""

    def __init__(self, root: Path) -> None:
        self.root = private_folder(root)
        self.objects = private_folder(root / "objects")
        self.incoming = private_folder(root / "incoming")

    def build(self, repository: Path, commit: str) -> Runtime:
        """Build the runtime of exactly this commit, or find it there already; the store is never half changed."""
        blobs = blobs_of(repository, commit)
        with self.workshop() as fresh:
            entries = write_tree(fresh / TREE, contents_of(repository, blobs))
            manifest = Manifest(commit=commit, entries=entries)
            data = bytes_of(manifest)
            write_new(fresh / MANIFEST, data, 0o444)
            sync_folder(fresh)
            runtime_id = id_of(data)
            self.put(fresh, runtime_id)
        return self.verified(runtime_id)

    def put(self, fresh: Path, runtime_id: str) -> None:
        """Move a finished runtime to its place in one step, unless another build was faster."""
        place = self.objects / runtime_id
        try:
            fresh.rename(place)
        except OSError as failed:
            if failed.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            return
        sync_folder(self.objects)
        place.chmod(FOLDER_MODE)

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all runtimes, sorted."""
        return tuple(sorted(each.name for each in self.objects.iterdir() if RUNTIME_ID.fullmatch(each.name)))

    def get(self, runtime_id: str) -> Runtime:
        """Return a runtime by its full id, with its manifest proved and its files not yet looked at."""
        if not RUNTIME_ID.fullmatch(runtime_id):
            raise BadRequest(
                "RUNTIME_ID_INVALID",
                "a runtime is named by 64 lower-case hexadecimal digits",
                hint="workloop runtime list",
            )
        place = self.objects / runtime_id
        if not place.is_dir() or place.is_symlink():
            raise NotFound("RUNTIME_UNKNOWN", f"there is no runtime {runtime_id}", hint="workloop runtime list")
        return Runtime(id=runtime_id, path=place / TREE, manifest=read_manifest(self.manifest_bytes(place), runtime_id))

    def manifest_bytes(self, place: Path) -> bytes:
        """Read what stands in the place of a manifest; what cannot be read is no manifest."""
        try:
            handle = os.open(place / MANIFEST, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as failed:
            raise damaged(place.name, MANIFEST, f"cannot be read: {failed.strerror}") from failed
        with os.fdopen(handle, "rb") as stream:
            return stream.read(MANIFEST_BYTES_MAX)

    def verified(self, runtime_id: str) -> Runtime:
        """Return a runtime after reading all its files again; raises IntegrityFault naming the first that differs."""
        runtime = self.get(runtime_id)
        if not runtime.path.is_dir():
            raise damaged(runtime_id, TREE, "is missing")
        if (found := first_difference(runtime.path, runtime.manifest)) is not None:
            raise damaged(runtime_id, printable(found.path), found.how)
        return runtime

    def for_worker(self, runtime_id: str, commit: str) -> Runtime:
        """Return what a worker may start with: read again just now, and of the commit that was verified."""
        runtime = self.verified(runtime_id)
        if runtime.manifest.commit != commit:
            raise Conflict(
                "RUNTIME_OF_OTHER_COMMIT",
                f"the runtime {runtime_id} was built from {runtime.manifest.commit}, not from {commit}",
                hint="build the commit that was verified",
            )
        return runtime

    def activations(self) -> Activations:
        """Return what is and was in force."""
        return read_activations(self.root / "active.json")

    def activate(self, runtime_id: str, commit: str, wanted: Callable[[], bool] = always) -> Activations:
        """Put a runtime into force for the workers that start from now on; raises Conflict once it is not wanted."""
        self.for_worker(runtime_id, commit)
        with self.lock(wanted):
            record = self.activations()
            if record.current == runtime_id:
                return record
            record = record.with_step(runtime_id, Step.ACTIVATED)
            write_activations(self.root / "active.json", record)
        return record

    def roll_back(self, runtime_id: str | None = None) -> Activations:
        """Put the runtime before the present one into force, or an earlier one, if it is still what was built."""
        with self.lock():
            record = self.activations()
            target = record.target(runtime_id)
            self.verified(target)
            record = record.with_step(target, Step.ROLLED_BACK)
            write_activations(self.root / "active.json", record)
        return record

    def record_outcome(self, outcome: Outcome, wanted: Callable[[], bool] = always) -> None:
        """Keep what became of a task under a runtime of this store; raises Conflict once it is not wanted."""
        self.get(outcome.runtime_id)
        with self.lock(wanted):
            append_outcome(self.root / "outcomes.jsonl", outcome)

    def standing(self, runtime_id: str) -> Standing:
        """Return how a runtime has done."""
        outcomes = read_outcomes(self.root / "outcomes.jsonl")
        accepted, failed = counts(outcomes, runtime_id)
        return Standing(accepted=accepted, failed=failed, regressed=regressions(outcomes, runtime_id))

    def has_regressed(self, runtime_id: str, limit: int) -> bool:
        """Say whether a runtime has made as many tasks fail as may be, that went well before."""
        return has_regressed(read_outcomes(self.root / "outcomes.jsonl"), runtime_id, limit)

    @contextmanager
    def lock(self, wanted: Callable[[], bool] = always) -> Generator[None]:
        """Hold the store's records; others wait, each for as long as it wants them."""
        handle = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            while wanted() and not is_taken(handle):
                time.sleep(LOOK_SECONDS)
            if not wanted():
                raise Conflict("RUNTIME_NOT_WANTED", "who wanted to change what is in force no longer does")
            yield
        finally:
            os.close(handle)

    @contextmanager
    def workshop(self) -> Generator[Path]:
        """Give a build a folder of its own, and take away what builds left that were killed."""
        sweep(self.incoming)
        mark, handle = marked(self.incoming)
        fresh = mark.with_suffix("")
        try:
            fresh.mkdir(mode=0o700)
            yield fresh
        finally:
            if fresh.is_dir():
                remove_tree(fresh)
            mark.unlink(missing_ok=True)
            os.close(handle)


def is_taken(handle: int) -> bool:
    """Take a lock if nobody else holds it, and say whether that was so."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def marked(incoming: Path) -> tuple[Path, int]:
    """Make a file that says by its lock that a build is alive."""
    while True:
        handle, name = tempfile.mkstemp(dir=incoming, prefix="build-", suffix=MARK)
        fcntl.flock(handle, fcntl.LOCK_EX)
        if Path(name).exists():  # else somebody who swept took it before it was locked
            return Path(name), handle
        os.close(handle)


def sweep(incoming: Path) -> None:
    """Remove the folders of builds whose process is gone."""
    for mark in incoming.glob(f"*{MARK}"):
        try:
            handle = os.open(mark, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if mark.with_suffix("").is_dir():
                remove_tree(mark.with_suffix(""))
            mark.unlink(missing_ok=True)
        except BlockingIOError:
            continue
        finally:
            os.close(handle)
