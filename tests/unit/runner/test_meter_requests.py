"""What of a request is read and changed before it goes on, and which requests do not go on at all."""

import gzip
import json

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from workloop.runner.meter.headers import backward, from_loopback, onward, shown_keys
from workloop.runner.meter.port import CallRefusal, Dialect, Upstream
from workloop.runner.meter.proxy import direct
from workloop.runner.meter.refusals import spent
from workloop.runner.meter.request import read_call
from workloop.runner.meter.routes import Family, Passage, address_of, dialect_of, passage, target
from workloop.runner.signatures import METER_REFUSED

UPSTREAM = Upstream(anthropic_url="https://a.example/", openai_url="https://o.example/backend-api/codex")


def headers(*pairs: tuple[str, str]) -> CIMultiDictProxy[str]:
    return CIMultiDictProxy(CIMultiDict(pairs))


def way(method: str, path: str, *, upgrade: bool = False) -> Passage | None:
    address = address_of(path)
    return None if address is None else passage(method, address, upgrade=upgrade)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", "/anthropic/v1/messages", Passage.METERED),
        ("POST", "/anthropic/wlk-abc/v1/messages", Passage.METERED),
        ("POST", "/openai/v1/responses", Passage.METERED),
        ("POST", "/openai/v1/responses/compact", Passage.METERED),
        ("POST", "/openai/wlk-abc/v1/chat/completions", Passage.METERED),
        ("GET", "/openai/v1/responses", Passage.CLOSED),
        ("POST", "/anthropic/v1/messages/count_tokens", Passage.FREE),
        ("GET", "/openai/v1/models", Passage.FREE),
        ("GET", "/anthropic/v1/models/claude-sonnet-4-5", Passage.FREE),
        ("HEAD", "/anthropic", Passage.PROBE),
        ("GET", "/openai/v1", Passage.PROBE),
    ],
)
def test_paths_that_a_cli_needs_have_their_way(method: str, path: str, expected: Passage) -> None:
    assert way(method, path) is expected


@pytest.mark.parametrize(
    "path",
    [
        *("/anthropic/v1/messages/batches", "/anthropic/v1/files", "/anthropic/v1/complete", "/anthropic/v1/responses"),
        *("/openai/v1/messages", "/openai/v1/embeddings", "/openai/v1/images/generations", "/openai/v1/realtime"),
        *("/openai/v1/responses/resp_1", "/openai/v1/models/../images/generations", "/openai/v1/models/a%2f..%2fb"),
        *("/openai/v1/chat/completions/", "/openai//v1/chat/completions", "/openai/x/v1/chat/completions"),
    ],
)
def test_path_that_could_cost_something_uncounted_is_closed(path: str) -> None:
    assert {way(method, path) for method in ("POST", "GET", "PUT", "DELETE")} <= {Passage.CLOSED, Passage.METERED}
    if "completions" not in path:
        assert way("POST", path) is Passage.CLOSED


@pytest.mark.parametrize("path", ["/", "/v1/messages", "/other/v1/messages", "", "/anthropicx/v1/messages"])
def test_path_without_a_family_is_nobody_s(path: str) -> None:
    assert address_of(path) is None


def test_call_goes_where_its_family_s_provider_is() -> None:
    messages, responses = address_of("/anthropic/wlk-k/v1/messages"), address_of("/openai/v1/responses")
    assert messages is not None
    assert responses is not None
    assert target(UPSTREAM, messages, "beta=true") == "https://a.example/v1/messages?beta=true"
    assert target(UPSTREAM, responses, "") == "https://o.example/backend-api/codex/responses"
    assert (messages.key, messages.family, responses.key) == ("wlk-k", Family.ANTHROPIC, "")
    assert dialect_of(responses) is Dialect.RESPONSES


def test_web_socket_is_answered_so_that_plain_http_is_used() -> None:
    assert way("GET", "/openai/v1/responses", upgrade=True) is Passage.UPGRADE


def test_request_says_its_model_and_its_most_output() -> None:
    call = read_call(Dialect.ANTHROPIC, b'{"model": "m", "max_tokens": 7, "stream": true}', "")
    assert (call.model, call.output_tokens_max, call.problem) == ("m", 7, "")
    assert read_call(Dialect.RESPONSES, b'{"model": "m", "max_output_tokens": 9}', "").output_tokens_max == 9
    assert read_call(Dialect.CHAT, b'{"model": "m"}', "").output_tokens_max is None


