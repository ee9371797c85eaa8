"""The real agent CLIs through the meter, against a scripted model on loopback: counted, capped, without a key."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from metered_agents import PROVIDER_KEY, Metered, Purse, chatgpt_login, keyed, login, need

from workloop.domain.session import SessionClass, Tokens
from workloop.runner.harness.codex import launch, settings
from workloop.runner.harness.port import LaunchRequest
from workloop.runner.meter.bypass import went_round
from workloop.testing.model.moves import Call, Say
from workloop.testing.model_server import ModelServer

FIRST = ("claude", "codex", "codex exec")
OTHERS = ("opencode", "copilot", "qwen")
ALL = [
    *(pytest.param(kind, marks=pytest.mark.real_agent) for kind in FIRST),
    *(pytest.param(kind, marks=[pytest.mark.real_npm, pytest.mark.timeout(400)]) for kind in OTHERS),
]
SCRIPT = [Call("Bash", {"command": "env > seen.txt"}), Call("Bash", {"command": "echo two"}), Say("all done")]
ONE_CALL = Tokens(400, 60, 800)


@pytest.mark.parametrize("kind", ALL)
def test_agent_works_through_the_meter_which_counts_what_it_counts(kind: str, tmp_path: Path) -> None:
    need(kind)
    agent = Metered(kind=kind, folder=tmp_path)
    with ModelServer(SCRIPT) as model:
        report, reading = agent.run(keyed(model.url))
    assert (report.session_class, report.final_text, model.problems) == (SessionClass.CLEAN, "all done", ())
    assert reading.refused == reading.unknown_calls == 0
    calls = [request for request in model.requests if request.kind not in {"models", "other", "count_tokens"}]
    assert reading.calls == len(agent.purse.charges) == len(calls) >= 3
    assert reading.tokens == sum((ONE_CALL for _ in calls), Tokens())
    assert reading.cost_micros
    if report.usage_reported:
        assert report.tokens == ONE_CALL + ONE_CALL + ONE_CALL
    assert went_round(report, reading) == ""
    assert all(request.credential.endswith(PROVIDER_KEY[-6:]) for request in calls)
    assert agent.seen
    assert PROVIDER_KEY not in agent.written() + "".join(agent.seen.values())


@pytest.mark.parametrize("kind", ALL)
def test_ceiling_that_is_reached_in_the_middle_ends_the_agent_at_once(kind: str, tmp_path: Path) -> None:
    need(kind)
    agent = Metered(kind=kind, folder=tmp_path, purse=Purse(calls_max=2 if kind == "opencode" else 1))
    with ModelServer(SCRIPT) as model:
        report, reading = agent.run(keyed(model.url))
    assert report.session_class is SessionClass.COST_CAP, report
    assert "BUDGET_SPENT" in report.detail
    assert "[budget.session] cost_usd" in report.detail
    assert (reading.calls, reading.refused) == (agent.purse.calls_max, 1)
    assert len([request for request in model.requests if request.kind != "models"]) == reading.calls


@pytest.mark.real_agent
def test_claude_s_login_by_subscription_passes_through_and_is_counted(tmp_path: Path) -> None:
    need("claude")
    token = "sk-ant-oat01-a-login-of-the-session"
    agent = Metered(
        kind="claude", folder=tmp_path, environment={"CLAUDE_CODE_OAUTH_TOKEN": token, "ANTHROPIC_API_KEY": ""}
    )
    with ModelServer(SCRIPT) as model:
        report, reading = agent.run(login(model.url))
    assert report.session_class is SessionClass.CLEAN
    assert {request.credential for request in model.requests} == {f"bearer …{token[-6:]}"}
    assert (reading.calls, reading.tokens, reading.cost_micros) == (3, ONE_CALL + ONE_CALL + ONE_CALL, 0)


@pytest.mark.real_agent
@pytest.mark.parametrize("kind", ["codex", "codex exec"])
def test_codex_s_login_by_subscription_passes_through_and_is_counted(kind: str, tmp_path: Path) -> None:
    need(kind)
    agent = Metered(kind=kind, folder=tmp_path)
    token = chatgpt_login(agent.home)
    with ModelServer(SCRIPT) as model:
        report, reading = agent.run(login(model.url))
    assert report.session_class is SessionClass.CLEAN
    assert {request.credential for request in model.requests} == {f"bearer …{token[-6:]}"}
    assert (reading.calls, reading.tokens, reading.cost_micros) == (3, ONE_CALL + ONE_CALL + ONE_CALL, 0)


@pytest.mark.real_agent
def test_codex_that_wants_a_web_socket_falls_back_to_plain_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("codex")

    def wanting(request: LaunchRequest) -> Mapping[str, Any]:
        wanted: dict[str, Any] = dict(settings.metered(request))
        wanted["model_providers.workloop"]["supports_websockets"] = True
        return {**wanted, "features.responses_websockets": True, "features.responses_websockets_v2": True}

    monkeypatch.setattr(launch, "metered", wanting)
    agent = Metered(kind="codex exec", folder=tmp_path)
    with ModelServer(SCRIPT) as model:
        report, reading = agent.run(keyed(model.url))
    assert (report.session_class, reading.calls) == (SessionClass.CLEAN, 3)


@pytest.mark.real_agent
@pytest.mark.parametrize("kind", ["claude", "codex"])
def test_settings_of_the_home_and_the_work_dir_lead_no_agent_past_the_meter(kind: str, tmp_path: Path) -> None:
    need(kind)
    agent = Metered(kind=kind, folder=tmp_path)
    with ModelServer(SCRIPT) as model, ModelServer([Say("past the meter")]) as elsewhere:
        for folder in (agent.home / ".claude", tmp_path / "work" / ".claude"):
            folder.mkdir(parents=True)
            (folder / "settings.json").write_text(f'{{"env": {{"ANTHROPIC_BASE_URL": "{elsewhere.url}"}}}}')
        for folder in (agent.home / ".codex", tmp_path / "work" / ".codex"):
            folder.mkdir(parents=True)
            provider = f'name = "x"\nbase_url = "{elsewhere.url}/v1"\nwire_api = "responses"\n'
            (folder / "config.toml").write_text(f'model_provider = "x"\n[model_providers.x]\n{provider}')
        report, reading = agent.run(keyed(model.url))
    assert elsewhere.requests == ()
    assert (report.session_class, reading.calls) == (SessionClass.CLEAN, 3)
