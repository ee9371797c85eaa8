"""How the files of a harness are held while they are judged: by path, with kind and bytes, and never on a disk."""

import unicodedata
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias

from workloop.domain.errors import BadRequest
from workloop.repair.runtimes.committed import blobs_of, contents_of
from workloop.runner.git import printable

PATH_CHARACTERS_MAX: Final = 512
CODE: Final = "HARNESS_REFUSED"
HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
EXECUTABLE: Final = 0o111


class FileKind(StrEnum):
    """What stands at a path; only plain files are ever accepted."""

    PLAIN = "plain"
    EXECUTABLE = "executable"
    LINK = "link"
    SPECIAL = "special"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessFile:
    """One file: its kind and what it holds."""

    data: bytes
    kind: FileKind = FileKind.PLAIN


HarnessFiles: TypeAlias = Mapping[str, HarnessFile]


def refused(rule: str, place: str, problem: str, hint: str = "") -> BadRequest:
    """Build the refusal of a harness, which names the rule that it breaks and where."""
    shown = printable(place)
    message = f"{shown}: {problem} (rule {rule})"
    return BadRequest(CODE, message, hint=hint or "correct it and commit", rule=rule, field=shown)


@contextmanager
def ruled(rule: str) -> Generator[None]:
    """Give the refusal of a field, which names none, a rule."""
    try:
        yield
    except BadRequest as error:
        if error.code == CODE:
            raise
        raise refused(rule, str(error.details.get("field", "")), error.message, error.hint) from error


def files_of_commit(repository: Path, commit: str) -> HarnessFiles:
    """Read the files of exactly this commit; raises where it holds anything but plain files with plain names."""
    return {
        content.blob.path: HarnessFile(
            data=content.data,
            kind=FileKind.EXECUTABLE if content.blob.mode & EXECUTABLE else FileKind.PLAIN,
        )
        for content in contents_of(repository, blobs_of(repository, commit))
    }


def path_problem(path: str) -> str:
    """Say what keeps a text from being a path inside of a package; empty when nothing does."""
    if not path or len(path) > PATH_CHARACTERS_MAX:
        return f"is empty or longer than {PATH_CHARACTERS_MAX} characters"
    if path.startswith("/") or path[1:2] == ":":
        return "is an absolute path"
    if "\\" in path or any(unicodedata.category(character) in HIDDEN for character in path):
        return "has a backslash or a character that cannot be seen"
    if any(part in ("", ".", "..") or part.casefold() == ".git" for part in path.split("/")):
        return "has a part that stands for another place"
    return ""


def require_path(path: str, at: str, rule: str = "path-inside") -> str:
    """Return a path that stays inside; raises BadRequest with the rule."""
    problem = path_problem(path)
    if problem:
        raise refused(rule, at, f"{printable(path)[:80]!r} {problem}", "name a path below the folder, with slashes")
    return path


def text_of(files: HarnessFiles, path: str, bytes_max: int) -> str:
    """Return a plain file's text; raises BadRequest when it is missing, too large, no plain file, or not UTF-8."""
    file = files.get(path)
    if file is None:
        raise refused("file-there", path, "there is no such file")
    require_plain(path, file)
    if len(file.data) > bytes_max:
        raise refused("size", path, f"is larger than {bytes_max} bytes")
    try:
        text = file.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refused("utf-8", path, "is not UTF-8") from error
    if text.startswith("\ufeff") or "\0" in text:
        raise refused("utf-8", path, "has a byte order mark or a NUL")
    return text


def require_plain(path: str, file: HarnessFile) -> None:
    """Refuse a link and whatever else is no plain file."""
    if file.kind in (FileKind.LINK, FileKind.SPECIAL):
        raise refused("no-links", path, "is a link or no plain file", "put the file itself there")


def package(files: HarnessFiles, folder: str, bytes_max: int) -> HarnessFiles:
    """Return the files of a folder by their paths in it; refuses none, links, hidden names and too much."""
    below = {path.removeprefix(f"{folder}/"): file for path, file in files.items() if path.startswith(f"{folder}/")}
    if not below:
        raise refused("file-there", folder, "there is no such folder")
    for path, file in below.items():
        require_path(path, f"{folder}/{path}")
        require_plain(f"{folder}/{path}", file)
    if sum(len(file.data) for file in below.values()) > bytes_max:
        raise refused("size", folder, f"holds more than {bytes_max} bytes")
    refuse_twins(below, folder)
    return below


def refuse_twins(files: HarnessFiles, at: str) -> None:
    """Refuse paths that some file system would take for one and the same."""
    seen: dict[str, str] = {}
    for path in files:
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        if seen.setdefault(folded, path) != path:
            raise refused("path-twice", f"{at}/{path}", f"differs from {printable(seen[folded])} only in case")
