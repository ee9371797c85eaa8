"""How the Claude Code CLI is started for one session."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from workloop.domain.errors import Fault
from workloop.runner.harness.claude.stream import ClaudeReader, Identity
from workloop.runner.harness.cli import CliConfig, CliHarness
from workloop.runner.harness.files import loop_environment, write_private
from workloop.runner.harness.mcpjson import SERVER_NAME, joined_servers
from workloop.runner.harness.metering import anthropic_variables, kept
from workloop.runner.harness.needs import Needs, OwnFiles
from workloop.runner.harness.port import Capabilities, Launch, LaunchRequest
from workloop.runner.sandbox.enclosure import SandboxKind

KIND = "claude"
ROOT = 0
ARGUMENT_BYTES_MAX = 100_000  # the kernel refuses a single argument of 128 KiB
WRITING_TOOLS = ("Write", "Edit", "NotebookEdit")
READING_TOOLS = ("Read", "Glob", "Grep", "Bash", "BashOutput", "KillShell", "TodoWrite")

FIXED_ENVIRONMENT = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_MAX_RETRIES": "3",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "ENABLE_TOOL_SEARCH": "false",
    "TERM": "dumb",
}
UNATTENDED = {"DISABLE_AUTOUPDATER": "1"}  # a program that replaces itself under a running loop is nobody's wish


FILES = OwnFiles(
    logins=(".claude/.credentials.json",),
    settings=tuple(
        f".claude/{name}"
        for name in ("settings.json", "CLAUDE.md", "agents", "commands", "skills", "plugins", "output-styles", "rules")
    ),
    state=(".claude",),
    moved={"CLAUDE_CONFIG_DIR": ".claude"},
)
ACCOUNT_FILE = ".claude.json"
ACCOUNT_KEYS = ("primaryApiKey", "customApiKeyResponses", "oauthAccount", "userID", "hasCompletedOnboarding")
ACCOUNT_BYTES_MAX = 16 * 1024 * 1024


class ClaudeHome(StrEnum):
    """Whose Claude configuration a session uses."""

    OPERATOR = "operator"
    OWN = "own"


class ClaudePermissions(StrEnum):
    """What a working session may do: only what is listed, or anything at all; a reading one is always listed."""

    LISTED = "listed"
    BYPASS = "bypass"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeConfig(CliConfig):
    """The operator's choices; own needs home_dir, which is kept so that sessions can be resumed."""

    name: str = KIND
    permissions: ClaudePermissions = ClaudePermissions.LISTED
    home: ClaudeHome = ClaudeHome.OPERATOR
    tools: tuple[str, ...] = ()


class ClaudeHarness(CliHarness[ClaudeConfig]):
    """Claude Code in print mode with a line of JSON per event."""

    kind = KIND
    files = FILES
    capabilities = Capabilities(
        reports_cost=True,
        reports_reset=True,
        resumes=True,
        turn_cap=True,
        cost_cap=True,
        per_run_mcp=True,
        permission_policy=True,
        observes_claims=True,
        final_text=True,
    )

    def program(self, environment: Mapping[str, str]) -> str:
        """Find the CLI."""
        return find_binary(self.config.binary, environment.get("PATH"))

    def needs(self, environment: Mapping[str, str]) -> Needs:
        """Return the usual, and of the file that it writes all the time a copy with the account alone."""
        needs = super().needs(environment)
        account = account_in(needs.home / ACCOUNT_FILE)
        return replace(needs, copies={ACCOUNT_FILE: json.dumps(account)} if account else {})

    def launch(self, request: LaunchRequest) -> Launch:
        """Write the private MCP file and build the command line."""
        binary = self.program(request.environment)
        argv = (
            binary,
            *("-p", "--output-format", "stream-json", "--verbose"),
            *("--mcp-config", str(self.write_mcp_file(request)), "--strict-mcp-config"),
            *self.permission_args(request),
            *cap_args(request),
            *self.config.extra_args,
            *metered_args(request),
            *prompt_args(request),
        )
        env = {**request.environment, **FIXED_ENVIRONMENT, **self.home_environment(), **self.config.environment}
        env = {**kept(env, request.meter), **anthropic_variables(request.meter), **walled(request)}
        if self.bypasses(request):
            refuse_bypassing_root(self.name, os.geteuid(), env)
        return Launch(argv=argv, env={**env, **UNATTENDED, **loop_environment(request)}, cwd=request.cwd)

    def reader(self, request: LaunchRequest) -> ClaudeReader:
        """Make a fresh reader for the session's output."""
        identity = Identity(
            session_id=request.session_id,
            server=SERVER_NAME if request.endpoint else "",
            resume_id=request.resume_id,
            started_at=request.started_at,
        )
        return ClaudeReader(identity, self.signatures)

    def permission_args(self, request: LaunchRequest) -> tuple[str, ...]:
        """Offer and allow a fixed list and deny the rest; a verifier also ignores the settings of the work dir."""
        if self.bypasses(request):
            return ("--permission-mode", "bypassPermissions")
        tools = [*READING_TOOLS, *self.config.tools]
        args = ["--permission-mode", "dontAsk"]
        if request.read_only:
            args += ["--disallowedTools", " ".join(WRITING_TOOLS), "--setting-sources", "user"]
        else:
            tools += WRITING_TOOLS
        offered = dict.fromkeys(tool.partition("(")[0] for tool in tools if not tool.startswith("mcp__"))
        servers = {SERVER_NAME: None, **self.servers(request)}
        allowed = [*(f"mcp__{server}" for server in servers), *tools]
        return (*args, "--tools", ",".join(offered), "--allowedTools", " ".join(allowed))

    def servers(self, request: LaunchRequest) -> dict[str, object]:
        """Return every MCP server of the session; raises Fault for an operator's file that cannot be joined."""
        own = None
        if request.endpoint is not None:
            headers = {"Authorization": f"Bearer {request.endpoint.token}"}
            own = {"type": "http", "url": request.endpoint.url_mcp, "headers": headers}
        return joined_servers(request.mcp_config, "mcpServers", own, harness=self.name)

    def write_mcp_file(self, request: LaunchRequest) -> Path:
        """Write the only MCP configuration the session sees."""
        content = json.dumps({"mcpServers": self.servers(request)})
        return write_private(request.session_dir / "mcp.json", content)

    def bypasses(self, request: LaunchRequest) -> bool:
        """Say whether the session may do anything at all."""
        return self.config.permissions is ClaudePermissions.BYPASS and not request.read_only

    def home_environment(self) -> dict[str, str]:
        """Return the variables that give a session its own Claude configuration, if it has one."""
        match self.config.home:
            case ClaudeHome.OPERATOR:
                return {}
            case ClaudeHome.OWN:
                if self.config.home_dir is None:
                    raise Fault("HARNESS_CONFIG", f"{self.name}: home = own needs home_dir", hint="set home_dir")
                self.config.home_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
                home = self.config.home_dir
                return {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}


