"""How a zip is opened without a disk: only plain files with plain names, bounded in number, size and growth."""

import io
import stat
import zipfile
import zlib
from typing import Final

from workloop.repair.bundled.files import FileKind, HarnessFile, HarnessFiles, refuse_twins, refused, require_path

ARCHIVE_BYTES_MAX: Final = 32 * 1024 * 1024
FILES_MAX: Final = 2_000
TOTAL_BYTES_MAX: Final = 128 * 1024 * 1024
GROWTH_MAX: Final = 100
GROWTH_FREE_BYTES: Final = 64 * 1024
METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
ENCRYPTED: Final = 0x1
EXECUTABLE: Final = 0o111


def read_archive(data: bytes, at: str) -> HarnessFiles:
    """Return the files of a zip; raises BadRequest that names the rule; what is promised in it is never believed."""
    if len(data) > ARCHIVE_BYTES_MAX:
        raise refused("size", at, f"is larger than {ARCHIVE_BYTES_MAX} bytes")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return unpacked(archive, at)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError, OSError) as error:
        raise refused("zip", at, f"is no whole zip: {error}") from error


def unpacked(archive: zipfile.ZipFile, at: str) -> HarnessFiles:
    """Read every file of an open zip, each and all together no further than their bounds."""
    entries = archive.infolist()
    if len(entries) > FILES_MAX:
        raise refused("zip-count", at, f"has more than {FILES_MAX} entries")
    files: dict[str, HarnessFile] = {}
    left = TOTAL_BYTES_MAX
    for entry in entries:
        require_entry(entry, at)
        if entry.is_dir():
            continue
        if entry.filename in files:
            raise refused("path-twice", f"{at}!{entry.filename}", "stands twice in the zip")
        content = bounded(archive, entry, at, left)
        left -= len(content)
        mode = entry.external_attr >> 16
        kind = FileKind.EXECUTABLE if mode & EXECUTABLE else FileKind.PLAIN
        files[entry.filename] = HarnessFile(data=content, kind=kind)
    refuse_twins(files, at)
    return files


def require_entry(entry: zipfile.ZipInfo, at: str) -> None:
    """Judge an entry by its head; the name is judged as it stands in the zip, before anything has mended it."""
    place = f"{at}!{entry.filename}"
    for name in (entry.orig_filename, entry.filename):
        require_path(name.removesuffix("/") if entry.is_dir() else name, place, "zip-slip")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or (kind != 0 and (kind == stat.S_IFDIR) != entry.is_dir()):
        raise refused("no-links", place, "is a link or no plain file")
    if entry.flag_bits & ENCRYPTED or entry.compress_type not in METHODS:
        raise refused("zip", place, "is encrypted or packed in an unusual way")
    if entry.file_size > GROWTH_FREE_BYTES and entry.file_size > GROWTH_MAX * max(1, entry.compress_size):
        raise refused("zip-bomb", place, f"grows more than {GROWTH_MAX} times")


def bounded(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, at: str, left: int) -> bytes:
    """Read one file no further than what its head says and than what is left for all."""
    place = f"{at}!{entry.filename}"
    most = min(left, entry.file_size)
    with archive.open(entry) as stream:
        content = stream.read(most + 1)
    if len(content) > left:
        raise refused("zip-bomb", place, f"brings the zip above {TOTAL_BYTES_MAX} bytes")
    if len(content) != entry.file_size:
        raise refused("zip", place, "is not as long as it says")
    return content
