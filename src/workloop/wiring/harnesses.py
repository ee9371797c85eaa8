"""Which adapter each kind of harness has, and what its sessions may see of the operator's environment."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from workloop.config import DriverConfig, HarnessConfig, HarnessHome, HarnessKind, read_secret
from workloop.config.harnesses import require_whole
from workloop.domain.errors import BadRequest, Fault

if TYPE_CHECKING:
    from workloop.runner.harness.port import Harness

HOMES = "homes"


def make_harnesses(config: DriverConfig, folder: Path) -> "dict[str, Harness]":
    """Return every harness that a loop declares or uses, configured, by name; their own homes lie in the folder."""
    names = dict.fromkeys((*config.harness_names(), *config.harnesses))
    return {name: make_harness(config, name, folder) for name in names}


def make_harness(config: DriverConfig, name: str, folder: Path) -> "Harness":
    """Return the adapter of one agent program, configured."""
    block = config.harness_config(name)
    require_whole(block, f"harness.{name}")
    home = folder / HOMES / name if block.home is HarnessHome.OWN else None
    variables = variables_of(name, block)
    match block.kind:
        case HarnessKind.CLAUDE:
            from workloop.runner.harness.claude.launch import ClaudeConfig, ClaudeHarness, ClaudeHome

            return ClaudeHarness(
                ClaudeConfig(
                    binary=binary_of(block),
                    extra_args=extra_args_of(block),
                    home=ClaudeHome(block.home),
                    home_dir=home,
                    environment=variables,
                )
            )
        case HarnessKind.COMMAND:
            from workloop.runner.harness.command import CommandConfig, CommandHarness

            return CommandHarness(CommandConfig(argv=block.command, name=name, environment=variables))
        case HarnessKind.SCRIPTED:
            from workloop.runner.harness.scripted import ScriptedConfig, ScriptedHarness

            return ScriptedHarness(ScriptedConfig(script=block.script or Path()))
        case _:
            raise Fault(
                "HARNESS_CONFIG",
                f"harness {name}: there is no adapter for {block.kind} in this build",
                hint="choose another kind",
            )


def binary_of(block: HarnessConfig) -> str | None:
    """Return the program that the operator named, if any."""
    return block.command[0] if block.command else None


def extra_args_of(block: HarnessConfig) -> tuple[str, ...]:
    """Return the arguments that the operator adds to every session's."""
    return (*block.command[1:], *block.extra_args)


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