def account_in(path: Path) -> dict[str, object]:
    """Return what a file of the program's says of the account; nothing when there is no such file."""
    try:
        content: object = json.loads(path.read_bytes()[:ACCOUNT_BYTES_MAX])
    except (OSError, ValueError, RecursionError):
        return {}
    known = cast("dict[str, object]", content) if isinstance(content, dict) else {}
    return {key: known[key] for key in ACCOUNT_KEYS if key in known}


def walled(request: LaunchRequest) -> dict[str, str]:
    """Tell the program of the loop's walls, inside of which even root may do anything."""
    return {} if request.enclosure.kind is SandboxKind.NONE else {"IS_SANDBOX": "1"}


def refuse_bypassing_root(name: str, uid: int, environment: Mapping[str, str]) -> None:
    """Refuse what the CLI would refuse without an event: root without permissions, unless it is told of a sandbox."""
    if uid == ROOT and environment.get("IS_SANDBOX") != "1":
        raise Fault(
            "HARNESS_CONFIG",
            f"{name}: permissions = bypass is refused to root",
            hint="run as another user, keep permissions = listed, or set IS_SANDBOX = 1 for a machine of its own",
        )


def cap_args(request: LaunchRequest) -> tuple[str, ...]:
    """Return the session's identity, model and caps."""
    identity = ("--resume", request.resume_id) if request.resume_id else ("--session-id", request.session_id)
    model = ("--model", request.model) if request.model else ()
    turns = ("--max-turns", str(request.turns_max)) if request.turns_max else ()
    micros = request.cost_micros_max
    cost = ("--max-budget-usd", f"{micros / 1_000_000:.6f}") if micros else ()
    return (*identity, *model, *turns, *cost)


def metered_args(request: LaunchRequest) -> tuple[str, ...]:
    """Repeat where the meter is in settings that come before those of the home, which come before the environment."""
    if request.meter is None:
        return ()
    content = json.dumps({"env": anthropic_variables(request.meter)})
    return ("--settings", str(write_private(request.session_dir / "meter.json", content)))


def prompt_args(request: LaunchRequest) -> tuple[str, ...]:
    """Return the prompt after the end of options; a very long one goes through a file."""
    if len(request.prompt.encode()) <= ARGUMENT_BYTES_MAX:
        return ("--", request.prompt)
    folder = request.session_dir / "brief"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = write_private(folder / "brief.md", request.prompt)
    return ("--add-dir", str(folder), "--", f"Read the file {path} and do exactly what it says.")


def find_binary(configured: str | None, path: str | None) -> str:
    """Find the CLI: the configured one, else the one on PATH, else the one inside the agent SDK."""
    if configured is not None:
        found = shutil.which(configured, path=path)
        if found is None:
            raise Fault("HARNESS_MISSING", f"claude: no executable at {configured}", hint="correct the binary's path")
        return found
    on_path = shutil.which("claude", path=path)
    if on_path is not None:
        return on_path
    spec = find_spec("claude_agent_sdk")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        bundled = shutil.which(str(Path(folder) / "_bundled" / "claude"))
        if bundled is not None:
            return bundled
    raise Fault("HARNESS_MISSING", "claude: no executable found", hint="install Claude Code or workloop[claude]")
