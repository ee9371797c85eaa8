"""What stands in a work tree beside its committed files, read in two questions, running none of its programs."""

from dataclasses import dataclass
from pathlib import Path

from workloop.runner.git import git

GITLINK = "160000"
STATUS = ("--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Changed and new paths, ignored ones (a folder as a whole), those hidden by flags, and submodules by path."""

    changed: tuple[str, ...]
    ignored: tuple[str, ...]
    hidden: tuple[str, ...]
    submodules: tuple[str, ...]


def contents_of(worktree: Path) -> Contents:
    """Look at a work tree; into submodules nobody looks here, because their own settings could name programs."""
    lines = git(worktree, "status", *STATUS, "--ignore-submodules=dirty").fields
    entries = [_entry(line) for line in git(worktree, "ls-files", "-v", "--stage", "-z", "--full-name").fields]
    return Contents(
        changed=tuple(line[3:] for line in lines if not line.startswith("!!")),
        ignored=tuple(line[3:] for line in lines if line.startswith("!!")),
        hidden=tuple(path for flag, _, path in entries if flag.islower() or flag == "S"),
        submodules=tuple(sorted({path for _, mode, path in entries if mode == GITLINK})),
    )


def _entry(line: str) -> tuple[str, str, str]:
    facts, _, path = line.partition("\t")
    flag, mode, *_ = facts.split(" ")
    return flag, mode, path
