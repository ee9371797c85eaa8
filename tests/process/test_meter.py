"""The meter between a client and a provider that says exactly what it is told to: what passes, and what is booked."""

import gzip
import json
import socket
import sys
import threading
from pathlib import Path

import pytest
from meter_bench import PROVIDER_KEY, Part, Provider, Purse, chunk, chunked, events, heard, keyed, reading, sized, stage

from workloop.domain.clock import later
from workloop.domain.session import Tokens
from workloop.runner.meter.port import CallOutcome, CallRefusal, Dialect, Upstream
from workloop.runner.meter.server import MeterSettings
from workloop.testing.clocks import BEGINNING
from workloop.testing.model.moves import Say
from workloop.testing.model_server import ModelServer

RECORDINGS = Path(__file__).parents[1] / "recordings" / "meter"
ASK = {"model": "claude-sonnet-4-5", "max_tokens": 64, "stream": True, "messages": []}
PATHS = {"messages": "/v1/messages", "responses": "/v1/responses", "chat": "/v1/chat/completions"}
BEGIN = {
    "type": "message_start",
    "message": {
        "model": "claude-sonnet-4-5",
        "usage": {"input_tokens": 100, "cache_read_input_tokens": 50, "output_tokens": 1},
    },
}
SAID = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x" * 30}}
END = {"type": "message_delta", "usage": {"output_tokens": 12}}
STREAM = events(BEGIN, SAID, END, {"type": "message_stop"})
REFUSAL = CallRefusal(code="BUDGET_ITEM", message="2.1/2.0 USD used; raise [budget.item] cost_usd")


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.[sj]*e*")), ids=lambda path: path.name)
@pytest.mark.parametrize("size", [1, 97, 1_000_000])
def test_answer_passes_byte_for_byte_however_it_comes(path: Path, size: int) -> None:
    raw = path.read_bytes()
    kind = "text/event-stream" if path.suffix == ".sse" else "application/json"
    pieces = [raw[start : start + size] for start in range(0, min(len(raw), size * 4000), size)]
    with Provider(chunked(*pieces, content_type=kind)) as provider, stage(provider.url) as meter:
        told = meter.ask(PATHS[path.name.partition("-")[0]], ASK)
        assert (told.status, told.complete, told.body) == (200, True, b"".join(pieces))
        assert told.headers["content-type"] == kind


def test_piece_of_a_stream_is_there_before_the_provider_says_the_next_one() -> None:
    gates = [threading.Event() for _ in STREAM]
    script: list[Part] = [*chunked(end=False)]
    for gate, piece in zip(gates, STREAM, strict=True):
        script += [gate, chunk(piece)]
    with Provider([*script, b"0\r\n\r\n"]) as provider, stage(provider.url) as meter, meter.connect() as connection:
        connection.sendall(meter.request("/v1/messages", ASK))
        stream = connection.makefile("rb")
        while stream.readline() != b"\r\n":
            pass
        for gate, piece in zip(gates, STREAM, strict=True):
            gate.set()
            size = int(stream.readline(), 16)
            assert stream.read(size + 2) == piece + b"\r\n"


def test_head_of_an_answer_is_there_before_the_provider_says_its_first_word() -> None:
    gate = threading.Event()
    with Provider([*chunked(end=False), gate, *chunked(*STREAM)[1:]]) as provider, stage(provider.url) as meter:
        with meter.connect() as connection:
            connection.sendall(meter.request("/v1/messages", ASK))
            head = heard(connection, b"\r\n\r\n")
            gate.set()
            rest = heard(connection, b"\r\n0\r\n\r\n")
        assert (head.startswith(b"HTTP/1.1 200 OK\r\n"), head.endswith(b"\r\n\r\n")) == (True, True)
        assert b"\r\n" + STREAM[0] in rest


