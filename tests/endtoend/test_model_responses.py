"""The scripted model keeps the rules of the Responses API that Codex relies on."""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from workloop.testing.model.moves import (
    BAD_KEY,
    NO_CREDIT,
    OVERLOADED,
    PROMPT_TOO_LONG,
    Call,
    Cut,
    Fail,
    Flaky,
    Say,
    Step,
    Usage,
    rate_limited,
    usage_limit,
)
from workloop.testing.model_server import ModelServer

SECONDS = 20
SHELL = {"type": "function", "name": "exec_command", "parameters": {}}
PATCH = {"type": "custom", "name": "apply_patch"}
SEARCH = {"type": "tool_search", "execution": "client"}
QUEUE = {"type": "namespace", "name": "mcp__workloop", "tools": [{"type": "function", "name": "work_loop"}]}
CONTEXT = "<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>"


class Talk:
    """One conversation with the model."""

    def __init__(self, port: int, tools: list[dict[str, Any]]) -> None:
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        self.tools = tools
        self.items: list[dict[str, Any]] = [user(CONTEXT), user("role: work\ncontract_hash: abc")]

    def ask(self, **more: object) -> tuple[int, Mapping[str, str], bytes]:
        """Send the conversation; returns status, headers and body."""
        body = {"model": "m", "input": self.items, "tools": self.tools, **more}
        headers = {"authorization": "Bearer dummy-key", "session-id": "s1"}
        self.http.request("POST", "/v1/responses", json.dumps(body), headers)
        answer = self.http.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()

    def output(self) -> list[dict[str, Any]]:
        """Ask for a whole answer and keep it in the conversation."""
        output = json.loads(self.ask()[2])["output"]
        self.items += output
        return output

    def stream(self) -> list[dict[str, Any]]:
        """Ask for a stream and return its events."""
        data = self.ask(stream=True)[2].decode()
        return [json.loads(line[6:]) for line in data.splitlines() if line.startswith("data: ")]

    def answer(self, call: Mapping[str, Any], result: object) -> None:
        """Enter a tool's result."""
        kind = str(call["type"]).replace("_call", "_call_output")
        self.items.append({"type": kind, "call_id": call["call_id"], "output": result})


def user(text: str) -> dict[str, Any]:
    """Return a message of the user."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


class Bench:
    """Makes servers and conversations, and closes them all."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        self.servers: list[ModelServer] = []

    def playing(self, *script: Step, tools: list[dict[str, Any]] | None = None, usage: Usage | None = None) -> Talk:
        """Return a conversation with a new server that plays this script."""
        server = self.stack.enter_context(ModelServer(script, usage=usage))
        self.servers.append(server)
        talk = Talk(server.port, [SHELL, PATCH, QUEUE] if tools is None else tools)
        self.stack.callback(talk.http.close)
        return talk


@pytest.fixture
def bench() -> Iterator[Bench]:
    with ExitStack() as stack:
        yield Bench(stack)


def test_responses_step_follows_from_the_conversation_and_results_fill_the_next_call(bench: Bench) -> None:
    talk = bench.playing(
        Call("Bash", {"command": "one <<brief:contract_hash>>"}), Call("Bash", {"command": "<<result>>"})
    )
    again = json.loads(talk.ask()[2])["output"][0]
    first = talk.output()[0]
    talk.answer(first, "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nf00d\n")
    second = talk.output()[0]

    commands = [json.loads(call["arguments"])["cmd"] for call in (again, first, second)]
    assert commands == ["one abc", "one abc", "f00d"]
    assert len({call["call_id"] for call in (again, first, second)}) == 3


def test_responses_mcp_tool_is_called_in_its_namespace(bench: Bench) -> None:
    talk = bench.playing(Call(("workloop", "work_loop"), {"action": "show"}))
    call = talk.output()[0]

    assert (call["namespace"], call["name"], call["arguments"]) == ("mcp__workloop", "work_loop", '{"action": "show"}')
    assert bench.servers[0].requests[0].move == "call mcp__workloop__work_loop"
    assert bench.servers[0].requests[0].tools == ("exec_command", "apply_patch", "mcp__workloop__work_loop")


def test_responses_tool_that_is_held_back_is_searched_once(bench: Bench) -> None:
    talk = bench.playing(Call(("workloop", "work_loop"), {"action": "show"}), tools=[SHELL, SEARCH])
    search = talk.output()[0]
    kept = list(talk.items)
    talk.items.append({"type": "tool_search_output", "call_id": search["call_id"], "tools": [QUEUE]})
    found = talk.output()[0]
    talk.items = [*kept, {"type": "tool_search_output", "call_id": search["call_id"], "tools": []}]
    missing = talk.output()[0]

    assert (search["type"], search["execution"]) == ("tool_search_call", "client")
    assert (found["type"], found["name"]) == ("function_call", "work_loop")
    assert "not offered" in missing["content"][0]["text"]


