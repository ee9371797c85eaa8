"""How the doctor looks at private folders and what lies in them: rights, room, orders left behind, another loop."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from workloop.config import Settings, make_private
from workloop.domain.errors import WorkloopError
from workloop.driver.switches import FOLDER, HALT, STOP, pauses_in
from workloop.driver.turn.recovery import LOCK_NAME
from workloop.wiring.doctor.finding import Finding, broken, doubtful, fine, refused

ROOMIER = "make room, see workloop gc --dry-run, or lower disk.free_bytes_min"


def look_at_places(settings: Settings) -> Iterator[Finding]:
    """Look at the loop's own folder, and at the folder of every project."""
    work_dirs = tuple(target.place.repository for target in settings.targets)
    folders = dict.fromkeys([settings.folder, *(target.place.folder for target in settings.targets)])
    for folder in folders:
        yield look_at_folder(folder, work_dirs)
        yield look_at_lock(folder)
    yield look_at_room(settings)
    yield from look_at_orders(settings.folder)


def look_at_folder(folder: Path, work_dirs: tuple[Path, ...]) -> Finding:
    """Open a private folder as the loop does, and write into it."""
    check = f"state[{folder.name}]"
    try:
        make_private(folder, work_dirs)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except WorkloopError as error:
        return refused(check, error)
    except OSError as error:
        return broken(check, f"{folder} cannot be written: {error.strerror}", f"make {folder} writable for yourself")
    return fine(check, f"{folder} is yours alone and can be written")


def look_at_lock(folder: Path) -> Finding:
    """Tell whether another loop drives a project; its lock is free when it is dead."""
    check = f"lock[{folder.name}]"
    path = folder / LOCK_NAME
    if not path.exists():
        return fine(check, "no other loop")
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "unknown"
        return doubtful(check, f"another loop drives it: {owner}", "let it work, or end it with workloop stop")
    finally:
        os.close(descriptor)
    return fine(check, "no other loop")


def look_at_room(settings: Settings) -> Finding:
    """Tell whether the disk has room for what sessions print; each project says whether it has room for a tree."""
    free = shutil.disk_usage(settings.folder if settings.folder.is_dir() else settings.place.folder).free
    said = f"{free / 1024**3:.1f} GiB free under {settings.folder}"
    least = settings.loop.disk.free_bytes_min
    if free < least:
        return doubtful("disk", f"{said}, less than disk.free_bytes_min, {least}", ROOMIER)
    if free < settings.loop.retention.kept_bytes_max:
        kept = settings.loop.retention.kept_bytes_max
        remedy = f"make room, or set loop.kept_bytes_max below {int(free)}"
        return doubtful("disk", f"{said}, less than the {kept} bytes that ended sessions may take", remedy)
    return fine("disk", said)


def look_at_orders(folder: Path) -> Iterator[Finding]:
    """Tell which orders of a person still stand."""
    stop, halt = folder / FOLDER / STOP, folder / FOLDER / HALT
    if halt.exists() or halt.is_symlink():
        yield broken("orders", f"HALT is there: {halt}; no loop starts", f"rm {halt}")
    elif stop.exists() or stop.is_symlink():
        yield doubtful("orders", f"STOP is there: {stop}; the next loop ends at once", f"rm {stop}")
    else:
        yield fine("orders", "neither STOP nor HALT is there")
    for name, halted in pauses_in(folder).items():
        yield doubtful(f"pause[{name}]", f"paused: {halted.reason or 'no reason given'}", f"workloop resume {name}")
