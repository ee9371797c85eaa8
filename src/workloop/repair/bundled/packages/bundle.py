"""What an MCP bundle is: a zip, pinned by its digest, whose manifest says how its server starts and what it offers."""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from workloop.domain.reader import Json, JsonObject
from workloop.repair.bundled.files import FileKind, HarnessFiles, refused, require_path, require_plain, text_of
from workloop.repair.bundled.packages.archive import read_archive
from workloop.repair.bundled.packages.names import require_server_name, require_tool_name
from workloop.repair.bundled.reading import json_in

MANIFEST: Final = "manifest.json"
MANIFEST_BYTES_MAX: Final = 256 * 1024
VERSIONS: Final = frozenset({"0.1", "0.2", "0.3", "0.4"})
SEMVER: Final = re.compile(
    r"(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2}(?:-[0-9A-Za-z.-]{1,64})?(?:\+[0-9A-Za-z.-]{1,64})?"
)
DIGEST: Final = re.compile(r"[0-9a-f]{64}")
COMMANDS: Final = {"node": frozenset({"node"}), "python": frozenset({"python", "python3"})}
FOLDER_VARIABLE: Final = "${__dirname}"
ANY_VARIABLE: Final = re.compile(r"\$\{[^}]*\}|\$\(|`")
SECRET: Final = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
CONTROLLING: Final = re.compile(
    r"(LD_.*|DYLD_.*|PYTHON.*|NODE_.*|PATH|HOME|BASH_ENV|ENV|IFS|SHELL|GIT_.*|.*_PROXY|.*_BASE_URL)", re.IGNORECASE
)
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
REQUIRED: Final = ("manifest_version", "name", "version", "description", "author", "server", "tools")
OPTIONAL: Final = frozenset(
    {
        *("compatibility", "display_name", "documentation", "homepage", "icon", "keywords", "license"),
        *("long_description", "privacy_policies", "repository", "support"),
    }
)
TOOLS_MAX: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """One bundle that may be used; the command's arguments name its folder as ${__dirname}; tools are the declared."""

    name: str
    version: str
    path: str
    sha256: str
    files: HarnessFiles
    command: str
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    tools: tuple[str, ...]


def read_bundle(files: HarnessFiles, path: str, sha256: str, forbidden: frozenset[str] = frozenset()) -> Bundle:
    """Judge the bundle at a path; raises BadRequest that names the rule it breaks."""
    file = files.get(path)
    if file is None:
        raise refused("file-there", path, "there is no such file")
    require_plain(path, file)
    if DIGEST.fullmatch(sha256) is None or hashlib.sha256(file.data).hexdigest() != sha256:
        raise refused("pinned", path, "is not what its SHA-256 says", "write the output of sha256sum")
    own = read_archive(file.data, path)
    at = f"{path}!{MANIFEST}"
    values = json_in(text_of(own, MANIFEST, MANIFEST_BYTES_MAX), at)
    require_keys(values, at, REQUIRED, OPTIONAL)
    require_facts(values, at)
    command, args, env = start_of(values["server"], own, f"{at}: server")
    return Bundle(
        name=require_server_name(str(values["name"]), f"{at}: name"),
        version=str(values["version"]),
        path=path,
        sha256=sha256,
        files=own,
        command=command,
        args=args,
        env=env,
        tools=declared(values["tools"], f"{at}: tools", forbidden),
    )


def require_keys(values: JsonObject, at: str, required: tuple[str, ...], optional: frozenset[str]) -> None:
    """Refuse an object that lacks a key, or has one that nothing reads."""
    missing = [name for name in required if name not in values]
    if missing:
        raise refused("required-key", at, f"{missing[0]!r} is missing")
    unknown = sorted(set(values) - set(required) - optional)
    if unknown:
        raise refused("unknown-key", at, f"{unknown[0]!r} is not taken")


def object_in(value: Json, at: str) -> JsonObject:
    """Return a value that has to be an object."""
    if not isinstance(value, dict):
        raise refused("key-kind", at, "is no object")
    return value


