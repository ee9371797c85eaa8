"""The whole loop with the real Claude Code CLI, in a real repository, against a scripted model on loopback."""

import json
import re
import socket
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from real_claude import CLAUDE_MODEL, Claude

from loop_bench import LoopBench, check
from workloop.domain.evidence import EvidenceKind, NewEvidence
from workloop.domain.grants import Actor, Grant
from workloop.service.attaching import attach
from workloop.service.perform import run_as_host
from workloop.testing.model.conversation import Conversation
from workloop.testing.model.moves import Call, Scenario, by_brief, usage_limit
from workloop.testing.model_scenarios import (
    WORK_LOOP,
    Edit,
    honest_worker,
    idle_worker,
    lying_worker,
    verifier,
)
from workloop.testing.model_server import ModelServer

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(300)]

SESSION = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
OFFERED = {"Read", "Glob", "Grep", "Bash", "Write", "Edit", "NotebookEdit", "TodoWrite", "TaskStop"}
MEND = Edit(path="thing.txt", old="broken", new="fixed")
TEST = "sh test.sh"
HOST = Actor(principal="host", grant=Grant.OPERATOR, host=True)


class Stage:
    """A bench whose agent is the real CLI, and the scripted model that it asks."""

    def __init__(self, folder: Path, binary: Path, parts: dict[str, Scenario], **bench: Any) -> None:
        self.prompts: list[str] = []
        self.tools: set[str] = set()
        cast = by_brief(parts)

        def casting(conversation: Conversation) -> Scenario:
            if conversation.prompt not in self.prompts:
                self.prompts.append(conversation.prompt)
            self.tools |= set(conversation.tools)
            return cast(conversation)

        self.model = ModelServer(casting)
        self.bench = LoopBench(
            folder,
            harness="claude",
            harnesses=f'[harness.claude]\ncommand = ["{binary}"]\nmodel = "{CLAUDE_MODEL}"\nhome = "own"',
            loop='environment = ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"]',
            **bench,
        )
        self.bench.repository.commit({"test.sh": "grep -q fixed thing.txt\n"}, "a test that fails")
        self.credential = {"ANTHROPIC_API_KEY": "dummy-key-for-tests"}

    def open(self) -> LoopBench:
        """Let the model listen and make the campaign."""
        self.model.__enter__()
        self.bench.environment |= {"ANTHROPIC_BASE_URL": self.model.url, **self.credential}
        return self.bench.open()

    def close(self) -> None:
        """End what was started."""
        if self.bench.loops or hasattr(self.bench, "store"):
            self.bench.close()
        self.model.close()

    def prompts_as(self, role: str) -> list[str]:
        """Return the prompts that the model received for a role."""
        return [prompt for prompt in self.prompts if f"\nrole: {role}\n" in prompt]


NewStage = Callable[..., Stage]


@pytest.fixture
def new_stage(tmp_path: Path, claude_binary: Path) -> Iterator[NewStage]:
    """Return a maker of stages."""
    made: list[Stage] = []

    def make(parts: dict[str, Scenario], binary: Path = claude_binary, **bench: Any) -> Stage:
        made.append(Stage(tmp_path, binary, parts, **bench))
        return made[-1]

    yield make
    for stage in made:
        stage.close()


def item(**fields: Any) -> dict[str, Any]:
    """Return an item that an independent session verifies as well."""
    return {"checks": [check(TEST, "test")], "protected": ["test.sh"], "verification": "both", **fields}


def test_work_of_a_real_session_is_verified_by_another_and_stands_on_its_branch(new_stage: NewStage) -> None:
    stage = new_stage({"role: work": honest_worker(MEND, TEST), "role: verify": verifier("passed", test_command=TEST)})
    bench = stage.open()
    bench.add("mend", **item())
    code, report, loop = bench.run("--once")

    assert (code, report["reason"], report["sessions"]) == (0, "drained", 2), loop.events
    shown, verified = bench.show("mend"), bench.show("mend~v1")
    sha = shown["candidate"]
    builder, judge = shown["claims"][0], verified["claims"][0]
    assert (shown["state"], verified["state"]) == ("succeeded", "succeeded")
    assert [(verdict["outcome"], verdict["executor"], verdict["ref"]) for verdict in shown["verdicts"]] == [
        ("passed", judge["executor"], sha)
    ]
    assert builder["executor"] != judge["executor"]
    assert builder["assured"]
    assert judge["assured"]
    assert SESSION.fullmatch(builder["executor"])
    assert SESSION.fullmatch(judge["executor"])
    branch = bench.repository.git("branch", "--contains", sha, "--format=%(refname:short)")
    assert branch == f"workloop/{shown['id']}/mend"
    assert bench.repository.git("show", f"{sha}:thing.txt") == "fixed"
    assert (bench.repository.path / "thing.txt").read_text() == "broken\n"
    receipts = [(piece["slot"], piece["result"]) for piece in verified["evidence"] if piece["origin"] == "receipt"]
    assert receipts == [("test", "passed")]
    assert stage.tools <= OFFERED | {"mcp__workloop__work_loop"}, stage.tools
    assert stage.model.problems == ()


