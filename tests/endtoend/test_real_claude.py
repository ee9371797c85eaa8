"""The real Claude Code CLI takes the scripted model for a model: it edits, runs, calls MCP and ends."""

import hashlib
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from real_claude import Claude
from recording_mcp import recording_mcp

from workloop.testing.model.moves import OVERLOADED, Call, Flaky, Say, by_brief, usage_limit
from workloop.testing.model_server import ModelServer

pytestmark = pytest.mark.real_agent

BRIEF = "key: fix-greeting\nrole: work\ncontract_hash: 0123abcd\n\nGreet politely."
QUEUE = ("workloop", "work_loop")
NEW_TEXT = "good morning\n"
NEW_BLOB = hashlib.sha1(b"blob 13\0" + NEW_TEXT.encode(), usedforsecurity=False).hexdigest()


def test_agent_edits_runs_a_command_and_calls_the_queue(claude: Claude) -> None:
    (claude.workdir / "greeting.txt").write_text("hello\n")
    outcome = {"kind": "commit", "ref": "<<result:[0-9a-f]{40}>>"}
    script = [
        Call("Read", {"file_path": "greeting.txt"}),
        Call("Edit", {"file_path": "greeting.txt", "old_string": "hello", "new_string": "good morning"}),
        Call("Bash", {"command": "git hash-object greeting.txt", "description": "hash it"}),
        Call(QUEUE, {"action": "complete", "contract_hash": "<<brief:contract_hash>>", "outcome": outcome}),
        Say("Done."),
    ]
    with ModelServer(script) as model, recording_mcp("secret") as mcp:
        run = claude.run(BRIEF, model.url, mcp=mcp.configuration())

    assert (claude.workdir / "greeting.txt").read_text() == NEW_TEXT
    assert mcp.calls == [
        {
            "action": "complete",
            "contract_hash": "0123abcd",
            "outcome": {"kind": "commit", "ref": NEW_BLOB},
        }
    ]
    assert [(server["name"], server["status"]) for server in run.start["mcp_servers"]] == [("workloop", "connected")]
    assert (run.code, run.result["type"], run.result["subtype"]) == (0, "result", "success")
    assert (run.result["is_error"], run.result["result"]) == (False, "Done.")
    assert model.problems == ()
    assert [request.move for request in model.requests] == [
        "call Read",
        "call Edit",
        "call Bash",
        "call mcp__workloop__work_loop",
        "say",
    ]


def test_tools_behind_the_cli_s_own_search_are_found_and_called(new_claude: Callable[..., Claude]) -> None:
    claude = new_claude(ENABLE_TOOL_SEARCH="true")
    script = [Call(QUEUE, {"action": "heartbeat"}), Say("Done.")]
    with ModelServer(script) as model, recording_mcp("secret") as mcp:
        run = claude.run(BRIEF, model.url, mcp=mcp.configuration())

    assert [call["action"] for call in mcp.calls] == ["heartbeat"]
    assert [request.move for request in model.requests if request.kind == "messages"] == [
        "call ToolSearch",
        "call mcp__workloop__work_loop",
        "say",
    ]
    assert run.result["result"] == "Done."


def test_one_server_plays_two_roles_for_two_sessions_at_once(new_claude: Callable[..., Claude]) -> None:
    worker, verifier = new_claude("worker"), new_claude("verifier")
    os.mkfifo(worker.workdir.parent / "meeting")
    wait = Call("Bash", {"command": "timeout 60 cat ../meeting", "description": "wait for the other"})
    come = Call("Bash", {"command": "timeout 60 tee ../meeting <<< met", "description": "come"})
    parts = by_brief({"role: work": [wait, Say("worked")], "role: verify": [come, Say("verified")]})
    with ModelServer(parts) as model, ThreadPoolExecutor(2) as pool:
        work = pool.submit(worker.run, BRIEF, model.url)
        verify = pool.submit(verifier.run, BRIEF.replace("role: work", "role: verify"), model.url)
        answers = work.result().result["result"], verify.result().result["result"]

    assert answers == ("worked", "verified")
    last = {request.session: request.last_result for request in model.requests}
    assert list(last.values()) == ["met", "met"]


def test_agent_waits_out_an_overloaded_model_and_then_ends_well(claude: Claude) -> None:
    with ModelServer([Flaky(first=OVERLOADED, tries=1, then=Say("Done."))]) as model:
        run = claude.run(BRIEF, model.url)

    assert [request.move for request in model.requests] == ["fail 529", "say"]
    assert [event["error_status"] for event in run.events if event.get("subtype") == "api_retry"] == [529]
    assert run.result["result"] == "Done."


def test_usage_limit_ends_the_run_after_one_request(claude: Claude) -> None:
    with ModelServer([usage_limit(resets_at=2_000_000_000)]) as model:
        run = claude.run(BRIEF, model.url)

    assert [request.move for request in model.requests if request.kind == "messages"] == ["fail 429"]
    assert (run.code, run.result["is_error"], run.result["api_error_status"]) == (1, True, 429)


@pytest.mark.parametrize("fault", ["wrong token", "nothing listens"])
def test_missing_queue_shows_in_the_first_event_and_the_run_goes_on(claude: Claude, fault: str) -> None:
    script = [Call(QUEUE, {"action": "complete"}), Say("never said")]
    with ModelServer(script) as model, recording_mcp("secret") as mcp:
        if fault == "nothing listens":
            mcp.url = f"http://127.0.0.1:{free_port()}/mcp"
        run = claude.run(BRIEF, model.url, mcp=mcp.configuration(token="wrong"))

    assert mcp.calls == []
    assert [server["status"] for server in run.start["mcp_servers"]] == ["failed"]
    assert (run.code, run.result["subtype"], run.result["is_error"]) == (0, "success", False)
    assert run.result["result"] == "I cannot go on: the tool mcp__workloop__work_loop is not offered to me."


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
