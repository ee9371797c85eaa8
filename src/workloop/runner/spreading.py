"""Where on disk a tree is laid out that is deleted after minutes: never where the one before it was.

ext4 puts a new tree beside the last one. Without a journal it uses nothing again for minutes that was deleted, but
passes over all of it for each new file: a checkout after a hundred others takes ten times as long as the first.
"""

import os
import sys
import zlib
from pathlib import Path

AREAS = 256
GET_FLAGS, SET_FLAGS = 0x80086601, 0x40086602
TOP_OF_HIERARCHIES = 0x00020000


def make_apart(areas: Path, path: Path) -> None:
    """Make a new private folder, begun in one of many areas that lie apart on disk; its name chooses among them.

    The areas are on the disk of the folder. One that a killed process had begun there is empty, and as good as new.
    """
    area = areas / f"{zlib.crc32(os.fsencode(path.name)) % AREAS:03}"
    if not area.is_dir():
        _lay_out(areas)
    begun = area / path.name
    begun.mkdir(mode=0o700, exist_ok=True)
    begun.rename(path)


def _lay_out(areas: Path) -> None:
    """Make all areas at once: the first ones may well lie together, where the fewest folders were before."""
    areas.mkdir(mode=0o700, exist_ok=True)
    keep_apart(areas)
    for number in range(AREAS):
        (areas / f"{number:03}").mkdir(mode=0o700, exist_ok=True)


def keep_apart(folder: Path) -> None:
    """Have what is made in a folder laid out far from each other; a file system that cannot be told needs it not."""
    if sys.platform != "linux":
        return
    import fcntl

    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        flags = int.from_bytes(fcntl.ioctl(place, GET_FLAGS, bytes(8)), sys.byteorder)
        fcntl.ioctl(place, SET_FLAGS, (flags | TOP_OF_HIERARCHIES).to_bytes(8, sys.byteorder))
    except OSError:
        return  # it has no such mark
    finally:
        os.close(place)
