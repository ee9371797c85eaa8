"""The scripted model keeps the rules of the Messages API that agent CLIs rely on."""

import http.client
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import pytest

from workloop.testing.model.conversation import Conversation
from workloop.testing.model.exchange import Exchange
from workloop.testing.model.moves import (
    BAD_KEY,
    OVERLOADED,
    Call,
    Casting,
    Cut,
    Fail,
    Flaky,
    Hang,
    Move,
    Say,
    Scenario,
    Step,
    by_brief,
)
from workloop.testing.model_server import ModelServer

TOOLS = [{"name": name} for name in ("Bash", "Write", "mcp__workloop__work_loop")]
SECONDS = 20


class Client:
    """One kept-alive connection to the model, with the conversation so far."""

    def __init__(self, port: int, prompt: str = "role: work\ncontract_hash: abc") -> None:
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]

    def ask(self, *, tools: object = TOOLS, **more: object) -> tuple[int, dict[str, Any]]:
        """Send the conversation and return the status and the whole answer."""
        status, data = self.send({"model": "m", "messages": self.messages, "tools": tools, **more})
        return status, json.loads(data)

    def send(self, body: Mapping[str, object], path: str = "/v1/messages?beta=true") -> tuple[int, bytes]:
        """Send one body and return the status and the bytes of the answer."""
        headers = {"x-api-key": "dummy", "x-claude-code-session-id": "s1"}
        self.http.request("POST", path, json.dumps(body), headers)
        answer = self.http.getresponse()
        return answer.status, answer.read()

    def go_on(self, answer: Mapping[str, Any], result: str) -> None:
        """Enter the model's tool call and its result into the conversation."""
        call_id = answer["content"][-1]["id"]
        self.messages.append({"role": "assistant", "content": answer["content"]})
        content = [{"type": "tool_result", "tool_use_id": call_id, "content": result}]
        self.messages.append({"role": "user", "content": content})


