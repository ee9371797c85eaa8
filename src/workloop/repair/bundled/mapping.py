"""How a harness of files becomes what each agent program reads: its instructions, skills, servers and options."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, assert_never

from workloop.config.harnesses import HarnessKind
from workloop.repair.bundled.files import HarnessFile, HarnessFiles
from workloop.repair.bundled.manifest import CodexFence, HarnessSettings, HarnessSpec
from workloop.repair.bundled.packages.bundle import FOLDER_VARIABLE, Bundle

TOOL_SERVER: Final = "harness"
SERVER_PROGRAM: Final = "toolserver.py"
TOOLS: Final = "tools"
BUNDLES: Final = "bundles"
SKILLS: Final = "skills"
PYTHON: Final = "python3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One MCP server as a program that the agent starts."""

    name: str
    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Where an agent program looks, from its home, for what it is told always and for skills."""

    instructions: str
    skills: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSetup:
    """What is laid out and set for a session of one agent program with a harness.

    home are files of the agent's own home, packages those below the folder that setup_for was told of; servers is the
    text of the file of MCP servers in the program's dialect, empty for none; preface is what has to come before the
    prompt, because the program has no place of its own for it; options are those of its block in the settings.
    """

    home: HarnessFiles
    packages: HarnessFiles
    servers: str
    preface: str
    options: Mapping[str, str]
    turns_max: int | None


def setup_for(kind: HarnessKind, harness: HarnessSpec, packages: Path, options: Mapping[str, str]) -> AgentSetup:
    """Return the setup of one agent program; options are the operator's, of which a harness can only take away."""
    told = told_of(kind)
    skills = {f"{skill.name}/{path}": file for skill in harness.skills for path, file in skill.files.items()}
    home: dict[str, HarnessFile] = {}
    laid = dict(packages_of(harness))
    if told is None:
        laid |= {f"{SKILLS}/{path}": file for path, file in skills.items()}
    else:
        home |= {f"{told.skills}/{path}": file for path, file in skills.items()}
        if harness.instructions:
            home[told.instructions] = HarnessFile(data=f"{harness.instructions}\n".encode())
    return AgentSetup(
        home=home,
        packages=laid,
        servers=servers_text(kind, servers_of(harness, packages)),
        preface="" if told is not None else preface_of(harness, packages),
        options=options_of(kind, harness, options),
        turns_max=harness.settings.turns_max,
    )


def told_of(kind: HarnessKind) -> Told | None:
    """Return the places of a program in its home; None for one of which no place is known."""
    match kind:
        case HarnessKind.CLAUDE:
            return Told(instructions=".claude/CLAUDE.md", skills=".claude/skills")
        case HarnessKind.CODEX:
            return Told(instructions=".codex/AGENTS.md", skills=".codex/skills")
        case HarnessKind.OPENCODE:
            return Told(instructions=".config/opencode/AGENTS.md", skills=".config/opencode/skills")
        case HarnessKind.COPILOT:
            return Told(instructions=".copilot/copilot-instructions.md", skills=".copilot/skills")
        case HarnessKind.QWEN:
            return Told(instructions=".qwen/QWEN.md", skills=".qwen/skills")
        case HarnessKind.ACP | HarnessKind.COMMAND | HarnessKind.SCRIPTED:
            return None
        case _:
            assert_never(kind)


def packages_of(harness: HarnessSpec) -> HarnessFiles:
    """Return the files of tools and bundles, and of the program that offers the tools."""
    found: dict[str, HarnessFile] = {}
    for tool in harness.tools:
        found |= {f"{TOOLS}/{tool.name}/{path}": file for path, file in tool.files.items()}
    for bundle in harness.bundles:
        found |= {f"{BUNDLES}/{bundle.name}/{path}": file for path, file in bundle.files.items()}
    if harness.tools:
        data = Path(__file__).with_name(SERVER_PROGRAM).read_bytes()
        found[SERVER_PROGRAM] = HarnessFile(data=data)
    return found


def servers_of(harness: HarnessSpec, packages: Path) -> tuple[Server, ...]:
    """Return every MCP server: one that offers all tools, and one for each bundle."""
    bundles = tuple(server_of(bundle, packages / BUNDLES / bundle.name) for bundle in harness.bundles)
    if not harness.tools:
        return bundles
    args = ("-I", str(packages / SERVER_PROGRAM), str(packages / TOOLS))
    return (Server(name=TOOL_SERVER, command=PYTHON, args=args), *bundles)


