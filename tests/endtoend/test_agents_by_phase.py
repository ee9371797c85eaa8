"""One item in two hands: one real agent implements and the other reviews, and one of them meets its limits."""

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from agent_stage import (
    AGENTS,
    NIGHT_SECONDS,
    AgentStage,
    going_on,
    implementer,
    item,
    require,
    reviewer,
    told,
)

from workloop.testing.model.conversation import Conversation
from workloop.testing.model.moves import BAD_KEY, OVERLOADED, Move, Scenario, Step, usage_limit

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(NIGHT_SECONDS)]
NewStage = Callable[..., AgentStage]
PAIRS = pytest.mark.parametrize(("first", "second"), [("codex", "claude"), ("claude", "codex")])
RESET_SECONDS = 9
PHASES = """
[[phase]]
name = "implement"
harness = "{first}"
[[phase]]
name = "review"
harness = "{second}"
"""
WORK = {"implement": implementer(say="SENTINEL"), "review": reviewer()}


@pytest.fixture
def new_stage(tmp_path: Path) -> Iterator[NewStage]:
    """Return a maker of benches on which one agent implements and another one reviews."""
    require(*AGENTS)
    made: list[AgentStage] = []

    def make(first: str, second: str, parts: Mapping[str, Scenario], **bench: Any) -> AgentStage:
        phases = PHASES.format(first=first, second=second)
        made.append(AgentStage(tmp_path, [first, second], {**WORK, **parts}, harnesses=phases, **bench))
        return made[-1]

    yield make
    for stage in made:
        stage.close()


def row_facts(stage: AgentStage, key: str) -> list[tuple[str, str, str, int]]:
    """Return an item's sessions: agent, phase, how it ended, under which attempt."""
    rows = [row for row in stage.sessions() if row["item"] == key]
    return [(row["harness"], row["phase"], row["class"], row["attempt"]) for row in rows]


def limit_soon(stage: dict[str, float]) -> Step:
    """Refuse as a spent window does that opens again in a few seconds."""

    def refuse(_conversation: Conversation) -> Move:
        stage.setdefault("until", int(time.time()) + RESET_SECONDS)
        return usage_limit(resets_at=int(stage["until"]), retry_after=RESET_SECONDS)

    return refuse


@PAIRS
def test_limit_of_the_reviewer_s_account_pauses_it_alone_and_its_session_goes_on_after_the_reset(
    new_stage: NewStage, first: str, second: str
) -> None:
    look, *rest = reviewer()
    limit: dict[str, float] = {}
    stage = new_stage(first, second, {"a review 1": [look, limit_soon(limit)], "a review 2": going_on(1, rest)})
    bench = stage.open()
    bench.add("a", **item(verification="host", priority=1))
    bench.add("b", **item(verification="host", priority=2))
    loop = bench.start()
    limited = loop.wait_for("limited")
    assert limited["gate"].startswith(f"{second}/")
    loop.wait_for("session", key="b", phase="implement")
    bench.wait_until(lambda: bench.state("a") == "succeeded")
    loop.send(signal.SIGINT)
    assert loop.end()[0] == 0

    assert row_facts(stage, "a") == [
        (first, "implement", "clean", 1),
        (second, "review", "limited", 1),
        (second, "review", "clean", 2),
    ]
    rows = stage.sessions()
    before, after = [row for row in rows if row["item"] == "a"][1:]
    same = ("resume_id", "cwd", "account")
    assert (after["resumes"], *map(after.get, same)) == (before["session"], *map(before.get, same))
    shown = bench.show("a")
    assert (bench.ends("a"), shown["attempts"], shown["infra"]) == (["infra", "complete"], 1, 1)
    meanwhile = next(row for row in rows if row["item"] == "b")
    assert (meanwhile["harness"], meanwhile["phase"], meanwhile["class"]) == (first, "implement", "clean")
    assert seconds(meanwhile["began_at"]) < limit["until"]
    later = [row for row in rows if row["harness"] == second and row is not before]
    assert all(seconds(row["began_at"]) >= limit["until"] for row in later)
    assert not stage.processes()
    assert stage.leaks() == []


def seconds(text: str) -> float:
    """Return an instant in seconds since the epoch."""
    from workloop.domain.clock import from_text

    return from_text(text) / 1_000_000


