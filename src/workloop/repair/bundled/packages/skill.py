"""What a skill is: a folder with a SKILL.md whose front matter says who it is and when to read it."""

from dataclasses import dataclass
from typing import Final

from workloop.domain.reader import JsonObject
from workloop.repair.bundled.files import HarnessFiles, package, refused, text_of
from workloop.repair.bundled.packages.names import require_slug
from workloop.repair.bundled.reading import yaml_in

HEAD: Final = "SKILL.md"
HEAD_BYTES_MAX: Final = 256 * 1024
SKILL_BYTES_MAX: Final = 8 * 1024 * 1024
DESCRIPTION_CHARACTERS_MAX: Final = 1_024
COMPATIBILITY_CHARACTERS_MAX: Final = 500
FOLDERS: Final = frozenset({"scripts", "references", "assets"})
OPTIONAL: Final = frozenset({"license", "compatibility", "metadata", "allowed-tools"})
FENCE: Final = "---"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """One skill that may be used; allowed_tools is what it asks to be held to, or None for no such wish."""

    name: str
    description: str
    folder: str
    files: HarnessFiles
    allowed_tools: tuple[str, ...] | None = None


def read_skill(files: HarnessFiles, folder: str) -> Skill:
    """Judge the skill in a folder; raises BadRequest that names the rule it breaks."""
    own = package(files, folder, SKILL_BYTES_MAX)
    require_usual_places(own, folder)
    at = f"{folder}/{HEAD}"
    front = front_matter(text_of(own, HEAD, HEAD_BYTES_MAX), at)
    name = require_slug(text_field(front, "name", at), f"{at}: name")
    if name != folder.rpartition("/")[2]:
        raise refused("skill-folder", at, f"the skill is called {name!r} and its folder otherwise")
    unknown = sorted(set(front) - OPTIONAL - {"name", "description"})
    if unknown:
        raise refused("unknown-key", at, f"{unknown[0]!r} is not a known key", f"known: {', '.join(sorted(OPTIONAL))}")
    require_optional(front, at)
    return Skill(
        name=name,
        description=bounded(text_field(front, "description", at), DESCRIPTION_CHARACTERS_MAX, f"{at}: description"),
        folder=folder,
        files=own,
        allowed_tools=tools_of(front, at),
    )


def require_usual_places(own: HarnessFiles, folder: str) -> None:
    """Refuse files beside SKILL.md that are in none of the folders a skill may have."""
    if HEAD not in own:
        raise refused("file-there", f"{folder}/{HEAD}", "there is no such file")
    for path in own:
        if "/" in path and path.partition("/")[0] not in FOLDERS:
            hint = f"a skill has {', '.join(sorted(FOLDERS))} and files beside {HEAD}"
            raise refused("skill-folders", f"{folder}/{path}", "stands in no folder that a skill may have", hint)


def front_matter(text: str, at: str) -> JsonObject:
    """Return what stands between the two lines of three hyphens that a skill begins with; words must follow."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        raise refused("front-matter", at, f"does not begin with a line {FENCE}")
    ends = [number for number, line in enumerate(lines[1:], start=1) if line.rstrip() == FENCE]
    if not ends:
        raise refused("front-matter", at, f"has no second line {FENCE}")
    if not "".join(lines[ends[0] + 1 :]).strip():
        raise refused("front-matter", at, "says nothing after its front matter")
    return yaml_in("\n".join(lines[1 : ends[0]]), at)


def text_field(front: JsonObject, name: str, at: str) -> str:
    """Return a text that has to be there."""
    value = front.get(name)
    if not isinstance(value, str) or not value.strip():
        raise refused("required-key", at, f"{name!r} is missing, blank or no text")
    return value


def bounded(text: str, longest: int, at: str) -> str:
    """Return a text of no more than so many characters."""
    if len(text) > longest:
        raise refused("length", at, f"is longer than {longest} characters")
    return text


def require_optional(front: JsonObject, at: str) -> None:
    """Refuse optional keys of another kind than they have."""
    for name in ("license", "compatibility"):
        if name in front:
            bounded(text_field(front, name, at), COMPATIBILITY_CHARACTERS_MAX, f"{at}: {name}")
    metadata = front.get("metadata", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise refused("key-kind", at, "'metadata' is no mapping of texts")


def tools_of(front: JsonObject, at: str) -> tuple[str, ...] | None:
    """Return the tools that a skill wants to be held to; it can only give up some of those that there are."""
    if "allowed-tools" not in front:
        return None
    names = tuple(text_field(front, "allowed-tools", at).replace(",", " ").split())
    if any("*" in name for name in names):
        raise refused("only-narrower", at, "'allowed-tools' has a wildcard", "name the tools one by one")
    return names
