"""How files of a harness come to a disk for one session: into an empty place, for reading only, through no link."""

import os
from pathlib import Path

from workloop.repair.bundled.files import FileKind, HarnessFiles, require_path, require_plain

FOLDER_MODE = 0o700
MODES = {FileKind.PLAIN: 0o400, FileKind.EXECUTABLE: 0o500}


def lay(files: HarnessFiles, folder: Path) -> None:
    """Write files below a folder that nobody else can write; raises FileExistsError where something stands already."""
    for path, file in sorted(files.items()):
        require_path(path, path)
        require_plain(path, file)
        place = folder / path
        place.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, MODES[file.kind])
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(file.data)
