"""Which of its own files an agent must reach from inside walls: its program, its login, its settings."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workloop.runner.sandbox.rooms import Rooms

MODULES = "node_modules"
LINKS_MAX = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What an agent reads, and what it must write because it renews it there, such as a login.

    home is where its sessions see their HOME, elsewhere the folders outside of it that they write, too, each of which
    becomes a private one; copies are files that it only gets a private copy of, by their names in its home, with what
    they hold. folders are those of a home that have to be there, however empty.
    """

    home: Path
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    elsewhere: tuple[Path, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFiles:
    """Where an agent keeps what is its own, from HOME: logins, settings, and the folders that it writes into.

    moved are the variables that move a folder to another place.
    """

    logins: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    moved: Mapping[str, str] = field(default_factory=dict[str, str])

    def needs(self, home: Path, environment: Mapping[str, str]) -> Needs:
        """Return what of these an agent needs that has this home and sees these variables."""
        state = (self.place(name, home, environment) for name in self.state)
        return Needs(
            home=home,
            readable=tuple(self.place(name, home, environment) for name in self.settings),
            writable=tuple(self.place(name, home, environment) for name in self.logins),
            elsewhere=tuple(place for place in state if not place.is_relative_to(home)),
            folders=tuple(self.moved.values()),
        )

    def place(self, name: str, home: Path, environment: Mapping[str, str]) -> Path:
        """Return where one of them is."""
        for variable, folder in self.moved.items():
            named = environment.get(variable)
            if named and Path(name).is_relative_to(folder):
                return Path(named) / Path(name).relative_to(folder)
        return home / name


def home_in(environment: Mapping[str, str], own: Path | None = None) -> Path:
    """Return the home of a session: its own, or the one that it is told of."""
    return own or Path(environment.get("HOME") or Path.home())


def seen_from_outside(place: Path, home: Path, rooms: Rooms) -> Path:
    """Return where on this machine lies what a session behind walls sees at a place of its home, or elsewhere."""
    elsewhere = rooms.standing.get(Path(os.path.realpath(place)))
    if elsewhere is not None:
        return elsewhere
    return rooms.home / place.relative_to(home) if rooms.home is not None and place.is_relative_to(home) else place


def program_places(program: str | Path) -> Iterator[Path]:
    """Yield what must be seen for a program to start: the links to it, its folder, and the packages it came with."""
    path = Path(program).absolute()
    for _ in range(LINKS_MAX):
        yield path
        if not path.is_symlink():
            break
        path = Path(os.path.normpath(path.parent / path.readlink()))
    yield path.parent
    if MODULES in path.parts:
        yield Path(*path.parts[: path.parts.index(MODULES) + 1])


def named_files(argv: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files that a command line names by whole paths."""
    for part in argv:
        if part.startswith("/") and Path(part).is_file():
            yield Path(part)
