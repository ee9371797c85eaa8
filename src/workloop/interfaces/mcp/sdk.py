"""The tool as the official SDK serves it; importing this module costs seconds and tens of megabytes."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio
from anyio import to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
)
from starlette.requests import Request
from starlette.types import Scope

from workloop import __version__
from workloop.client import LocalClient, problem
from workloop.domain.errors import WorkloopError
from workloop.interfaces.mcp import resources
from workloop.interfaces.mcp.schema import PROFILE_OF, TOOL_NAME, Profile, tool
from workloop.interfaces.mcp.tool import call_tool, needs_of

ClientOf = Callable[[Scope], LocalClient]
Answer = TypeVar("Answer")
Context = ServerRequestContext[Any, Request]


def make_manager(client_of: ClientOf, limiter: anyio.CapacityLimiter) -> StreamableHTTPSessionManager:
    """Build the SDK's server: no sessions, no streams, one JSON answer per request."""
    handlers = Handlers(client_of, limiter)
    server: Server[Any] = Server(
        "workloop",
        version=__version__,
        get_tool_input_schema=no_header_parameters,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True)


def no_header_parameters(name: str) -> None:
    """Tell that no argument of the tool is repeated in a header."""
    del name


class Handlers:
    """Answers requests for whoever's token came with them, in worker threads."""

    def __init__(self, client_of: ClientOf, limiter: anyio.CapacityLimiter) -> None:
        self.client_of = client_of
        self.limiter = limiter

    def caller(self, context: Context) -> tuple[LocalClient, Profile]:
        """Return who asks and how much of the tool that grant sees."""
        assert context.request is not None
        client = self.client_of(context.request.scope)
        return client, PROFILE_OF[client.actor.grant]

    async def list_tools(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        """List the one tool as the caller's profile has it."""
        client, profile = self.caller(context)
        needs = await to_thread.run_sync(needs_of, client, profile, limiter=self.limiter)
        return ListToolsResult(tools=[Tool.model_validate(tool(profile, needs))])

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """Run one action."""
        client, profile = self.caller(context)
        if params.name != TOOL_NAME:
            raise MCPError(INVALID_PARAMS, f"unknown tool: {params.name}")
        arguments = params.arguments or {}
        result = await to_thread.run_sync(call_tool, client, profile, arguments, limiter=self.limiter)
        return CallToolResult(
            content=[TextContent(text=result.text)], structured_content=result.structured, is_error=result.is_error
        )

    async def list_resources(self, context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """List what the caller can read."""
        client, profile = self.caller(context)
        listed = await self.reading(partial(resources.listed, client, profile))
        return ListResourcesResult(resources=[Resource.model_validate(entry) for entry in listed])

    async def list_templates(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """List the families of resources."""
        entries = [ResourceTemplate.model_validate(entry) for entry in resources.templates()]
        return ListResourceTemplatesResult(resource_templates=entries)

    async def read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Read one resource."""
        client, _ = self.caller(context)
        text = await self.reading(partial(resources.read, client, params.uri))
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, mime_type=resources.MIME, text=text)])

    async def reading(self, read: Callable[[], Answer]) -> Answer:
        """Run a read in a worker thread; a refusal becomes a protocol error with the problem document."""
        try:
            return await to_thread.run_sync(read, limiter=self.limiter)
        except WorkloopError as refused:
            raise MCPError(INVALID_PARAMS, refused.message, problem(refused)) from refused
