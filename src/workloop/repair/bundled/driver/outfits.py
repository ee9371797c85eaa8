"""What a session of one agent gets of a harness of files: laid out in folders of its own, for this session alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workloop.config.harnesses import HarnessKind
from workloop.repair.bundled.driver.premises import Agent
from workloop.repair.bundled.laying import FOLDER_MODE, lay
from workloop.repair.bundled.manifest import HarnessSpec
from workloop.repair.bundled.mapping import agent_command, setup_for
from workloop.repair.port import SessionSetup

SERVERS_MODE: Final = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class Outfit:
    """A session's setup, the folder of packages that it may read, what comes before its prompt, its cap of turns."""

    setup: SessionSetup
    packages: Path
    preface: str
    turns_max: int | None


def outfit(agent: Agent, harness: HarnessSpec, runtime: Path, folder: Path) -> Outfit:
    """Lay out a harness for one session below a new folder; runtime is where the files of its commit lie."""
    home, packages = folder / "home", folder / "packages"
    for made in (folder, home, packages):
        made.mkdir(mode=FOLDER_MODE)
    made = setup_for(agent.kind, harness, packages, agent.options)
    lay(made.home, home)
    lay(made.packages, packages)
    servers: Path | None = None
    if made.servers and agent.kind not in (HarnessKind.COMMAND, HarnessKind.SCRIPTED):
        servers = packages / "servers"
        servers.write_text(made.servers, "utf-8")
        servers.chmod(SERVERS_MODE)
    setup = SessionSetup(home=home, servers=servers, options=made.options, command=command_of(agent, harness, runtime))
    return Outfit(setup=setup, packages=packages, preface=made.preface, turns_max=made.turns_max)


def command_of(agent: Agent, harness: HarnessSpec, runtime: Path) -> tuple[str, ...]:
    """Return what starts the agent's own code, with the operator's command as its interpreter; empty for any other."""
    if agent.kind is not HarnessKind.COMMAND or harness.agent is None:
        return ()
    interpreter, *rest = agent_command(harness, runtime)
    return (*(agent.command or (interpreter,)), *rest)
