"""How git objects of a session are taken over: each is computed anew, so that none gets in under another's name."""

import hashlib
import os
import re
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from workloop.runner.git import ANY_FAILURE, git
from workloop.runner.sandbox.untrusted import list_below, open_below, walk_below
from workloop.runner.sandbox.worktreeplace import LinkedPlace

PIECE_BYTES = 256 * 1024
OBJECT_BYTES_MAX = 4 * 1024 * 1024 * 1024
PACK_BYTES_MAX = 16 * 1024 * 1024 * 1024
HEADER = re.compile(rb"(?:blob|tree|commit|tag) (0|[1-9][0-9]{0,18})\0")
HEADER_BYTES_MAX = 32
LARGE = re.compile(r"lfs/objects/([0-9a-f]{2})/([0-9a-f]{2})/\1\2[0-9a-f]{60}")
LARGE_FILES_MAX = 100_000
FOLDER = re.compile(r"[0-9a-f]{2}")
NAMES = {38: "sha1", 62: "sha256"}
READ_ONLY = 0o444


def take_loose(source: Path, sink: Path) -> tuple[int, list[str]]:
    """Copy each loose object that is what its name says; returns how many, and which were refused."""
    count, refused = 0, list[str]()
    for folder in list_below(source.parent, source.name).folders:
        if not FOLDER.fullmatch(folder):
            continue
        for rest in list_below(source, folder).files:
            final = sink / folder / rest
            if len(rest) not in NAMES or not re.fullmatch(r"[0-9a-f]+", rest) or final.exists():
                continue
            if take_one(source, f"{folder}/{rest}", final):
                count += 1
            else:
                refused.append(f"object {folder}{rest}: it is not what its name says")
    return count, refused


def take_one(source: Path, name: str, final: Path) -> bool:
    """Copy one loose object, and keep the copy when that is what the name says."""
    descriptor = open_below(source, name)
    if descriptor is None:
        return False
    final.parent.mkdir(exist_ok=True)
    with (
        os.fdopen(descriptor, "rb") as file,
        tempfile.NamedTemporaryFile(dir=final.parent, prefix="tmp_obj_", delete=False) as copy,
    ):
        taken = Path(copy.name)
        try:
            is_true = copied_digest(file, copy, NAMES[len(final.name)]) == name.replace("/", "")
            copy.flush()
            os.fsync(copy.fileno())
            taken.chmod(READ_ONLY)
            if is_true:
                taken.replace(final)
        finally:
            taken.unlink(missing_ok=True)
    return is_true


def copied_digest(file: IO[bytes], copy: IO[bytes], algorithm: str) -> str | None:
    """Copy a compressed object and return the digest of what it holds; None when it is no object."""
    digest, size, head = hashlib.new(algorithm, usedforsecurity=False), 0, b""
    try:
        for piece in inflated(file, copy):
            digest.update(piece)
            size += len(piece)
            head = (head + piece)[:HEADER_BYTES_MAX] if len(head) < HEADER_BYTES_MAX else head
    except (zlib.error, EOFError):  # damaged or cut off; its caller refuses it
        return None
    said = HEADER.match(head)
    if said is None or int(said.group(1)) != size - said.end():
        return None
    return digest.hexdigest()


def inflated(file: IO[bytes], copy: IO[bytes]) -> Iterator[bytes]:
    """Yield what a compressed file holds and copy it on the way; raises EOFError when it is not just one whole."""
    stream, size = zlib.decompressobj(), 0
    while packed := file.read(PIECE_BYTES):
        copy.write(packed)
        is_more = True
        while is_more:
            piece = stream.decompress(packed, PIECE_BYTES)
            packed = stream.unconsumed_tail
            is_more = bool(packed) or len(piece) == PIECE_BYTES
            size += len(piece)
            if size > OBJECT_BYTES_MAX or stream.unused_data:
                raise EOFError("it is too large, or goes on after its end")
            yield piece
    if not stream.eof:
        raise EOFError("it is cut off")


def take_packs(source: Path, place: LinkedPlace) -> tuple[int, list[str]]:
    """Copy each pack and have git compute anew what is in it; returns how many packs, and which were refused."""
    count, refused = 0, list[str]()
    for name in list_below(source, "pack").files:
        if not name.endswith(".pack") or (place.common / "objects" / "pack" / name).exists():
            continue
        with tempfile.TemporaryDirectory(dir=place.quarantine, prefix="pack-") as folder:
            copy = Path(folder) / "taken.pack"
            if copy_below(source, f"pack/{name}", copy) and index_pack(place.common, copy):
                count += 1
            else:
                refused.append(f"{name}: it is no pack that git can read")
    return count, refused


def take_large(stand_in: Path, common: Path) -> list[str]:
    """Copy the large files that git only points at, each under the digest that it has; returns which were refused."""
    refused: list[str] = []
    for name in walk_below(stand_in, "lfs/objects", LARGE_FILES_MAX):
        final = common / name
        if not LARGE.fullmatch(name) or final.exists():
            continue
        with tempfile.TemporaryDirectory(dir=stand_in.parent, prefix="large-") as folder:
            copy = Path(folder) / "taken"
            if copy_below(stand_in, name, copy) and digest_of(copy) == final.name:
                final.parent.mkdir(parents=True, exist_ok=True)
                copy.replace(final)
            else:
                refused.append(f"{name}: it is not what its name says")
    return refused


def digest_of(path: Path) -> str:
    """Return the digest by which a large file is named."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy_below(source: Path, name: str, copy: Path) -> bool:
    """Copy a plain file out of a session's reach."""
    descriptor = open_below(source, name)
    if descriptor is None:
        return False
    with os.fdopen(descriptor, "rb") as file, copy.open("xb") as sink:
        size = 0
        while piece := file.read(PIECE_BYTES):
            size += len(piece)
            if size > PACK_BYTES_MAX:
                return False
            sink.write(piece)
        sink.flush()
        os.fsync(sink.fileno())
    return True


def index_pack(common: Path, pack: Path) -> bool:
    """Have git read a pack to its end, and put it beside the others under the name of its true content."""
    indexed = git(common, "index-pack", "--strict", str(pack), call=ANY_FAILURE)
    if indexed.exit_code != 0:
        return False
    name = common / "objects" / "pack" / f"pack-{indexed.text.split()[-1]}"
    index = pack.with_suffix(".idx")
    pack.chmod(READ_ONLY)
    pack.replace(name.with_suffix(".pack"))  # first: without its index it is not seen
    index.replace(name.with_suffix(".idx"))
    return True
