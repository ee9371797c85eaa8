"""The adapter for the Agent Client Protocol keeps the harness contract."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from workloop.runner.harness.acp.launch import AcpConfig, AcpHarness
from workloop.testing.harness_contract import HARNESS_CONTRACT, HarnessCase

RECORDINGS = Path(__file__).parents[1] / "recordings" / "acp"


@pytest.mark.parametrize("check", HARNESS_CONTRACT, ids=lambda check: check.__name__.removeprefix("check_"))
def test_agent_of_the_protocol_keeps_the_contract(check: Callable[[HarnessCase], None], tmp_path: Path) -> None:
    check(
        HarnessCase(
            harness=AcpHarness(AcpConfig(command=(sys.executable, "agent.py"))),
            folder=tmp_path,
            stream=(RECORDINGS / "gemini.jsonl").read_bytes(),
            final_text="FINAL: task T-1 is complete.",
        )
    )