def test_lie_is_caught_by_the_host_without_a_session_and_repaired_by_another(new_stage: NewStage) -> None:
    """E01, E13: the claim is not believed, and the verifier hears nothing of what the workers said."""
    stage = new_stage(
        {
            "role: work": telling(lying_worker(), "SENTINEL-WORK"),
            "role: repair": telling(honest_worker(MEND, TEST), "SENTINEL-REPAIR"),
            "role: verify": verifier("passed", test_command=TEST),
        }
    )
    bench = stage.open()
    bench.add("mend", **item())
    code, report, loop = bench.run("--once")

    assert (code, report["sessions"], report["attended"]) == (0, 3, 4), loop.events
    assert bench.states() == dict.fromkeys(("mend", "mend~v1", "mend~r1", "mend~v2"), "succeeded")
    verdicts = bench.show("mend")["verdicts"]
    assert [(verdict["outcome"], verdict["executor"] == "host") for verdict in verdicts] == [
        ("rejected", True),
        ("passed", False),
    ]
    executors = {bench.show(key)["claims"][0]["executor"] for key in ("mend", "mend~r1", "mend~v2")}
    assert len(executors) == 3
    assert len(stage.prompts_as("verify")) == 1
    assert "SENTINEL" not in stage.prompts_as("verify")[0]
    assert "SENTINEL" not in stage.prompts_as("repair")[0]
    said = json.dumps([bench.show("mend"), bench.show("mend~r1")])
    assert "SENTINEL-WORK" in said
    assert "SENTINEL-REPAIR" in said


def telling(scenario: list[Any], sentinel: str) -> list[Any]:
    """Have a worker leave words wherever it can but in git: a note, the evidence, the summary."""
    note = {"action": "attach", "evidence": [{"kind": "note", "ref": f"{sentinel} note"}]}
    *before, completion, after = scenario
    assert isinstance(completion, Call)
    assert completion.tool == WORK_LOOP
    evidence = [{"kind": "note", "ref": f"{sentinel} evidence"}]
    told = {**completion.arguments, "summary": f"{sentinel} summary", "evidence": evidence}
    return [*before, Call(WORK_LOOP, note), Call(WORK_LOOP, told), after]


def test_session_that_settles_nothing_is_tried_again_with_a_reason_and_fails_at_the_ceiling(
    new_stage: NewStage,
) -> None:
    stage = new_stage({"role: work": idle_worker()})
    bench = stage.open()
    bench.add("mend", **item(attempts_max=2))
    code, report, loop = bench.run("--once")

    assert (code, report["sessions"]) == (0, 2), loop.events
    shown = bench.show("mend")
    assert (shown["state"], bench.ends("mend")) == ("failed", ["retry", "retry"])
    assert bench.states() == {"mend": "failed"}
    assert shown["claims"][0]["report"]["failed"] == "the session ended without settling"
    first, second = stage.prompts_as("work")
    assert "This time: do the work: the last session ended well and did nothing." in second
    assert "This time" not in first
    assert "I have looked at the item" not in second


