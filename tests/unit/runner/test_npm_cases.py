"""Reported failures that concern the vendor's own words, held by the adapters of opencode, Copilot and Qwen Code."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from workloop.domain.session import Conclusion, SessionClass
from workloop.runner.harness.copilot.stream import CopilotReader
from workloop.runner.harness.opencode.stream import OpencodeReader
from workloop.runner.harness.port import StreamReader
from workloop.runner.harness.qwen.stream import QwenReader
from workloop.runner.signatures import load_signatures

Provider = dict[str, Any]
STAMP = "2026-11-29T14:25:52.000Z"


def opencode(status: int | None, message: str, provider: Provider) -> tuple[StreamReader, list[dict[str, Any]]]:
    fold = OpencodeReader("s", load_signatures("opencode"), servers=(), own="", resume_id=None)
    data = {"message": message, "statusCode": status, "responseBody": json.dumps({"error": provider})}
    return fold, [{"type": "error", "sessionID": "ses_1", "error": {"name": "APIError", "data": data}}]


def copilot(status: int | None, message: str, provider: Provider) -> tuple[StreamReader, list[dict[str, Any]]]:
    fold = CopilotReader("s", load_signatures("copilot"), server="", resume_id="s")
    names = {"errorType": provider.get("type"), "errorCode": provider.get("code"), "failureKind": "api"}
    failed = {**names, "statusCode": status, "errorMessage": json.dumps(provider)}
    ended = {"errorType": "query", "statusCode": status, "message": message}
    return fold, [
        {"type": "model.call_failure", "data": failed, "timestamp": STAMP},
        {"type": "session.error", "data": ended, "timestamp": STAMP},
        {"type": "result", "sessionId": "s", "exitCode": 1},
    ]


def qwen(status: int | None, message: str, provider: Provider) -> tuple[StreamReader, list[dict[str, Any]]]:
    del provider
    fold = QwenReader("s", load_signatures("qwen"), server="", resume_id=None)
    said = f"[API Error: {status} {message}]" if status else f"[API Error: {message}]"
    result = {"type": "result", "subtype": "error_during_execution", "is_error": True, "error": {"message": said}}
    return fold, [result]


Telling = Callable[[int | None, str, Provider], tuple[StreamReader, list[dict[str, Any]]]]
TELLING: Mapping[str, Telling] = {"opencode": opencode, "copilot": copilot, "qwen": qwen}
everywhere = pytest.mark.parametrize("cli", TELLING)


def told(cli: str, status: int | None, message: str, **provider: Any) -> Conclusion:
    """Return what an adapter makes of a provider's refusal, as its CLI reports it."""
    fold, events = TELLING[cli](status, message, provider)
    for event in events:
        fold.feed(json.dumps(event).encode(), 0)
    return fold.finish(1, None, "").conclusion


@pytest.mark.parametrize("cli", ["opencode", "copilot"])
def test_d07_instant_of_the_reset_that_the_provider_names_is_read(cli: str) -> None:
    refused = told(cli, 429, "The usage limit has been reached", type="usage_limit_reached", resets_at=1_795_968_242)
    assert (refused.session_class, refused.reset_at) == (SessionClass.LIMITED, 1_795_968_242_000_000)


@everywhere
def test_d10_spent_budget_is_billing_and_no_limit_that_ends_by_itself(cli: str) -> None:
    refused = told(cli, 429, "You exceeded your current quota, please check your plan", code="insufficient_quota")
    assert refused.session_class is SessionClass.BILLING


@everywhere
def test_d11_limited_session_has_no_final_text(cli: str) -> None:
    assert told(cli, 429, "The usage limit has been reached", type="usage_limit_reached").final_text == ""


@everywhere
@pytest.mark.parametrize(("status", "expected"), [(529, SessionClass.TRANSIENT), (429, SessionClass.LIMITED)])
def test_d27_overload_and_a_refusal_without_a_time_have_their_class(
    cli: str, status: int, expected: SessionClass
) -> None:
    refused = told(cli, status, "Too much")
    assert (refused.session_class, refused.reset_at) == (expected, None)


@everywhere
def test_d30_name_that_does_not_resolve_for_a_moment_is_transient(cli: str) -> None:
    assert told(cli, None, "Unable to connect to API (ENOTFOUND)").session_class is SessionClass.TRANSIENT


@everywhere
def test_d34_model_that_was_retired_is_no_blip(cli: str) -> None:
    refused = told(cli, 404, "The model does not exist", code="model_not_found")
    assert refused.session_class is SessionClass.MODEL_MISSING
