"""Which combinations of harnesses, phases and MCP files can work: the wrong ones are refused before anything starts."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from workloop.config.budgets import check_budgets
from workloop.config.driver import DriverConfig
from workloop.config.harnesses import HarnessConfig
from workloop.config.mcp import McpServer, vet_mcp_file
from workloop.config.phases import PhaseConfig, check_order
from workloop.config.sandbox import NetworkWish
from workloop.config.trust import read_trusted
from workloop.domain.errors import BadRequest
from workloop.domain.reader import bad


class Able(Protocol):
    """What validation asks of a harness's capabilities."""

    @property
    def turn_cap(self) -> bool:
        """Return whether it can end a session after so many turns."""
        ...

    @property
    def cost_cap(self) -> bool:
        """Return whether it can end a session at a cost."""
        ...

    @property
    def per_run_mcp(self) -> bool:
        """Return whether a session can be given MCP servers of its own."""
        ...

    @property
    def observes_claims(self) -> bool:
        """Return whether its events show what the queue was asked and answered."""
        ...

    @property
    def final_text(self) -> bool:
        """Return whether its last message is known."""
        ...

    @property
    def hands_in_head(self) -> bool:
        """Return whether it cannot settle by itself, so that its new commit is handed in."""
        ...


class Targeted(Protocol):
    """What validation asks of a target; without a queue its sessions claim by themselves, over their own MCP file."""

    @property
    def name(self) -> str:
        """Return the name."""
        ...

    @property
    def work_dir(self) -> Path:
        """Return the project's folder, where sessions can write."""
        ...

    @property
    def mcp_config_path(self) -> Path | None:
        """Return the operator's MCP file for the loop's own harness."""
        ...

    @property
    def mcp_config_paths(self) -> Mapping[str, Path]:
        """Return the operator's MCP files for the other harnesses, by name."""
        ...

    @property
    def queue(self) -> object | None:
        """Return the queue that the loop claims from, if there is one."""
        ...

    @property
    def agents(self) -> tuple[str, ...]:
        """Return the harnesses that may take its work, the preferred one first; none when they are the loop's."""
        ...


def validate(config: DriverConfig, harnesses: Mapping[str, Able], targets: Sequence[Targeted] = ()) -> None:
    """Refuse what cannot work; raises BadRequest that names the entry. harnesses are by the names of the settings.

    The files that entries name are read too: what others could write, or a session, is refused.
    """
    check_order(config.phases)
    check_harness("loop.harness", config.harness, harnesses)
    check_agents("loop.agents", config.agents, config, harnesses)
    for name, block in config.harnesses.items():
        if name in harnesses:
            check_caps(f"harness.{name}", block, harnesses[name])
    used = dict.fromkeys((*config.agent_names(), *(name for target in targets for name in target.agents)))
    check_network(config, (*used, *(phase.harness for phase in config.phases if phase.harness)), harnesses)
    for number, phase in enumerate(config.phases):
        for name in (phase.harness,) if phase.harness else used:
            check_phase(f"phase[{number}]", phase, name, config, harnesses)
    for target in targets:
        check_agents(f"target.{target.name}.agents", target.agents, config, harnesses)
        check_target(target, config, harnesses)
    check_ceilings(config, targets, tuple(used))
    vet_files(config, targets)


def check_ceilings(config: DriverConfig, targets: Sequence[Targeted], agents: Sequence[str]) -> None:
    """Refuse budgets that could not be kept."""
    names = config.harness_names(agents)
    blocks = [config.harnesses.get(name) for name in names]
    check_budgets(
        config.budgets,
        sessions_max=config.sessions_max,
        capped=all(block is not None and block.cost_micros_max is not None for block in blocks),
        targets=tuple(target.name for target in targets),
        harnesses=tuple(dict.fromkeys((*names, *config.harnesses))),
    )


def check_network(config: DriverConfig, names: Sequence[str], harnesses: Mapping[str, Able]) -> None:
    """Refuse to cut off sessions that have to reach the loop to settle what they did."""
    if config.sandbox.network is not NetworkWish.NONE:
        return
    for name in names:
        if not harnesses[name].hands_in_head:
            raise bad(
                "sandbox.network", f"harness {name!r} could not reach the loop to settle", hint='use "loopback" instead'
            )


def vet_files(
    config: DriverConfig, targets: Sequence[Targeted] = (), origin: str = ""
) -> dict[str, tuple[McpServer, ...]]:
    """Return the MCP servers of every named file by its entry; raises BadRequest for a file that is not to be used."""
    inside = [target.work_dir.resolve() for target in targets]
    work_dirs = [*inside, *([] if config.work_dir is None else [config.work_dir.resolve()])]
    for number, phase in enumerate(config.phases):
        if phase.brief is not None:
            vet_brief(phase.brief, f"phase[{number}].brief", work_dirs)
    return {entry: vet_mcp_file(path, entry, work_dirs, origin) for entry, path in mcp_files(config, targets)}


def mcp_files(config: DriverConfig, targets: Sequence[Targeted]) -> Iterator[tuple[str, Path]]:
    """Yield every MCP file that an entry names."""
    for name, block in config.harnesses.items():
        if block.mcp_config is not None:
            yield f"harness.{name}.mcp_config", block.mcp_config
    for target in targets:
        if target.mcp_config_path is not None:
            yield f"target.{target.name}.mcp_config_path", target.mcp_config_path
        for name, path in target.mcp_config_paths.items():
            yield f"target.{target.name}.mcp_config_paths.{name}", path


