"""What the page says that a program of one's own may tell is what is read of it, and its example runs."""

import re
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import pytest

from loop_bench import NewBench
from workloop.domain.session import LimitKind, McpState, ToolKind, ToolResultClass
from workloop.runner.harness import command
from workloop.runner.harness.codec import DECODERS
from workloop.runner.harness.fields import Fields
from workloop.runner.harness.stamper import Stamper

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "command_agent" / "agent.py"
PAGE = (ROOT / "docs" / "agents.md").read_text("utf-8")


class Asked(dict[str, object]):
    """A JSON object that remembers which members its reader looked for."""

    def __init__(self) -> None:
        super().__init__(state="failed")
        self.names: list[str] = []

    def get(self, key: str, default: object = None) -> object:
        """Return a member, and remember that it was asked for."""
        self.names.append(key)
        return super().get(key, default)

    def __bool__(self) -> bool:
        return True


def rows() -> Iterator[tuple[str, list[str]]]:
    """Yield the events of the page's table with their members."""
    for found in re.finditer(r"^\| `([a-z_]+)` \| (`[^|]+`) \|", PAGE, re.MULTILINE):
        yield found[1], re.findall(r"`(\w+)`", found[2])


def test_the_page_lists_every_event_with_every_member_that_is_read() -> None:
    told = dict(rows())
    assert {name: sorted(told.get(name, ())) for name in DECODERS} == {name: members_of(name) for name in DECODERS}


def members_of(name: str) -> list[str]:
    """Return what the decoder of an event looks for."""
    asked = Asked()
    DECODERS[name](Stamper("s").at(0), Fields(asked))
    extra = {"tool_call": ["arguments"]}.get(name, [])
    return sorted({*asked.names, *extra})


@pytest.mark.parametrize("words", [ToolKind, ToolResultClass, LimitKind, McpState])
def test_the_page_names_every_word_that_an_event_may_use(words: type[StrEnum]) -> None:
    assert [word.value for word in words if f"`{word.value}`" not in PAGE] == []


def test_the_page_names_every_member_of_the_result_that_is_read_and_the_bounds() -> None:
    source = Path(command.__file__).read_text("utf-8")
    read = set(re.findall(r"""result(?:\.text\(|, )"(\w+)\"""", source))
    assert read == {"final_text", "reset_at", "resume_id", "detail"}
    assert [name for name in read if f"| `{name}` | string |" not in PAGE] == []
    assert (command.EVENTS_BYTES_MAX, command.RESULT_BYTES_MAX) == (64 * 1024**2, 1024**2)


def test_the_example_of_the_page_is_an_agent_whose_words_and_spending_are_known(new_bench: NewBench) -> None:
    assert f"```python\n{EXAMPLE.read_text('utf-8')}```" in PAGE
    bench = new_bench(harness="command", harnesses=f'[harness.command]\ncommand = ["{sys.executable}", "{EXAMPLE}"]')
    bench.add("a")
    code, report, loop = bench.run("--once")
    assert (code, report["reason"], bench.state("a")) == (0, "drained", "succeeded"), loop.events
    (session,) = bench.ask("sessions")["sessions"]
    assert (session["last_words"], session["cost_micros"], session["tokens"]) == ("a is done", 4_100, 10_500)
    assert session["model"] == "my-model-2"
    assert "unrecognised" not in [event["kind"] for event in loop.named("agent")]
