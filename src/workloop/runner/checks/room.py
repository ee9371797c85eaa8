"""What a check finds around its checkout: folders and variables of its own, where nobody left anything before."""

import os
from collections.abc import Mapping
from pathlib import Path

from workloop.runner.checks.plan import CheckPlan
from workloop.runner.command import safe_environment
from workloop.runner.registry import Workspace, WorkspaceKind, write_record
from workloop.runner.repository import Repository, confined
from workloop.runner.sandbox.enclosure import Rooms
from workloop.runner.spreading import make_apart

# Where tool chains keep programs below the operator's HOME; their caches are not among them.
TOOL_HOMES = {
    "RUSTUP_HOME": ".rustup",
    "PYENV_ROOT": ".pyenv",
    "NVM_DIR": ".nvm",
    "VOLTA_HOME": ".volta",
    "RBENV_ROOT": ".rbenv",
    "SDKMAN_DIR": ".sdkman",
    "ASDF_DATA_DIR": ".asdf",
    "MISE_DATA_DIR": ".local/share/mise",
}
NO_CACHES = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1", "GIT_CONFIG_NOSYSTEM": "1"}


def open_room(repository: Repository, plan: CheckPlan, sha: str, path: Path) -> Workspace:
    """Make the folders of one run but its checkout, under one record, so that a killed loop leaves nothing unknown."""
    room = Workspace(
        path=confined(repository, path),
        branch="",
        base_sha=sha,
        start_sha=sha,
        repo=repository.path,
        common_dir=repository.common_dir,
        item_id=plan.item_id,
        attempt=0,
        created=plan.now,
        kind=WorkspaceKind.CHECKOUT,
    )
    write_record(room)
    make_apart(repository.folder("checkouts").parent / "areas", room.path)
    for name in ("home", "scratch"):
        (room.path / name).mkdir(mode=0o700)
    return room


def checkout_of(room: Workspace) -> Path:
    """Return where the checkout of one run is made."""
    return room.path / "checkout"


def variables(plan: CheckPlan, room: Workspace) -> dict[str, str]:
    """Return the environment of one run: what the operator allows, with HOME and TMPDIR of its own."""
    chosen = safe_environment(plan.environment, allowed=plan.allowed_variables, home=plan.home or room.path / "home")
    scratch = str(room.path / "scratch")
    return {
        **tool_homes(plan.environment),
        **chosen,
        "PATH": outside_only(chosen.get("PATH", os.defpath)),
        "TMPDIR": scratch,
        "TMP": scratch,
        "TEMP": scratch,
        **NO_CACHES,
    }


def rooms(repository: Repository, plan: CheckPlan, room: Workspace) -> Rooms:
    """Return what one run may reach: its checkout and its scratch to write, the repository's objects to read."""
    own = Rooms(
        writable=(checkout_of(room), room.path / "scratch"),
        readable=(repository.common_dir / "objects",),
        home=plan.home or room.path / "home",
    )
    return plan.rooms | own


def outside_only(path: str) -> str:
    """Leave out of a search path what is not absolute: it would be found in the candidate's own checkout."""
    return os.pathsep.join(part for part in path.split(os.pathsep) if part.startswith("/"))


def tool_homes(environment: Mapping[str, str]) -> dict[str, str]:
    """Say where tool chains are that are found by HOME, for a HOME of its own has none."""
    home = environment.get("HOME", "")
    places = {name: Path(home) / below for name, below in TOOL_HOMES.items()} if home else {}
    return {name: environment.get(name) or str(place) for name, place in places.items() if place.is_dir()}
