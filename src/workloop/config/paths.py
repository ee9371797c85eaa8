"""How a path in a settings file is meant: from the folder of that file, with ~ for the home."""

from pathlib import Path

from workloop.domain.reader import Reader


def read_path(reader: Reader, name: str, base: Path) -> Path | None:
    """Return a path that may be absent."""
    text = reader.text(name)
    return absolute(text, base) if text else None


def read_places(reader: Reader, name: str, base: Path) -> tuple[Path, ...]:
    """Return a list of paths."""
    return tuple(absolute(text, base) for text in reader.texts(name))


def absolute(text: str, base: Path) -> Path:
    """Return a path as a settings file in a folder means it; links stay as they are."""
    path = Path(text).expanduser()
    return path if path.is_absolute() else base / path
