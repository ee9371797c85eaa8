"""The adapters of the CLIs that only npm has keep the harness contract."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from workloop.runner.harness.copilot.launch import CopilotConfig, CopilotHarness
from workloop.runner.harness.opencode.launch import OpencodeConfig, OpencodeHarness
from workloop.runner.harness.qwen.launch import QwenConfig, QwenHarness
from workloop.testing.harness_contract import HARNESS_CONTRACT, HarnessCase

RECORDINGS = Path(__file__).parents[1] / "recordings"
FINAL_TEXT = "FINAL: task T-1 is complete."
HARNESSES = {
    "copilot": CopilotHarness(CopilotConfig(binary=sys.executable)),
    "opencode": OpencodeHarness(OpencodeConfig(binary=sys.executable)),
    "qwen": QwenHarness(QwenConfig(binary=sys.executable)),
}


@pytest.mark.parametrize("name", HARNESSES)
@pytest.mark.parametrize("check", HARNESS_CONTRACT, ids=lambda check: check.__name__.removeprefix("check_"))
def test_npm_harness_keeps_the_contract(name: str, check: Callable[[HarnessCase], None], tmp_path: Path) -> None:
    stream = (RECORDINGS / name / "success.jsonl").read_bytes()
    check(HarnessCase(harness=HARNESSES[name], folder=tmp_path, stream=stream, final_text=FINAL_TEXT))
