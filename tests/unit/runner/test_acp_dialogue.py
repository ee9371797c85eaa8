"""What an agent of the Agent Client Protocol is told, in which order, and what its refusals mean."""

import json
from typing import Any

import pytest

from workloop.domain.clock import from_text
from workloop.domain.session import (
    Conclusion,
    Denied,
    Finished,
    SessionClass,
    SessionError,
    SessionEvent,
    Text,
    ToolCall,
    ToolResult,
    ToolResultClass,
    Usage,
    kind_of,
)
from workloop.runner.harness.acp.dialogue import Opening
from workloop.runner.harness.acp.naming import Naming
from workloop.runner.harness.acp.permission import Policy, choose
from workloop.runner.harness.acp.servers import Server
from workloop.runner.harness.acp.stream import AcpReader
from workloop.runner.harness.fields import Fields
from workloop.runner.signatures import load_signatures

NOW = from_text("2026-11-25T13:00:00Z")
HTTP = Server(name="workloop", transport="http", url="http://127.0.0.1:1/mcp", headers={"Authorization": "Bearer t"})
PIPES = Server(name="workloop", command="python", args=("-m", "workloop"))
MODEL = {"id": "m", "category": "model", "type": "select", "currentValue": "small", "options": []}


class Talk:
    """A conversation in which the test speaks for the agent."""

    def __init__(self, **opening: Any) -> None:
        given: dict[str, Any] = {"prompt": "do it", "cwd": "/repo", "own": (HTTP, PIPES)}
        self.reader = AcpReader("s", Opening(**(given | opening)), load_signatures("acp"), NOW)
        self.events: list[SessionEvent] = []
        self.told: list[dict[str, Any]] = []
        self.hear()

    def hear(self) -> None:
        self.told += [json.loads(line) for line in self.reader.replies().splitlines()]

    def agent(self, message: dict[str, Any]) -> None:
        self.events += self.reader.feed(json.dumps({"jsonrpc": "2.0", **message}).encode(), 0)
        self.hear()

    def answer(self, result: Any) -> None:
        self.agent({"id": self.asked(), "result": result})

    def asked(self) -> int:
        """Return the number of our last request."""
        return [message["id"] for message in self.told if "method" in message][-1]

    def fail(self, code: int, message: str, data: Any = None) -> None:
        self.agent({"id": self.asked(), "error": {"code": code, "message": message, "data": data}})

    def update(self, name: str, **fields: Any) -> None:
        params = {"sessionId": "a", "update": {"sessionUpdate": name, **fields}}
        self.agent({"method": "session/update", "params": params})

    def say(self, text: str) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def meet(self, **capabilities: Any) -> None:
        self.answer({"protocolVersion": 1, "agentCapabilities": capabilities})

    def begin(self, **capabilities: Any) -> None:
        self.meet(**capabilities)
        self.answer({"sessionId": "a"})

    def methods(self) -> list[str]:
        return [message["method"] for message in self.told]

    def end(self, exit_code: int | None = 0, stderr: str = "") -> Conclusion:
        ending = self.reader.finish(exit_code, None, stderr)
        self.events += ending.events
        return ending.conclusion


def test_opening_goes_step_by_step_and_the_prompt_comes_last() -> None:
    talk = Talk(mode="yolo", model="big", login="api-key")
    talk.meet()
    talk.answer({})
    talk.answer({"sessionId": "a", "configOptions": [MODEL]})
    talk.answer({})
    talk.answer({"configOptions": []})
    assert talk.methods() == [
        "initialize",
        "authenticate",
        "session/new",
        "session/set_mode",
        "session/set_config_option",
        "session/prompt",
    ]
    assert talk.told[3]["params"] == {"sessionId": "a", "modeId": "yolo"}
    assert talk.told[4]["params"] == {"sessionId": "a", "configId": "m", "value": "big"}


def test_model_that_is_chosen_already_is_not_asked_for() -> None:
    talk = Talk(model="small")
    talk.meet()
    talk.answer({"sessionId": "a", "configOptions": [MODEL]})
    assert talk.methods()[-1] == "session/prompt"


def test_model_that_cannot_be_chosen_is_missing() -> None:
    talk = Talk(model="big")
    talk.begin()
    assert talk.end(None).session_class is SessionClass.MODEL_MISSING
    assert [event.failed for event in talk.events if isinstance(event, Finished)] == [True]


