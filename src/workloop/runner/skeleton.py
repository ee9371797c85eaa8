"""What a separate repository of exactly one commit consists of: no hooks, no references, the objects of another."""

import os
from pathlib import Path

from workloop.runner.git import git
from workloop.runner.gitfacts import NO_COMMIT
from workloop.runner.repository import Repository, confined


def lay_out(repository: Repository, sha: str, target: Path, *, head: str | None = None) -> None:
    """Make one at a new place inside a recorded one; its HEAD may be another commit than its files are of.

    The few files that `git init` would write are written here, which spares each checkout two children.
    """
    place = confined(repository, target)
    own = place / ".git"
    for folder in (place, own, own / "refs", own / "objects", own / "objects" / "info"):
        folder.mkdir()
    (own / "objects" / "info" / "alternates").write_bytes(os.fsencode(repository.common_dir / "objects") + b"\n")
    config = own / "config"
    config.write_text(settings(sha), encoding="ascii")
    if (own / "CONFIG").exists():
        config.write_text(settings(sha, folds_case=True), encoding="ascii")
    (own / "HEAD").write_text(f"{head or sha}\n", encoding="ascii")
    git(place, "read-tree", "--reset", "-u", sha)


def settings(sha: str, *, folds_case: bool = False) -> str:
    """Return the settings of a repository whose commits have names like this one."""
    long_names = len(sha) > len(NO_COMMIT)
    core = ["[core]", f"repositoryformatversion = {int(long_names)}", "filemode = true", "bare = false"]
    core += ["logallrefupdates = true", *(["ignorecase = true"] if folds_case else [])]
    return "\n".join((*core, *(["[extensions]", "objectformat = sha256"] if long_names else []), ""))