@pytest.mark.parametrize("told", [True, False], ids=["with a reset time", "without one"])
def test_usage_limit_gives_the_item_back_uncounted_and_holds_until_the_reset(new_stage: NewStage, told: bool) -> None:
    reset = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(days=3)
    stage = new_stage({"role: work": [usage_limit(resets_at=int(reset.timestamp()))]})
    if told:
        stage.credential = {"CLAUDE_CODE_OAUTH_TOKEN": "dummy"}
    bench = stage.open()
    bench.add("mend", **item())
    code, report, loop = bench.run("--once")

    assert (code, report["reason"], report["sessions"]) == (75, "limited", 1), loop.events
    shown = bench.show("mend")
    assert (shown["state"], shown["attempts"], shown["infra"], bench.ends("mend")) == ("pending", 0, 1, ["infra"])
    until = datetime.fromisoformat(loop.named("limited")[0]["until"])
    assert (abs(until - reset) < timedelta(minutes=2)) is told
    wake = datetime.fromisoformat(bench.client.call("status", {})["next_wake"])
    assert (abs(wake - reset) < timedelta(minutes=2)) is told
    assert bench.client.call("status", {})["claimable"] == 0


@pytest.mark.parametrize("receipt", ["missing", "red"])
def test_real_verifier_that_says_passed_without_a_green_receipt_is_refused(
    new_stage: NewStage, claude: Claude, receipt: str
) -> None:
    """A verdict needs the host's receipt for each check, however sure a session is; here somebody's own."""
    judge = verifier("passed", test_command="true", check_id="test")
    stage = new_stage({"role: work": honest_worker(MEND, TEST), "role: judge": with_token(judge)})
    bench = stage.open()
    bench.add("mend", **item())
    assert bench.run("--sessions", "1")[0] == 0
    assert bench.state("mend") == "candidate"
    claimed = bench.client.call("verify", {"key": "mend", "holder": "somebody-elses-verifier"})
    if receipt == "red":
        red = NewEvidence(kind=EvidenceKind.CHECK, ref="sha256:0", slot="test", result="failed: failed")
        run_as_host(bench.queue, HOST, "attach", lambda made: attach(made, claimed["token"], [red]))
    bench.client.call("pause", {"reason": "the loop is to serve only"})
    served = bench.start().wait_for("serving")

    token = Path(served["token_file"]).read_text().strip()
    server = {"type": "http", "url": served["url"] + "/mcp", "headers": {"Authorization": f"Bearer {token}"}}
    prompt = (
        f"key: mend~v1\nrole: judge\ntoken: {claimed['token']}\n"
        f"candidate: {bench.show('mend')['candidate']}\ncontract_hash: {claimed['contract_hash']}\n"
    )
    ended = claude.run(prompt, stage.model.url, mcp={"mcpServers": {"workloop": server}})
    answers = [asked.last_result for asked in stage.model.requests if "mend~v1" in asked.prompt]
    assert ended.code == 0
    assert "RECEIPT_MISSING" in answers[-1], answers
    assert (bench.state("mend"), bench.show("mend")["verdicts"]) == ("candidate", [])


def with_token(scenario: list[Any]) -> list[Any]:
    """Have a session name the claim that its brief gave it."""
    return [
        Call(move.tool, {**move.arguments, "token": "<<brief:token>>"}, say=move.say)
        if isinstance(move, Call) and move.tool == WORK_LOOP
        else move
        for move in scenario
    ]


@pytest.mark.parametrize("fault", ["wrong token", "nothing listens"])
def test_session_that_cannot_reach_the_queue_stops_the_loop_with_the_remedy(
    new_stage: NewStage, claude_binary: Path, tmp_path: Path, fault: str
) -> None:
    change = (
        's/Bearer [^"]*/Bearer wrong/' if fault == "wrong token" else f"s/127.0.0.1:[0-9]*/127.0.0.1:{free_port()}/"
    )
    stage = new_stage({"role: work": idle_worker()}, binary=wrapped(tmp_path, claude_binary, change))
    bench = stage.open()
    bench.add("mend", **item())
    code, report, loop = bench.run("--once")

    assert (code, report["reason"]) == (6, "harness_stopped"), loop.events
    assert "the MCP server workloop could not be reached" in report["detail"]
    assert "correct the configuration of claude/default/default" in report["detail"]
    shown = bench.show("mend")
    assert (shown["state"], shown["attempts"], bench.ends("mend")) == ("pending", 0, ["infra"])


def wrapped(folder: Path, binary: Path, change: str) -> Path:
    """Return a program that spoils the session's MCP file and becomes the CLI."""
    program = folder / "spoilt-claude"
    program.write_text(
        f"#!/bin/sh\nfor word; do case $word in */mcp.json) sed -i '{change}' \"$word\";; esac; done\n"
        f'exec "{binary}" "$@"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
