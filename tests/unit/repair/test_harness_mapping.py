"""What each agent program is given of a harness: in its own places and dialect, never more than was given."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from harness_files import whole

from workloop.config.harnesses import HarnessKind
from workloop.repair.bundled.manifest import read_harness
from workloop.repair.bundled.mapping import AgentSetup, agent_command, setup_for

PACKAGES = Path("/srv/packages")
TOLD = {
    HarnessKind.CLAUDE: ".claude/CLAUDE.md",
    HarnessKind.CODEX: ".codex/AGENTS.md",
    HarnessKind.OPENCODE: ".config/opencode/AGENTS.md",
    HarnessKind.COPILOT: ".copilot/copilot-instructions.md",
    HarnessKind.QWEN: ".qwen/QWEN.md",
}
COMMANDS = {
    "harness": ["python3", "-I", "/srv/packages/toolserver.py", "/srv/packages/tools"],
    "notes": ["python3", "/srv/packages/bundles/notes/server/main.py"],
}


def setup(kind: HarnessKind, options: dict[str, str] | None = None, **lines: str) -> AgentSetup:
    """Return the setup of a program with a whole harness."""
    return setup_for(kind, read_harness(whole(**lines)), PACKAGES, options or {})


@pytest.mark.parametrize("kind", TOLD, ids=str)
def test_a_program_finds_instructions_and_skills_in_its_own_home(kind: HarnessKind) -> None:
    made = setup(kind)
    assert made.home[TOLD[kind]].data == b"Work in small steps.\n"
    skills = [path for path in made.home if path.endswith("skills/fix-tests/SKILL.md")]
    assert [Path(path).parts[0] for path in skills] == [Path(TOLD[kind]).parts[0]]
    assert made.preface == ""
    assert made.turns_max == 40


@pytest.mark.parametrize("kind", sorted(set(HarnessKind) - set(TOLD)), ids=str)
def test_a_program_without_known_places_is_told_before_the_prompt(kind: HarnessKind) -> None:
    made = setup(kind)
    assert made.home == {}
    assert made.preface.startswith("Work in small steps.\n\nSkills, ")
    assert "- fix-tests: Read it when a test fails. (/srv/packages/skills/fix-tests/SKILL.md)" in made.preface
    assert "skills/fix-tests/SKILL.md" in made.packages


@pytest.mark.parametrize("kind", HarnessKind, ids=str)
def test_every_program_is_told_in_its_dialect_how_the_servers_start(kind: HarnessKind) -> None:
    text = setup(kind).servers
    content: dict[str, Any] = tomllib.loads(text) if kind is HarnessKind.CODEX else json.loads(text)
    key = {HarnessKind.CODEX: "mcp_servers", HarnessKind.OPENCODE: "mcp"}.get(kind, "mcpServers")
    found = {
        name: server["command"] if kind is HarnessKind.OPENCODE else [server["command"], *server["args"]]
        for name, server in content[key].items()
    }
    assert found == COMMANDS
    assert content[key]["notes"]["environment" if kind is HarnessKind.OPENCODE else "env"] == {"NOTES": "1"}


def test_what_the_servers_start_lies_among_the_packages() -> None:
    made = setup(HarnessKind.CLAUDE)
    named = {entry for command in COMMANDS.values() for entry in command if entry.endswith(".py")}
    assert named <= {str(PACKAGES / path) for path in made.packages}
    assert "tools/count_lines/tool.json" in made.packages


def test_a_harness_without_tools_and_bundles_has_no_servers() -> None:
    made = setup(HarnessKind.CLAUDE, tools="", bundles="")
    assert (made.servers, dict(made.packages)) == ("", {})


@pytest.mark.parametrize(
    ("operator", "own", "becomes"),
    [
        ({}, "workspace-write", "workspace-write"),
        ({"sandbox": "workspace-write"}, "danger-full-access", "workspace-write"),
        ({"sandbox": "read-only"}, "workspace-write", "read-only"),
        ({"sandbox": "workspace-write"}, "read-only", "read-only"),
    ],
)
def test_the_tighter_fence_stands(operator: dict[str, str], own: str, becomes: str) -> None:
    made = setup(HarnessKind.CODEX, operator, settings=f'[settings.codex]\nsandbox = "{own}"')
    assert made.options["sandbox"] == becomes


def test_denials_of_the_operator_stay_and_those_of_the_harness_are_added() -> None:
    assert setup(HarnessKind.QWEN, {"excluded_tools": "edit, web_fetch"}).options["excluded_tools"] == "edit,web_fetch"
    own = '[settings.copilot]\ndenied_tools = ["shell(git push)"]'
    made = setup(HarnessKind.COPILOT, {"denied_tools": "write"}, settings=own)
    assert made.options["denied_tools"] == "write,shell(git push)"


def test_claude_gets_the_tool_that_reads_skills_only_with_skills() -> None:
    assert setup(HarnessKind.CLAUDE, {"tools": "WebFetch"}).options["tools"] == "WebFetch,Skill"
    assert setup(HarnessKind.CLAUDE, {}, skills="").options == {}


def test_code_of_the_agents_own_is_run_out_of_its_runtime() -> None:
    harness = read_harness(whole())
    assert agent_command(harness, Path("/srv/runtime")) == ("python3", "/srv/runtime/agent/main.py", "{brief}")
    assert agent_command(read_harness(whole(agent="")), Path("/srv/runtime")) == ()
