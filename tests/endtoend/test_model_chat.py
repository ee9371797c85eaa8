"""The scripted model keeps the rules of the Chat Completions API that opencode, Copilot and Qwen Code rely on."""

import http.client
import json
from collections.abc import Generator
from contextlib import contextmanager
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
    Say,
    Scenario,
    usage_limit,
)
from workloop.testing.model_server import ModelServer

SECONDS = 20
QUEUE = ("workloop", "work_loop")


def tool(name: str, *parameters: str, required: tuple[str, ...] = ()) -> dict[str, Any]:
    schema = {"type": "object", "properties": {each: {"type": "string"} for each in parameters}}
    return {"type": "function", "function": {"name": name, "parameters": {**schema, "required": list(required)}}}


class Client:
    """One kept-alive connection to the model, with the conversation so far."""

    def __init__(self, port: int) -> None:
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        self.messages: list[dict[str, Any]] = [
            {"role": "system", "content": "Working directory: /repo"},
            {"role": "user", "content": [{"type": "text", "text": "role: work\ncontract_hash: abc"}]},
        ]

    def send(self, **more: object) -> tuple[int, bytes, http.client.HTTPMessage]:
        body = {"model": "m", "messages": self.messages, **more}
        self.http.request("POST", "/v1/chat/completions", json.dumps(body), {"authorization": "Bearer dummy-key"})
        answer = self.http.getresponse()
        return answer.status, answer.read(), answer.headers

    def ask(self, *tools: dict[str, Any]) -> dict[str, Any]:
        """Return the message of a whole answer."""
        status, data, _headers = self.send(tools=list(tools))
        assert status == 200
        return json.loads(data)["choices"][0]["message"]

    def asked_for(self, *tools: dict[str, Any]) -> tuple[str, Any]:
        """Return the tool that the model calls, with its arguments."""
        message = self.ask(*tools)
        self.messages.append(message)
        function = message["tool_calls"][0]["function"]
        return function["name"], json.loads(function["arguments"])

    def go_on(self, result: str) -> None:
        """Enter the result of the call last asked for."""
        call_id = self.messages[-1]["tool_calls"][0]["id"]
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": result})


@contextmanager
def talking(scenario: Scenario) -> Generator[Client]:
    with ModelServer(scenario) as model:
        client = Client(model.port)
        yield client
        client.http.close()


def chunks(data: bytes) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in data.decode().split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def test_chat_step_follows_from_the_conversation_and_results_fill_the_next_call() -> None:
    script = [
        Call("Bash", {"command": "git rev-parse HEAD"}),
        Call(QUEUE, {"ref": "<<result:[0-9a-f]{4}>>"}),
        Say("ok"),
    ]
    declared = (tool("bash", "command"), tool("workloop_work_loop", "ref"))
    with talking(script) as client:
        assert client.asked_for(*declared) == ("bash", {"command": "git rev-parse HEAD"})
        client.go_on("beef")
        assert client.asked_for(*declared) == ("workloop_work_loop", {"ref": "beef"})
        client.go_on("done")
        assert client.ask(*declared)["content"] == "ok"


def test_chat_call_of_a_tool_that_is_not_offered_is_made_only_where_the_script_means_it() -> None:
    with talking([Call("run_tests", {"module": "a"}, unoffered=True)]) as client:
        assert client.asked_for(tool("bash", "command")) == ("run_tests", {"module": "a"})
    with talking([Call("run_tests", {"module": "a"})]) as client:
        assert "run_tests is not offered" in client.ask(tool("bash", "command"))["content"]


@pytest.mark.parametrize(
    ("declared", "path", "content"),
    [
        (tool("write", "filePath", "content"), "filePath", "content"),
        (tool("create", "path", "file_text"), "path", "file_text"),
        (tool("write_file", "file_path", "content"), "file_path", "content"),
    ],
)
def test_chat_file_is_written_with_the_names_that_the_cli_declares(
    declared: dict[str, Any], path: str, content: str
) -> None:
    with talking([Call("Write", {"file_path": "a.txt", "content": "hi"})]) as client:
        assert client.asked_for(declared)[1] == {path: "/repo/a.txt", content: "hi"}


def test_chat_arguments_that_the_cli_requires_are_added() -> None:
    shell = tool("run_shell_command", "command", "is_background", required=("command", "is_background"))
    with talking([Call("Bash", {"command": "true"})]) as client:
        assert client.asked_for(shell) == ("run_shell_command", {"is_background": False, "command": "true"})


def test_chat_mcp_tool_that_is_held_back_is_searched_and_called_through_the_cli_s_own_tool() -> None:
    declared = (tool("tool_search", "query"), tool("tool_call", "name", "arguments"))
    with talking([Call(QUEUE, {"action": "show"}), Say("ok")]) as client:
        name = "mcp__workloop__work_loop"
        assert client.asked_for(*declared) == ("tool_search", {"query": f"select:{name}"})
        client.go_on("found")
        assert client.asked_for(*declared) == ("tool_call", {"name": name, "arguments": {"action": "show"}})
        client.go_on("ok")
        assert client.ask(*declared)["content"] == "ok"


def test_chat_tool_that_is_not_offered_is_admitted() -> None:
    with talking([Call(QUEUE, {})]) as client:
        assert "not offered" in client.ask(tool("bash"))["content"]


def test_chat_stream_holds_what_the_whole_answer_holds() -> None:
    with talking([Call("Bash", {"command": "true"}, say="first")]) as client:
        parts = chunks(client.send(stream=True, tools=[tool("bash", "command")])[1])
    deltas = [part["choices"][0]["delta"] for part in parts if part["choices"]]
    calls = [call["function"] for delta in deltas for call in delta.get("tool_calls", ())]
    assert "".join(delta.get("content") or "" for delta in deltas) == "first"
    assert json.loads("".join(call["arguments"] for call in calls)) == {"command": "true"}
    assert parts[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert parts[-1]["usage"]["prompt_tokens"] == 1200


@pytest.mark.parametrize(
    ("fail", "status", "kind"),
    [
        (usage_limit(resets_at=1_900_000_000), 429, "usage_limit_reached"),
        (OVERLOADED, 503, "server_error"),
        (BAD_KEY, 401, "invalid_request_error"),
        (NO_CREDIT, 429, "insufficient_quota"),
        (PROMPT_TOO_LONG, 400, "invalid_request_error"),
        (Fail(status=418, kind="teapot", message="no", headers={"retry-after": "7"}), 418, "teapot"),
    ],
)
def test_chat_failure_is_said_as_its_own_provider_does(fail: Fail, status: int, kind: str) -> None:
    with talking([fail]) as client:
        got, data, headers = client.send(tools=[tool("bash")])
    assert (got, json.loads(data)["error"]["type"]) == (status, kind)
    assert status != 418 or headers["retry-after"] == "7"


def test_chat_error_in_the_stream_comes_after_its_beginning() -> None:
    failing = Fail(status=500, kind="server_error", message="broke", in_stream=True)
    with talking([failing]) as client:
        status, data, _headers = client.send(stream=True, tools=[tool("bash")])
    assert status == 200
    assert b"I was about to" in data
    assert b'"message": "broke"' in data


def test_chat_stream_that_is_cut_has_no_end() -> None:
    with talking([Cut("half a")]) as client, pytest.raises(http.client.IncompleteRead) as cut:
        client.send(stream=True, tools=[tool("bash")])
    assert b"half a" in cut.value.partial
    assert b"[DONE]" not in cut.value.partial
