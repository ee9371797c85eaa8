"""What a runtime is, in bytes: each file's path, mode and digest, the commit and the recipe; its id is their hash."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from workloop.domain.errors import IntegrityFault

VERSION = 1
RECIPE = "files-of-commit/1"
RUNTIME_ID = re.compile(r"[0-9a-f]{64}")
FULL_SHA = re.compile(r"(?!0+$)[0-9a-f]{40}(?:[0-9a-f]{24})?")
FILE_MODES = frozenset({0o444, 0o555})
FOLDER_MODE = 0o555
_DOMAIN = b"workloop runtime 1\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file: mode 0444, or 0555 where the commit has it executable."""

    path: str
    mode: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """All files of a runtime in the order of their paths' bytes, the commit they are of, and how they were made."""

    commit: str
    entries: tuple[Entry, ...]
    recipe: str = RECIPE

    @property
    def folders(self) -> frozenset[str]:
        """Return the folders that the files stand in."""
        return frozenset(folder for entry in self.entries for folder in parents_of(entry.path))

    @property
    def size(self) -> int:
        """Return how many bytes the files hold."""
        return sum(entry.size for entry in self.entries)


def parents_of(path: str) -> list[str]:
    """Return the folders above a path, the nearest last."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]


def bytes_of(manifest: Manifest) -> bytes:
    """Return the one way in which a manifest is written."""
    rows = [[entry.path, f"{entry.mode:04o}", entry.size, entry.sha256] for entry in manifest.entries]
    facts = {"v": VERSION, "commit": manifest.commit, "recipe": manifest.recipe, "files": rows}
    return json.dumps(facts, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def id_of(data: bytes) -> str:
    """Return the id of a runtime from its manifest's bytes."""
    return hashlib.sha256(_DOMAIN + data).hexdigest()


def read_manifest(data: bytes, runtime_id: str) -> Manifest:
    """Read a manifest back; raises IntegrityFault when it is not the one that the id names."""
    if id_of(data) != runtime_id:
        raise damaged(runtime_id, "manifest.json", "is not what the id was computed from")
    facts = cast("Mapping[str, object]", json.loads(data))
    rows = cast("list[tuple[str, str, int, str]]", facts["files"])
    entries = tuple(Entry(path=path, mode=int(mode, 8), size=size, sha256=digest) for path, mode, size, digest in rows)
    return Manifest(commit=str(facts["commit"]), recipe=str(facts["recipe"]), entries=entries)


def damaged(runtime_id: str, path: str, how: str) -> IntegrityFault:
    """Say that a runtime is not what it was, and where first."""
    return IntegrityFault(
        "RUNTIME_DAMAGED",
        f"the runtime {runtime_id} is not what was built: {path} {how}",
        hint="start no worker with it; roll back, or remove its folder and build it again",
        runtime=runtime_id,
        path=path,
    )
