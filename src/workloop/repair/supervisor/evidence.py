"""What a phase left in its evidence folder, found and hashed by the host itself, however the phase ended."""

import hashlib
import io
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workloop.domain.session import head
from workloop.repair.checking import PATH_CHARACTERS_MAX, ContractBrokenError
from workloop.repair.observations.finding import EvidenceRef, Observation
from workloop.repair.observations.from_events import evidence_holds
from workloop.repair.observations.reading import FILE_BYTES_MAX, bounded_bytes, read_events
from workloop.repair.observations.taking import Malformed
from workloop.repair.port import EvidenceFile

FILES_MAX: Final = 1_000
BYTES_MAX: Final = 4 * 1024**3
CHUNK: Final = 1024 * 1024
EVENTS_SUFFIX: Final = ".jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One file of evidence: its digest and how large it is."""

    digest: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The plain files below a folder by their paths, and how many other things were left out."""

    files: Mapping[str, Kept]
    left_out: int


def make_folder(path: Path) -> Path:
    """Make an evidence folder that is new and the operator's own."""
    path.mkdir(mode=0o700)
    return path


def sweep(folder: Path) -> Sweep:
    """Hash every plain file below a folder, following no link and within bounds."""
    files: dict[str, Kept] = {}
    left_out = taken = 0
    for name, state, handle in _found(folder):
        fits = len(files) < FILES_MAX and taken + state.st_size <= BYTES_MAX
        if handle is None or not fits or len(name) > PATH_CHARACTERS_MAX or not name.isprintable():
            left_out += 1
            continue
        kept = _hashed(handle)
        taken += kept.size_bytes
        files[name] = kept
    return Sweep(files=files, left_out=left_out)


def check_declared(swept: Sweep, declared: Iterable[EvidenceFile]) -> None:
    """Raise ContractBrokenError when a file that the driver names is not there, or not what it says."""
    for entry in declared:
        found = swept.files.get(entry.path)
        if found is None:
            raise ContractBrokenError(f"evidence {entry.path!r} is not a plain file below the phase's folder")
        if found.digest != entry.digest:
            raise ContractBrokenError(f"evidence {entry.path!r} has the digest {found.digest}, not {entry.digest}")


def check_pointed(folder: Path, kept: Mapping[str, Sweep], found: Iterable[Observation]) -> None:
    """Raise ContractBrokenError when an observation points at no evidence of this run, or at other lines of it.

    `folder` holds the evidence of every phase that `kept` names, as it was when the phase ended.
    """
    found = tuple(found)
    if not found:
        return
    held = {file.digest: folder / phase / name for phase, swept in kept.items() for name, file in swept.files.items()}
    for observation in found:
        for reference in observation.evidence:
            if not (_is_of_bytes(held.get(reference.stream), reference) or _is_of_events(held.values(), reference)):
                where = f"{head(reference.session_id, PATH_CHARACTERS_MAX)!r}, {reference.stream}"
                problem = f"the observation of {observation.subject!r} points at lines that no evidence of this run has"
                raise ContractBrokenError(f"{problem}: {where}")


def _is_of_bytes(place: Path | None, reference: EvidenceRef) -> bool:
    """Tell whether the lines of a file that a reference names are those that it was taken from."""
    if place is None:
        return False
    try:
        lines = io.BytesIO(bounded_bytes(place, FILE_BYTES_MAX)).readlines()
    except (OSError, Malformed):
        return False
    if reference.places[-1] > len(lines):
        return False
    return hashlib.sha256(b"".join(lines[number - 1] for number in reference.places)).hexdigest() == reference.digest


def _is_of_events(places: Iterable[Path], reference: EvidenceRef) -> bool:
    """Tell whether a reference was taken from the events in a file that somebody else has written in another way."""
    files = (place for place in places if place.suffix == EVENTS_SUFFIX)
    readings = (read_events(place, reference.session_id) for place in files)
    return any(reading.usable and evidence_holds(reference, reading.events) for reading in readings)


def _found(folder: Path) -> Iterator[tuple[str, os.stat_result, int | None]]:
    """Yield everything that is no folder, with an open handle where it is a plain file."""
    for place, below, names, at in os.fwalk(folder, follow_symlinks=False):
        below.sort()
        prefix = Path(place).relative_to(folder)
        for name in sorted(names):
            state = os.stat(name, dir_fd=at, follow_symlinks=False)
            if not stat.S_ISREG(state.st_mode):
                yield str(prefix / name), state, None
                continue
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
            try:
                yield str(prefix / name), state, handle
            finally:
                os.close(handle)


def _hashed(handle: int) -> Kept:
    total, size = hashlib.sha256(), 0
    while size <= BYTES_MAX and (piece := os.read(handle, CHUNK)):
        total.update(piece)
        size += len(piece)
    return Kept(digest=total.hexdigest(), size_bytes=size)