def server_of(bundle: Bundle, folder: Path) -> Server:
    """Return the server of a bundle that lies in a folder."""
    filled = tuple(entry.replace(FOLDER_VARIABLE, str(folder)) for entry in (bundle.command, *bundle.args))
    return Server(name=bundle.name, command=filled[0], args=filled[1:], env=dict(bundle.env))


def servers_text(kind: HarnessKind, servers: tuple[Server, ...]) -> str:
    """Write the servers in a program's own dialect; empty when there are none."""
    if not servers:
        return ""
    match kind:
        case HarnessKind.CODEX:
            return "".join(codex_table(server) for server in servers)
        case HarnessKind.OPENCODE:
            return json.dumps({"mcp": {server.name: opencode_entry(server) for server in servers}}, indent=1)
        case HarnessKind.COPILOT:
            entries = {server.name: {**usual(server, "local"), "tools": ["*"]} for server in servers}
            return json.dumps({"mcpServers": entries}, indent=1)
        case (
            HarnessKind.CLAUDE | HarnessKind.QWEN | HarnessKind.ACP | HarnessKind.COMMAND | HarnessKind.SCRIPTED
        ):  # the last two are given no such file by the loop; it is the form that most programs know
            return json.dumps({"mcpServers": {server.name: usual(server, "stdio") for server in servers}}, indent=1)
        case _:
            assert_never(kind)


def usual(server: Server, transport: str) -> dict[str, object]:
    """Return a server in the form that most programs know."""
    return {"type": transport, "command": server.command, "args": list(server.args), "env": dict(server.env)}


def opencode_entry(server: Server) -> dict[str, object]:
    """Return a server in opencode's form."""
    command = [server.command, *server.args]
    return {"type": "local", "command": command, "environment": dict(server.env), "enabled": True}


def codex_table(server: Server) -> str:
    """Return a server as a table of Codex's settings; names are slugs, and JSON's texts are TOML's."""
    env = ", ".join(f"{name} = {quoted(value)}" for name, value in server.env.items())
    args = ", ".join(quoted(entry) for entry in server.args)
    head = f"[mcp_servers.{server.name}]\ncommand = {quoted(server.command)}\nargs = [{args}]\n"
    return f"{head}env = {{{env}}}\nrequired = true\n"


def quoted(text: str) -> str:
    """Write a text for TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def options_of(kind: HarnessKind, harness: HarnessSpec, options: Mapping[str, str]) -> dict[str, str]:
    """Return the operator's options with what the harness takes away; skills need Claude's tool that reads them."""
    settings, given = harness.settings, dict(options)
    match kind:
        case HarnessKind.CLAUDE:
            return joined(given, "tools", ("Skill",)) if harness.skills else given
        case HarnessKind.CODEX:
            return {**given, "sandbox": tighter(given.get("sandbox", CodexFence.FULL), settings)}
        case HarnessKind.COPILOT:
            return joined(given, "denied_tools", settings.copilot_denied)
        case HarnessKind.QWEN:
            return joined(given, "excluded_tools", settings.qwen_excluded)
        case HarnessKind.OPENCODE | HarnessKind.ACP | HarnessKind.COMMAND | HarnessKind.SCRIPTED:
            return given
        case _:
            assert_never(kind)


def joined(options: Mapping[str, str], name: str, more: tuple[str, ...]) -> dict[str, str]:
    """Return options with more entries in one that is a list with commas between."""
    entries = [entry.strip() for entry in options.get(name, "").split(",") if entry.strip()]
    whole = ",".join(dict.fromkeys((*entries, *more)))
    return {**options, name: whole} if whole else dict(options)


def tighter(operator: str, settings: HarnessSettings) -> str:
    """Return the tighter of the operator's fence and the harness's."""
    fences = list(CodexFence)
    return max(CodexFence(operator), settings.codex_sandbox, key=fences.index)


def preface_of(harness: HarnessSpec, packages: Path) -> str:
    """Return instructions and a list of skills for a program that has no place of its own for either."""
    lines = [
        f"- {skill.name}: {skill.description} ({packages / SKILLS / skill.name}/SKILL.md)" for skill in harness.skills
    ]
    skills = "\n".join(("Skills, each to be read when it fits:", *lines)) if lines else ""
    return "\n\n".join(part for part in (harness.instructions, skills) if part)


def agent_command(harness: HarnessSpec, runtime: Path) -> tuple[str, ...]:
    """Return what runs the agent's own code out of a runtime's files; empty when the harness brings none."""
    if harness.agent is None:
        return ()
    return (PYTHON, str(runtime / harness.agent.entry), *harness.agent.arguments)
