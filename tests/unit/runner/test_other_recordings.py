"""Programs without an adapter of their own, read as any program: the exit status decides, nothing that was printed."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from recorded_sessions import RECORDINGS, expected_of, read_again

from workloop.domain.session import Text
from workloop.runner.harness.command import CommandConfig, CommandHarness
from workloop.runner.harness.port import LaunchRequest

EXPECTED = expected_of("others")
LIARS = {
    "aider-auth",
    "gemini-empty",
    "gemini-norelaunch-sleep-term",
    "gemini-refusal",
    "gemini-sleep-term-group",
    "gemini-stream-error",
    "mini-max-turns",
    "sdkpy-limit-mid",
}


@dataclass
class Place:
    """A request in a folder of its own."""

    folder: Path

    @property
    def request(self) -> LaunchRequest:
        return LaunchRequest(
            prompt="do it", cwd=self.folder, session_dir=self.folder, session_id="session-1", environment={}
        )


def data_of(name: str) -> bytes:
    return (RECORDINGS / "others" / f"{name}.out").read_bytes()


@pytest.mark.parametrize("name", EXPECTED)
def test_output_of_any_program_is_text_and_its_exit_status_the_class(name: str, tmp_path: Path) -> None:
    case = EXPECTED[name]
    reader = CommandHarness(CommandConfig(argv=("agent",))).reader(Place(tmp_path).request)
    seen = read_again(reader, data_of(name), case)
    texts = [event.text for event in seen.events if isinstance(event, Text)]
    assert seen.conclusion.session_class == case["class"]
    assert len(texts) == case["lines"]
    assert ("FINAL: task T-1 is complete." in seen.conclusion.final_text) == (
        case["said_done"] and case["class"] == "clean"
    )
    assert seen.conclusion.reset_at is None


def test_exit_code_zero_without_the_work_is_known_of_some_programs() -> None:
    undone = {name for name, case in EXPECTED.items() if case["class"] == "clean" and not case["said_done"]}
    assert undone - {"aider-success"} == LIARS  # aider says it in other words


@pytest.mark.parametrize("name", ["gemini-success", "mini-limit-mid", "aider-auth"])
def test_output_of_any_program_cut_at_every_byte_reads_the_same(name: str, tmp_path: Path) -> None:
    harness, case = CommandHarness(CommandConfig(argv=("agent",))), EXPECTED[name]
    whole = read_again(harness.reader(Place(tmp_path).request), data_of(name), case)
    cut = read_again(harness.reader(Place(tmp_path).request), data_of(name), case, chunk=1)
    assert (cut.conclusion, cut.events) == (whole.conclusion, whole.events)
