"""How a session gets a repository that only looks like the operator's, made of what it may know of the real one."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from workloop.runner.git import git
from workloop.runner.gitfacts import HEADS
from workloop.runner.sandbox.worktreeplace import LinkedPlace, line_of

STAND_IN = "repository"
RECORD = "record.json"
OURS = "refs/heads/workloop/"
PRIVATE_REFS = (OURS, "refs/workloop/", "refs/stash")
COPIED = ("info/exclude", "info/attributes", "info/sparse-checkout", "info/grafts", "shallow")
SECTIONS = {"branch", "commit", "core", "diff", "extensions", "filter", "i18n", "index", "lfs"} | {
    *("merge", "pull", "push", "rebase", "remote", "status", "submodule", "user"),
}
# What a setting would make git run or send, and what only the operator's own machine has.
LEFT_OUT = re.compile(
    r"core\.(?:hookspath|fsmonitor|sshcommand|gitproxy|askpass|worktree|alternaterefscommand)|extensions\.refstorage|.*proxy"
)
FIXED = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
)


def furnish_stand_in(place: LinkedPlace, branch: str | None) -> Path:
    """Make the stand-in anew, when what an earlier session left in it was received; returns its folder."""
    stand_in = place.quarantine / STAND_IN
    if stand_in.is_dir():
        shutil.rmtree(stand_in)
    for folder in ("objects/info", "objects/pack", "refs/heads", "info", "behind/objects"):
        (stand_in / folder).mkdir(mode=0o700, parents=True)
    with ThreadPoolExecutor(max_workers=1) as aside:
        settings = aside.submit(lambda: b"".join(settings_of(place)))
        known = known_refs(place, branch := branch or branch_of(place))
        (stand_in / "config").write_bytes(settings.result())
    (stand_in / "packed-refs").write_bytes(b"# pack-refs with: sorted \n" + known)
    (stand_in / "HEAD").write_text(line_of(place.common / "HEAD") + "\n")
    behind = [place.common / "behind" / "objects", *alternates(place.common / "objects")]
    (stand_in / "objects/info/alternates").write_bytes(b"".join(os.fsencode(one) + b"\n" for one in behind))
    for name in COPIED:
        if (place.common / name).is_file():
            shutil.copyfile(place.common / name, stand_in / name)
    write_record(place, branch, refs_in(known))
    return stand_in


def branch_of(place: LinkedPlace) -> str | None:
    """Return the branch that HEAD stands on if it is one of ours: a session may have put HEAD anywhere."""
    said = line_of(place.own / "HEAD").removeprefix("ref: ")
    return said.removeprefix(HEADS) if said.startswith(OURS) else None


def known_refs(place: LinkedPlace, branch: str | None) -> bytes:
    """Return the references that a session may see, as git packs them: no other item's, nothing of the loop's own."""
    listed = git(place.common, "for-each-ref", "--format=%(objectname) %(refname)").raw.splitlines(keepends=True)
    own = os.fsencode(f"{HEADS}{branch}\n")
    private = tuple(name.encode() for name in PRIVATE_REFS)
    return b"".join(line for line in listed if (name := line.split(b" ", 1)[1]) == own or not name.startswith(private))


def refs_in(packed: bytes) -> dict[str, str]:
    """Read packed references, each with its object; what is no such line is passed over."""
    found: dict[str, str] = {}
    for line in packed.splitlines():
        sha, _, name = line.partition(b" ")
        if name and not sha.startswith((b"#", b"^")):
            found[os.fsdecode(name)] = os.fsdecode(sha)
    return found


def settings_of(place: LinkedPlace) -> Iterator[bytes]:
    """Yield the repository's own settings as a file: those that shape its content, no door and no secret."""
    listed = git(place.common, "config", "--local", "--includes", "--list", "-z").raw
    for entry in listed.split(b"\0"):
        name, _, value = os.fsdecode(entry).partition("\n")
        if name.partition(".")[0] in SECTIONS and not LEFT_OUT.fullmatch(name):
            yield setting(name, without_login(value))
    for name, value in FIXED:
        yield setting(name, value)


def setting(name: str, value: str) -> bytes:
    """Return one setting as a file says it."""
    section, _, rest = name.partition(".")
    middle, dot, key = rest.rpartition(".")
    heading = f'[{section} "{escaped(middle)}"]' if dot else f"[{section}]"
    return os.fsencode(f'{heading}\n\t{key} = "{escaped(value)}"\n')


def escaped(text: str) -> str:
    """Return a text as it stands between quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def without_login(value: str) -> str:
    """Take a name and a password out of an address."""
    scheme, mark, rest = value.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}" if mark else value


def alternates(objects: Path) -> list[Path]:
    """Return where else the real repository's objects are read from, by whole names."""
    listed = objects / "info" / "alternates"
    lines = listed.read_text().splitlines() if listed.is_file() else []
    return [Path(os.path.normpath(objects / line)) for line in lines if line and not line.startswith("#")]


def write_record(place: LinkedPlace, branch: str | None, known: dict[str, str]) -> None:
    """Write down, out of the session's reach, which branch it may move and where every reference stood."""
    text = json.dumps({"branch": branch, "refs": known})
    new = place.quarantine / f"{RECORD}.new"
    new.write_text(text)
    new.replace(place.quarantine / RECORD)


def read_record(place: LinkedPlace) -> tuple[str | None, dict[str, str]]:
    """Read what was written down; nothing when there is no record."""
    path = place.quarantine / RECORD
    if not path.is_file():
        return None, {}
    said = json.loads(path.read_text())
    return said["branch"], said["refs"]