@PAIRS
def test_two_agents_share_one_claim_and_the_second_is_told_nothing_that_the_first_said(
    new_stage: NewStage, first: str, second: str
) -> None:
    stage = new_stage(first, second, {})
    bench = stage.open()
    bench.add("a", **item(verification="host"))
    code, report, loop = bench.run("--once")

    assert (code, report["sessions"], bench.state("a")) == (0, 2, "succeeded"), loop.events
    assert row_facts(stage, "a") == [(first, "implement", "clean", 1), (second, "review", "clean", 1)]
    assert bench.ends("a") == ["complete"]
    said = told(stage.of("a implement")[-1].body)
    assert said.count("SENTINEL") > 3
    assert "SENTINEL" not in "".join(told(asked.body) for asked in stage.of("a review"))
    assert stage.leaks() == []
    assert not stage.processes()


@PAIRS
def test_bad_login_of_the_reviewer_stops_it_with_a_question_and_the_other_agent_goes_on(
    new_stage: NewStage, first: str, second: str
) -> None:
    mended: list[bool] = []
    stage = new_stage(first, second, {"review": [failing_unless(mended, step) for step in reviewer()]})
    bench = stage.open()
    bench.add("a", **item(verification="host", priority=1))
    bench.add("b", **item(verification="host", priority=2))
    loop = bench.start()
    stopped = loop.wait_for("stopped")
    assert stopped["gate"].startswith(f"{second}/")
    assert f"log {stopped['gate']} in again" in stopped["remedy"]
    loop.wait_for("seam", key="b")
    bench.wait_until(lambda: bench.state("a") == "deferred")
    (question,) = bench.show("a")["questions"]
    assert f"log {stopped['gate']} in again" in question["asks"]
    assert row_facts(stage, "a") == [(first, "implement", "clean", 1), (second, "review", "auth", 1)]
    assert row_facts(stage, "b") == [(first, "implement", "clean", 1)]
    assert loop.popen.poll() is None

    mended.append(True)
    bench.client.call("answer", {"key": "a", "text": "logged in again"})
    bench.wait_until(lambda: bench.state("a") == "succeeded")
    loop.send(signal.SIGINT)
    assert loop.end()[0] == 0
    assert (bench.ends("a"), bench.show("a")["attempts"]) == (["infra", "complete"], 1)
    assert not stage.processes()
    assert stage.leaks() == []


def failing_unless(mended: list[bool], step: Step) -> Step:
    """Refuse the login until it was mended, then go on as planned."""

    def play(conversation: Conversation) -> Move:
        return planned(step, conversation) if mended else BAD_KEY

    return play


def overloaded_at_first(step: Step) -> Step:
    """Fail in passing until the session was told to go on."""

    def play(conversation: Conversation) -> Move:
        return planned(step, conversation) if len(conversation.prompts) > 1 else OVERLOADED

    return play


def planned(step: Step, conversation: Conversation) -> Move:
    """Return the move of a step."""
    return step(conversation) if callable(step) else step


def test_passing_failure_of_either_agent_keeps_the_claim_and_goes_on_in_the_same_conversation(
    new_stage: NewStage,
) -> None:
    begin, *rest = implementer()
    look, *end = reviewer()
    stage = new_stage(
        "codex",
        "claude",
        {
            "a implement": [begin, *map(overloaded_at_first, rest)],
            "b review": [look, *map(overloaded_at_first, end)],
        },
        loop="sessions_max = 2",
        campaign="slots = 4",
    )
    bench = stage.open()
    for key in ("a", "b"):
        bench.add(key, **item(verification="host"))
    code, report, loop = bench.run("--once")

    assert [row_facts(stage, key) for key in ("a", "b")] == [
        [("codex", "implement", "transient", 1), ("codex", "implement", "clean", 1), ("claude", "review", "clean", 1)],
        [("codex", "implement", "clean", 1), ("claude", "review", "transient", 1), ("claude", "review", "clean", 1)],
    ]
    assert (code, report["sessions"], bench.states()) == (0, 6, dict.fromkeys(bench.states(), "succeeded")), loop.events
    assert [bench.ends(key) for key in ("a", "b")] == [["complete"], ["complete"]]
    assert {waited["detail"] for waited in loop.named("waiting")} == {"30 s after a passing failure"}
    for key, at in (("a", 0), ("b", 1)):
        failed, after = [row for row in stage.sessions() if row["item"] == key][at : at + 2]
        assert (after["resumes"], after["resume_id"]) == (failed["session"], failed["resume_id"])
    assert not stage.processes()
    assert stage.leaks() == []