@pytest.mark.parametrize(
    ("http", "entry"), [(True, {"type": "http", "name": "workloop"}), (False, {"command": "python"})]
)
def test_own_server_is_named_in_the_way_the_agent_can_reach_it(http: object, entry: dict[str, str]) -> None:
    talk = Talk()
    talk.meet(mcpCapabilities={"http": http})
    [server] = talk.told[-1]["params"]["mcpServers"]
    assert entry.items() <= server.items()
    assert ("Bearer t" in json.dumps(server)) is http


def test_operator_s_server_that_the_agent_cannot_reach_is_left_out_and_said_so() -> None:
    other = Server(name="far", transport="sse", url="http://127.0.0.1:2/")
    talk = Talk(others=(other,))
    talk.begin(mcpCapabilities={"http": True})
    assert [server["name"] for server in talk.told[1]["params"]["mcpServers"]] == ["workloop"]
    assert [event.message for event in talk.events if isinstance(event, SessionError)] == ["far"]


@pytest.mark.parametrize(
    ("capabilities", "method"),
    [
        ({"loadSession": True, "sessionCapabilities": {"resume": {}}}, "session/resume"),
        ({"loadSession": True}, "session/load"),
    ],
)
def test_earlier_session_is_gone_on_with_in_the_way_that_repeats_least(capabilities: Any, method: str) -> None:
    talk = Talk(resume_id="old")
    talk.meet(**capabilities)
    assert (talk.told[-1]["method"], talk.told[-1]["params"]["sessionId"]) == (method, "old")
    if method == "session/load":
        talk.say("said before")
        talk.update("tool_call", toolCallId="1", title="write", kind="edit", status="completed")
    talk.answer({})
    assert [type(event).__name__ for event in talk.events] == ["Started"]
    talk.say("said now")
    talk.answer({"stopReason": "end_turn"})
    assert [event.text for event in talk.events if isinstance(event, Text)] == ["said now"]
    assert talk.end(None).resume_id == "old"


@pytest.mark.parametrize("refused", [False, True])
def test_past_that_is_repeated_after_the_session_is_there_is_no_news_either(*, refused: bool) -> None:
    talk = Talk(resume_id="old")
    talk.meet(loadSession=True)
    talk.answer({"modes": {"currentModeId": "default", "availableModes": []}})
    assert (talk.told[-1]["method"], talk.told[-1]["params"]["modeId"]) == ("session/set_mode", "default")
    talk.say("said before")
    talk.update("tool_call", toolCallId="1", title="write", kind="edit", status="completed")
    if refused:
        talk.fail(-32601, "no modes here")
    else:
        talk.answer({})
    assert talk.told[-1]["method"] == "session/prompt"
    talk.say("said now")
    talk.answer({"stopReason": "end_turn"})
    assert [type(event).__name__ for event in talk.events] == ["Started", "Text", "Finished"]
    assert [event.text for event in talk.events if isinstance(event, Text)] == ["said now"]
    assert talk.end(None).session_class is SessionClass.CLEAN


def test_agent_that_cannot_go_on_with_a_session_says_so() -> None:
    talk = Talk(resume_id="old")
    talk.meet()
    conclusion = talk.end(None)
    assert (conclusion.session_class, conclusion.resume_id) == (SessionClass.CRASHED, None)


@pytest.mark.parametrize(
    ("code", "session_class", "resume_id"),
    [(-32002, SessionClass.CRASHED, None), (-32602, SessionClass.CRASHED, None), (-32000, SessionClass.AUTH, "old")],
)
def test_session_that_is_gone_is_told_from_a_login_that_is(
    code: int, session_class: SessionClass, resume_id: str | None
) -> None:
    talk = Talk(resume_id="old")
    talk.meet(loadSession=True)
    talk.fail(code, "no")
    conclusion = talk.end(None)
    assert (conclusion.session_class, conclusion.resume_id) == (session_class, resume_id)


@pytest.mark.parametrize(
    ("reason", "session_class"),
    [
        ("max_tokens", SessionClass.CONTEXT),
        ("max_turn_requests", SessionClass.TURN_CAP),
        ("refusal", SessionClass.REFUSAL),
        ("cancelled", SessionClass.CRASHED),
        ("a word of tomorrow", SessionClass.CRASHED),
    ],
)
def test_reason_to_stop_gives_the_class_and_no_result(reason: str, session_class: SessionClass) -> None:
    talk = Talk()
    talk.begin()
    talk.say("half of it")
    talk.answer({"stopReason": reason})
    conclusion = talk.end(None)
    assert (conclusion.session_class, conclusion.final_text) == (session_class, "")
    assert [event.failed for event in talk.events if isinstance(event, Finished)] == [True]