def test_responses_file_is_written_by_a_patch_and_changed_by_the_shell(bench: Bench) -> None:
    edit = Call("Edit", {"file_path": "a.sh", "old_string": "1", "new_string": "'2'"})
    talk = bench.playing(Call("Write", {"file_path": "a.txt", "content": "hi\n"}), edit)
    write = talk.output()[0]
    talk.answer(write, "Success")
    change = json.loads(talk.output()[0]["arguments"])["cmd"]

    assert (write["type"], write["name"]) == ("custom_tool_call", "apply_patch")
    assert write["input"] == "*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch\n"
    assert change.startswith("python3 -c")
    assert change.endswith("""a.sh 1 ''"'"'2'"'"''""")


def test_responses_stream_holds_what_the_whole_answer_holds(bench: Bench) -> None:
    talk = bench.playing(Call("Bash", {"command": "ls"}, say="Looking."), usage=Usage(input=5, cache_read=7, output=3))
    events = talk.stream()
    ended = events[-1]["response"]
    halves = [event["delta"] for event in events if event["type"] == "response.function_call_arguments.delta"]

    assert events[0]["type"] == "response.created"
    assert (events[-1]["type"], ended["status"]) == ("response.completed", "completed")
    assert [item["type"] for item in ended["output"]] == ["message", "function_call"]
    assert json.loads("".join(halves))["cmd"] == "ls"
    assert (ended["usage"]["input_tokens"], ended["usage"]["input_tokens_details"]["cached_tokens"]) == (12, 7)


@pytest.mark.parametrize(("stop", "reason"), [("max_tokens", "max_output_tokens"), ("refusal", "content_filter")])
def test_responses_answer_that_was_cut_short_says_why(bench: Bench, stop: Any, reason: str) -> None:
    events = bench.playing(Say("half a", stop=stop)).stream()

    assert events[-1]["type"] == "response.incomplete"
    assert events[-1]["response"]["incomplete_details"] == {"reason": reason}


@pytest.mark.parametrize(
    ("fail", "status", "kind"),
    [
        (usage_limit(resets_at=1_900_000_000), 429, "usage_limit_reached"),
        (rate_limited(), 429, "requests"),
        (OVERLOADED, 503, "server_error"),
        (BAD_KEY, 401, "invalid_request_error"),
        (NO_CREDIT, 429, "insufficient_quota"),
        (PROMPT_TOO_LONG, 400, "invalid_request_error"),
        (Fail(status=418, kind="teapot", message="short and stout"), 418, "teapot"),
    ],
)
def test_responses_failure_is_said_as_its_own_provider_does(bench: Bench, fail: Fail, status: int, kind: str) -> None:
    given, _headers, body = bench.playing(fail).ask()

    assert (given, json.loads(body)["error"]["type"]) == (status, kind)


def test_responses_usage_limit_tells_its_reset_in_body_and_headers(bench: Bench) -> None:
    _status, headers, body = bench.playing(usage_limit(resets_at=1_900_000_000, retry_after=60)).ask()

    assert json.loads(body)["error"]["resets_at"] == 1_900_000_000
    assert headers["x-codex-primary-reset-at"] == "1900000000"
    assert headers["x-codex-primary-used-percent"] == "100.0"


def test_responses_requests_without_tools_never_take_a_move_but_share_a_bad_key(bench: Bench) -> None:
    good, bad = bench.playing(OVERLOADED, tools=[]), bench.playing(BAD_KEY, tools=[])

    assert (good.ask()[0], bad.ask()[0]) == (200, 401)
    assert bench.servers[0].requests[0].kind == "side"


def test_responses_only_the_first_tries_of_a_flaky_step_fail(bench: Bench) -> None:
    talk = bench.playing(Flaky(first=OVERLOADED, tries=2, then=Say("there")))

    assert [talk.ask()[0] for _ in range(3)] == [503, 503, 200]


def test_responses_error_event_and_cut_end_a_stream_that_has_begun(bench: Bench) -> None:
    fail = Fail(status=503, kind="overloaded_error", message="Overloaded", cause="overloaded", in_stream=True)
    failed = bench.playing(fail).stream()[-1]
    with pytest.raises(http.client.IncompleteRead) as caught:
        bench.playing(Cut("half a")).ask(stream=True)

    assert (failed["type"], failed["response"]["error"]["code"]) == ("response.failed", "server_is_overloaded")
    assert b"half a" in caught.value.partial
