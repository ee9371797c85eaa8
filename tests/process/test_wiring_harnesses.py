"""Every harness that a settings file declares is made as it says, and its sessions see what was named, no more."""

import subprocess
from pathlib import Path

import pytest

from workloop.config import DriverConfig, HarnessConfig, HarnessHome, HarnessKind, Place, parse
from workloop.config.validation import validate
from workloop.domain.errors import BadRequest
from workloop.wiring.harnesses import (
    known_secrets,
    make_harness,
    make_harnesses,
    session_environment,
    variables_of,
)

FILE = """
[loop]
harness = "claude-work"
environment = ["LOOP_SEES"]
[harness.claude-work]
kind = "claude"
account = "work"
home = "own"
turns_max = 20
options = { permissions = "bypass", tools = "WebFetch, Bash(git push:*)" }
[harness.codex]
options = { mode = "exec" }
environment = ["CODEX_SEES"]
[harness.opencode]
[harness.gemini]
kind = "acp"
command = ["gemini", "--acp"]
[harness.script]
kind = "scripted"
script = "story.json"
[harness.mine]
kind = "command"
command = ["./agent.sh"]
variables = { REGION = "eu" }
"""


def loop_of(text: str, folder: Path) -> DriverConfig:
    """Read how a loop is set."""
    return parse(text, Place(repository=folder / "shop", folder=folder / "state"), {}, str(folder / "x.toml")).loop


def test_every_declared_harness_is_made_under_its_own_name(tmp_path: Path) -> None:
    """Two of one kind are told apart on every claim."""
    loop = loop_of(FILE, tmp_path)
    harnesses = make_harnesses(loop, tmp_path / "state")
    assert set(harnesses) == {"claude-work", "codex", "opencode", "gemini", "script", "mine"}
    assert all(harness.name == name for name, harness in harnesses.items())
    validate(loop, {name: harness.capabilities for name, harness in harnesses.items()})


@pytest.mark.parametrize("kind", list(HarnessKind))
def test_there_is_an_adapter_for_every_kind_that_a_file_may_name(tmp_path: Path, kind: HarnessKind) -> None:
    """A kind without one would be a promise."""
    command = ("agent",) if kind is not HarnessKind.SCRIPTED else ()
    home = HarnessHome.OWN if kind not in (HarnessKind.COMMAND, HarnessKind.SCRIPTED) else HarnessHome.OPERATOR
    script = Path("x") if kind is HarnessKind.SCRIPTED else None
    block = HarnessConfig(kind=kind, command=command, home=home, script=script)
    assert make_harness(DriverConfig(harnesses={"it": block}), "it", tmp_path).name == "it"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[harness.command]", "harness.command.command"),
        ("[harness.acp]", "harness.acp.command"),
        ("[harness.scripted]", "harness.scripted.script"),
        ('[harness.codex]\noptions = { mode = "wish" }', "harness.codex.options.mode"),
        ('[harness.claude]\nvariables = { KEY = "@gone" }', "harness.claude.variables.KEY"),
    ],
)
def test_a_harness_that_cannot_be_made_is_refused_by_its_entry(tmp_path: Path, text: str, path: str) -> None:
    """Before anything starts."""
    with pytest.raises(BadRequest) as caught:
        make_harnesses(loop_of(text, tmp_path), tmp_path)
    assert path in caught.value.message


def test_n02_a_value_from_a_file_is_taken_only_from_one_for_its_owner_s_eyes(tmp_path: Path) -> None:
    """A key that others can read is not secret."""
    tmp_path.chmod(0o700)
    key = tmp_path / "key"
    key.write_text("very-secret\n")
    key.chmod(0o644)
    loop = loop_of(f'[harness.command]\ncommand = ["x"]\nvariables = {{ KEY = "@{key}" }}', tmp_path)
    with pytest.raises(BadRequest, match="open to others"):
        make_harness(loop, "command", tmp_path)
    key.chmod(0o600)
    assert variables_of("command", loop.harness_config("command")) == {"KEY": "very-secret"}
    assert "very-secret" not in repr(loop)


def test_n02_a_child_sees_the_usual_variables_and_the_named_ones_alone(tmp_path: Path) -> None:
    """The operator's whole environment is nobody's business."""
    loop = loop_of(FILE, tmp_path)
    source = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LOOP_SEES": "1", "CODEX_SEES": "2", "API_KEY": "no"}
    for name, seen in (("codex", {"LOOP_SEES", "CODEX_SEES"}), ("mine", {"LOOP_SEES"})):
        done = subprocess.run(
            ["env", "-0"], env=session_environment(loop, name, source), capture_output=True, text=True, check=True
        )
        names = {line.partition("=")[0] for line in done.stdout.split("\0") if line}
        assert names == {"PATH", "HOME", "TERM", "GIT_TERMINAL_PROMPT", *seen}


def test_n02_every_secret_that_the_loop_knows_is_told_to_what_cleans_its_logs(tmp_path: Path) -> None:
    """Secret by its name, or out of a private file; what is merely passed on is not."""
    tmp_path.chmod(0o700)
    key = tmp_path / "key"
    key.write_text("from-a-file\n")
    key.chmod(0o600)
    text = f'[loop]\nenvironment = ["PASSED_ON"]\n[harness.claude]\nvariables = {{ THING = "@{key}", REGION = "eu" }}'
    source = {"PASSED_ON": "passed-on", "MY_TOKEN": "by-its-name", "PATH": "/bin"}
    assert set(known_secrets(loop_of(text, tmp_path), source)) == {"from-a-file", "by-its-name"}