def test_packed_answer_passes_as_it_is_and_is_counted() -> None:
    packed = gzip.compress(b"".join(STREAM))
    head = "content-type: text/event-stream\r\ncontent-encoding: gzip"
    with Provider(sized(packed, headers=head)) as provider, stage(provider.url) as meter:
        told = meter.ask("/v1/messages", ASK)
        assert (told.body, told.headers["content-encoding"]) == (packed, "gzip")
        assert meter.purse.charged().tokens == Tokens(100, 12, 50)
        assert provider.asked[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(("name", "path"), PATHS.items())
@pytest.mark.parametrize("streaming", [True, False])
def test_call_in_each_dialect_is_counted_priced_and_paid_with_the_operator_s_key(
    name: str, path: str, streaming: bool
) -> None:
    del name
    with ModelServer([Say("hello")]) as model, stage(model.url) as meter:
        told = meter.ask(
            path, {**ASK, "model": "gpt-5.5", "stream": streaming, "tools": [{"name": "t", "function": {"name": "t"}}]}
        )
        charge = meter.purse.charged()
        assert told.complete
        assert (charge.tokens, charge.outcome, charge.exact) == (Tokens(400, 60, 800), CallOutcome.OK, True)
        assert (charge.model, charge.status) == ("gpt-5.5", 200)
        assert charge.cost_micros
        assert charge.first_byte_us is not None
        assert model.requests[0].credential.endswith(PROVIDER_KEY[-6:])


def test_plan_says_what_the_call_wants_and_the_request_goes_on_unchanged() -> None:
    body = b'{"model": "claude-sonnet-4-5" ,"max_tokens":  64, "stream":true, "messages":[]}'
    with Provider(chunked(*STREAM)) as provider, stage(provider.url) as meter:
        meter.ask("/v1/messages?beta=true", body, anthropic_version="2023-06-01", x_stainless_retry_count="0")
        (plan,), (asked,) = meter.purse.plans, provider.asked
        assert (plan.dialect, plan.model, plan.input_bytes, plan.output_tokens_max) == (
            Dialect.ANTHROPIC,
            "claude-sonnet-4-5",
            len(body),
            64,
        )
        assert (asked.line, asked.body) == ("POST /v1/messages?beta=true HTTP/1.1", body)
        assert (asked.headers["anthropic-version"], asked.headers["x-stainless-retry-count"]) == ("2023-06-01", "0")
        assert meter.endpoint.key not in str(asked)


@pytest.mark.parametrize("path", PATHS.values())
def test_refused_call_is_never_sent(path: str) -> None:
    with Provider() as provider, stage(provider.url, purse=Purse(refusal=REFUSAL)) as meter:
        told = meter.ask(path, ASK)
        assert (told.status, told.headers["x-workloop-refusal"]) == (400 if "responses" in path else 402, "BUDGET_ITEM")
        assert "2.1/2.0 USD used" in told.json["error"]["message"]
        assert (provider.asked, meter.purse.charges) == ([], [])
        told_of = reading(meter)
        assert (told_of.calls, told_of.refused) == (0, 1)


def test_call_past_the_deadline_is_never_sent() -> None:
    deadline = later(BEGINNING, 5_000_000)
    with Provider(chunked(*STREAM)) as provider, stage(provider.url, deadline=deadline) as meter:
        assert meter.ask("/v1/messages", ASK).status == 200
        meter.clock.advance(5)
        told = meter.ask("/v1/messages", ASK)
        counting = meter.ask("/v1/messages/count_tokens", ASK)
        assert (told.status, counting.status) == (402, 402)
        assert "METER_DEADLINE" in told.json["error"]["message"]
        assert (len(provider.asked), len(meter.purse.plans)) == (1, 1)


@pytest.mark.parametrize("begun", [True, False])
def test_call_under_way_at_the_deadline_is_ended_and_booked(begun: bool) -> None:
    never = threading.Event()
    script = [*(chunked(*STREAM[:2], end=False) if begun else []), never]
    patience_us = 2_000_000 if begun else 300_000
    with Provider(script) as provider, stage(provider.url, deadline=later(BEGINNING, patience_us)) as meter:
        told = meter.ask("/v1/messages", ASK)
        never.set()
        charge = meter.purse.charged()
        assert (charge.outcome, charge.exact, told.complete) == (CallOutcome.ABORTED, False, not begun)
        assert told.status == (200 if begun else 502)
        assert charge.tokens.input == (100 if begun else 20)


def test_session_that_hangs_up_ends_the_call_at_the_provider_and_pays_for_what_was_said() -> None:
    never = threading.Event()
    endless = [chunk(STREAM[1])] * 10_000
    with Provider([*chunked(*STREAM[:2], end=False), never, *endless]) as provider, stage(provider.url) as meter:
        with meter.connect() as connection:
            connection.sendall(meter.request("/v1/messages", ASK))
            heard(connection, b"text_delta")
        charge = meter.purse.charged()
        never.set()
        assert provider.hung_up.wait(90)
        assert (charge.outcome, charge.exact) == (CallOutcome.ABORTED, False)
        assert charge.tokens == Tokens(100, 10, 50)
        assert reading(meter).unknown_calls == 1


def test_provider_that_breaks_off_is_seen_by_the_session_and_the_call_is_booked_as_failed() -> None:
    with Provider(chunked(*STREAM[:2], end=False)) as provider, stage(provider.url) as meter:
        with meter.connect() as connection:
            connection.sendall(meter.request("/v1/messages", ASK))
            got = heard(connection, b"text_delta")
            for broken in provider.connections:
                broken.shutdown(socket.SHUT_RDWR)
            while piece := connection.recv(65_536):
                got += piece
        charge = meter.purse.charged()
        assert not got.endswith(b"0\r\n\r\n")
        assert (charge.outcome, charge.exact, charge.tokens) == (CallOutcome.FAILED, False, Tokens(100, 10, 50))


def test_provider_that_reports_a_failure_in_its_stream_is_booked_as_failed() -> None:
    failure = events({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    with Provider(chunked(*STREAM[:2], *failure)) as provider, stage(provider.url) as meter:
        assert meter.ask("/v1/messages", ASK).body.endswith(failure[0])
        charge = meter.purse.charged()
        assert (charge.outcome, charge.exact, charge.tokens.input) == (CallOutcome.FAILED, False, 100)


def test_stream_that_ends_without_a_figure_is_unknown_and_costs_what_can_be_guessed() -> None:
    body = {**ASK, "messages": ["x" * 4000]}
    pieces = events({"choices": [{"delta": {"content": "y" * 300}}]})
    with Provider(chunked(*pieces)) as provider, stage(provider.url) as meter:
        meter.ask("/v1/chat/completions", body)
        charge = meter.purse.charged()
        assert (charge.outcome, charge.exact) == (CallOutcome.UNKNOWN, False)
        assert charge.tokens.output == 100
        assert charge.tokens.input >= 1000
        assert charge.cost_micros
        assert json.loads(provider.asked[0].body)["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("status", ["429 Too Many Requests", "529 Overloaded", "401 Unauthorized"])
def test_error_of_the_provider_passes_with_its_headers_and_costs_nothing(status: str) -> None:
    error = b'{"type":"error","error":{"type":"x","message":"y"}}'
    head = "content-type: application/json\r\nretry-after: 7\r\nanthropic-ratelimit-unified-reset: 12"
    with Provider(sized(error, status=status, headers=head)) as provider, stage(provider.url) as meter:
        told = meter.ask("/v1/messages", ASK)
        assert (told.status, told.body) == (int(status[:3]), error)
        assert (told.headers["retry-after"], told.headers["anthropic-ratelimit-unified-reset"]) == ("7", "12")
        charge = meter.purse.charged()
        assert (charge.outcome, charge.exact, charge.tokens, charge.cost_micros) == (
            CallOutcome.FAILED,
            True,
            Tokens(),
            0,
        )


def test_provider_that_hangs_up_without_an_answer_may_have_been_paid() -> None:
    with Provider(()) as provider, stage(provider.url) as meter:
        told = meter.ask("/v1/messages", ASK)
        charge = meter.purse.charged()
        assert (told.status, charge.outcome, charge.exact) == (502, CallOutcome.UNKNOWN, False)
        assert "METER_UPSTREAM" in told.json["error"]["message"]
        assert reading(meter).unknown_calls == 1


def test_provider_that_nobody_reaches_costs_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with stage(url) as meter:
        told = meter.ask("/v1/responses", ASK)
        charge = meter.purse.charged()
        assert (told.status, charge.outcome, charge.exact, charge.cost_micros) == (502, CallOutcome.FAILED, True, 0)


def test_closing_a_session_ends_its_calls_books_them_and_sends_no_more() -> None:
    never = threading.Event()
    with Provider([*chunked(*STREAM[:2], end=False), never]) as provider, stage(provider.url) as meter:
        with meter.connect() as connection:
            connection.sendall(meter.request("/v1/messages", ASK))
            heard(connection, b"text_delta")
            told_of = reading(meter)
        never.set()
        assert (told_of.calls, told_of.unknown_calls, told_of.tokens.input) == (1, 1, 100)
        assert len(meter.purse.charges) == 1
        assert meter.ask("/v1/messages", ASK).status == 401
        assert len(provider.asked) == 1


@pytest.mark.parametrize("key", ["", "Bearer wlk-wrong", f"Bearer {PROVIDER_KEY}", "Basic d2xr"])
@pytest.mark.parametrize("path", [*PATHS.values(), "/v1/models"])
def test_without_the_session_s_key_nothing_goes_on(key: str, path: str) -> None:
    with Provider() as provider, stage(provider.url) as meter:
        assert meter.ask(path, ASK, authorization=key).status == 401
        assert provider.asked == []


@pytest.mark.parametrize(
    "headers", [{"host": "evil.example"}, {"origin": "http://127.0.0.1"}, {"host": "127.0.0.1.evil.example:80"}]
)
def test_request_for_another_host_or_from_a_web_page_is_not_answered(headers: dict[str, str]) -> None:
    with Provider() as provider, stage(provider.url) as meter:
        assert meter.ask("/v1/messages", ASK, **headers).status == 404
        assert provider.asked == []


def test_login_of_the_session_s_own_passes_unchanged_and_is_counted_without_money() -> None:
    with Provider(chunked(*STREAM)) as provider:
        login = Upstream(anthropic_url=provider.url, openai_url=provider.url, subscription=True)
        with stage(lambda: login) as meter:
            assert meter.endpoint.key == ""
            told = meter.ask(
                "/v1/messages", ASK, authorization="Bearer sk-ant-oat01-mine", anthropic_beta="oauth-2025-04-20"
            )
            charge = meter.purse.charged()
            assert told.status == 200
            assert provider.asked[0].headers["authorization"] == "Bearer sk-ant-oat01-mine"
            assert provider.asked[0].headers["anthropic-beta"] == "oauth-2025-04-20"
            assert provider.asked[0].line == "POST /v1/messages HTTP/1.1"
            assert (charge.tokens, charge.cost_micros, charge.priced_as) == (Tokens(100, 12, 50), 0, "subscription")


def test_key_of_one_session_is_not_good_for_another() -> None:
    with Provider(chunked(*STREAM)) as provider, stage(provider.url) as meter:
        other = Purse(refusal=REFUSAL)
        second = meter.meter.open("s-2", other, keyed(provider.url))
        assert second.key != meter.endpoint.key
        assert meter.ask("/v1/messages", ASK, authorization=f"Bearer {second.key}").status == 402
        assert meter.ask("/v1/messages", ASK).status == 200
        assert (len(other.plans), len(meter.purse.plans), meter.purse.plans[0].session_id) == (1, 1, "s-1")


@pytest.mark.parametrize("fails", ["admit", "charge"])
def test_budget_that_cannot_be_asked_or_told_lets_nothing_more_through(fails: str) -> None:
    with Provider(chunked(*STREAM)) as provider, stage(provider.url, purse=Purse(fails=fails)) as meter:
        first, second = meter.ask("/v1/messages", ASK), meter.ask("/v1/messages", ASK)
        assert (first.status, second.status) == (402 if fails == "admit" else 200, 402)
        assert len(provider.asked) == (fails == "charge")


def test_session_reaches_the_meter_over_a_unix_socket_as_well(tmp_path: Path) -> None:
    settings = MeterSettings(socket=tmp_path / "meter.sock")
    with Provider(chunked(*STREAM)) as provider, stage(provider.url, settings=settings) as meter:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(tmp_path / "meter.sock"))
            connection.sendall(meter.request("/v1/messages", ASK, connection="close"))
            got = b""
            while piece := connection.recv(65_536):
                got += piece
        assert STREAM[-1] in got
        assert (tmp_path / "meter.sock").stat().st_mode & 0o777 == 0o600


def test_request_that_is_too_big_is_told_so_and_not_sent() -> None:
    with Provider() as provider, stage(provider.url, settings=MeterSettings(body_bytes_max=1000)) as meter:
        assert meter.ask("/v1/messages", {**ASK, "messages": ["x" * 2000]}).status == 413
        assert provider.asked == []


def test_redirect_is_not_followed_with_the_operator_s_key() -> None:
    away = sized(b"", status="307 Temporary Redirect", headers="location: http://127.0.0.1:9/v1/messages")
    with Provider(away) as provider, stage(provider.url) as meter:
        assert meter.ask("/v1/messages", ASK).status == 307
        assert len(provider.asked) == 1


def test_keys_are_in_no_text_of_the_meter(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with Provider(chunked(*STREAM), ()) as provider, stage(provider.url) as meter:
        meter.ask("/v1/messages", ASK)
        meter.ask("/v1/messages", ASK)
        told = f"{meter.endpoint} {meter.meter.books} {meter.purse.charges} {meter.purse.plans} {caplog.text}"
    assert PROVIDER_KEY not in told
    assert meter.endpoint.key not in told


def test_other_threads_have_short_turns_as_long_as_the_meter_runs() -> None:
    usual = sys.getswitchinterval()
    with Provider() as provider, stage(provider.url):
        assert sys.getswitchinterval() <= usual / 5
    assert sys.getswitchinterval() == usual


def test_reading_adds_up_all_calls() -> None:
    with Provider(*[chunked(*STREAM)] * 3) as provider, stage(provider.url) as meter:
        for _ in range(3):
            meter.ask("/v1/messages", ASK)
        told_of = reading(meter)
        assert (told_of.calls, told_of.refused, told_of.unknown_calls) == (3, 0, 0)
        assert told_of.tokens == Tokens(300, 36, 150)
        assert told_of.models == {"claude-sonnet-4-5": 486}
        assert told_of.cost_micros == sum(charge.cost_micros or 0 for charge in meter.purse.charges)
        assert [charge.number for charge in meter.purse.charges] == [1, 2, 3]
