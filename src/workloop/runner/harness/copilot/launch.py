"""How the GitHub Copilot CLI is started for one session."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from workloop.domain.errors import Fault
from workloop.runner.harness.cli import CliConfig, CliHarness
from workloop.runner.harness.copilot.stream import CopilotReader
from workloop.runner.harness.files import loop_environment, write_private
from workloop.runner.harness.mcpjson import SERVER_NAME, joined_servers
from workloop.runner.harness.metering import kept
from workloop.runner.harness.needs import OwnFiles
from workloop.runner.harness.port import Capabilities, Launch, LaunchRequest
from workloop.runner.harness.starting import find_program, fitting_prompt, own_home

KIND = "copilot"
PROGRAMS = ("copilot", "copilot-linux-x64")
SERVERS_KEY = "mcpServers"
WRITING = "write"
ANTHROPIC, OPENAI = "anthropic", "openai"

FIXED_ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {"COPILOT_AUTO_UPDATE": "false", "NO_COLOR": "1", "TERM": "dumb"}
)
# Shell commands may name any path, as a shell can reach any; without a person every question would be a denial.
FIXED_ARGUMENTS = (
    *("--output-format", "json"),
    *("--disable-builtin-mcps", "--no-auto-update", "--no-ask-user", "--no-remote"),
    *("--allow-all-tools", "--allow-all-paths"),
)


FILES = OwnFiles(
    logins=(".copilot/config.json", ".config/github-copilot/apps.json"),
    settings=(".copilot/agents", ".copilot/skills", ".copilot/copilot-instructions.md"),
    state=(".copilot",),
    moved={"COPILOT_HOME": ".copilot", "XDG_CONFIG_HOME": ".config"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopilotConfig(CliConfig):
    """The operator's choices; home_dir gives sessions a home of their own, which is kept so that they can be resumed.

    denied_tools are patterns of the CLI's own kind, such as shell(git push); a verifier is denied writing as well.
    """

    name: str = KIND
    denied_tools: tuple[str, ...] = ()


class CopilotHarness(CliHarness[CopilotConfig]):
    """Copilot's prompt mode with a line of JSON per event; with a provider of one's own it reports no tokens."""

    kind = KIND
    files = FILES
    capabilities = Capabilities(
        reports_reset=True,
        resumes=True,
        per_run_mcp=True,
        permission_policy=True,
        observes_claims=True,
        final_text=True,
    )

    def launch(self, request: LaunchRequest) -> Launch:
        """Write the private MCP file and build the command line; the session gets our id, or keeps its own."""
        identity = f"--resume={request.resume_id}" if request.resume_id else f"--session-id={request.session_id}"
        model = ("--model", request.model) if request.model else ()
        argv = (
            self.program(request.environment),
            *FIXED_ARGUMENTS,
            *("--additional-mcp-config", f"@{self.write_mcp_file(request)}"),
            *self.denials(request),
            identity,
            *model,
            *self.config.extra_args,
            f"--prompt={fitting_prompt(request)}",
        )
        env = {**request.environment, **FIXED_ENVIRONMENT, **self.home_environment(), **self.config.environment}
        env = {**kept(env, request.meter), **self.metered_environment(request, env)}
        return Launch(argv=argv, env={**env, **loop_environment(request)}, cwd=request.cwd)

    def reader(self, request: LaunchRequest) -> CopilotReader:
        """Make a fresh reader for the session's output."""
        return CopilotReader(
            request.session_id,
            self.signatures,
            server=SERVER_NAME if request.endpoint else "",
            resume_id=request.resume_id or request.session_id,
        )

    def program(self, environment: Mapping[str, str]) -> str:
        """Find the CLI."""
        hint = "install the GitHub Copilot CLI (npm: @github/copilot), or set the binary's path"
        return find_program(PROGRAMS, self.config.binary, environment.get("PATH"), harness=self.name, hint=hint)

    def denials(self, request: LaunchRequest) -> tuple[str, ...]:
        """Deny a verifier every tool that writes files; a verifier also ignores instructions in the work dir."""
        denied = (*self.config.denied_tools, *((WRITING,) if request.read_only else ()))
        plain = ("--no-custom-instructions",) if request.read_only else ()
        return (*plain, *(f"--deny-tool={pattern}" for pattern in denied))

    def metered_environment(self, request: LaunchRequest, env: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that make the meter the provider of one's own; GitHub's own cannot be counted."""
        meter = request.meter
        if meter is None:
            return {}
        if not meter.key:
            hint = "give the meter a provider's key, or switch it off for this harness"
            raise Fault("HARNESS_CONFIG", f"{self.name}: a GitHub login cannot go through the meter", hint=hint)
        kind = env.get("COPILOT_PROVIDER_TYPE", OPENAI)
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_TYPE": kind,
            "COPILOT_PROVIDER_BASE_URL": meter.anthropic_url if kind == ANTHROPIC else meter.openai_url,
            "COPILOT_PROVIDER_API_KEY": meter.key,
        }

    def home_environment(self) -> dict[str, str]:
        """Return the variables that give sessions a configuration of their own, if they have one."""
        home = self.config.home_dir
        return {} if home is None else {**own_home(home), "COPILOT_HOME": str(home / ".copilot")}

    def write_mcp_file(self, request: LaunchRequest) -> Path:
        """Write the servers of this session, which the CLI adds to those of its home."""
        own: dict[str, object] | None = None
        if request.endpoint is not None:
            headers = {"Authorization": f"Bearer {request.endpoint.token}"}
            own = {"type": "http", "url": request.endpoint.url_mcp, "headers": headers, "tools": ["*"]}
        servers = joined_servers(request.mcp_config, SERVERS_KEY, own, harness=self.name)
        return write_private(request.session_dir / "mcp.json", json.dumps({SERVERS_KEY: servers}))
