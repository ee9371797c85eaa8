"""Where a store's file may lie."""

from collections.abc import Callable
from pathlib import Path

from workloop.domain.errors import StoreUnavailable

MOUNTS = Path("/proc/self/mounts")
NETWORK_TYPES = frozenset({"9p", "afs", "ceph", "cifs", "fuse.sshfs", "nfs", "nfs4", "smb3", "smbfs", "virtiofs"})
ESCAPES = {"\\040": " ", "\\011": "\t", "\\012": "\n", "\\134": "\\"}


def unescape(mount_point: str) -> str:
    """Return a mount point with the kernel's octal escapes undone."""
    for written, meant in ESCAPES.items():
        mount_point = mount_point.replace(written, meant)
    return mount_point


def filesystem_type(path: Path, mounts: str) -> str:
    """Return the type of the file system that holds an absolute path, by a table such as /proc/self/mounts."""
    best, kind = Path(), ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        mount_point = Path(unescape(fields[1]))
        if path.is_relative_to(mount_point) and len(mount_point.parts) >= len(best.parts):
            best, kind = mount_point, fields[2]
    return kind


def read_mounts() -> str:
    """Return the kernel's table of mounts, or nothing where there is none."""
    return MOUNTS.read_text(encoding="utf-8", errors="replace") if MOUNTS.exists() else ""


def refuse(code: str, problem: str, hint: str) -> StoreUnavailable:
    """Return the fault of an unfit place."""
    return StoreUnavailable(code, problem, hint=hint, retryable=False)


def make_folder(folder: Path) -> None:
    """Make the folder of a store, its owner's alone, unless it is there."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise refuse(
            "STORE_UNREADABLE", f"the folder {folder} cannot be made: {error.strerror}", "name another folder"
        ) from error


def require_place(path: Path, inside_work_dir: Callable[[Path], bool], mounts: str) -> Path:
    """Return the absolute path of a store's file; refuses symlinks, work dirs and network mounts."""
    place = path.parent.resolve() / path.name
    if place.is_symlink():
        raise refuse("STORE_IS_SYMLINK", f"{place} is a symbolic link", "name the file itself")
    if inside_work_dir(place):
        raise refuse(
            "STORE_IN_WORK_DIR",
            f"{place} lies inside a work dir, where sessions write",
            "keep the store in the state dir, outside every work dir",
        )
    kind = filesystem_type(place, mounts)
    if kind in NETWORK_TYPES:
        raise refuse(
            "STORE_ON_NETWORK_MOUNT",
            f"{place} lies on a {kind} mount, where file locks and shared memory cannot be trusted",
            "keep the store on a local disk",
        )
    return place
