"""Every adapter keeps the harness contract, and the contract notices one that does not."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from workloop.runner.harness.claude.launch import ClaudeConfig, ClaudeHarness
from workloop.runner.harness.command import CommandConfig, CommandHarness
from workloop.runner.harness.port import Launch, LaunchRequest
from workloop.runner.harness.scripted import ScriptedConfig, ScriptedHarness
from workloop.testing.harness_contract import HARNESS_CONTRACT, ContractBroken, HarnessCase

RECORDINGS = Path(__file__).parents[1] / "recordings" / "claude"
SCRIPTED = (
    b'{"type": "started", "model": "script"}\n{"type": "tool_call", "call_id": "1", "name": "write", "kind": "edit"}\n'
    b'{"type": "tool_result", "call_id": "1", "name": "write", "class": "ok"}\n{"type": "text", "text": "done"}\n'
    b'{"type": "finished", "failed": false}'
)


def claude_case(folder: Path) -> HarnessCase:
    # A recording without an MCP server of ours: the adapter would call that a failed start, not an unclean end.
    return HarnessCase(
        harness=ClaudeHarness(ClaudeConfig(binary=sys.executable)),
        folder=folder,
        stream=(RECORDINGS / "success.jsonl").read_bytes(),
        final_text="FINAL: task T-1 is complete.",
    )


def command_case(folder: Path) -> HarnessCase:
    config = CommandConfig(argv=(sys.executable, "agent.py", "{brief}"))
    return HarnessCase(harness=CommandHarness(config), folder=folder, stream=b"one\ntwo\n", final_text="one\ntwo")


def scripted_case(folder: Path) -> HarnessCase:
    harness = ScriptedHarness(ScriptedConfig(script=folder / "script.json"))
    return HarnessCase(harness=harness, folder=folder, stream=SCRIPTED, final_text="done")


CASES = {"claude": claude_case, "command": command_case, "scripted": scripted_case}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("check", HARNESS_CONTRACT, ids=lambda check: check.__name__.removeprefix("check_"))
def test_harness_keeps_the_contract(name: str, check: Callable[[HarnessCase], None], tmp_path: Path) -> None:
    check(CASES[name](tmp_path))


class Leaky(CommandHarness):
    """An adapter that puts the token on the command line and claims what it cannot do."""

    capabilities = replace(CommandHarness.capabilities, turn_cap=True)

    def launch(self, request: LaunchRequest) -> Launch:
        launch = super().launch(request)
        assert request.endpoint is not None
        (request.cwd / "note").write_text("hello")
        return replace(launch, argv=(*launch.argv, request.endpoint.token), env={})


BROKEN_BY_LEAKY = {
    "check_launch_is_complete",
    "check_token_stays_in_private_files",
    "check_launch_writes_only_into_the_session_dir",
    "check_capabilities_are_honest",
}


def test_contract_notices_an_adapter_that_breaks_it(tmp_path: Path) -> None:
    leaky = Leaky(CommandConfig(argv=("agent", "{brief}")))
    case = HarnessCase(harness=leaky, folder=tmp_path, stream=b"one\n", final_text="one")
    broken: set[str] = set()
    for check in HARNESS_CONTRACT:
        try:
            check(case)
        except ContractBroken:
            broken.add(check.__name__)
    assert broken == BROKEN_BY_LEAKY