def vet_brief(path: Path, entry: str, work_dirs: Sequence[Path]) -> None:
    """Refuse a brief that is not there, that others can write, or that a session could change."""
    if any(work_dir in path.resolve().parents for work_dir in work_dirs):
        raise bad(entry, f"{path} lies in a work dir, where a session could change it", hint="move it out of there")
    if not path.is_file():
        raise bad(entry, f"there is no file {path}", hint="write it, or leave the entry out")
    read_trusted(path)


def hand_off_allowed(phase: PhaseConfig | None, able: Able) -> bool:
    """Tell whether a phase's session may ask for a successor; without phases it may wherever that can be read."""
    return able.final_text and (phase is None or phase.handoff is not False)


def check_harness(path: str, name: str, harnesses: Mapping[str, Able]) -> Able:
    """Return what a named harness can do; raises BadRequest when there is none of that name."""
    if name not in harnesses:
        known = ", ".join(sorted(harnesses))
        raise bad(path, f"there is no harness {name!r}", code="HARNESS_UNKNOWN", hint=f"known here: {known}")
    return harnesses[name]


def check_caps(path: str, block: HarnessConfig, able: Able) -> None:
    """Refuse bounds and files that a harness would not honour."""
    if block.turns_max is not None and not able.turn_cap:
        raise unable(f"{path}.turns_max", "this harness cannot end a session after so many turns")
    if block.cost_micros_max is not None and not able.cost_cap:
        raise unable(f"{path}.cost_usd_max", "this harness cannot end a session at a cost")
    if block.mcp_config is not None and not able.per_run_mcp:
        raise unable(f"{path}.mcp_config", "this harness takes no MCP file for a single session")


def check_agents(path: str, agents: Sequence[str], config: DriverConfig, harnesses: Mapping[str, Able]) -> None:
    """Refuse unknown agents, and a choice of them that the first phase has already made."""
    for number, name in enumerate(agents):
        check_harness(f"{path}[{number}]", name, harnesses)
    if len(agents) > 1 and config.phases and config.phases[0].harness:
        hint = "take the harness out of the first phase, or leave the list out"
        raise bad(path, f"changes nothing: phase[0] always runs on {config.phases[0].harness!r}", hint=hint)


def check_phase(path: str, phase: PhaseConfig, name: str, config: DriverConfig, harnesses: Mapping[str, Able]) -> None:
    """Refuse a phase whose harness, tier or bounds do not exist on one of the agents that may run it."""
    able = check_harness(f"{path}.harness", name, harnesses)
    block = config.harnesses.get(name)
    if phase.tier and (block is None or phase.tier not in block.models):
        known = ", ".join(sorted(block.models)) if block is not None and block.models else "none"
        hint = f"add {phase.tier} to [harness.{name}] models; known there: {known}"
        raise bad(f"{path}.tier", f"harness {name!r} has no model for tier {phase.tier!r}", hint=hint)
    if phase.turns_max is not None and not able.turn_cap:
        raise unable(f"{path}.turns_max", f"harness {name!r} cannot end a session after so many turns")
    if phase.handoff and not able.final_text:
        raise unable(f"{path}.handoff", f"harness {name!r} does not tell its last message, so nothing can be handed on")


def check_target(target: Targeted, config: DriverConfig, harnesses: Mapping[str, Able]) -> None:
    """Refuse MCP files for unknown harnesses, phases without theirs, and claims that nobody would see."""
    path = f"target.{target.name}"
    for name in target.mcp_config_paths:
        able = check_harness(f"{path}.mcp_config_paths.{name}", name, harnesses)
        if not able.per_run_mcp:
            raise unable(f"{path}.mcp_config_paths.{name}", "this harness takes no MCP file for a single session")
    own_files = target.mcp_config_path is not None or bool(target.mcp_config_paths) or target.queue is None
    agents = config.agent_names(target.agents)
    for entry, name in elsewhere(config, agents):
        if own_files and name not in target.mcp_config_paths:
            raise bad(
                f"{path}.mcp_config_paths.{name}",
                f"is missing: {entry} runs on {name!r}, whose sessions would not reach what the others reach",
                hint=f"name the MCP file that {name} reads for this target",
            )
    if target.queue is None and len(config.phases) > 1:
        for number, phase in enumerate(config.phases):
            for name in (phase.harness,) if phase.harness else agents:
                if not harnesses[name].observes_claims:
                    raise unable(
                        f"phase[{number}].harness", "its sessions' claims cannot be seen, so no phase could follow"
                    )


def elsewhere(config: DriverConfig, agents: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what runs on another harness than the loop's own, and which: phases, and a target's other agents."""
    for number, phase in enumerate(config.phases):
        if phase.harness and phase.harness != config.harness:
            yield f"phase[{number}]", phase.harness
    for name in agents:
        if name != config.harness:
            yield "its work", name


def unable(path: str, problem: str) -> BadRequest:
    """Build the refusal of what a harness cannot do."""
    return bad(path, problem, hint="leave it out, or choose another harness")
