"""How an agent of the Agent Client Protocol is started for one session, and what it is to be told."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workloop.domain.errors import Fault
from workloop.runner.harness.acp.dialogue import Opening
from workloop.runner.harness.acp.permission import Policy
from workloop.runner.harness.acp.servers import operator_servers, own_over_http, own_over_pipes
from workloop.runner.harness.acp.stream import AcpReader
from workloop.runner.harness.acp.wire import require_package
from workloop.runner.harness.files import loop_environment
from workloop.runner.harness.metering import any_variables, kept
from workloop.runner.harness.needs import Needs, home_in, named_files, program_places
from workloop.runner.harness.port import Capabilities, Launch, LaunchRequest
from workloop.runner.harness.starting import own_home
from workloop.runner.signatures import load_signatures

KIND = "acp"
FIXED_ENVIRONMENT = {"TERM": "dumb", "NO_COLOR": "1"}
UNATTENDED = {  # whichever agent it is: none may replace itself under a running loop
    "COPILOT_AUTO_UPDATE": "false",
    "DISABLE_AUTOUPDATER": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpConfig:
    """Which agent is started, and what it is asked for beyond the prompt.

    command is the agent with whatever makes it speak the protocol, such as gemini --acp; model_argument names the
    option by which it takes a model, for one that offers no choice in the session; mode and read_only_mode are the
    agent's own words; login is the method of authentication that needs nobody; denied_kinds are kinds of tools that
    never get leave.
    """

    name: str = KIND
    command: tuple[str, ...]
    extra_args: tuple[str, ...] = ()
    home_dir: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    model_argument: str = ""
    mode: str = ""
    read_only_mode: str = ""
    login: str = ""
    denied_kinds: frozenset[str] = frozenset()


class AcpHarness:
    """Any agent that speaks the protocol over its standard input and output."""

    tested_versions: tuple[str, ...] = ()
    capabilities = Capabilities(
        resumes=True,
        per_run_mcp=True,
        permission_policy=True,
        observes_claims=True,
        final_text=True,
    )

    def __init__(self, config: AcpConfig, *, version: str = "0") -> None:
        if not config.command:
            raise Fault("HARNESS_CONFIG", f"{config.name}: command is empty", hint="name the agent to start")
        require_package()
        self.config = config
        self.version = version

    @property
    def name(self) -> str:
        """Return the configured name."""
        return self.config.name

    def version_command(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Return nothing: an agent of this protocol says its version in the session."""
        return ()

    def needs(self, environment: Mapping[str, str]) -> Needs:
        """Return the program and the files that its command line names; where it keeps its login is not known."""
        program = self.program(environment)
        home = home_in({**environment, **self.config.environment}, self.config.home_dir)
        return Needs(home=home, readable=(*program_places(program), *named_files(self.config.command[1:])))

    def program(self, environment: Mapping[str, str]) -> str:
        """Find the agent; raises Fault when it is not installed."""
        program = shutil.which(self.config.command[0], path=environment.get("PATH"))
        if program is None:
            missing = f"{self.name}: no executable {self.config.command[0]}"
            raise Fault("HARNESS_MISSING", missing, hint="install it or correct command")
        return program

    def launch(self, request: LaunchRequest) -> Launch:
        """Write the session's private files and say what to start."""
        config = self.config
        self.opening(request)
        program = self.program(request.environment)
        model = (config.model_argument, request.model) if config.model_argument and request.model else ()
        env = {**request.environment, **FIXED_ENVIRONMENT, **own_home(config.home_dir), **config.environment}
        return Launch(
            argv=(program, *config.command[1:], *config.extra_args, *model),
            env={**kept(env, request.meter), **any_variables(request), **UNATTENDED, **loop_environment(request)},
            cwd=request.cwd,
            interactive=True,
        )

    def reader(self, request: LaunchRequest) -> AcpReader:
        """Make a fresh reader for the session's output, which also says what the agent is told."""
        return AcpReader(request.session_id, self.opening(request), load_signatures(KIND), request.started_at)

    def opening(self, request: LaunchRequest) -> Opening:
        """Return what the session is about; raises Fault for a file of servers that cannot be joined."""
        config, endpoint = self.config, request.endpoint
        own = (own_over_http(endpoint), own_over_pipes(request, endpoint)) if endpoint else ()
        return Opening(
            prompt=request.prompt,
            cwd=str(request.cwd),
            version=self.version,
            resume_id=request.resume_id,
            model="" if config.model_argument else request.model or "",
            mode=config.read_only_mode if request.read_only else config.mode,
            login=config.login,
            own=own,
            others=operator_servers(request, self.name),
            policy=Policy(read_only=request.read_only, denied_kinds=config.denied_kinds),
        )
