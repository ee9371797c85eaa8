"""How one line of JSON-RPC is answered; nothing of the queue is imported before it is asked for.

Two eras are spoken: the initialize handshake (2024-11-05 to 2025-11-25), and requests that each carry their protocol
version in `_meta` (2026-07-28), whose results say that they are complete and may not be kept.
"""

import json
from typing import TYPE_CHECKING, NamedTuple, cast

from workloop import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias, TypeVar

    from workloop.client import Client
    from workloop.domain.reader import JsonObject

    Facts: TypeAlias = dict[str, Any]
    Answer = TypeVar("Answer")

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)
BATCH_VERSIONS = ("2024-11-05", "2025-03-26")
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
SERVER = {"name": "workloop", "version": __version__}
CAPABILITIES: "Facts" = {"tools": {}, "resources": {}}
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, VERSION_UNSUPPORTED = -32602, -32603, -32022
CACHEABLE = frozenset({"server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read"})


class RpcError(Exception):
    """A request that gets an error object for an answer."""

    def __init__(self, code: int, message: str, data: "Facts | None" = None) -> None:
        super().__init__(message)
        self.body: Facts = {"code": code, "message": message} | ({"data": data} if data else {})


class Binding(NamedTuple):
    """How much of the tool is shown, and the claim that a worker's calls are for."""

    profile: str
    token: str = ""
    bound: bool = True


class LazyClient:
    """A client that is made at its first call, and made anew when that failed."""

    def __init__(self, make: "Callable[[], Client]", binding: Binding) -> None:
        self.make = make
        self.binding = binding
        self.made: Client | None = None

    def call(self, action: str, arguments: "JsonObject") -> "Facts":
        """Run one action."""
        if self.made is None:
            from workloop.interfaces.mcp.schema import Profile
            from workloop.interfaces.mcp.tool import narrowed

            self.made = narrowed(self.make(), Profile(self.binding.profile), self.binding.token)
        return self.made.call(action, arguments)


