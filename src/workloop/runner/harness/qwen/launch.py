"""How the Qwen Code CLI is started for one session."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from workloop.domain.errors import Fault
from workloop.runner.harness.cli import CliConfig, CliHarness
from workloop.runner.harness.files import loop_environment, write_private
from workloop.runner.harness.mcpjson import SERVER_NAME, joined_servers, operator_servers
from workloop.runner.harness.metering import any_variables, kept
from workloop.runner.harness.needs import OwnFiles
from workloop.runner.harness.port import Capabilities, Launch, LaunchRequest
from workloop.runner.harness.qwen.stream import QwenReader
from workloop.runner.harness.starting import find_program, fitting_prompt, own_home

KIND = "qwen"
SERVERS_KEY = "mcpServers"
OPENAI = "openai"
METERED_KINDS = (OPENAI, "anthropic")
WRITING_TOOLS = ("write_file", "edit", "notebook_edit")
MCP_MILLISECONDS = 120_000
RETRY_FIRST_MILLISECONDS = 2_000
RETRY_LONGEST_MILLISECONDS = 15_000

# Servers are waited for, or the first request goes out without their tools; without a relaunch a process is saved.
FIXED_ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "QWEN_CODE_LEGACY_MCP_BLOCKING": "1",
        "QWEN_CODE_NO_RELAUNCH": "true",
        "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
        "TERM": "dumb",
    }
)


FILES = OwnFiles(
    logins=(".qwen/oauth_creds.json",),
    settings=tuple(f".qwen/{name}" for name in ("settings.json", ".env", "QWEN.md", "agents", "commands", "skills")),
    state=(".qwen",),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QwenConfig(CliConfig):
    """The operator's choices; home_dir gives sessions a home of their own, which is kept so that they can be resumed.

    auth_type is the CLI's name for the provider; retries are its own tries of a refused model call, which without a
    bound take hours.
    """

    name: str = KIND
    auth_type: str = ""
    retries: int = 3
    excluded_tools: tuple[str, ...] = ()


class QwenHarness(CliHarness[QwenConfig]):
    """Qwen Code in headless mode with a line of JSON per event."""

    kind = KIND
    files = FILES
    capabilities = Capabilities(
        resumes=True,
        turn_cap=True,
        per_run_mcp=True,
        permission_policy=True,
        observes_claims=True,
        final_text=True,
    )

    def launch(self, request: LaunchRequest) -> Launch:
        """Write the session's private files and build the command line."""
        auth_type = self.auth_type(request)
        auth = ("--auth-type", auth_type) if auth_type else ()
        argv = (
            self.program(request.environment),
            *("--output-format", "stream-json"),
            *auth,
            *("--mcp-config", str(self.write_mcp_file(request))),
            *self.permission_args(request),
            *cap_args(request),
            *self.config.extra_args,
            f"--prompt={fitting_prompt(request)}",
        )
        env = {**request.environment, **FIXED_ENVIRONMENT, **own_home(self.config.home_dir), **self.config.environment}
        env = {**kept(env, request.meter), **any_variables(request)}
        env["QWEN_CODE_SYSTEM_SETTINGS_PATH"] = str(self.write_settings(request))
        return Launch(argv=argv, env={**env, **loop_environment(request)}, cwd=request.cwd)

    def reader(self, request: LaunchRequest) -> QwenReader:
        """Make a fresh reader for the session's output."""
        return QwenReader(
            request.session_id,
            self.signatures,
            server=SERVER_NAME if request.endpoint else "",
            resume_id=request.resume_id,
        )

    def program(self, environment: Mapping[str, str]) -> str:
        """Find the CLI."""
        hint = "install Qwen Code (npm: @qwen-code/qwen-code), or set the binary's path"
        return find_program((KIND,), self.config.binary, environment.get("PATH"), harness=self.name, hint=hint)

    def auth_type(self, request: LaunchRequest) -> str:
        """Return the kind of provider: the configured one, which the meter has to be able to speak to."""
        if request.meter is None:
            return self.config.auth_type
        kind = self.config.auth_type or OPENAI
        if not request.meter.key or kind not in METERED_KINDS:
            hint = f"give the meter a provider's key and set auth_type to one of: {', '.join(METERED_KINDS)}"
            raise Fault("HARNESS_CONFIG", f"{self.name}: {kind} cannot go through the meter", hint=hint)
        return kind

    def permission_args(self, request: LaunchRequest) -> tuple[str, ...]:
        """Allow what is offered, and offer a verifier neither writing nor servers that the work dir names."""
        excluded = (*self.config.excluded_tools, *(WRITING_TOOLS if request.read_only else ()))
        args = ["--approval-mode", "yolo"]
        if excluded:
            args += ["--exclude-tools", ",".join(excluded)]
        if request.read_only:
            theirs = operator_servers(request.mcp_config, SERVERS_KEY, harness=self.name)
            args += ["--allowed-mcp-server-names", ",".join((SERVER_NAME, *theirs))]
        return tuple(args)

    def write_mcp_file(self, request: LaunchRequest) -> Path:
        """Write the servers of this session; our tool is declared directly, not behind a search."""
        own: dict[str, object] | None = None
        if request.endpoint is not None:
            own = {
                "httpUrl": request.endpoint.url_mcp,
                "headers": {"Authorization": f"Bearer {request.endpoint.token}"},
                "trust": True,
                "alwaysLoadTools": True,
                "timeout": MCP_MILLISECONDS,
            }
        servers = joined_servers(request.mcp_config, SERVERS_KEY, own, harness=self.name)
        return write_private(request.session_dir / "mcp.json", json.dumps({SERVERS_KEY: servers}))

    def write_settings(self, request: LaunchRequest) -> Path:
        """Write the settings that no other file can overrule: no update, no side agents, few retries."""
        retrying = {
            "maxRetries": self.config.retries,
            "retryInitialDelayMs": RETRY_FIRST_MILLISECONDS,
            "retryMaxDelayMs": RETRY_LONGEST_MILLISECONDS,
        }
        side_agents = ("enableManagedAutoMemory", "enableManagedAutoDream", "enableAutoSkill", "enableTeamMemory")
        settings: dict[str, object] = {
            "general": {"enableAutoUpdate": False},
            "memory": dict.fromkeys(side_agents, False),
            "model": {"generationConfig": retrying},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
        }
        if request.read_only:
            settings["disableAllHooks"] = True
        return write_private(request.session_dir / "settings.json", json.dumps(settings))


def cap_args(request: LaunchRequest) -> tuple[str, ...]:
    """Return the session's identity, model and cap."""
    identity = ("--resume", request.resume_id) if request.resume_id else ("--session-id", request.session_id)
    model = ("--model", request.model) if request.model else ()
    turns = ("--max-session-turns", str(request.turns_max)) if request.turns_max else ()
    return (*identity, *model, *turns)
