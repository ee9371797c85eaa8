"""How the messages of the Agent Client Protocol are spelled, by the models of the protocol's own package."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from workloop.domain.errors import Fault
from workloop.runner.harness.acp.servers import Server

if TYPE_CHECKING:
    from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer
    from pydantic import BaseModel

PROTOCOL = 1
NO_SUCH_METHOD = -32601

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """What an agent says about itself at the start."""

    protocol: int
    version: str
    loads: bool
    resumes: bool
    transports: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How an agent ended its turn, and the tokens it reports for it."""

    reason: str
    usage: JsonObject


def require_package() -> None:
    """Load the protocol's package; raises Fault when it is not installed."""
    try:
        import_module("acp.schema")  # slow, so it is wanted before a loop runs
    except ImportError as error:
        hint = "pip install 'workloop[acp]'"
        raise Fault("HARNESS_MISSING", "acp: the package agent-client-protocol is missing", hint=hint) from error


def line_of(message: Mapping[str, object]) -> bytes:
    """Return one message as a line."""
    return msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n"


def dumped(model: "BaseModel") -> JsonObject:
    """Return a model as the protocol writes it."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def initialize(version: str) -> JsonObject:
    """Return the opening: no files and no terminals are offered, the agent uses its own."""
    from acp.schema import ClientCapabilities, FileSystemCapabilities, Implementation, InitializeRequest

    nothing = FileSystemCapabilities(read_text_file=False, write_text_file=False)
    return dumped(
        InitializeRequest(
            protocol_version=PROTOCOL,
            client_capabilities=ClientCapabilities(fs=nothing, terminal=False),
            client_info=Implementation(name="workloop", title="Workloop", version=version),
        )
    )


def read_agent(result: object) -> Agent:
    """Read the answer to the opening; raises ValueError when it is none."""
    from acp.schema import InitializeResponse

    answer = InitializeResponse.model_validate(result)
    can, info = answer.agent_capabilities, answer.agent_info
    mcp = can.mcp_capabilities if can else None
    session = can.session_capabilities if can else None
    ways = {"stdio": True, "http": bool(mcp and mcp.http), "sse": bool(mcp and mcp.sse)}
    return Agent(
        protocol=answer.protocol_version,
        version=f"{info.name} {info.version}".strip() if info else "",
        loads=bool(can and can.load_session),
        resumes=bool(session and session.resume is not None),
        transports=frozenset(way for way, open_ in ways.items() if open_),
    )


def authenticate(method: str) -> JsonObject:
    """Return a request to log in by a method that needs nobody."""
    from acp.schema import AuthenticateRequest

    return dumped(AuthenticateRequest(method_id=method))


def new_session(cwd: str, servers: tuple[Server, ...]) -> JsonObject:
    """Return the request for a fresh session."""
    from acp.schema import NewSessionRequest

    return dumped(NewSessionRequest(cwd=cwd, mcp_servers=[entry_of(server) for server in servers]))


def known_session(session_id: str, cwd: str, servers: tuple[Server, ...]) -> JsonObject:
    """Return the request for an earlier session, with or without its past."""
    from acp.schema import LoadSessionRequest

    entries = [entry_of(server) for server in servers]
    return dumped(LoadSessionRequest(session_id=session_id, cwd=cwd, mcp_servers=entries))


def entry_of(server: Server) -> "HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio":
    """Return an MCP server as the protocol names it."""
    from acp.schema import EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio, SseMcpServer

    headers = [HttpHeader(name=name, value=value) for name, value in server.headers.items()]
    match server.transport:
        case "http":
            return HttpMcpServer(type="http", name=server.name, url=server.url, headers=headers)
        case "sse":
            return SseMcpServer(type="sse", name=server.name, url=server.url, headers=headers)
        case _:
            env = [EnvVariable(name=name, value=value) for name, value in server.env.items()]
            return McpServerStdio(name=server.name, command=server.command, args=list(server.args), env=env)


def set_mode(session_id: str, mode: str) -> JsonObject:
    """Return the request for one of the agent's own modes."""
    from acp.schema import SetSessionModeRequest

    return dumped(SetSessionModeRequest(session_id=session_id, mode_id=mode))


def set_option(session_id: str, option: str, value: str) -> JsonObject:
    """Return the request for one of the agent's own options."""
    from acp.schema import SetSessionConfigOptionSelectRequest

    return dumped(SetSessionConfigOptionSelectRequest(session_id=session_id, config_id=option, value=value))


def prompt(session_id: str, text: str) -> JsonObject:
    """Return the one prompt of a session."""
    from acp.schema import PromptRequest, TextContentBlock

    return dumped(PromptRequest(session_id=session_id, prompt=[TextContentBlock(type="text", text=text)]))


def read_ended(result: object) -> Ended:
    """Read the answer to the prompt; raises ValueError when it is none."""
    from acp.schema import PromptResponse

    answer = PromptResponse.model_validate(result)
    return Ended(reason=answer.stop_reason, usage=dumped(answer.usage) if answer.usage else {})


def permitted(option_id: str) -> JsonObject:
    """Return the answer that chooses an option of a permission request; without one it is withdrawn."""
    from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

    chosen = AllowedOutcome(outcome="selected", option_id=option_id) if option_id else None
    return dumped(RequestPermissionResponse(outcome=chosen or DeniedOutcome(outcome="cancelled")))
