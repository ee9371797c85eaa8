"""Which files a check meets: the candidate's, but for those that judge it."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from workloop.domain.checks import matching_paths
from workloop.domain.standins import named, runner_files, says_the_same, stand_ins
from workloop.runner.checks.plan import CheckPlan
from workloop.runner.git import GitCall, git, printables
from workloop.runner.gitfacts import tree_paths
from workloop.runner.repository import Repository
from workloop.runner.skeleton import lay_out

LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}
MISSING_OBJECT = GitCall(accept=(0, 128))


class Changes(NamedTuple):
    """What turns a checkout of the base into the candidate, but for the files whose place the base's take."""

    gone: tuple[str, ...]
    brought: tuple[str, ...]


def violations(repository: Repository, plan: CheckPlan, changed: Mapping[str, bool]) -> tuple[str, ...]:
    """Return the paths for whose sake nothing of a candidate is run: protected ones it changed, and stand-ins."""
    return () if plan.laid_over else printables(_refused(repository, plan, changed))


def judging(repository: Repository, plan: CheckPlan, changed: Mapping[str, bool]) -> tuple[str, ...]:
    """Return the changed paths that the base's take the place of; none where nothing is protected."""
    if not named(plan.protected):
        return ()
    laid = _refused(repository, plan, changed) if plan.laid_over else ()
    runners = (path for path in runner_files(changed, plan.protected) if not _same(repository, plan, path))
    return tuple(dict.fromkeys((*laid, *runners)))


def changes(repository: Repository, plan: CheckPlan, changed: Mapping[str, bool]) -> Changes | None:
    """Return what a candidate brings, without what tells a test runner what to do; None where nothing is protected."""
    if not named(plan.protected) or plan.candidate_sha == plan.base_sha:
        return None
    kept = set(judging(repository, plan, changed))
    taken = {path: there for path, there in changed.items() if path not in kept}
    return Changes(
        gone=tuple(path for path, there in taken.items() if not there),
        brought=tuple(path for path, there in taken.items() if there),
    )


def check_out(repository: Repository, plan: CheckPlan, sha: str, path: Path, brings: Changes | None) -> None:
    """Make the checkout that a check of a commit runs in, inside the recorded folder of its run.

    Where something is protected, the base is checked out first and only what the commit changed is changed: so no
    attribute that the candidate brings decides how a file that judges it is written.
    """
    lay_out(repository, sha if brings is None else plan.base_sha, path, head=sha)
    if brings is not None:
        _git_paths(path, brings.gone, "rm", "--quiet", "--force", "--ignore-unmatch")
        _git_paths(path, brings.brought, "checkout", "--quiet", sha)
    if plan.overlay_dir is not None:
        for source in files(plan.overlay_dir):
            _place(source, path, source.relative_to(plan.overlay_dir))


def _refused(repository: Repository, plan: CheckPlan, changed: Mapping[str, bool]) -> tuple[str, ...]:
    if not changed:
        return ()
    by_name = matching_paths(changed, named(plan.protected))
    folders = tuple(check.cwd for check in plan.checks)
    hiding = stand_ins(changed, tree_paths(repository.path, plan.base_sha), plan.protected, folders)
    return tuple({*by_name, *hiding})


def files(folder: Path) -> list[Path]:
    """Return every file below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _same(repository: Repository, plan: CheckPlan, path: str) -> bool:
    return says_the_same(
        path, _content(repository, plan.base_sha, path), _content(repository, plan.candidate_sha, path)
    )


def _content(repository: Repository, sha: str, path: str) -> bytes | None:
    found = git(repository.path, "cat-file", "blob", f"{sha}:{path}", call=MISSING_OBJECT)
    return found.raw if found.exit_code == 0 else None


def _place(source: Path, checkout: Path, relative: Path) -> None:
    """Copy a file into a checkout; a link on its way was made by the candidate and is taken away, never followed."""
    place = checkout
    for part in relative.parts[:-1]:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
        place.mkdir(exist_ok=True)
    target = place / relative.name
    if target.is_symlink() or target.is_file():
        target.unlink()
    elif target.is_dir():
        shutil.rmtree(target)
    shutil.copy(source, target)


def _git_paths(checkout: Path, paths: tuple[str, ...], *arguments: str) -> None:
    if paths:
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        call = GitCall(env=LITERAL, stdin=names)
        git(checkout, *arguments, "--pathspec-from-file=-", "--pathspec-file-nul", call=call)
