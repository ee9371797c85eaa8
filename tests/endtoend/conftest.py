"""What the end-to-end tests run on: real agent CLIs, each with a home and a work dir of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from real_claude import Claude, bundled_claude
from real_codex import Codex, bundled_codex


@pytest.fixture(scope="session")
def claude_binary() -> Path:
    """Return the real CLI, or skip with the reason."""
    binary = bundled_claude()
    if binary is None:
        pytest.skip("the extra `claude` is not installed: pip install '.[claude]' brings the CLI")
    return binary


@pytest.fixture
def new_claude(claude_binary: Path, tmp_path: Path) -> Callable[..., Claude]:
    """Return a maker of CLIs; each has its own home and work dir under the test's folder."""

    def make(name: str = "agent", **extra: str) -> Claude:
        home, workdir = tmp_path / f"{name}-home", tmp_path / f"{name}-repo"
        home.mkdir()
        workdir.mkdir()
        return Claude(binary=claude_binary, home=home, workdir=workdir, extra=extra)

    return make


@pytest.fixture
def claude(new_claude: Callable[..., Claude]) -> Claude:
    """Return one CLI."""
    return new_claude()


@pytest.fixture
def codex(tmp_path: Path) -> Codex:
    """Return the real Codex with a home under the test's folder, or skip with the reason."""
    binary = bundled_codex()
    if binary is None:
        pytest.skip("the extra `codex` is not installed: pip install '.[codex]' brings the CLI")
    return Codex(binary=binary, home=tmp_path / "codex-home")
