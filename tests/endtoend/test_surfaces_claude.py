"""The real Claude Code CLI works on an item through our own servers: over loopback HTTP and over stdio."""

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest
from real_claude import Claude

from surface_bench import Facts, Project, open_project, serving
from workloop.domain.grants import Actor, Grant
from workloop.testing.model.moves import Call, Say
from workloop.testing.model_scenarios import WORK_LOOP, Edit, honest_worker
from workloop.testing.model_server import ModelServer

pytestmark = pytest.mark.real_agent
EDIT = Edit(path="README", old="hello", new="good morning")


@pytest.fixture
def project(tmp_path: Path) -> Generator[Project]:
    with open_project(tmp_path / "project") as made:
        made.act("add_items", {"items": [{"key": "greet", "title": "Greet", "verification": "none"}]})
        made.repository.git("switch", "--quiet", "--create", "work")
        yield made


def work(claude: Claude, project: Project, claimed: Facts, servers: dict[str, object]) -> Facts:
    """Let the CLI work on a claimed item; return how the item stands then."""
    script = [Call(WORK_LOOP, {"action": "show"}), *honest_worker(EDIT, "git status --short")]
    brief = f"key: greet\nrole: work\ncontract_hash: {claimed['contract_hash']}\n\nGreet politely."
    at_work = replace(claude, workdir=project.repository.path)
    with ModelServer(script) as model:
        run = at_work.run(brief, model.url, mcp={"mcpServers": {"workloop": servers}})
    assert model.problems == ()
    assert [(server["name"], server["status"]) for server in run.start["mcp_servers"]] == [("workloop", "connected")]
    assert run.code == 0, run.stderr
    assert isinstance(script[-1], Say)
    return project.act("show", {"key": "greet"})


def test_a_session_over_http_settles_its_item(claude: Claude, project: Project) -> None:
    claimed = project.act("claim", {"holder": "one"})
    with serving(project.queue) as (_, endpoint):
        admitted = endpoint.admit(Actor(principal="session:1", grant=Grant.SESSION, token=claimed["token"]))
        headers = {"Authorization": f"Bearer {admitted.token}"}
        shown = work(claude, project, claimed, {"type": "http", "url": admitted.url_mcp, "headers": headers})
    assert (shown["state"], shown["candidate"]) == ("succeeded", project.repository.head)


def test_a_session_over_stdio_settles_its_item(claude: Claude, project: Project) -> None:
    claimed = project.act("claim", {"holder": "one"})
    command, *words = project.argv("mcp", "--profile", "worker")
    environment = {"WORKLOOP_TOKEN": claimed["token"], "WORKLOOP_STATE": project.environment["WORKLOOP_STATE"]}
    shown = work(claude, project, claimed, {"command": command, "args": words, "env": environment})
    assert (shown["state"], shown["candidate"]) == ("succeeded", project.repository.head)
