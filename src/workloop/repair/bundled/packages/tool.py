"""What an extension tool is: a folder with a tool.json that says what it takes, and the program that does it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from workloop.domain.reader import JsonObject, Reader
from workloop.repair.bundled.files import FileKind, HarnessFiles, package, refused, require_path, ruled, text_of
from workloop.repair.bundled.packages.names import require_tool_name
from workloop.repair.bundled.packages.schema import require_schema
from workloop.repair.bundled.reading import json_in

MANIFEST: Final = "tool.json"
MANIFEST_BYTES_MAX: Final = 64 * 1024
TOOL_BYTES_MAX: Final = 32 * 1024 * 1024
DESCRIPTION_CHARACTERS_MAX: Final = 1_024
TIMEOUT_SECONDS_MAX: Final = 600
RESULT_BYTES_DEFAULT: Final = 64 * 1024
RESULT_BYTES_MAX: Final = 1024 * 1024


class ToolCapability(StrEnum):
    """What a tool says it does beyond reading the work tree; there is no word for a network."""

    WRITE_TREE = "write-tree"
    RUN_PROGRAMS = "run-programs"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionTool:
    """One tool that may be used; entry is the program's path in the tool's own folder."""

    name: str
    description: str
    folder: str
    files: HarnessFiles
    entry: str
    parameters: JsonObject
    timeout_seconds: int
    result_bytes_max: int
    capabilities: frozenset[ToolCapability]


def read_tool(files: HarnessFiles, folder: str, forbidden: frozenset[str] = frozenset()) -> ExtensionTool:
    """Judge the tool in a folder; forbidden are names seen in a refusal; raises BadRequest that names the rule."""
    own = package(files, folder, TOOL_BYTES_MAX)
    at = f"{folder}/{MANIFEST}"
    values = json_in(text_of(own, MANIFEST, MANIFEST_BYTES_MAX), at)
    with ruled("field"):
        return tool_in(Reader(values, at), own, folder, forbidden)


def tool_in(reader: Reader, own: HarnessFiles, folder: str, forbidden: frozenset[str]) -> ExtensionTool:
    """Judge what a manifest says."""
    at = reader.path
    tool = ExtensionTool(
        name=require_tool_name(reader.text("name", required=True), f"{at}: name", forbidden=forbidden),
        description=reader.text("description", required=True, longest=DESCRIPTION_CHARACTERS_MAX),
        folder=folder,
        files=own,
        entry=entry_of(reader, own, at),
        parameters=require_schema(reader.take("parameters"), f"{at}: parameters"),
        timeout_seconds=timeout_of(reader, at),
        result_bytes_max=reader.whole(
            "result_bytes_max", default=RESULT_BYTES_DEFAULT, lowest=1, highest=RESULT_BYTES_MAX
        ),
        capabilities=capabilities_of(reader, at),
    )
    reader.done()
    return tool


def entry_of(reader: Reader, own: HarnessFiles, at: str) -> str:
    """Return the path of the program, which lies in the package and can be executed."""
    path = require_path(reader.text("entry", required=True), f"{at}: entry", "entry-inside")
    file = own.get(path)
    if file is None:
        raise refused("entry-inside", f"{at}: entry", f"there is no file {path} in the package")
    if file.kind is not FileKind.EXECUTABLE:
        raise refused("entry-executable", f"{at}: entry", f"{path} cannot be executed", "git add --chmod=+x")
    return path


def timeout_of(reader: Reader, at: str) -> int:
    """Return how long a call may take; every tool says it."""
    if "timeout_seconds" not in reader.values:
        raise refused("timeout", at, "'timeout_seconds' is missing", f"give it 1 to {TIMEOUT_SECONDS_MAX} seconds")
    return reader.whole("timeout_seconds", default=0, lowest=1, highest=TIMEOUT_SECONDS_MAX)


def capabilities_of(reader: Reader, at: str) -> frozenset[ToolCapability]:
    """Return what a tool says that it does."""
    found: set[ToolCapability] = set()
    for name in reader.texts("capabilities"):
        if name not in {known.value for known in ToolCapability}:
            hint = f"known: {', '.join(ToolCapability)}"
            raise refused("capability", at, f"{name[:80]!r} is no capability that a tool may have", hint)
        found.add(ToolCapability(name))
    return frozenset(found)
