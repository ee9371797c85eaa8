"""How a folder of Backlog.md tasks is read: one Markdown file per task, with facts in front.

Source of the layout: the tasks of the project itself, github.com/MrLesk/Backlog.md, folder backlog/tasks, 2026.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from workloop.domain.errors import BadRequest, NotFound
from workloop.domain.reader import Json, JsonObject
from workloop.trackers.foreign import Entry, Listing, Standing
from workloop.yaml_file import read_documents

FILE_BYTES_MAX: Final = 1024 * 1024
FENCE: Final = "---"
PRIORITIES: Final = {"high": 50, "medium": 100, "low": 150}
MARKS: Final = re.compile(r"<!--.*?-->", re.DOTALL)
CRITERION: Final = re.compile(r"^- \[.\] (?:#\d+ )?(?P<text>.+)$")
WANTED: Final = ("description", "acceptance criteria")


class BacklogMd:
    """The tasks of one Backlog.md folder; `open_status` are the statuses that say that nobody has begun."""

    name = "backlog.md"

    def __init__(self, folder: Path, *, open_status: tuple[str, ...] = ("To Do",), done: str = "Done") -> None:
        self.folder = folder
        self.open_status = frozenset(status.casefold() for status in open_status)
        self.done = done.casefold()

    def stamp(self) -> tuple[tuple[str, int, int], ...]:
        """Return each file's name, time of change in nanoseconds and size in bytes."""
        looked = [(path.name, path.lstat()) for path in self.files()]
        return tuple((name, seen.st_mtime_ns, seen.st_size) for name, seen in looked)

    def read(self) -> Listing:
        """Read every task; one that cannot be read is told, never guessed, and never hides the others."""
        entries: dict[str, Entry] = {}
        problems: list[str] = []
        for path in self.files():
            try:
                entry = self.entry(path)
            except BadRequest as wrong:
                problems.append(f"{path.name}: {wrong.message}")
                continue
            if entry.id in entries:
                problems.append(f"{path.name}: {entry.id} is also in {entries[entry.id].source}")
                continue
            entries[entry.id] = entry
        return Listing(entries=tuple(entries.values()), problems=tuple(problems))

    def files(self) -> list[Path]:
        """Return the task files by name; links are not followed. Raises NotFound when the folder is not there."""
        tasks = self.folder / "tasks"
        if not tasks.is_dir():
            hint = "name the folder that holds tasks/"
            raise NotFound("TRACKER_NOT_FOUND", f"no Backlog.md tasks in {tasks}", hint=hint)
        return sorted(path for path in tasks.glob("*.md") if path.is_file() and not path.is_symlink())

    def entry(self, path: Path) -> Entry:
        """Read one task; raises BadRequest saying what is wrong with it."""
        facts, body = split(text_of(path))
        sections = sections_of(body)
        parts = [sections.get(name, "") for name in WANTED]
        criteria = [found["text"] for line in parts[1].splitlines() if (found := CRITERION.match(line.strip()))]
        objective = parts[0]
        if criteria:
            objective += "\n\nAcceptance criteria:\n" + "\n".join(f"- {text}" for text in criteria)
        return Entry(
            id=text_fact(facts, "id").lower(),
            title=" ".join(text_fact(facts, "title").split()),
            objective=objective.strip(),
            standing=self.standing(text_fact(facts, "status")),
            source=f"{self.name}: tasks/{path.name}",
            needs=tuple(need.lower() for need in texts_fact(facts, "dependencies")),
            priority=PRIORITIES.get(str(facts.get("priority", "")).casefold()),
        )

    def standing(self, status: str) -> Standing:
        """Say what a status means for us; one that is not known means that somebody has begun."""
        if status.casefold() == self.done:
            return Standing.OVER
        return Standing.OPEN if status.casefold() in self.open_status else Standing.TAKEN


def text_of(path: Path) -> str:
    """Read a task file; raises BadRequest when it is too big or no text."""
    with path.open("rb") as stream:
        data = stream.read(FILE_BYTES_MAX + 1)
    if len(data) > FILE_BYTES_MAX:
        raise malformed(f"is larger than {FILE_BYTES_MAX} bytes")
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise malformed("is not UTF-8") from error


def split(text: str) -> tuple[JsonObject, str]:
    """Part the facts in front from the body."""
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE or FENCE not in [line.rstrip() for line in lines[1:]]:
        raise malformed("has no facts between two lines of ---")
    end = next(number for number, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE)
    documents = list(read_documents("\n".join(lines[1:end])))
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise malformed("has facts that are no mapping")
    return documents[0], "\n".join(lines[end + 1 :])


def sections_of(body: str) -> dict[str, str]:
    """Part a body into its second-level sections, without the tool's own marks."""
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in MARKS.sub("", body).split("\n"):
        if line.startswith("## "):
            current = sections.setdefault(line[3:].strip().casefold(), [])
        else:
            current.append(line)
    return {name: "\n".join(lines).strip() for name, lines in sections.items()}


def text_fact(facts: Mapping[str, Json], name: str) -> str:
    """Return a fact that must be there."""
    value = facts.get(name)
    if not isinstance(value, str | int | float) or isinstance(value, bool) or not str(value).strip():
        raise malformed(f"has no {name}")
    return str(value).strip()


def texts_fact(facts: Mapping[str, Json], name: str) -> tuple[str, ...]:
    """Return a list of texts that may be absent."""
    value = facts.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise malformed(f"has {name} that are no list of ids")
    return tuple(str(part) for part in value)


def malformed(what: str) -> BadRequest:
    """Build the refusal of one task file."""
    return BadRequest("TRACKER_ENTRY", what, hint="correct the task with its own tool", field="file")