@pytest.mark.parametrize(
    ("error", "session_class", "reset_at"),
    [
        ((-32000, "Authentication required"), SessionClass.AUTH, None),
        ((-32603, "Internal error", {"details": "API key not valid"}), SessionClass.AUTH, None),
        ((429, "Rate limit exceeded. Try again later."), SessionClass.LIMITED, None),
        ((-32603, "Internal error", {"details": "You\u2019ve hit your usage limit."}), SessionClass.LIMITED, None),
        ((429, "no", {"resets_at": 1_900_000_000}), SessionClass.LIMITED, 1_900_000_000_000_000),
        ((429, "no", {"headers": {"retry-after": "60"}}), SessionClass.LIMITED, NOW + 60_000_000),
        ((-32603, "Internal error", "insufficient_quota"), SessionClass.BILLING, None),
        ((-32603, "Internal error", {"status": 503}), SessionClass.TRANSIENT, None),
        ((-32603, "Internal error", {"details": "fetch failed"}), SessionClass.TRANSIENT, None),
        ((-32603, "Internal error", {"details": "model not found: x"}), SessionClass.MODEL_MISSING, None),
        ((-32603, "Internal error", {"details": "maximum context length"}), SessionClass.CONTEXT, None),
        ((-32601, "Method not found"), SessionClass.CONFIG, None),
        ((-32603, "Internal error"), SessionClass.CRASHED, None),
    ],
)
def test_error_in_the_place_of_an_answer_gives_the_class(
    error: tuple[Any, ...], session_class: SessionClass, reset_at: int | None
) -> None:
    talk = Talk()
    talk.begin()
    talk.say("on it")
    talk.fail(*error)
    conclusion = talk.end(None)
    assert (conclusion.session_class, conclusion.reset_at) == (session_class, reset_at)
    assert (conclusion.final_text, conclusion.resume_id) == ("", "a")


def test_d23_agent_s_own_words_about_limits_decide_nothing() -> None:
    said = "Error 429: you've hit your usage limit, rate limit exceeded, API key not valid"
    talk = Talk()
    talk.begin()
    talk.say(said)
    talk.answer({"stopReason": "end_turn"})
    conclusion = talk.end(1, said)
    assert (conclusion.session_class, conclusion.final_text) == (SessionClass.CLEAN, said)
    silent = Talk()
    silent.begin()
    silent.say(said)
    assert silent.end(1, "DEBUG the model said: usage limit reached").session_class is SessionClass.CRASHED


def test_d17_end_without_a_word_is_dead() -> None:
    talk = Talk()
    talk.begin()
    talk.answer({"stopReason": "end_turn"})
    assert talk.end(0).session_class is SessionClass.DEAD


@pytest.mark.parametrize("result", [None, 7, [], {"protocolVersion": "x"}, {"agentCapabilities": 5}])
def test_answer_that_cannot_be_read_ends_the_session_as_a_matter_of_configuration(result: Any) -> None:
    talk = Talk()
    talk.answer(result)
    assert talk.end(None).session_class is SessionClass.CONFIG
    assert talk.methods() == ["initialize"]


def test_other_version_of_the_protocol_is_a_matter_of_configuration() -> None:
    talk = Talk()
    talk.answer({"protocolVersion": 7})
    conclusion = talk.end(None)
    assert (conclusion.session_class, "version 7" in conclusion.detail) == (SessionClass.CONFIG, True)


def ask(talk: Talk, kind: str, *options: tuple[str, str], **call: Any) -> str:
    """Have the agent ask for leave; return the option that it got."""
    offered = [{"optionId": option, "name": option, "kind": kind_} for option, kind_ in options]
    params = {"sessionId": "a", "toolCall": {"toolCallId": "1", "kind": kind, **call}, "options": offered}
    talk.agent({"id": "x-1", "method": "session/request_permission", "params": params})
    assert talk.told[-1]["id"] == "x-1"
    return talk.told[-1]["result"]["outcome"].get("optionId", "")


BOTH = (("always", "allow_always"), ("once", "allow_once"), ("never", "reject_always"), ("no", "reject_once"))
OWN = {"title": "mcp__workloop__work_loop"}