def test_stream_of_a_chat_is_asked_for_its_usage_and_nothing_else_is_changed() -> None:
    asked = {"model": "m", "stream": True, "messages": [{"content": "ä\u2028"}], "stream_options": {"x": 1}, "n": 1.5}
    call = read_call(Dialect.CHAT, json.dumps(asked).encode(), "")
    assert json.loads(call.body) == {**asked, "stream_options": {"x": 1, "include_usage": True}}


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        (Dialect.CHAT, b'{"stream":true ,"stream_options":{"include_usage":true}}'),
        (Dialect.CHAT, b'{ "stream": false }'),
        (Dialect.RESPONSES, b'{ "stream":true}'),
        (Dialect.ANTHROPIC, b'{ "stream":true}'),
    ],
)
def test_request_that_tells_its_usage_anyway_goes_on_byte_for_byte(dialect: Dialect, body: bytes) -> None:
    assert read_call(dialect, body, "").body is body


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"model": "m", "background": true}'])
def test_request_that_cannot_be_counted_is_a_problem(body: bytes) -> None:
    assert read_call(Dialect.RESPONSES, body, "").problem


def test_compressed_request_is_read_but_sent_as_it_is() -> None:
    packed = gzip.compress(b'{"model": "m", "max_output_tokens": 4}')
    call = read_call(Dialect.RESPONSES, packed, "gzip")
    assert (call.model, call.output_tokens_max, call.body) == ("m", 4, packed)
    assert "zstd" in read_call(Dialect.RESPONSES, packed, "zstd").problem
    assert read_call(Dialect.RESPONSES, packed[:9], "gzip").problem
    assert read_call(Dialect.CHAT, gzip.compress(b'{"stream": true}'), "gzip").problem


@pytest.mark.parametrize("name", ["x-api-key", "Authorization"])
def test_provider_s_key_takes_the_place_of_the_session_s(name: str) -> None:
    shown = "wlk-1" if name == "x-api-key" else "Bearer wlk-1"
    asked = headers((name, shown), ("Cookie", "a"), ("X-Stainless-Lang", "js"), ("Accept-Encoding", "gzip, br"))
    sent = onward(asked, "wlk-1", "sk-real")
    assert sent[name] == shown.replace("wlk-1", "sk-real")
    assert sent["x-stainless-lang"] == "js"
    assert sent["accept-encoding"] == "identity"
    assert "cookie" not in sent


def test_another_credential_of_the_session_is_not_sent_beside_the_operator_s_key() -> None:
    sent = onward(headers(("x-api-key", "wlk-1"), ("authorization", "Bearer somebody's")), "wlk-1", "sk-real")
    assert (sent.get("x-api-key"), sent.get("authorization")) == ("sk-real", None)


def test_login_of_the_session_s_own_is_not_touched() -> None:
    sent = onward(headers(("authorization", "Bearer mine"), ("chatgpt-account-id", "acc")), "wlk-1", None)
    assert (sent["authorization"], sent["chatgpt-account-id"]) == ("Bearer mine", "acc")


def test_headers_of_one_connection_stay_there() -> None:
    given = headers(("Connection", "keep-alive, X-Mine"), ("X-Mine", "1"), ("Transfer-Encoding", "chunked"), ("X", "2"))
    assert dict(backward(given)) == {"X": "2"}
    assert dict(onward(given, "k", None)) == {"X": "2", "accept-encoding": "identity"}


@pytest.mark.parametrize(
    ("host", "origin", "expected"),
    [
        ("127.0.0.1:8080", None, True),
        ("localhost", None, True),
        ("[::1]:80", None, True),
        ("evil.example:8080", None, False),
        ("127.0.0.1.evil.example", None, False),
        ("", None, False),
        ("127.0.0.1:8080", "http://127.0.0.1:8080", False),
    ],
)
def test_only_a_program_on_this_machine_is_listened_to(host: str, origin: str | None, expected: bool) -> None:
    pairs = [("host", host), *([("origin", origin)] if origin else [])]
    assert from_loopback(headers(*pairs)) is expected


def test_key_is_found_in_either_header() -> None:
    assert list(
        shown_keys(headers(("x-api-key", " a "), ("authorization", "bearer b"), ("authorization", "Basic c")))
    ) == [
        "a",
        "b",
    ]


@pytest.mark.parametrize("dialect", Dialect)
def test_refusal_names_its_code_and_is_in_the_dialect_s_own_shape(dialect: Dialect) -> None:
    answer = spent(dialect, CallRefusal(code="BUDGET_ITEM", message='cost "2/1"'))
    body = json.loads(answer.body)
    assert METER_REFUSED in body["error"]["message"]
    assert 'BUDGET_ITEM: cost "2/1"' in body["error"]["message"]
    assert answer.headers["x-should-retry"] == "false"
    assert ("code" in body["error"]) is (dialect is not Dialect.ANTHROPIC)
    assert answer.status < 500


@pytest.mark.parametrize(
    ("host", "without", "expected"),
    [
        ("api.example", "", False),
        ("api.example", "api.example", True),
        ("api.example", "b.example, .example", True),
        ("api.example", "*", True),
        ("api.example", "pi.example,example.org", False),
    ],
)
def test_hosts_that_need_no_proxy_are_those_that_are_named(host: str, without: str, expected: bool) -> None:
    assert direct(host, without) is expected
