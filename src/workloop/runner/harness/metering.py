"""How an agent CLI is pointed at the meter, and kept from knowing another way."""

from collections.abc import Mapping

from workloop.runner.harness.port import LaunchRequest, MeterEndpoint

KEY_VARIABLE = "WORKLOOP_METER_KEY"

# What would send a call elsewhere, or show a provider a key of the operator's.
OTHER_WAYS = frozenset(
    {
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"),
        *("ANTHROPIC_UNIX_SOCKET", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_FOUNDRY"),
        *("CLAUDE_CODE_USE_VERTEX", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "CODEX_API_KEY"),
        *("COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_BEARER_TOKEN"),
    }
)


def kept(environment: Mapping[str, str], meter: MeterEndpoint | None) -> dict[str, str]:
    """Return an environment without other ways to a model; a login of the session's own stays, as it has no key."""
    if meter is None or not meter.key:
        return dict(environment)
    return {name: value for name, value in environment.items() if name not in OTHER_WAYS}


def anthropic_variables(meter: MeterEndpoint | None) -> dict[str, str]:
    """Return what points a program that speaks Anthropic's dialect at the meter."""
    if meter is None:
        return {}
    return {"ANTHROPIC_BASE_URL": meter.anthropic_url, **({"ANTHROPIC_API_KEY": meter.key} if meter.key else {})}


def openai_variables(meter: MeterEndpoint | None) -> dict[str, str]:
    """Return what points a program that speaks OpenAI's dialects at the meter."""
    if meter is None:
        return {}
    return {"OPENAI_BASE_URL": meter.openai_url, **({"OPENAI_API_KEY": meter.key} if meter.key else {})}


def any_variables(request: LaunchRequest) -> dict[str, str]:
    """Return what points a program of unknown dialect at the meter."""
    return {**anthropic_variables(request.meter), **openai_variables(request.meter)}