class Bench:
    """Makes servers and clients, and closes them all when the test ends."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack

    def serve(self, scenario: Scenario | Casting) -> ModelServer:
        """Return an open server."""
        return self.stack.enter_context(ModelServer(scenario))

    def client(self, server: ModelServer, prompt: str = "role: work\ncontract_hash: abc") -> Client:
        """Return a client of a server."""
        client = Client(server.port, prompt)
        self.stack.callback(client.http.close)
        return client

    def playing(self, *script: Step) -> Client:
        """Return a client of a new server that plays this script."""
        return self.client(self.serve(script))


@pytest.fixture
def bench() -> Iterator[Bench]:
    """Return a bench for one test."""
    with ExitStack() as stack:
        yield Bench(stack)


def test_step_follows_from_the_conversation_so_a_repeated_request_gets_the_same_move(bench: Bench) -> None:
    client = bench.playing(Call("Bash", {"command": "one"}), Call("Bash", {"command": "two"}), Say("end"))
    first = client.ask()[1]
    again = client.ask()[1]
    client.go_on(first, "ok")
    second = client.ask()[1]

    commands = [answer["content"][0]["input"]["command"] for answer in (first, again, second)]
    assert commands == ["one", "one", "two"]


def test_ids_never_repeat_even_across_servers(bench: Bench) -> None:
    script = [Call("Bash", {"command": "ls"})]
    answers = [bench.client(bench.serve(script)).ask()[1] for _ in range(2)]
    client = bench.client(bench.serve(script))
    answers += [client.ask()[1], client.ask()[1]]

    assert len({answer["id"] for answer in answers}) == 4
    assert len({answer["content"][0]["id"] for answer in answers}) == 4


def test_arguments_come_from_the_brief_and_the_results(bench: Bench) -> None:
    def from_code(conversation: Conversation) -> Move:
        return Call("Bash", {"command": f"echo {conversation.last_result} {conversation.brief('role')}"})

    server = bench.serve([Call("Bash", {"command": "sha <<brief:contract_hash>>"}), from_code])
    client = bench.client(server)
    first = client.ask()[1]
    client.go_on(first, "f00d\n\n<system-reminder>\nnot part of it\n</system-reminder>\n")
    second = client.ask()[1]

    assert first["content"][0]["input"] == {"command": "sha abc"}
    assert second["content"][0]["input"] == {"command": "echo f00d work"}


def test_placeholder_without_a_match_is_an_error_that_the_test_can_see(bench: Bench) -> None:
    server = bench.serve([Call("Bash", {"command": "<<brief:candidate>>"})])
    status, body = bench.client(server).ask()

    assert (status, body["error"]["message"]) == (400, "scenario: no prompt has a line 'candidate'")
    assert server.problems == ("no prompt has a line 'candidate'",)


def test_role_is_chosen_by_the_brief_and_an_unknown_brief_has_no_part(bench: Bench) -> None:
    server = bench.serve(by_brief({"role: work": [Say("worker")], "role: verify": [Say("verifier")]}))
    texts = [
        bench.client(server, prompt).ask()[1]["content"][0]["text"]
        for prompt in ("role: work", "# Brief\n- role: `verify`\n", "role: repair")
    ]
    assert texts[:2] == ["worker", "verifier"]
    assert "no part" in texts[2]


def test_tool_that_is_not_offered_is_named_in_the_answer(bench: Bench) -> None:
    client = bench.playing(Call(("workloop", "work_loop"), {"action": "show"}))

    assert client.ask()[1]["content"][0]["name"] == "mcp__workloop__work_loop"
    assert "mcp__workloop__work_loop is not offered" in client.ask(tools=TOOLS[:1])[1]["content"][0]["text"]


def test_requests_without_tools_never_take_a_move_but_share_a_bad_key(bench: Bench) -> None:
    good, bad = bench.playing(OVERLOADED), bench.playing(BAD_KEY)

    assert good.ask(tools=[])[0] == 200
    assert bad.ask(tools=[])[0] == 401


def test_only_the_first_tries_of_a_flaky_step_fail(bench: Bench) -> None:
    client = bench.playing(Flaky(first=OVERLOADED, tries=2, then=Say("there")))

    assert [client.ask()[0] for _ in range(4)] == [529, 529, 200, 200]


def test_failure_at_the_end_of_a_script_goes_on_and_anything_else_is_over(bench: Bench) -> None:
    past_the_end = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    failing, talking = bench.playing(BAD_KEY), bench.playing(Call("Bash"))
    for client in (failing, talking):
        client.messages.append({"role": "assistant", "content": [past_the_end]})

    assert failing.ask()[0] == 401
    assert talking.ask()[1]["stop_reason"] == "end_turn"


def test_streamed_answer_holds_what_the_whole_answer_holds(bench: Bench) -> None:
    client = bench.playing(Call("Bash", {"command": "ls -l"}, say="Looking."))
    status, data = client.send({"messages": client.messages, "tools": TOOLS, "stream": True})
    events = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: ")]
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]

    assert status == 200
    assert [event["type"] for event in events][:2] == ["message_start", "content_block_start"]
    assert events[-1]["type"] == "message_stop"
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert deltas[0]["text"] == "Looking."
    assert json.loads("".join(delta.get("partial_json", "") for delta in deltas)) == {"command": "ls -l"}


def test_one_connection_serves_whole_answers_streams_errors_counts_and_models(bench: Bench) -> None:
    server = bench.serve([Flaky(first=OVERLOADED, tries=1, then=Say("there"))])
    client = bench.client(server)
    used: list[object] = []
    for body in ({"stream": True}, {"stream": True}, {}):
        client.send({"messages": client.messages, "tools": TOOLS, **body})
        used.append(client.http.sock)
    counted = client.send({"messages": client.messages}, "/v1/messages/count_tokens")
    client.http.request("GET", "/v1/models")
    listed = json.loads(client.http.getresponse().read())
    missing = client.send({}, "/v1/elsewhere")[0]

    assert used == [client.http.sock] * 3
    assert json.loads(counted[1])["input_tokens"] > 0
    assert listed["data"][0]["type"] == "model"
    assert missing == 404
    assert [entry.kind for entry in server.requests] == [*["messages"] * 3, "count_tokens", "models", "other"]


def test_cut_stream_ends_without_its_last_chunk(bench: Bench) -> None:
    client = bench.playing(Cut("half a"))
    with pytest.raises(http.client.IncompleteRead) as caught:
        client.send({"messages": client.messages, "tools": TOOLS, "stream": True})
    assert b"half a" in caught.value.partial


def test_error_event_arrives_inside_a_stream_that_has_begun(bench: Bench) -> None:
    fail = Fail(status=529, kind="overloaded_error", message="Overloaded", in_stream=True)
    client = bench.playing(fail)
    status, data = client.send({"messages": client.messages, "tools": TOOLS, "stream": True})

    assert status == 200
    assert data.endswith(b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n')


def is_hanging(exchange: Exchange) -> bool:
    """Tell the request that is kept waiting."""
    return exchange.move == "hang"


@pytest.mark.parametrize("after", ["nothing", "text"])
def test_closing_the_server_ends_a_request_that_hangs(bench: Bench, after: Literal["nothing", "text"]) -> None:
    server = bench.serve([Hang(after)])
    client = bench.client(server)
    ended = threading.Event()

    def ask() -> None:
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            client.send({"messages": client.messages, "tools": TOOLS, "stream": True})
        ended.set()

    asking = threading.Thread(target=ask)
    asking.start()
    assert server.wait_for(is_hanging, seconds=SECONDS).step == 0
    assert not ended.is_set()
    server.close()
    asking.join(SECONDS)
    assert ended.is_set()


def test_program_serves_a_scenario_file_and_logs_each_request(tmp_path: Path) -> None:
    scenario, log = tmp_path / "scenario.json", tmp_path / "log.jsonl"
    tool = {"call": ["workloop", "work_loop"], "arguments": {"contract_hash": "<<brief:contract_hash>>"}}
    flaky = {"fail": 529, "kind": "overloaded_error", "tries": 1, "then": tool}
    scenario.write_text(json.dumps({"roles": {"role: work": [flaky, {"say": "bye"}]}}))
    argv = [sys.executable, "-m", "workloop.testing.model_server", "--scenario", scenario, "--log", log]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        client = Client(json.loads(program.stdout.readline())["port"])
        answers = [client.ask() for _ in range(2)]
        program.send_signal(signal.SIGTERM)
        client.http.close()
        program.wait(SECONDS)

    assert program.returncode == 0
    assert [status for status, _ in answers] == [529, 200]
    assert answers[1][1]["content"][0]["input"] == {"contract_hash": "abc"}
    logged = [json.loads(line) for line in log.read_text().splitlines()]
    assert [entry["move"] for entry in logged] == ["fail 529", "call mcp__workloop__work_loop"]
    assert logged[0]["credential"] == "key …dummy"
