"""How the Codex CLI is started for one session, in either of its two ways."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from workloop import __version__
from workloop.domain.errors import Fault
from workloop.runner.harness.cli import CliConfig, CliHarness
from workloop.runner.harness.codex.appserver import AppServerReader
from workloop.runner.harness.codex.dialogue import Opening
from workloop.runner.harness.codex.execmode import ExecReader
from workloop.runner.harness.codex.servers import own_server, servers_of
from workloop.runner.harness.codex.settings import metered, overrides, settings_of
from workloop.runner.harness.files import loop_environment, write_private
from workloop.runner.harness.mcpjson import SERVER_NAME
from workloop.runner.harness.metering import KEY_VARIABLE, kept
from workloop.runner.harness.needs import OwnFiles, home_in, seen_from_outside
from workloop.runner.harness.port import Capabilities, Launch, LaunchRequest
from workloop.runner.harness.starting import find_program, fitting_prompt, own_home
from workloop.runner.sandbox.enclosure import SandboxKind

KIND = "codex"
BEARER_VARIABLE = "WORKLOOP_CODEX_TOKEN"
FIXED_ENVIRONMENT = {"TERM": "dumb", "NO_COLOR": "1"}


FILES = OwnFiles(
    logins=(".codex/auth.json",),
    settings=tuple(f".codex/{name}" for name in ("config.toml", "AGENTS.md", "prompts", "skills", "rules")),
    state=(".codex",),
    moved={"CODEX_HOME": ".codex"},
)


class CodexMode(StrEnum):
    """How a session is led: by a dialogue, or by one command whose events say less."""

    APP_SERVER = "app-server"
    EXEC = "exec"


class CodexSandbox(StrEnum):
    """What a worker's commands may touch; a verifier's may only read."""

    FULL = "danger-full-access"
    WORKSPACE = "workspace-write"
    READ_ONLY = "read-only"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexConfig(CliConfig):
    """The operator's choices; home_dir is a home of the sessions' own, kept so that they can be resumed."""

    name: str = KIND
    mode: CodexMode = CodexMode.APP_SERVER
    sandbox: CodexSandbox = CodexSandbox.FULL


class CodexHarness(CliHarness[CodexConfig]):
    """Codex without a person."""

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

    def program(self, environment: Mapping[str, str]) -> str:
        """Find the CLI."""
        return find_binary(self.config, environment.get("PATH"))

    def launch(self, request: LaunchRequest) -> Launch:
        """Write the brief and the token, and build the command line; raises Fault for servers that cannot be joined."""
        binary = self.program(request.environment)
        write_private(request.session_dir / "brief.md", request.prompt)
        env = self.environment(request)
        settings = settings_of(request, self.fence(request))
        meter = tuple(overrides(metered(request)))
        match self.config.mode:
            case CodexMode.APP_SERVER:
                self.opening(request)
                argv = (binary, "app-server", *overrides(settings), *self.config.extra_args, *meter)
                return Launch(argv=argv, env=env, cwd=request.cwd, interactive=True)
            case CodexMode.EXEC:
                settings |= {f"mcp_servers.{name}": server for name, server in self.exec_servers(request).items()}
                settings["shell_environment_policy.exclude"] = [BEARER_VARIABLE, KEY_VARIABLE]
                resume = ("resume",) if request.resume_id else ()
                argv = (binary, "exec", *resume, "--json", "--skip-git-repo-check", *overrides(settings))
                model = ("-m", request.model) if request.model else ()
                known = (request.resume_id,) if request.resume_id else ()
                argv = (*argv, *model, *self.config.extra_args, *meter, *known, "--", fitting_prompt(request))
                token = {BEARER_VARIABLE: request.endpoint.token} if request.endpoint else {}
                return Launch(argv=argv, env={**env, **token}, cwd=request.cwd)

    def reader(self, request: LaunchRequest) -> AppServerReader | ExecReader:
        """Make a fresh reader for the session's output."""
        server = SERVER_NAME if request.endpoint else ""
        match self.config.mode:
            case CodexMode.APP_SERVER:
                return AppServerReader(request, self.signatures, self.opening(request), server=server)
            case CodexMode.EXEC:
                return ExecReader(request, self.signatures, self.kept_in(request), server=server)

    def opening(self, request: LaunchRequest) -> Opening:
        """Say how the thread begins; servers and their secrets are told over the pipe, where nobody else looks."""
        own = None
        if request.endpoint is not None:
            headers = {"Authorization": f"Bearer {request.endpoint.token}"}
            own = own_server(request.endpoint, {"http_headers": headers})
        servers = servers_of(request, self.codex_home(request), own)
        thread: dict[str, object] = {
            "cwd": str(request.cwd),
            "approvalPolicy": "never",
            "sandbox": self.fence(request),
        }
        thread |= {"config": {"mcp_servers": servers}} if servers else {}
        thread |= {"model": request.model} if request.model else {}
        return Opening(
            prompt=request.prompt,
            thread=thread,
            resume_id=request.resume_id,
            version=__version__,
            servers=frozenset(servers),
        )

    def fence(self, request: LaunchRequest) -> CodexSandbox:
        """Return what a session's commands may touch; behind the loop's walls it can build none of its own."""
        if request.enclosure.kind is not SandboxKind.NONE:
            return CodexSandbox.FULL
        return CodexSandbox.READ_ONLY if request.read_only else self.config.sandbox

    def exec_servers(self, request: LaunchRequest) -> dict[str, object]:
        """Return the servers of the simple mode, where others can read the command line: no secrets, so no file."""
        if request.mcp_config is not None:
            raise Fault(
                "HARNESS_CONFIG",
                f"{self.name}: mode exec cannot take {request.mcp_config}: its secrets would show on the command line",
                hint="use mode app-server",
            )
        own = own_server(request.endpoint, {"bearer_token_env_var": BEARER_VARIABLE}) if request.endpoint else None
        return servers_of(request, self.codex_home(request), own)

    def environment(self, request: LaunchRequest) -> dict[str, str]:
        """Return the variables of a session."""
        home = self.config.home_dir
        folder = {} if home is None else {"CODEX_HOME": str(home / ".codex")}
        if home is not None:
            (home / ".codex").mkdir(mode=0o700, parents=True, exist_ok=True)
        base = {**request.environment, **FIXED_ENVIRONMENT, **own_home(home), **folder, **self.config.environment}
        meter = {KEY_VARIABLE: request.meter.key} if request.meter is not None and request.meter.key else {}
        return {**kept(base, request.meter), **meter, **loop_environment(request)}

    def kept_in(self, request: LaunchRequest) -> Path:
        """Return where on this machine a session's threads are, which behind walls is another place."""
        home = home_in({**request.environment, **self.config.environment}, self.config.home_dir)
        return seen_from_outside(self.codex_home(request), home, request.rooms)

    def codex_home(self, request: LaunchRequest) -> Path:
        """Return where the program keeps its settings and threads."""
        if self.config.home_dir is not None:
            return self.config.home_dir / ".codex"
        given = {**request.environment, **self.config.environment}
        return Path(given.get("CODEX_HOME") or Path(given.get("HOME") or Path.home()) / ".codex")


def find_binary(config: CodexConfig, path: str | None) -> str:
    """Find the CLI: the configured one, else the one on PATH, else the one inside the Python package."""
    try:
        return find_program(("codex",), config.binary, path, harness=config.name, hint="install workloop[codex]")
    except Fault:
        bundled = bundled_binary() if config.binary is None else None
        if bundled is None:
            raise
        return bundled


def bundled_binary() -> str | None:
    """Return the program that the package openai-codex brings, if it is installed."""
    spec = find_spec("codex_cli_bin")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        program = Path(folder) / "bin" / "codex"
        if program.is_file():
            return str(program)
    return None
