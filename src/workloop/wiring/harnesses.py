"""Which adapter each kind of harness has, and what its sessions may see of the operator's environment."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, assert_never

from workloop.config import DriverConfig, HarnessConfig, HarnessHome, HarnessKind, read_secret
from workloop.config.harnesses import require_whole
from workloop.domain.errors import BadRequest
from workloop.domain.reader import Choice, Reader, one_of

if TYPE_CHECKING:
    from workloop.runner.harness.port import Harness

HOMES = "homes"


def make_harnesses(config: DriverConfig, folder: Path) -> "dict[str, Harness]":
    """Return every harness that a loop declares or uses, configured, by name; their own homes lie in the folder."""
    names = dict.fromkeys((*config.harness_names(), *config.harnesses))
    return {name: make_harness(config, name, folder) for name in names}


def make_harness(config: DriverConfig, name: str, folder: Path) -> "Harness":
    """Return the adapter of one agent program, configured; raises BadRequest that names the entry at fault."""
    block = config.harness_config(name)
    return harness_of(name, block, folder / HOMES / name if block.home is HarnessHome.OWN else None)


def harness_of(name: str, block: HarnessConfig, home: Path | None) -> "Harness":
    """Return the adapter of a block; the home is its sessions' own, None leaves them the operator's."""
    require_whole(block, f"harness.{name}")
    order = Order(name, block, home, variables_of(name, block))
    match block.kind:
        case HarnessKind.CLAUDE:
            return make_claude(order)
        case HarnessKind.CODEX:
            return make_codex(order)
        case HarnessKind.ACP:
            return make_acp(order)
        case HarnessKind.OPENCODE | HarnessKind.COPILOT | HarnessKind.QWEN:
            return make_other(order, block.kind)
        case HarnessKind.COMMAND:
            from workloop.runner.harness.command import CommandConfig, CommandHarness

            return CommandHarness(CommandConfig(argv=block.command, name=name, environment=order.variables))
        case HarnessKind.SCRIPTED:
            from workloop.runner.harness.scripted import ScriptedConfig, ScriptedHarness

            script = block.script or Path()
            return ScriptedHarness(ScriptedConfig(script=script, name=name, environment=order.variables))
        case _:
            assert_never(block.kind)


class Usual(TypedDict):
    """What every adapter of an agent's command line takes."""

    name: str
    binary: str | None
    home_dir: Path | None
    extra_args: tuple[str, ...]
    environment: Mapping[str, str]


class Order(NamedTuple):
    """A harness to make: its block, its home and the values that its sessions see."""

    name: str
    block: HarnessConfig
    home: Path | None
    variables: Mapping[str, str]

    def usual(self) -> Usual:
        """Return what every adapter of an agent's command line takes."""
        return Usual(
            name=self.name,
            binary=self.block.command[0] if self.block.command else None,
            home_dir=self.home,
            extra_args=(*self.block.command[1:], *self.block.extra_args),
            environment=self.variables,
        )

    def listed(self, name: str) -> tuple[str, ...]:
        """Return what one of the kind's own options lists, with commas between."""
        return tuple(entry for part in self.block.options.get(name, "").split(",") if (entry := part.strip()))

    def option(self, name: str, kinds: type[Choice], default: Choice) -> Choice:
        """Return one of the kind's own options; raises BadRequest that names it."""
        return one_of(Reader({}, f"harness.{self.name}.options"), name, kinds, self.block.options.get(name, default))


def make_claude(order: Order) -> "Harness":
    """Return the adapter of Claude Code."""
    from workloop.runner.harness.claude.launch import ClaudeConfig, ClaudeHarness, ClaudeHome, ClaudePermissions

    return ClaudeHarness(
        ClaudeConfig(
            **order.usual(),
            home=ClaudeHome(order.block.home),
            permissions=order.option("permissions", ClaudePermissions, ClaudePermissions.LISTED),
            tools=order.listed("tools"),
        )
    )


def make_codex(order: Order) -> "Harness":
    """Return the adapter of Codex."""
    from workloop.runner.harness.codex.launch import CodexConfig, CodexHarness, CodexMode, CodexSandbox

    return CodexHarness(
        CodexConfig(
            **order.usual(),
            mode=order.option("mode", CodexMode, CodexMode.APP_SERVER),
            sandbox=order.option("sandbox", CodexSandbox, CodexSandbox.FULL),
        )
    )


def make_other(order: Order, kind: Literal[HarnessKind.OPENCODE, HarnessKind.COPILOT, HarnessKind.QWEN]) -> "Harness":
    """Return the adapter of an agent that takes little but the usual."""
    match kind:
        case HarnessKind.OPENCODE:
            from workloop.runner.harness.opencode.launch import OpencodeConfig, OpencodeHarness

            return OpencodeHarness(OpencodeConfig(**order.usual()))
        case HarnessKind.COPILOT:
            from workloop.runner.harness.copilot.launch import CopilotConfig, CopilotHarness

            return CopilotHarness(CopilotConfig(**order.usual(), denied_tools=order.listed("denied_tools")))
        case HarnessKind.QWEN:
            from workloop.runner.harness.qwen.launch import QwenConfig, QwenHarness

            return QwenHarness(
                QwenConfig(
                    **order.usual(),
                    auth_type=order.block.options.get("auth_type", ""),
                    excluded_tools=order.listed("excluded_tools"),
                )
            )
        case _:
            assert_never(kind)


def make_acp(order: Order) -> "Harness":
    """Return the adapter of an agent that speaks the Agent Client Protocol."""
    from workloop.runner.harness.acp.launch import AcpConfig, AcpHarness

    return AcpHarness(
        AcpConfig(
            name=order.name,
            command=order.block.command,
            extra_args=order.block.extra_args,
            home_dir=order.home,
            environment=order.variables,
            model_argument=order.block.options.get("model_argument", ""),
            mode=order.block.options.get("mode", ""),
            read_only_mode=order.block.options.get("read_only_mode", ""),
            login=order.block.options.get("login", ""),
        )
    )


def variables_of(name: str, block: HarnessConfig) -> dict[str, str]:
    """Return the values that a harness's sessions see; @path stands for what a private file holds."""
    return {
        variable: secret_in(value[1:], f"harness.{name}.variables.{variable}") if value.startswith("@") else value
        for variable, value in block.variables.items()
    }


def secret_in(text: str, path: str) -> str:
    """Return what a private file holds; raises BadRequest that names the entry."""
    file = Path(text).expanduser()
    if not file.is_absolute():
        raise BadRequest("BAD_REQUEST", f"{path}: @{text} is not an absolute path", hint="write the whole path")
    if not file.is_file():
        raise BadRequest("BAD_REQUEST", f"{path}: there is no file {file}", hint="make it, with mode 600")
    return read_secret(file)


def session_environment(config: DriverConfig, name: str, source: Mapping[str, str]) -> dict[str, str]:
    """Return what a harness's sessions may see of an environment: the usual few, and what the operator named."""
    from workloop.runner.command import safe_environment

    allowed = (*config.environment, *config.harness_config(name).environment)
    return {**safe_environment(source), **{name: source[name] for name in allowed if name in source}}


def known_secrets(config: DriverConfig, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return every secret value that the loop knows of: by its name in the environment, or out of a private file."""
    from workloop.domain.redaction import secrets_in

    given: list[str] = []
    for name, block in config.harnesses.items():
        values = variables_of(name, block)
        given += [values[key] for key, value in block.variables.items() if value.startswith("@")]
        given += secrets_in(values)
    return (*secrets_in(environment), *given)
