"""How the shipped deterministic agent is started and read: a real child, for demos and tests."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workloop.domain.clock import Instant
from workloop.domain.session import (
    DETAIL_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    Conclusion,
    Finished,
    Limit,
    SessionClass,
    SessionEvent,
    Started,
    Text,
    ToolCall,
    head,
    tail,
)
from workloop.runner.harness.codec import decode_line
from workloop.runner.harness.exits import class_of_exit, describe_exit
from workloop.runner.harness.files import loop_environment, write_private
from workloop.runner.harness.lines import LineReader
from workloop.runner.harness.needs import Needs, home_in
from workloop.runner.harness.port import Capabilities, Ending, Launch, LaunchRequest

PROGRAM = "workloop.testing.scripted_agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedConfig:
    """Which script the agent follows, under which name."""

    script: Path
    name: str = "scripted"
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


class ScriptedHarness:
    """An agent that does what its script says."""

    capabilities = Capabilities(
        reports_cost=True, reports_reset=True, resumes=True, observes_claims=True, final_text=True, modelless=True
    )
    tested_versions: tuple[str, ...] = ()

    def __init__(self, config: ScriptedConfig) -> None:
        self.config = config

    @property
    def name(self) -> str:
        """Return the configured name."""
        return self.config.name

    def version_command(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Return nothing: a program of the operator's own says no version."""
        return ()

    def needs(self, environment: Mapping[str, str]) -> Needs:
        """Return the script; the interpreter is the loop's own."""
        return Needs(home=home_in({**environment, **self.config.environment}), readable=(self.config.script,))

    def launch(self, request: LaunchRequest) -> Launch:
        """Start the agent with this interpreter."""
        brief = write_private(request.session_dir / "brief.md", request.prompt)
        env = {
            **request.environment,
            **self.config.environment,
            **loop_environment(request),
            "WORKLOOP_BRIEF": str(brief),
        }
        if request.model:
            env["WORKLOOP_MODEL"] = request.model
        if request.resume_id is not None:
            env["WORKLOOP_RESUME"] = request.resume_id
        argv = (sys.executable, "-m", PROGRAM, str(self.config.script))
        return Launch(argv=argv, env=env, cwd=request.cwd)

    def reader(self, request: LaunchRequest) -> "ScriptedReader":
        """Make a fresh reader for the session's output."""
        return ScriptedReader(request)


class ScriptedReader(LineReader):
    """One scripted session's stream."""

    def __init__(self, request: LaunchRequest) -> None:
        super().__init__(request.session_id)
        self.resume_id = request.resume_id
        self.reset_at: Instant | None = None
        self.final_text = ""
        self.produced = False
        self.ended = False

    def feed(self, line: bytes, arrival_us: int) -> list[SessionEvent]:
        """Decode one line."""
        events = decode_line(line, arrival_us, self.stamper)
        for event in events:
            match event:
                case Started():
                    self.resume_id = event.resume_id or self.resume_id
                case Text():
                    self.final_text = event.text
                    self.produced = True
                case ToolCall():
                    self.produced = True
                case Limit():
                    self.reset_at = event.reset_at
                case Finished():
                    self.ended = not event.failed
                case _:
                    continue
        return events

    def finish(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> Ending:
        """Judge by the exit status; an end that was not told is a crash, one without a word or a tool call is dead."""
        session_class = class_of_exit(exit_code, signal)
        if session_class is SessionClass.CLEAN and not self.ended:
            session_class = SessionClass.CRASHED if self.produced else SessionClass.DEAD
        clean = session_class is SessionClass.CLEAN
        conclusion = Conclusion(
            session_class=SessionClass.DEAD if clean and not self.produced else session_class,
            final_text=tail(self.final_text, TEXT_CHARACTERS_MAX) if clean else "",
            reset_at=self.reset_at if session_class is SessionClass.LIMITED else None,
            resume_id=self.resume_id,
            detail=head(describe_exit(exit_code, signal, stderr_tail), DETAIL_CHARACTERS_MAX),
        )
        return Ending(conclusion=conclusion)