@pytest.mark.parametrize(
    ("kind", "policy", "call", "option"),
    [
        ("edit", Policy(), {}, "once"),
        ("other", Policy(), {}, "once"),
        ("fetch", Policy(denied_kinds=frozenset({"fetch"})), {}, "no"),
        ("execute", Policy(read_only=True), {}, "once"),
        ("read", Policy(read_only=True), {}, "once"),
        ("edit", Policy(read_only=True), {}, "no"),
        ("delete", Policy(read_only=True), {}, "no"),
        ("move", Policy(read_only=True), {}, "no"),
        ("switch_mode", Policy(read_only=True), {}, "no"),
        ("other", Policy(read_only=True), {}, "no"),
        ("other", Policy(read_only=True), OWN, "once"),
    ],
)
def test_leave_is_given_by_the_policy(kind: str, policy: Policy, call: dict[str, str], option: str) -> None:
    talk = Talk(policy=policy)
    talk.begin()
    assert ask(talk, kind, *BOTH, **call) == option
    assert len([event for event in talk.events if isinstance(event, ToolCall)]) == 1
    assert len([event for event in talk.events if isinstance(event, Denied)]) == (option == "no")


def test_d22_call_that_got_no_leave_is_refused_and_the_session_denied() -> None:
    talk = Talk(policy=Policy(read_only=True))
    talk.begin()
    ask(talk, "edit", *BOTH)
    talk.update("tool_call_update", toolCallId="1", status="failed")
    talk.say("I could not.")
    talk.answer({"stopReason": "end_turn"})
    assert [event.result for event in talk.events if isinstance(event, ToolResult)] == [ToolResultClass.REFUSED]
    assert talk.end(None).session_class is SessionClass.DENIED


def test_tokens_told_with_the_text_and_again_at_the_end_are_counted_once() -> None:
    spent = {"inputTokens": 30, "outputTokens": 10, "totalTokens": 40}
    talk = Talk()
    talk.begin()
    talk.update("agent_message_chunk", content={"type": "text", "text": "x"}, _meta={"usage": spent})
    talk.answer({"stopReason": "end_turn", "usage": spent | {"inputTokens": 50, "totalTokens": 60}})
    usage = [event.tokens for event in talk.events if isinstance(event, Usage)]
    assert (sum(tokens.input for tokens in usage), sum(tokens.output for tokens in usage)) == (50, 10)


def test_request_without_a_fitting_option_is_withdrawn() -> None:
    talk = Talk(policy=Policy(read_only=True))
    talk.begin()
    assert ask(talk, "edit", ("once", "allow_once")) == ""
    assert talk.told[-1]["result"] == {"outcome": {"outcome": "cancelled"}}
    assert choose([Fields({"optionId": "a", "kind": "allow_always"})], allowed=True) == "a"


@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file", "terminal/create", "_vendor/x"])
def test_everything_else_an_agent_asks_for_is_refused(method: str) -> None:
    talk = Talk()
    talk.begin()
    talk.agent({"id": 0, "method": method, "params": {"path": "/etc/passwd"}})
    assert (talk.told[-1]["id"], talk.told[-1]["error"]["code"]) == (0, -32601)


def test_vendor_s_own_notice_is_nothing_and_an_unknown_one_of_the_protocol_is_counted() -> None:
    talk = Talk()
    for method in ("_vendor/x", "$/cancel_request", "qwen/notify/session/x", "session/tomorrow"):
        talk.agent({"method": method, "params": {}})
    talk.update("a kind of tomorrow")
    assert [kind_of(event) for event in talk.events] == ["unrecognised", "unrecognised"]


def test_question_to_a_person_is_declined() -> None:
    talk = Talk()
    talk.begin()
    talk.agent({"id": 5, "method": "elicitation/create", "params": {"message": "your name?"}})
    assert talk.told[-1]["result"] == {"action": "decline"}


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ({"_meta": {"toolName": "mcp__work__claim"}, "title": "anything"}, "mcp__work__claim"),
        ({"title": "work_claim"}, "mcp__work__claim"),
        ({"title": "work-claim"}, "mcp__work__claim"),
        ({"title": "claim (work MCP Server)"}, "mcp__work__claim"),
        ({"title": "Claim", "toolCallId": "mcp_work_claim__call_1"}, "mcp__work__claim"),
        ({"title": "workloop_work_loop"}, "mcp__workloop__work_loop"),
        ({"title": "Writing to work_claim", "kind": "edit"}, "edit"),
        ({"title": "network_claim", "kind": "other"}, "network_claim"),
        ({"title": "bash"}, "bash"),
        ({}, "tool"),
    ],
)
def test_tool_gets_the_name_that_every_adapter_gives_it(call: dict[str, Any], name: str) -> None:
    assert Naming(("workloop", "work")).tool_of(Fields(call)).name == name
