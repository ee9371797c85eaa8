"""How the doctor looks at agent programs without spending anything: program, version, login, model, MCP files."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from workloop.config import HarnessConfig, HarnessHome, HarnessKind, Settings
from workloop.config.mcp import McpServer
from workloop.config.meter import Metering
from workloop.domain.errors import WorkloopError
from workloop.runner.harness.port import Harness
from workloop.wiring.doctor.finding import Finding, broken, doubtful, fine, refused
from workloop.wiring.harnesses import HOMES, session_environment
from workloop.wiring.metering import upstream_of
from workloop.wiring.versions import version_of

LOGIN_FILES: Mapping[HarnessKind, tuple[str, ...]] = {
    HarnessKind.CLAUDE: (".claude/.credentials.json", ".claude.json"),
    HarnessKind.CODEX: (".codex/auth.json",),
    HarnessKind.OPENCODE: (".local/share/opencode/auth.json",),
    HarnessKind.COPILOT: (".copilot/config.json", ".config/github-copilot/apps.json"),
    HarnessKind.QWEN: (".qwen/oauth_creds.json",),
}
LOGIN_FOLDERS = {HarnessKind.CLAUDE: "CLAUDE_CONFIG_DIR", HarnessKind.CODEX: "CODEX_HOME"}
LOGIN_VARIABLES: Mapping[HarnessKind, tuple[str, ...]] = {
    HarnessKind.CLAUDE: ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    HarnessKind.CODEX: ("OPENAI_API_KEY", "CODEX_API_KEY"),
    HarnessKind.OPENCODE: ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENCODE_API_KEY"),
    HarnessKind.COPILOT: ("GH_TOKEN", "GITHUB_TOKEN", "COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"),
    HarnessKind.QWEN: ("OPENAI_API_KEY", "DASHSCOPE_API_KEY"),
}


def look_at_agent(settings: Settings, name: str, harness: Harness, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Look at one agent program as sessions would start it."""
    block = settings.loop.harness_config(name)
    visible = session_environment(settings.loop, name, environment)
    yield look_at_program(settings, name, harness, visible)
    if block.kind not in (HarnessKind.COMMAND, HarnessKind.SCRIPTED):
        yield look_at_login(settings, name, visible)
        yield look_at_models(name, block)


def look_at_program(settings: Settings, name: str, harness: Harness, visible: Mapping[str, str]) -> Finding:
    """Find the program, ask for its version, and hold that against the tested ones."""
    check = f"harness[{name}]"
    block = settings.loop.harness_config(name)
    try:
        argv = harness.version_command(visible)
    except WorkloopError as error:
        return refused(check, error)
    if not argv:
        return look_at_own_program(check, block, visible)
    verdict = version_of(name, harness, argv, visible)
    if verdict is None:
        return broken(check, f"{argv[0]} does not run", f"install it anew, or name another: [harness.{name}] command")
    policy = settings.loop.untested_versions
    known = " or ".join(harness.tested_versions) or "a tested version"
    if not verdict.allows(policy):
        return broken(check, verdict.sentence, f'install {known}, or set loop.untested_versions = "allow"')
    if verdict.warns(policy):
        return doubtful(check, verdict.sentence, f'install {known}, or set loop.untested_versions = "allow"')
    return fine(check, f"{argv[0]}: {verdict.sentence}")


def look_at_own_program(check: str, block: HarnessConfig, visible: Mapping[str, str]) -> Finding:
    """Find a program that says no version: the operator's own, or a script."""
    if block.kind is HarnessKind.SCRIPTED:
        script = block.script or Path()
        if script.is_file():
            return fine(check, f"script {script}")
        return broken(check, f"there is no script {script}", f"write it, or correct {check_entry(check)}.script")
    program = block.command[0]
    if "/" in program and not program.startswith("/"):
        remedy = f"write the whole path in {check_entry(check)}.command, and check that it can be executed"
        return doubtful(check, f"{program} is looked for in each worktree, which does not exist yet", remedy)
    found = shutil.which(program, path=visible.get("PATH"))
    if found is None:
        remedy = f"install it, or correct {check_entry(check)}.command"
        return broken(check, f"there is no program {program} on PATH", remedy)
    return fine(check, f"{found}, a program of your own")


def check_entry(check: str) -> str:
    """Return the settings entry that a look at a harness is about."""
    return check.replace("[", ".").rstrip("]")


def look_at_login(settings: Settings, name: str, visible: Mapping[str, str]) -> Finding:
    """Look for a login where the program keeps it; never at what it says."""
    check = f"login[{name}]"
    block = settings.loop.harness_config(name)
    if block.meter is not None and block.meter.key:
        return look_at_key(check, name, block.meter)
    seen = {**visible, **block.variables}
    variable = next((key for key in LOGIN_VARIABLES.get(block.kind, ()) if seen.get(key)), None)
    if variable is not None:
        return fine(check, f"by the variable {variable}")
    if block.kind not in LOGIN_FILES:
        return doubtful(check, "where this agent keeps its login is not known", "workloop doctor --probe")
    for path in login_files(settings, name, seen):
        if path.is_file() and os.access(path, os.R_OK):
            return fine(check, f"found {path}")
    home = "its own home" if block.home is HarnessHome.OWN else "your home"
    names = " or ".join(LOGIN_VARIABLES[block.kind])
    remedy = f"log in with {block.kind} in {home}, or pass {names} on by harness.{name}.environment"
    return doubtful(check, f"no login found for {block.kind} in {home}", remedy)


def look_at_key(check: str, name: str, metering: Metering) -> Finding:
    """See that the key which the meter keeps can be read."""
    try:
        upstream_of(name, metering)
    except (WorkloopError, OSError) as error:
        return broken(check, f"the meter's key cannot be read: {error}", f"correct harness.{name}.meter.key")
    return fine(check, f"the loop's meter keeps its provider's key, {metering.key[1:]}")


def login_files(settings: Settings, name: str, seen: Mapping[str, str]) -> Iterator[Path]:
    """Yield where a program may keep its login."""
    block = settings.loop.harness_config(name)
    own = settings.folder / HOMES / name
    home = own if block.home is HarnessHome.OWN else Path(seen.get("HOME") or Path.home())
    folder = seen.get(LOGIN_FOLDERS.get(block.kind, ""), "")
    for file in LOGIN_FILES[block.kind]:
        yield home / file
        if folder:
            yield Path(folder) / Path(file).name


def look_at_models(name: str, block: HarnessConfig) -> Finding:
    """Say which models are asked for; whether they exist only a probe can tell."""
    check = f"model[{name}]"
    asked = [*([block.model] if block.model else []), *(f"{alias} ({tier})" for tier, alias in block.models.items())]
    if not asked:
        return fine(check, "the program's own choice")
    said = f"{', '.join(asked)}: whether the account has it is not known without asking"
    return doubtful(check, said, "workloop doctor --probe")


def look_at_servers(found: Mapping[str, tuple[McpServer, ...]]) -> Iterator[Finding]:
    """List the programs that named MCP files start: they run before any permission rule."""
    for entry, servers in found.items():
        started = [f"{server.name}: {server.command}" for server in servers if server.command]
        if started:
            remedy = f"keep in {entry} only what you trust; an address instead of a program starts nothing"
            yield doubtful(f"mcp[{entry}]", f"every session starts {'; '.join(started)}", remedy)
        else:
            yield fine(f"mcp[{entry}]", f"{len(servers)} servers, none of them a program of this machine")
