"""How a first campaign of the repair bench comes to a folder: its files, two repositories, and a runtime."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workloop.config import make_private
from workloop.domain.errors import Conflict
from workloop.repair.bundled.files import FileKind, HarnessFiles
from workloop.repair.bundled.starter import (
    Starter,
    campaign_of,
    harness_files,
    key_of,
    operator_files,
    project_files,
)
from workloop.repair.placement import check_placement
from workloop.runner.git import git
from workloop.runner.gitfacts import require_commit
from workloop.wiring.runtimes import runtime_store

PRIVATE: Final = 0o600
FOLDER: Final = 0o700
MODES: Final = {FileKind.PLAIN: 0o644, FileKind.EXECUTABLE: 0o755}


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOrder:
    """What a person names: a folder, an agent, and a project of their own instead of the example."""

    folder: Path
    agent: str
    project: Path | None = None


def begin_campaign(order: InitOrder, environment: Mapping[str, str]) -> dict[str, Any]:
    """Make a campaign in a new or empty folder; raises Conflict for any other, NotFound for a project without commits.

    The campaign's file comes last: a folder without it is none yet.
    """
    require_empty(order.folder)
    folder, example = order.folder.resolve(), order.project is None
    if order.project is not None:
        check_placement({"the folder": folder}, (order.project,))
        require_commit(order.project, "HEAD")
    store = runtime_store(environment)
    make_private(folder)
    harness_commit = committed(folder / "harness", harness_files(), "a first harness")
    if example:
        committed(folder / "project", project_files(), "a small project")
    write_files(folder, operator_files(folder, order.agent, example=example))
    (folder / "scratch").mkdir(mode=FOLDER)
    project = order.project or folder / "project"
    starter = Starter(
        folder=folder,
        agent=order.agent,
        project=project,
        project_commit=require_commit(project, "HEAD"),
        harness_commit=harness_commit,
        runtime_id=store.build(folder / "harness", harness_commit).id,
        example=example,
    )
    write_private(starter.campaign, json.dumps(campaign_of(starter), indent=2) + "\n")
    return told(starter)


def require_empty(folder: Path) -> None:
    """Refuse a folder that holds something, or a name that something else has."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise taken(folder, "is there already and is no folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise taken(folder, "holds something already")


def taken(folder: Path, problem: str) -> Conflict:
    """Build the refusal of a place where something is."""
    return Conflict(
        "FOLDER_TAKEN",
        f"{folder} {problem}",
        hint="name one that is new or empty; what an init left that was cut off can go",
    )


def committed(repository: Path, files: HarnessFiles, message: str) -> str:
    """Make a repository of some files, without hooks of anybody's, and return its one commit."""
    repository.mkdir(mode=FOLDER)
    git(repository, "init", "--quiet", "--initial-branch=main", "--template=")
    write_files(repository, files)
    git(repository, "add", "--all", "--force")
    git(repository, "commit", "--quiet", "--no-verify", "--message", message)
    return require_commit(repository, "HEAD")


def write_files(folder: Path, files: HarnessFiles) -> None:
    """Write new files below a folder, for their owner to edit."""
    for path, file in sorted(files.items()):
        place = folder / path
        place.parent.mkdir(mode=FOLDER, parents=True, exist_ok=True)
        with place.open("xb") as stream:
            stream.write(file.data)
        place.chmod(MODES[file.kind])


def write_private(path: Path, text: str) -> None:
    """Write a new file that nobody else may read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "w", encoding="utf-8") as stream:
        stream.write(text)


def told(starter: Starter) -> dict[str, Any]:
    """Say what there is now, and what to do next."""
    key = key_of(starter.folder, starter.agent)
    own = f"say in {starter.campaign} what is to be done, and in {starter.folder}/probes/acceptance how one sees it"
    return {
        "folder": str(starter.folder),
        "campaign": str(starter.campaign),
        "settings": str(starter.settings),
        "harness": str(starter.folder / "harness"),
        "commit": starter.harness_commit,
        "runtime": starter.runtime_id,
        "project": str(starter.project),
        "next": [
            f"put the key of {starter.agent}'s provider into {key} (mode 600)",
            *([] if starter.example else [own]),
            f"workloop repair --config {starter.campaign} --settings {starter.settings}",
        ],
    }
