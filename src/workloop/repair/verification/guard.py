"""What a candidate may not be or bring: it is refused by what git says of it, before anything of it runs."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workloop.domain.checks import matching_paths
from workloop.domain.errors import Refusal
from workloop.domain.standins import named, runner_files, says_the_same, stand_ins
from workloop.repair.ledger.records import RepairRefusal
from workloop.repair.runtimes.committed import blobs_of
from workloop.repair.runtimes.manifest import FULL_SHA
from workloop.repair.verification.capabilities import widenings
from workloop.repair.verification.diff import Change, blob, blob_at, changes_between, folded
from workloop.runner.git import ANY_FAILURE, git, printables
from workloop.runner.gitfacts import is_ancestor, tree_paths

PATHS_SHOWN_MAX: Final = 10
MODES: Final = {"120000": "a symbolic link", "160000": "a submodule"}
ATTRIBUTES: Final = frozenset({".gitattributes", ".gitmodules", ".gitconfig"})
HOOK_FOLDERS: Final = frozenset({".githooks", ".husky", ".git-hooks"})
HOOK_FILES: Final = frozenset({".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml"})
HOOKS: Final = frozenset(
    {
        "applypatch-msg",
        "pre-applypatch",
        "post-applypatch",
        "pre-commit",
        "pre-merge-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "pre-rebase",
        "post-checkout",
        "post-merge",
        "pre-push",
        "pre-receive",
        "update",
        "post-receive",
        "post-update",
        "reference-transaction",
        "push-to-checkout",
        "pre-auto-gc",
        "post-rewrite",
        "sendemail-validate",
        "fsmonitor-watchman",
        "post-index-change",
        "proc-receive",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRules:
    """What a repair may not touch, by pattern, and the file that says what the harness may do.

    `folders` are those that checks run in: a module there could stand in for one of a test runner. `widened` compares
    what base and candidate may do, for who knows the file's meaning; without it every change that is not plainly
    narrower counts.
    """

    protected: tuple[str, ...] = ()
    manifest: str = "harness.toml"
    folders: tuple[str, ...] = ()
    widened: Callable[[Path, str, str], tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """One reason why nothing of a candidate is run."""

    refusal: RepairRefusal
    why: str

    @property
    def told(self) -> str:
        """Write the reason behind its name."""
        return f"{self.refusal.value}: {self.why}"


def refusals_of(repository: Path, base: str, candidate: str, rules: GuardRules) -> tuple[Refused, ...]:
    """Say why a candidate is refused, most serious first; empty when it may be run."""
    wrong = _no_candidate(repository, base, candidate)
    if wrong:
        return (Refused(refusal=RepairRefusal.INVALID_CANDIDATE, why=wrong),)
    changes = changes_between(repository, base, candidate)
    if not changes:
        return (Refused(refusal=RepairRefusal.INVALID_CANDIDATE, why="it changes nothing"),)
    brought = tuple(_brought(repository, changes))
    found = [
        *_named(RepairRefusal.PROTECTED_PATH, "it changes what is protected", _protected(changes, rules)),
        *_named(
            RepairRefusal.PROTECTED_PATH,
            "it brings what decides how checks run",
            _judging(repository, base, changes, rules),
        ),
        *_named(RepairRefusal.INVALID_CANDIDATE, "it brings", brought),
        *_widened(repository, base, candidate, rules),
    ]
    return tuple(found) or tuple(_unbuildable(repository, candidate))


def _no_candidate(repository: Path, base: str, candidate: str) -> str:
    for name, sha in (("the base", base), ("it", candidate)):
        if not FULL_SHA.fullmatch(sha):
            return f"{name} is no full commit SHA in lower case"
        kind = git(repository, "cat-file", "-t", sha, call=ANY_FAILURE)
        if kind.exit_code or kind.text != "commit":
            return f"{name} is no commit of this repository"
    if candidate == base:
        return "it is the base itself"
    return "" if is_ancestor(repository, base, candidate) else "it does not descend from the base"


def _protected(changes: Iterable[Change], rules: GuardRules) -> tuple[str, ...]:
    patterns = tuple(folded(pattern) for pattern in named(rules.protected))
    return tuple(change.path for change in changes if matching_paths((folded(change.path),), patterns))


def _judging(repository: Path, base: str, changes: tuple[Change, ...], rules: GuardRules) -> tuple[str, ...]:
    """Return what would be loaded in place of a test or its runner, or tells a runner what to do."""
    paths = {change.path: change for change in changes}
    hiding = stand_ins(paths, tree_paths(repository, base), rules.protected, rules.folders)
    telling = (path for path in runner_files(paths, rules.protected) if not _same(repository, paths[path]))
    return tuple(sorted({*(path for path in hiding if not paths[path].is_gone), *telling}))


def _same(repository: Path, change: Change) -> bool:
    old, new = (blob(repository, one) if int(one, 16) else None for one in (change.old_id, change.new_id))
    return says_the_same(change.path, old, new)


def _brought(repository: Path, changes: Iterable[Change]) -> Iterator[str]:
    """Yield what a repair of a harness never needs and what checks or git could fall for."""
    for change in changes:
        if _is_attribute(change.path):
            yield f"git's own settings in {change.path}"
        elif change.is_gone:
            continue
        elif not change.is_file:
            yield f"{MODES.get(change.new_mode, f'the mode {change.new_mode}')} at {change.path}"
        elif _is_hook(change.path):
            yield f"a hook at {change.path}"
        elif change.new_id != change.old_id and _is_binary(blob(repository, change.new_id)):
            yield f"a binary file at {change.path}"


def _is_attribute(path: str) -> bool:
    return folded(path).rpartition("/")[2] in ATTRIBUTES


def _is_hook(path: str) -> bool:
    *folders, name = folded(path).split("/")
    by_folder = any(folder in HOOK_FOLDERS for folder in folders)
    return by_folder or name in HOOK_FILES or (name.partition(".")[0] in HOOKS and "hooks" in folders)


def _is_binary(data: bytes) -> bool:
    try:
        return "\0" in data.decode("utf-8")
    except UnicodeDecodeError:
        return True


def _widened(repository: Path, base: str, candidate: str, rules: GuardRules) -> Iterator[Refused]:
    try:
        wider = (rules.widened or _by_file(rules.manifest))(repository, base, candidate)
    except (ValueError, Refusal) as error:
        yield Refused(refusal=RepairRefusal.INVALID_CANDIDATE, why=f"{rules.manifest} cannot be read: {error}")
        return
    yield from _named(RepairRefusal.CAPABILITY_WIDENED, f"{rules.manifest} grants more", wider)


def _by_file(name: str) -> Callable[[Path, str, str], tuple[str, ...]]:
    return lambda at, base, candidate: widenings(blob_at(at, base, name), blob_at(at, candidate, name))


def _unbuildable(repository: Path, candidate: str) -> Iterator[Refused]:
    """Refuse a tree that no runtime can be built of, so that nothing is checked which could not be used."""
    try:
        blobs_of(repository, candidate)
    except Refusal as refused:
        yield Refused(refusal=RepairRefusal.INVALID_CANDIDATE, why=refused.message)


def _named(refusal: RepairRefusal, why: str, found: Iterable[str]) -> Iterator[Refused]:
    listed = printables(tuple(found))
    if listed:
        more = f" and {len(listed) - PATHS_SHOWN_MAX} more" if len(listed) > PATHS_SHOWN_MAX else ""
        yield Refused(refusal=refusal, why=f"{why}: {', '.join(listed[:PATHS_SHOWN_MAX])}{more}")
