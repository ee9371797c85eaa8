"""Where things are: a project's work dir, its private folder outside of it, and the folder of a loop over several."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workloop.domain.errors import BadRequest, NotFound

CONFIG_NAME = "workloop.toml"
STORE_NAME = "store.db"
ENDPOINT_NAME = "endpoint.json"
LOOPS_NAME = "loops"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A project's work dir and its private folder, which never lies inside the work dir."""

    repository: Path
    folder: Path

    @property
    def config(self) -> Path:
        """Return the path of the settings file."""
        return self.folder / CONFIG_NAME

    @property
    def store(self) -> Path:
        """Return the path of the embedded store."""
        return self.folder / STORE_NAME

    @property
    def operator_token(self) -> Path:
        """Return the path of the token that a running loop gives its operator."""
        return self.folder / "operator.token"

    @property
    def endpoint(self) -> Path:
        """Return the path where a running loop says how it is reached."""
        return self.folder / ENDPOINT_NAME


def state_home(environment: Mapping[str, str]) -> Path:
    """Return the folder of all projects: WORKLOOP_STATE, or workloop in the user's state directory (XDG)."""
    named = environment.get("WORKLOOP_STATE")
    if named:
        return Path(named).expanduser().resolve()
    base = Path(environment.get("XDG_STATE_HOME") or "")
    return (base if base.is_absolute() else Path.home() / ".local" / "state").resolve() / "workloop"


def find_repository(start: Path) -> Path:
    """Return the main work tree that a folder belongs to; raises NotFound outside of git."""
    for folder in (start, *start.parents):
        marker = folder / ".git"
        if marker.is_dir():
            return folder
        if marker.is_file():
            return main_work_tree(folder, marker)
    raise NotFound("NO_REPOSITORY", f"{start} is not inside a git repository", hint="go into one, or name it with -C")


def main_work_tree(folder: Path, marker: Path) -> Path:
    """Return the main work tree of a linked one; a submodule is its own repository."""
    text = marker.read_text(encoding="utf-8", errors="replace").strip()
    target = (folder / text.removeprefix("gitdir:").strip()).resolve()
    if target.parent.name == "worktrees" and target.parent.parent.name == ".git":
        return target.parent.parent.parent
    return folder


def place_of(repository: Path, environment: Mapping[str, str]) -> Place:
    """Return where a repository's private folder is; raises BadRequest when it would lie inside the work dir."""
    repository = repository.resolve()
    folder = state_home(environment) / digest_name(repository)
    refuse_inside(folder, (repository,))
    return Place(repository=repository, folder=folder)


def loop_folder(config: Path, environment: Mapping[str, str]) -> Path:
    """Return the private folder of a loop over several projects, which belongs to its settings file."""
    return state_home(environment) / LOOPS_NAME / digest_name(config.resolve())


def digest_name(path: Path) -> str:
    """Return a folder name that people recognise and no two paths share."""
    return f"{short_name(path)}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:10]}"


def short_name(path: Path) -> str:
    """Return the name by which people call what lies at a path."""
    return re.sub(r"[^a-z0-9]+", "-", path.name.lower()).strip("-")[:30] or "project"


def refuse_inside(folder: Path, work_dirs: tuple[Path, ...]) -> None:
    """Raise BadRequest when a private folder lies in a work dir, where a session could change it."""
    for work_dir in work_dirs:
        if folder == work_dir or work_dir in folder.parents:
            raise BadRequest(
                "STATE_IN_WORK_DIR",
                f"the state directory {folder} lies inside the work dir {work_dir}",
                hint="set WORKLOOP_STATE, or loop.state_dir, to a folder outside of it",
            )