class Peer:
    """One client: which version it speaks, and the queue it reaches once it asks for something."""

    def __init__(self, make_client: "Callable[[], Client]", binding: Binding) -> None:
        self.client = LazyClient(make_client, binding)
        self.profile = binding.profile
        self.bound = binding.bound
        self.version = HANDSHAKE_VERSIONS[-1]
        self.methods: dict[str, Callable[[Facts], Facts]] = {
            "initialize": self.initialize,
            "server/discover": self.discover,
            "ping": lambda params: {},
            "tools/list": self.list_tools,
            "tools/call": self.call_tool,
            "resources/list": self.list_resources,
            "resources/templates/list": self.list_templates,
            "resources/read": self.read_resource,
        }

    def answer(self, line: bytes) -> bytes | None:
        """Answer one line, or nothing when it asks for nothing; never raises."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return failure(None, RpcError(PARSE_ERROR, "this line is not JSON"))
        if isinstance(message, list):
            return self.answer_batch(cast("list[object]", message))
        reply = self.reply(message)
        return None if reply is None else encode(reply)

    def answer_batch(self, messages: list[object]) -> bytes | None:
        """Answer a batch where the spoken version knows batches."""
        if not messages or self.version not in BATCH_VERSIONS:
            return failure(None, RpcError(INVALID_REQUEST, f"no batches in {self.version}"))
        replies = [reply for reply in map(self.reply, messages) if reply is not None]
        return encode(replies) if replies else None

    def reply(self, message: object) -> "Facts | None":
        """Answer one message; notifications and stray responses get none."""
        if not isinstance(message, dict):
            return error_of(None, RpcError(INVALID_REQUEST, "a message is an object"))
        fields = cast("Facts", message)
        method, asked = fields.get("method"), fields.get("id")
        if method is None and ("result" in fields or "error" in fields):
            return None
        if "id" not in fields and isinstance(method, str):
            return None
        if isinstance(asked, bool) or not isinstance(asked, str | int) or not isinstance(method, str):
            return error_of(None, RpcError(INVALID_REQUEST, "a request has a method and an id of text or whole number"))
        try:
            return {"jsonrpc": "2.0", "id": asked, "result": self.run(method, fields.get("params"))}
        except RpcError as refused:
            return error_of(asked, refused)
        except Exception as broken:
            return error_of(asked, recorded(broken))

    def run(self, method: str, params: object) -> "Facts":
        """Run one method, in the era that the request belongs to."""
        given = as_object(params, "params")
        meta = given.get("_meta")
        version = as_object(meta, "_meta").get(VERSION_KEY)
        if version is not None and version not in MODERN_VERSIONS:
            known: Facts = {"supported": [*HANDSHAKE_VERSIONS, *MODERN_VERSIONS], "requested": str(version)}
            raise RpcError(VERSION_UNSUPPORTED, f"protocol version {version} is not known", known)
        if method not in self.methods:
            raise RpcError(METHOD_NOT_FOUND, f"no method {method}")
        result = self.methods[method](given)
        return result if version is None else stamped(method, result)

    def initialize(self, params: "Facts") -> "Facts":
        """Agree on a version: the client's if it is known, else the newest of the handshake's."""
        asked = params.get("protocolVersion")
        self.version = str(asked) if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        return {"protocolVersion": self.version, "capabilities": CAPABILITIES, "serverInfo": SERVER}

    def discover(self, params: "Facts") -> "Facts":
        """Tell which versions are spoken without a handshake."""
        del params
        return {"supportedVersions": [*MODERN_VERSIONS, *HANDSHAKE_VERSIONS], "capabilities": CAPABILITIES}

    def list_tools(self, params: "Facts") -> "Facts":
        """List the tool; a worker without a claim has none, so that an ordinary chat pays nothing for it."""
        from workloop.interfaces.mcp.schema import Profile, tool

        del params
        if not self.bound:
            return {"tools": []}
        profile = Profile(self.profile)
        if profile is not Profile.WORKER:
            return {"tools": [tool(profile)]}
        from workloop.interfaces.mcp.tool import needs_of

        return {"tools": [tool(profile, needs_of(self.client, profile))]}

    def call_tool(self, params: "Facts") -> "Facts":
        """Run one action; a refusal is a result that the model reads."""
        from workloop.interfaces.mcp.schema import TOOL_NAME, Profile
        from workloop.interfaces.mcp.tool import call_tool

        if params.get("name") != TOOL_NAME or not self.bound:
            raise RpcError(INVALID_PARAMS, f"unknown tool: {params.get('name')}")
        given = as_object(params.get("arguments"), "arguments")
        result = call_tool(self.client, Profile(self.profile), given)
        content = [{"type": "text", "text": result.text}]
        return {"content": content, "structuredContent": result.structured, "isError": result.is_error}

    def list_resources(self, params: "Facts") -> "Facts":
        """List what can be read."""
        from workloop.interfaces.mcp import resources
        from workloop.interfaces.mcp.schema import Profile

        del params
        if not self.bound:
            return {"resources": []}
        return {"resources": self.reading(lambda: resources.listed(self.client, Profile(self.profile)))}

    def list_templates(self, params: "Facts") -> "Facts":
        """List the families of resources."""
        from workloop.interfaces.mcp import resources

        del params
        return {"resourceTemplates": resources.templates()}

    def read_resource(self, params: "Facts") -> "Facts":
        """Read one resource."""
        from workloop.interfaces.mcp import resources

        uri = str(params.get("uri", ""))
        text: str = self.reading(lambda: resources.read(self.client, uri))
        return {"contents": [{"uri": uri, "mimeType": resources.MIME, "text": text}]}

    def reading(self, read: "Callable[[], Answer]") -> "Answer":
        """Run a read; a refusal becomes a protocol error with the problem document."""
        from workloop.client import problem
        from workloop.domain.errors import WorkloopError

        try:
            return read()
        except WorkloopError as refused:
            raise RpcError(INVALID_PARAMS, refused.message, problem(refused)) from refused


def as_object(value: object, name: str) -> "Facts":
    """Return a value that must be an object; an absent one is empty."""
    if value is not None and not isinstance(value, dict):
        raise RpcError(INVALID_PARAMS, f"{name} is an object")
    return cast("Facts", value or {})


def stamped(method: str, result: "Facts") -> "Facts":
    """Add what the newer era wants in every result."""
    fresh: Facts = {"ttlMs": 0, "cacheScope": "private"} if method in CACHEABLE else {}
    return {"resultType": "complete", **fresh, **result, "_meta": {SERVER_KEY: SERVER}}


def recorded(broken: Exception) -> RpcError:
    """Keep a defect in the log and tell the client only its kind."""
    import logging

    logging.getLogger(__name__).error("an MCP request failed", exc_info=broken)
    return RpcError(INTERNAL_ERROR, f"workloop failed: {type(broken).__name__}")


def error_of(asked: str | int | None, refused: RpcError) -> "Facts":
    """Build the answer to a refused request."""
    return {"jsonrpc": "2.0", "id": asked, "error": refused.body}


def failure(asked: str | int | None, refused: RpcError) -> bytes:
    """Write the answer to a refused request."""
    return encode(error_of(asked, refused))


def encode(message: object) -> bytes:
    """Write one line of plain ASCII."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
