"""How each agent program is set: a block by a name of the operator's choice, of one of the known kinds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from workloop.config.meter import Metering, read_metering
from workloop.config.names import check_name
from workloop.config.paths import read_path, read_places
from workloop.domain.errors import BadRequest
from workloop.domain.reader import Json, Reader, bad, one_of

ACCOUNT = "default"
TIER_DEFAULT = "default"


class HarnessKind(StrEnum):
    """The agent programs that Workloop can start."""

    CLAUDE = "claude"
    CODEX = "codex"
    OPENCODE = "opencode"
    COPILOT = "copilot"
    QWEN = "qwen"
    ACP = "acp"
    COMMAND = "command"
    SCRIPTED = "scripted"


class HarnessHome(StrEnum):
    """Whose configuration and login of the agent its sessions use."""

    OPERATOR = "operator"
    OWN = "own"


OPTIONS: Mapping[HarnessKind, tuple[str, ...]] = {
    HarnessKind.CLAUDE: ("permissions", "tools"),
    HarnessKind.CODEX: ("mode", "sandbox"),
    HarnessKind.COPILOT: ("denied_tools",),
    HarnessKind.QWEN: ("auth_type", "excluded_tools"),
    HarnessKind.ACP: ("model_argument", "mode", "read_only_mode", "login"),
}
OWN_PROGRAMS = frozenset({HarnessKind.COMMAND, HarnessKind.SCRIPTED})
LOGINS_UNMETERED = frozenset({HarnessKind.COPILOT, HarnessKind.OPENCODE, HarnessKind.QWEN})
NAMED_PROGRAMS = frozenset({HarnessKind.COMMAND, HarnessKind.ACP})


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessConfig:
    """One agent program with one account; what does not apply to its kind stays empty.

    models maps a tier to the alias that this program knows for it; variables are values that its sessions see, and a
    value that begins with @ names a file, for its owner's eyes only, that holds it; readable and writable are places
    that its sessions reach from inside a sandbox, such as its login; meter is how its model calls are counted and
    capped, if they are; options are what one kind knows.
    """

    kind: HarnessKind
    account: str = ACCOUNT
    command: tuple[str, ...] = ()
    extra_args: tuple[str, ...] = ()
    model: str = ""
    models: Mapping[str, str] = field(default_factory=dict[str, str])
    home: HarnessHome = HarnessHome.OPERATOR
    mcp_config: Path | None = None
    turns_max: int | None = None
    cost_micros_max: int | None = None
    environment: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    script: Path | None = None
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    meter: Metering | None = None
    options: Mapping[str, str] = field(default_factory=dict[str, str])

    def model_for(self, tier: str) -> str | None:
        """Return the model that a tier asks for; the program's own choice is None."""
        return self.models.get(tier) or self.model or None


def read_harnesses(value: Json, base: Path) -> dict[str, HarnessConfig]:
    """Read every block of agent programs."""
    reader = Reader(value, "harness")
    found = {
        check_name(name, reader.at(name)): read_harness(reader.take(name), reader.at(name), name, base)
        for name in reader.values
    }
    reader.done()
    return found


def harness_named(harnesses: Mapping[str, HarnessConfig], name: str, path: str) -> HarnessConfig:
    """Return a block by name, an empty one when the name is a kind of its own; raises BadRequest otherwise."""
    if name in harnesses:
        return harnesses[name]
    try:
        kind = HarnessKind(name)
    except ValueError as error:
        raise unknown_harness(harnesses, name, path) from error
    return HarnessConfig(kind=kind)


def unknown_harness(harnesses: Mapping[str, HarnessConfig], name: str, path: str) -> BadRequest:
    """Build the refusal of a name that no block has."""
    known = ", ".join(dict.fromkeys((*harnesses, *HarnessKind)))
    return bad(path, f"there is no harness {name!r}", code="HARNESS_UNKNOWN", hint=f"known here: {known}")


def read_harness(value: Json, path: str, name: str, base: Path) -> HarnessConfig:
    """Read how one agent program is started; a key that does nothing for its kind is refused."""
    reader = Reader({} if value is None else value, path)
    kind = one_of(reader, "kind", HarnessKind, reader.text("kind", default=name))
    home = reader.text("home", default=HarnessHome.OPERATOR)
    cost = reader.number_bound("cost_usd_max", highest=100_000.0)
    script = reader.text("script")
    config = HarnessConfig(
        kind=kind,
        account=check_name(reader.text("account", default=ACCOUNT), reader.at("account")),
        command=reader.texts("command"),
        extra_args=reader.texts("extra_args"),
        model=reader.text("model"),
        models=read_models(reader),
        home=one_of(reader, "home", HarnessHome, home),
        mcp_config=read_path(reader, "mcp_config", base),
        turns_max=reader.whole_bound("turns_max", highest=100_000),
        cost_micros_max=None if cost is None else max(1, round(cost * 1_000_000)),
        environment=reader.texts("environment"),
        variables=reader.table("variables"),
        script=Path(script) if script else None,
        readable=read_places(reader, "readable", base),
        writable=read_places(reader, "writable", base),
        meter=read_metering(reader.take("meter"), reader.at("meter")),
        options=reader.table("options"),
    )
    reader.done()
    refuse_idle(config, path)
    return config


def read_models(reader: Reader) -> dict[str, str]:
    """Read which model each tier asks for."""
    models = {check_name(tier, reader.at("models")): alias.strip() for tier, alias in reader.table("models").items()}
    for tier, alias in models.items():
        if not alias:
            raise bad(f"{reader.at('models')}.{tier}", "names no model")
    return models


def refuse_idle(config: HarnessConfig, path: str) -> None:
    """Refuse what the kind of program cannot honour."""
    idle = {
        "script": config.script is not None and config.kind is not HarnessKind.SCRIPTED,
        "command": bool(config.command) and config.kind is HarnessKind.SCRIPTED,
        "home": config.home is HarnessHome.OWN and config.kind in OWN_PROGRAMS,
        "extra_args": bool(config.extra_args) and config.kind in OWN_PROGRAMS,
        "meter": config.meter is not None and config.kind is HarnessKind.SCRIPTED,
        "meter.login": config.meter is not None and config.meter.login and config.kind in LOGINS_UNMETERED,
    }
    known = OPTIONS.get(config.kind, ())
    idle |= {f"options.{name}": name not in known for name in config.options}
    for key, useless in idle.items():
        if useless:
            raise bad(f"{path}.{key}", f"does nothing for a harness of kind {config.kind}", hint="leave it out")


def require_whole(config: HarnessConfig, path: str) -> None:
    """Refuse to start what has no program; raises BadRequest that names the entry."""
    if config.kind in NAMED_PROGRAMS and not config.command:
        raise missing(path, "command")
    if config.kind is HarnessKind.SCRIPTED and config.script is None:
        raise missing(path, "script")


def missing(path: str, key: str) -> BadRequest:
    """Build the refusal of a block that says too little."""
    example = '["./agent.sh"]' if key == "command" else '"script.json"'
    hint = f"name it in the settings file: [{path}] {key} = {example}"
    return BadRequest("BAD_REQUEST", f"{path}.{key}: is required", hint=hint, field=f"{path}.{key}")
