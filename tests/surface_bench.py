"""What tests of the surfaces share: a project on disk, and one way to call an action through each surface."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client as McpClient
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent, TextResourceContents

from workloop.client import Client, LocalClient, RemoteClient, problem
from workloop.config import load, place_of, sample
from workloop.domain.campaign import CampaignSettings
from workloop.domain.errors import WorkloopError
from workloop.domain.grants import Actor
from workloop.interfaces.serving import Endpoint, make_endpoint
from workloop.runner.harness.port import McpEndpoint
from workloop.service.call import Queue
from workloop.service.campaigns import create_campaign
from workloop.testing.gitrepo import ScratchRepository, scratch_repository
from workloop.wiring import local_client, open_store, operator

TOOL = "work_loop"
CHILD_SECONDS = 60
Facts = dict[str, Any]
Call = Callable[[str, Facts], Facts]


@dataclass(frozen=True)
class Project:
    """A git repository with its settings and its store, as `workloop init` leaves them."""

    repository: ScratchRepository
    environment: dict[str, str]
    queue: Queue

    def argv(self, *words: str) -> list[str]:
        """Return how the command is called for this project."""
        return [sys.executable, "-m", "workloop", "-C", str(self.repository.path), *words]

    def work(self) -> str:
        """Commit something on a branch of its own, as a worker would; return the SHA."""
        self.repository.git("switch", "--quiet", "--create", "work")
        return self.repository.commit({"hello.txt": "hello\n"})

    def act(self, action: str, arguments: Facts, actor: Actor | None = None) -> Facts:
        """Run an action in this process; an error comes back as its problem document."""
        return told(LocalClient(self.queue, actor or operator()), action, arguments)


@contextmanager
def open_project(folder: Path) -> Generator[Project]:
    """Make a project and keep its store open."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WORKLOOP_")}
    environment["WORKLOOP_STATE"] = str(folder / "state")
    repository = scratch_repository(folder / "project")
    place = place_of(repository.path, environment)
    place.folder.mkdir(mode=0o700, parents=True)
    place.config.write_text(sample(place, "main"))
    store = open_store(place, create=True)
    create_campaign(store, "main", CampaignSettings())
    client = local_client(load(repository.path, environment))
    assert isinstance(client, LocalClient)
    try:
        yield Project(repository, environment, replace(client.queue, store=store))
    finally:
        client.queue.store.close()
        store.close()


def told(client: Client, action: str, arguments: Facts) -> Facts:
    """Call an action; an error comes back as its problem document."""
    try:
        return client.call(action, arguments)
    except WorkloopError as error:
        return problem(error)


@contextmanager
def serving(queue: Queue, **options: Any) -> Generator[tuple[BlockingPortal, Endpoint]]:
    """Serve a queue on loopback, in an event loop of its own thread."""
    with start_blocking_portal() as portal:
        endpoint = portal.call(lambda: make_async(queue, options))
        future, _ = portal.start_task(endpoint.serve)
        try:
            yield portal, endpoint
        finally:
            future.cancel()


async def make_async(queue: Queue, options: Mapping[str, Any]) -> Endpoint:
    """Build an endpoint inside the event loop."""
    return make_endpoint(queue, **options)


@contextmanager
def mcp_session(portal: BlockingPortal, transport: Any, mode: str = "auto") -> Generator[McpClient]:
    """Connect the official client through a transport."""
    with entered(portal, McpClient(transport, mode=mode)) as client:
        yield client


def entered(portal: BlockingPortal, manager: AbstractAsyncContextManager[Any]) -> AbstractContextManager[Any]:
    """Use an async context manager from a test's own thread."""
    return portal.wrap_async_context_manager(manager)


@contextmanager
def mcp_over_http(portal: BlockingPortal, endpoint: McpEndpoint, mode: str = "auto") -> Generator[McpClient]:
    """Connect the official client to an endpoint with its token."""
    client = httpx2.AsyncClient(headers={"Authorization": f"Bearer {endpoint.token}"})
    with (
        entered(portal, client) as http,
        mcp_session(portal, streamable_http_client(endpoint.url_mcp, http_client=http), mode) as session,
    ):
        yield session


@contextmanager
def mcp_over_stdio(
    portal: BlockingPortal, project: Project, profile: str, mode: str = "auto", **environment: str
) -> Generator[McpClient]:
    """Connect the official client to `workloop mcp`."""
    command, *words = project.argv("mcp", "--profile", profile)
    given = project.environment | environment
    transport = stdio_client(StdioServerParameters(command=command, args=words, env=given))
    with mcp_session(portal, transport, mode) as session:
        yield session


def through(portal: BlockingPortal, session: McpClient) -> Call:
    """Return how an action is called through a session; text and structure must say the same."""

    def call(action: str, arguments: Facts) -> Facts:
        result = portal.call(session.call_tool, TOOL, {"action": action, **arguments})
        structured: Facts = result.structured_content
        assert text_of(result.content[0]) == structured
        assert result.is_error == ("code" in structured and "suggested_fix" in structured)
        return structured

    return call


def text_of(content: object) -> Any:
    """Return the JSON that a text block or a text resource holds."""
    assert isinstance(content, TextContent | TextResourceContents)
    return json.loads(content.text)


def through_cli(project: Project) -> Call:
    """Return how an action is called by the command line."""

    def call(action: str, arguments: Facts) -> Facts:
        argv = project.argv("--json", *action.split("_") if action.startswith("lane_") else [VERBS.get(action, action)])
        argv += ["--data", json.dumps(arguments)]
        done = subprocess.run(
            argv, env=project.environment, capture_output=True, timeout=CHILD_SECONDS, check=False, text=True
        )
        return json.loads(done.stdout if done.stdout.strip() else done.stderr)

    return call


VERBS = {"add_items": "add"}


@contextmanager
def surface(name: str, project: Project) -> Generator[Call]:
    """Open one surface of a project, as the operator."""
    match name:
        case "cli":
            yield through_cli(project)
        case "mcp-stdio":
            with start_blocking_portal() as portal, mcp_over_stdio(portal, project, "operator") as session:
                yield through(portal, session)
        case "mcp-http":
            with serving(project.queue) as (portal, endpoint):
                admitted = endpoint.admit(operator())
                with mcp_over_http(portal, admitted) as session:
                    yield through(portal, session)
        case "http":
            with serving(project.queue) as (_, endpoint):
                admitted = endpoint.admit(operator())
                client = RemoteClient(admitted.url_api, admitted.token)
                yield lambda action, arguments: told(client, action, arguments)
        case _:
            yield project.act


PATTERNS = (
    (re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+Z"), "TIME"),
    (re.compile(r"\b[0-9a-z]{13}\.(\d+)\.[0-9a-f]{32}\b"), r"TOKEN.\1"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "SHA"),
    (re.compile(r"\b[0-9][0-9a-z]{12}\b"), "ID"),
)
AGES = frozenset({"silent_seconds"})
NUMBER_KEPT_MAX = 10**10


def normal(value: Any) -> Any:
    """Take out of an answer what differs from run to run: ids, tokens, commits and times."""
    match value:
        case str():
            for pattern, word in PATTERNS:
                value = pattern.sub(word, value)
            return value
        case bool():
            return value
        case int():
            return value if abs(value) < NUMBER_KEPT_MAX else "NUMBER"
        case Mapping():
            return {name: "AGO" if name in AGES else normal(inner) for name, inner in value.items()}
        case list():
            return [normal(inner) for inner in value]
        case _:
            return value
