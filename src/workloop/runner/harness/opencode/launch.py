"""How the opencode CLI is started for one session."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from workloop.domain.errors import Fault
from workloop.runner.harness.cli import CliConfig, CliHarness
from workloop.runner.harness.files import loop_environment, write_private
from workloop.runner.harness.mcpjson import SERVER_NAME, joined_servers, operator_servers
from workloop.runner.harness.metering import KEY_VARIABLE, kept
from workloop.runner.harness.needs import Needs, OwnFiles
from workloop.runner.harness.opencode.stream import OpencodeReader
from workloop.runner.harness.port import Capabilities, Launch, LaunchRequest
from workloop.runner.harness.starting import XDG_FOLDERS, find_program, own_home, reading

KIND = "opencode"
SERVERS_KEY = "mcp"
ANTHROPIC = "anthropic"
MCP_MILLISECONDS = 120_000  # its own bound of a call is shorter than a check may take
PURE = "--pure"  # no plugins: they are code, and the work dir can name some

FIXED_ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_SHARE": "1",
        "TERM": "dumb",
    }
)
# A permission that is asked for is rejected at once and ends the turn, so nothing is left at "ask".
WORKER_PERMISSIONS: Mapping[str, str] = MappingProxyType(
    {
        "bash": "allow",
        "doom_loop": "allow",
        "edit": "allow",
        "external_directory": "allow",
        "question": "deny",
        "read": "allow",
        "webfetch": "deny",
        "websearch": "deny",
    }
)


SETTINGS = ".config/opencode"
FILES = OwnFiles(
    logins=(".local/share/opencode/auth.json",),
    settings=(SETTINGS,),
    state=(".local/share/opencode", ".local/state/opencode", ".cache/opencode"),
    moved=XDG_FOLDERS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpencodeConfig(CliConfig):
    """The operator's choices; home_dir gives sessions a home of their own, which is kept so that they can be resumed.

    permissions are added to those of the adapter, under the names that opencode has for them; a verifier's ban on
    edits stands in any case.
    """

    name: str = KIND
    permissions: Mapping[str, str] = field(default_factory=dict[str, str])


class OpencodeHarness(CliHarness[OpencodeConfig]):
    """opencode's run command with a line of JSON per event; it has no cap on turns that holds."""

    kind = KIND
    files = FILES
    capabilities = Capabilities(
        reports_cost=True,
        reports_reset=True,
        resumes=True,
        per_run_mcp=True,
        permission_policy=True,
        observes_claims=True,
        final_text=True,
    )

    def needs(self, environment: Mapping[str, str]) -> Needs:
        """Return the usual, but for the folder of its settings what lies in it: it must write a file beside that."""
        needs = super().needs(environment)
        moved = {} if self.config.home_dir else {**environment, **self.config.environment}
        folder = self.files.place(SETTINGS, needs.home, moved)
        others = (place for place in needs.readable if place != folder)
        return replace(needs, readable=(*others, *(sorted(folder.iterdir()) if folder.is_dir() else ())))

    def launch(self, request: LaunchRequest) -> Launch:
        """Write the session's private configuration and build the command line.

        The prompt is what the program reads: as an argument it would be put into quotes, and split into words a number
        among them would end the program.
        """
        session = ("--session", request.resume_id) if request.resume_id else ()
        model = ("--model", request.model) if request.model else ()
        argv = (
            self.program(request.environment),
            *("run", "--format", "json", PURE),
            *session,
            *model,
            *self.config.extra_args,
        )
        env = {**request.environment, **FIXED_ENVIRONMENT, **own_home(self.config.home_dir), **self.config.environment}
        brief = write_private(request.session_dir / "brief.md", request.prompt)
        env = {**kept(env, request.meter), **self.session_environment(request), **self.metered_environment(request)}
        return Launch(argv=reading(brief, argv), env=env, cwd=request.cwd)

    def reader(self, request: LaunchRequest) -> OpencodeReader:
        """Make a fresh reader for the session's output."""
        own = (SERVER_NAME,) if request.endpoint else ()
        servers = (*own, *operator_servers(request.mcp_config, SERVERS_KEY, harness=self.name))
        return OpencodeReader(
            request.session_id, self.signatures, servers=servers, own=SERVER_NAME, resume_id=request.resume_id
        )

    def program(self, environment: Mapping[str, str]) -> str:
        """Find the CLI."""
        hint = "install opencode (npm: opencode-ai), or set the binary's path"
        return find_program((KIND,), self.config.binary, environment.get("PATH"), harness=self.name, hint=hint)

    def session_environment(self, request: LaunchRequest) -> dict[str, str]:
        """Return what makes one session: its configuration, and permissions that no file can loosen.

        A verifier also ignores the configuration of the work dir, which the candidate's author wrote.
        """
        permissions = {**WORKER_PERMISSIONS, **self.config.permissions}
        env = loop_environment(request)
        if request.read_only:
            permissions["edit"] = "deny"
            env["OPENCODE_DISABLE_PROJECT_CONFIG"] = "1"
        env["OPENCODE_PERMISSION"] = json.dumps(permissions, sort_keys=True)
        env["OPENCODE_CONFIG"] = str(self.write_configuration(request))
        return env

    def metered_environment(self, request: LaunchRequest) -> dict[str, str]:
        """Return the configuration that outranks every file: the model's provider is the meter, and the only one."""
        meter = request.meter
        if meter is None:
            return {}
        provider, _, model = (request.model or "").partition("/")
        if not model:
            hint = f'set model = "provider/model" for {self.name}'
            raise Fault("HARNESS_CONFIG", f"{self.name}: a metered session needs to know its provider", hint=hint)
        url = f"{meter.anthropic_url}/v1" if provider == ANTHROPIC else meter.openai_url
        options = {"baseURL": url, **({"apiKey": f"{{env:{KEY_VARIABLE}}}"} if meter.key else {})}
        content = {"enabled_providers": [provider], "provider": {provider: {"options": options}}}
        return {
            "OPENCODE_CONFIG_CONTENT": json.dumps(content),
            **({KEY_VARIABLE: meter.key} if meter.key else {}),
        }

    def write_configuration(self, request: LaunchRequest) -> Path:
        """Write the private configuration, which is merged with the operator's own."""
        own: dict[str, object] | None = None
        if request.endpoint is not None:
            own = {
                "type": "remote",
                "url": request.endpoint.url_mcp,
                "headers": {"Authorization": f"Bearer {request.endpoint.token}"},
                "enabled": True,
                "oauth": False,
                "timeout": MCP_MILLISECONDS,
            }
        servers = joined_servers(request.mcp_config, SERVERS_KEY, own, harness=self.name)
        settings = {"autoupdate": False, "share": "disabled", SERVERS_KEY: servers}
        return write_private(request.session_dir / "opencode.json", json.dumps(settings))
