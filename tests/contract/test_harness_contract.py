"""Every adapter keeps the harness contract, and the contract notices one that does not."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from workloop.domain.session import SessionClass, SessionEvent, Tokens, Usage, kind_of
from workloop.runner.harness.claude.launch import ClaudeConfig, ClaudeHarness
from workloop.runner.harness.command import CommandConfig, CommandHarness
from workloop.runner.harness.port import Ending, Launch, LaunchRequest
from workloop.runner.harness.scripted import ScriptedConfig, ScriptedHarness, ScriptedReader
from workloop.testing.harness_contract import HARNESS_CONTRACT, ContractBroken, HarnessCase

RECORDINGS = Path(__file__).parents[1] / "recordings" / "claude"
RATE_REPORT = (
    b'{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1795969442,'
    b'"rateLimitType":"five_hour"},"uuid":"e41b4bb5-4e1b-4f43-8d1c-2b9b1a2f1d11","session_id":"s"}'
)
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
        interjections=(RATE_REPORT,),
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


class Gullible(ScriptedHarness):
    """An adapter that believes an exit status, counts again at the end, chokes on noise and repeats itself."""

    def reader(self, request: LaunchRequest) -> ScriptedReader:
        return GullibleReader(request)


class GullibleReader(ScriptedReader):
    made = 0

    def __init__(self, request: LaunchRequest) -> None:
        super().__init__(request)
        self.noisy = False
        GullibleReader.made += 1

    def feed(self, line: bytes, arrival_us: int) -> list[SessionEvent]:
        events = super().feed(line, arrival_us)
        self.noisy = self.noisy or "unrecognised" in map(kind_of, events)
        return events

    def replies(self) -> bytes:
        return b"again\n"

    def finish(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> Ending:
        ending = super().finish(exit_code, signal, stderr_tail)
        session_class = SessionClass.CRASHED if self.noisy or exit_code is None else SessionClass.CLEAN
        conclusion = replace(ending.conclusion, session_class=session_class, resume_id=str(self.made))
        tokens = Tokens(input=0 if self.ended else 5)
        return Ending(conclusion=conclusion, events=(Usage(at=self.stamper.again(), tokens=tokens),))


BROKEN_BY_GULLIBLE = {
    "check_session_cut_off_is_no_success",
    "check_tokens_are_counted_once",
    "check_cut_sessions_read_the_same_twice",
    "check_noise_between_lines_changes_nothing",
    "check_lines_in_the_middle_of_others_lose_nothing",
    "check_replies_are_given_once",
    "check_silence_is_harmless",
}


def broken(case: HarnessCase) -> set[str]:
    found: set[str] = set()
    for check in HARNESS_CONTRACT:
        try:
            check(case)
        except ContractBroken:
            found.add(check.__name__)
    return found


def test_contract_notices_an_adapter_that_breaks_it(tmp_path: Path) -> None:
    leaky = Leaky(CommandConfig(argv=("agent", "{brief}")))
    case = HarnessCase(harness=leaky, folder=tmp_path, stream=b"one\n", final_text="one")
    assert broken(case) == BROKEN_BY_LEAKY


def test_contract_notices_an_adapter_that_believes_too_much(tmp_path: Path) -> None:
    case = replace(
        scripted_case(tmp_path), harness=Gullible(ScriptedConfig(script=tmp_path / "s")), interjections=(b"?",)
    )
    assert broken(case) == BROKEN_BY_GULLIBLE
