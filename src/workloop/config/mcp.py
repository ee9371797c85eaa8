"""Which MCP files may reach a session: the ones an operator named, outside of every work dir, that leak no secret.

A file that is merely found in a work dir is never used. Both forms that agents know are looked at in every file, so
that a harmless table for the reader cannot cover a hostile one for the agent.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from workloop.config.trust import read_trusted
from workloop.domain.errors import BadRequest
from workloop.domain.origin import is_loopback, keeps_secrets, origin_of
from workloop.domain.reader import Json

TABLES = ("mcpServers", "mcp", "mcp_servers", "servers")
OURS = "workloop"
OUR_VARIABLES = ("WORKLOOP_TOKEN", "WORKLOOP_TOKEN_FILE")
FOUND_NAMES = (".mcp.json", "opencode.json", ".qwen/settings.json", ".gemini/settings.json", ".codex/config.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """One server of a file: an address, or a program that is started on this machine before any permission rule."""

    name: str
    url: str = ""
    command: str = ""


def vet_mcp_file(path: Path, entry: str, work_dirs: Sequence[Path], origin: str = "") -> tuple[McpServer, ...]:
    """Return a named file's servers; raises BadRequest, naming the entry, when sessions must not get it.

    origin is the one server, beside this machine, that may be given the loop's own token.
    """
    for work_dir in work_dirs:
        if work_dir in path.resolve().parents or work_dir in path.parents:
            problem = f"{path} lies inside the work dir {work_dir}, where a session could change it"
            raise refused(entry, problem, "copy it to a folder outside, and name that")
    if not path.is_file():
        raise refused(entry, f"there is no file {path}", "make it, or leave the entry out")
    servers = list[McpServer]()
    for name, table in tables_of(path, entry):
        server = read_server(name, table)
        check_server(server, table, f"{entry}: {name}", origin)
        servers.append(server)
    return tuple(servers)


def found_files(work_dir: Path) -> tuple[Path, ...]:
    """Return the MCP files that lie in a work dir: sessions do not get them, which may surprise."""
    return tuple(work_dir / name for name in FOUND_NAMES if (work_dir / name).is_file())


def tables_of(path: Path, entry: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield every server of a file in whichever form it is written."""
    values = document_of(path, entry)
    for key in TABLES:
        table = values.get(key, {})
        if not isinstance(table, Mapping):
            raise refused(entry, f"{path}: {key} is no table", "correct the file")
        for name, server in table.items():
            if not isinstance(server, Mapping):
                raise refused(entry, f"{path}: {key}.{name} is no table", "correct the file")
            yield name, server


def document_of(path: Path, entry: str) -> Mapping[str, Json]:
    """Read a file of MCP servers, in JSON or TOML; one that cannot be read is refused, never dropped."""
    import tomllib

    text = read_trusted(path)
    try:
        values: Json = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refused(entry, f"{path}: {error}", "correct the file") from error
    if not isinstance(values, Mapping):
        raise refused(entry, f"{path} is no table", "correct the file")
    return values


def read_server(name: str, table: Mapping[str, Json]) -> McpServer:
    """Read where a server is; what names neither an address nor a program is left to the agent."""
    urls = [value for key in ("url", "serverUrl", "httpUrl") if isinstance(value := table.get(key), str)]
    command = table.get("command")
    words = command if isinstance(command, list) else [command, *as_list(table.get("args"))]
    text = " ".join(word for word in words if isinstance(word, str))
    return McpServer(name=name, url=urls[0] if urls else "", command=text)


def as_list(value: Json) -> list[Json]:
    """Return a list as it is and anything else as none."""
    return value if isinstance(value, list) else []


def check_server(server: McpServer, table: Mapping[str, Json], entry: str, origin: str) -> None:
    """Refuse a server that would get the loop's token, or any other secret where it can be read on the way."""
    for url in (value for key, value in texts_in(table) if value and key.lower().endswith("url")):
        if not keeps_secrets(url):
            raise refused(entry, f"{url} is neither https nor this machine", "use https")
    if server.name.lower() != OURS and not mentions_ours(table):
        return
    if server.command or not server.url:
        raise refused(entry, "a program would be given the loop's own token", "leave it out: the loop adds itself")
    here = is_loopback(urlsplit(server.url).hostname)
    if not here and (not origin or origin_of(server.url) != origin_of(origin)):
        raise refused(entry, f"{server.url} would be given the loop's own token", "leave it out: the loop adds itself")


def mentions_ours(table: Mapping[str, Json]) -> bool:
    """Tell whether an entry speaks of the loop's own token, in a name or in a value."""
    return any(variable in text for pair in texts_in(table) for text in pair for variable in OUR_VARIABLES)


def texts_in(value: Json, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text inside a value with the key that it stands at."""
    match value:
        case str():
            yield key, value
        case Mapping():
            for name, inner in value.items():
                yield name, ""
                yield from texts_in(inner, name)
        case list():
            for inner in value:
                yield from texts_in(inner, key)
        case _:
            return


def refused(entry: str, problem: str, hint: str) -> BadRequest:
    """Build the refusal of a file that sessions must not get."""
    return BadRequest("MCP_FILE_REFUSED", f"{entry}: {problem}", hint=hint, field=entry)
