"""The Codex adapter keeps the harness contract in both of its modes."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from workloop.runner.harness.codex.launch import BEARER_VARIABLE, CodexConfig, CodexHarness, CodexMode
from workloop.testing.harness_contract import HARNESS_CONTRACT, HarnessCase

RECORDINGS = Path(__file__).parents[1] / "recordings" / "codex"
PROBE = b'{"probe"'


def codex_case(mode: CodexMode, folder: Path) -> HarnessCase:
    name = {CodexMode.EXEC: "exec-success", CodexMode.APP_SERVER: "appserver-success"}[mode]
    lines = (RECORDINGS / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    config = CodexConfig(binary=sys.executable, mode=mode, home_dir=folder / "home")
    return HarnessCase(
        harness=CodexHarness(config),
        folder=folder,
        stream=b"".join(line for line in lines if not line.startswith(PROBE)),
        final_text="FINAL: task T-1 is complete.",
        token_variable=BEARER_VARIABLE if mode is CodexMode.EXEC else "",
    )


@pytest.mark.parametrize("mode", list(CodexMode))
@pytest.mark.parametrize("check", HARNESS_CONTRACT, ids=lambda check: check.__name__.removeprefix("check_"))
def test_codex_keeps_the_harness_contract(
    mode: CodexMode, check: Callable[[HarnessCase], None], tmp_path: Path
) -> None:
    check(codex_case(mode, tmp_path))
