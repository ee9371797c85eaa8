"""Every error code that the code can emit is documented, and has one kind, so one exit code and one HTTP status."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from generated_docs import ROOT, SRC, codes_by_class, kinds

LOOKS_LIKE_ONE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")
VARIABLES = re.compile(
    r"(?:ANTHROPIC|ASDF|CLAUDE|CODEX|COPILOT|DASHSCOPE|DBUS|DISABLE|ENABLE|GH|GITHUB|GIT|GPG|MISE|NVM|OPENAI|OPENCODE"
    r"|PYENV|QWEN|RBENV|RUSTUP|SDKMAN|SSH|VOLTA|WORKLOOP|XDG)_|(?:LC_ALL|LC_CTYPE|NO_COLOR|IS_SANDBOX)$|[A-Z]+_PROXY$"
)
"""Environment variables of programs and our own."""
OF_OTHERS = frozenset(
    {
        *("ACTION_REQUIRED", "STARTUP_FAILURE", "TIMED_OUT"),  # what forges say of a check
        *("BISECT_LOG", "CHERRY_PICK_HEAD", "MERGE_HEAD", "REVERT_HEAD"),  # git's own files
        *("CLOCK_BOOTTIME", "SC_CLK_TCK"),  # the kernel's names
        "STEP_FAILED",  # an event of the scripted agent, which is no error of ours
    }
)
PAGES = "".join(page.read_text("utf-8") for page in sorted((ROOT / "docs").glob("*.md")))


def spoken(path: Path) -> Iterator[str]:
    """Yield the texts of a file that look like a code and are neither names in it, nor variables, nor others' words."""
    tree = ast.parse(path.read_text("utf-8"))
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    own |= {
        name.asname or name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and LOOKS_LIKE_ONE.match(node.value):
            text = node.value
            if text not in own and text not in OF_OTHERS and not VARIABLES.match(text):
                yield text


@pytest.mark.parametrize("room", sorted(path for path in SRC.iterdir() if path.is_dir()), ids=lambda path: path.name)
def test_every_code_that_the_source_speaks_of_stands_on_a_page(room: Path) -> None:
    found = {text: path.name for path in sorted(room.rglob("*.py")) for text in spoken(path)}
    assert {text: file for text, file in found.items() if f"`{text}`" not in PAGES} == {}


def test_every_code_has_one_kind_and_so_one_exit_code() -> None:
    classes = kinds()
    kinds_of = {
        code: sorted({classes[name].kind for name in names}) for code, names in codes_by_class(classes.keys()).items()
    }
    assert {code: several for code, several in kinds_of.items() if len(several) > 1} == {}