def require_facts(values: JsonObject, at: str) -> None:
    """Judge version, description and author."""
    if values["manifest_version"] not in VERSIONS:
        raise refused("manifest-version", at, f"is none of the versions {', '.join(sorted(VERSIONS))}")
    version = values["version"]
    if not isinstance(version, str) or SEMVER.fullmatch(version) is None:
        raise refused("version", at, "'version' is no semantic version")
    author = object_in(values["author"], f"{at}: author").get("name")
    for name, value in (("name", values["name"]), ("description", values["description"]), ("author.name", author)):
        if not isinstance(value, str) or not value.strip() or len(value) > 1_024:
            raise refused("key-kind", at, f"{name!r} is no text of 1 to 1024 characters")


def start_of(value: Json, own: HarnessFiles, at: str) -> tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the command, its arguments and its variables; raises for what may not be started."""
    server = object_in(value, at)
    require_keys(server, at, ("type", "entry_point", "mcp_config"), frozenset())
    entry = server["entry_point"]
    if not isinstance(entry, str) or require_path(entry, f"{at}.entry_point", "entry-inside") not in own:
        raise refused("entry-inside", f"{at}.entry_point", "names no file of the bundle")
    start = object_in(server["mcp_config"], f"{at}.mcp_config")
    require_keys(start, f"{at}.mcp_config", ("command", "args"), frozenset({"env"}))
    kind, command = server["type"], start["command"]
    program = f"{FOLDER_VARIABLE}/{entry}"
    if kind == "binary":
        if command != program or own[entry].kind is not FileKind.EXECUTABLE:
            raise refused("command", at, "starts another program than its entry, or one that cannot be executed")
    elif not isinstance(kind, str) or not isinstance(command, str) or command not in COMMANDS.get(kind, frozenset()):
        raise refused("command", at, "starts a program that is not allowed", "node for node, python3 for python")
    args = arguments(start["args"], f"{at}.mcp_config.args")
    if kind != "binary" and (not args or args[0] != program):
        raise refused("command", at, f"the first argument is not {program}")
    return str(command), args, variables(start.get("env", {}), f"{at}.mcp_config.env")


def arguments(value: Json, at: str) -> tuple[str, ...]:
    """Return the arguments; the only thing that is filled in is the bundle's folder."""
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise refused("key-kind", at, "is no list of texts")
    args = tuple(str(entry) for entry in value)
    if any(ANY_VARIABLE.search(entry.replace(FOLDER_VARIABLE, "")) or "\0" in entry for entry in args):
        raise refused("no-variables", at, f"asks for more to be filled in than {FOLDER_VARIABLE}")
    return args


def variables(value: Json, at: str) -> tuple[tuple[str, str], ...]:
    """Return the variables; none may look like a secret or change how programs are found and loaded."""
    found = object_in(value, at)
    for name, entry in found.items():
        if VARIABLE.fullmatch(name) is None or not isinstance(entry, str):
            raise refused("key-kind", at, f"{name[:80]!r} is no variable with a text")
        if SECRET.search(name) or ANY_VARIABLE.search(entry) or "\0" in entry:
            raise refused("no-secrets", at, f"{name!r} looks like a secret, or asks for one", "servers get no keys")
        if CONTROLLING.fullmatch(name):
            raise refused("no-secrets", at, f"{name!r} changes what programs load or reach")
    return tuple(sorted((name, str(entry)) for name, entry in found.items()))


def declared(value: Json, at: str, forbidden: frozenset[str]) -> tuple[str, ...]:
    """Return the names of the declared tools."""
    if not isinstance(value, list) or not 1 <= len(value) <= TOOLS_MAX:
        raise refused("declared-tools", at, f"is no list of 1 to {TOOLS_MAX} tools")
    names: list[str] = []
    for number, entry in enumerate(value):
        tool = object_in(entry, f"{at}[{number}]")
        require_keys(tool, f"{at}[{number}]", ("name",), frozenset({"description"}))
        name = tool["name"]
        if not isinstance(name, str):
            raise refused("tool-name", f"{at}[{number}]", "the name is no text")
        names.append(require_tool_name(name, f"{at}[{number}]", forbidden=forbidden))
    if len(set(names)) != len(names):
        raise refused("declared-tools", at, "names a tool twice")
    return tuple(sorted(names))
