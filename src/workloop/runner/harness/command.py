"""How any program is run as an agent: a brief in, an exit status out, with optional events and result files."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workloop.domain.clock import Instant
from workloop.domain.errors import Fault
from workloop.domain.session import (
    DETAIL_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    Conclusion,
    Limit,
    LimitKind,
    SessionClass,
    SessionEvent,
    Text,
    head,
    tail,
)
from workloop.runner.framing import LineSplitter, OverlongLine, TailBuffer
from workloop.runner.harness.codec import decode_line, detail_in, instant_in, name_in
from workloop.runner.harness.exits import class_of_exit, describe_exit
from workloop.runner.harness.fields import Fields, parse
from workloop.runner.harness.files import loop_environment, said_folder, write_private
from workloop.runner.harness.lines import LineReader
from workloop.runner.harness.metering import any_variables, kept
from workloop.runner.harness.needs import Needs, home_in, named_files, program_places
from workloop.runner.harness.port import Capabilities, Ending, Launch, LaunchRequest

BRIEF = "{brief}"
EVENTS_BYTES_MAX = 64 * 1024 * 1024
RESULT_BYTES_MAX = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandConfig:
    """The program and its arguments; {brief} stands for the brief's path."""

    argv: tuple[str, ...]
    name: str = "command"
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


class CommandHarness:
    """Any program: 0 is clean, 75 limited, 77 not logged in, anything else failed."""

    capabilities = Capabilities(reports_cost=True, reports_reset=True, hands_in_head=True)
    tested_versions: tuple[str, ...] = ()

    def __init__(self, config: CommandConfig) -> None:
        if not config.argv:
            raise Fault("HARNESS_CONFIG", f"{config.name}: argv is empty", hint="name the program to run")
        self.config = config

    @property
    def name(self) -> str:
        """Return the configured name."""
        return self.config.name

    def version_command(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Return nothing: a program of the operator's own says no version."""
        return ()

    def needs(self, environment: Mapping[str, str]) -> Needs:
        """Return the program, and the files that its command line names."""
        program = shutil.which(self.config.argv[0], path=environment.get("PATH"))
        places = program_places(program) if program is not None else ()
        home = home_in({**environment, **self.config.environment})
        return Needs(home=home, readable=(*places, *named_files(self.config.argv)))

    def launch(self, request: LaunchRequest) -> Launch:
        """Write the brief and say where everything is by variables."""
        brief = str(write_private(request.session_dir / "brief.md", request.prompt))
        env = {
            **kept({**request.environment, **self.config.environment}, request.meter),
            **any_variables(request),
            **loop_environment(request),
            "WORKLOOP_BRIEF": brief,
            "WORKLOOP_EVENTS": str(events_path(request)),
            "WORKLOOP_RESULT": str(result_path(request)),
        }
        if request.model:
            env["WORKLOOP_MODEL"] = request.model
        argv = tuple(part.replace(BRIEF, brief) for part in self.config.argv)
        return Launch(argv=argv, env=env, cwd=request.cwd)

    def reader(self, request: LaunchRequest) -> "CommandReader":
        """Make a fresh reader for the session's output."""
        return CommandReader(request)


class CommandReader(LineReader):
    """One program's output: every line is text; its files are read at the end."""

    def __init__(self, request: LaunchRequest) -> None:
        super().__init__(request.session_id)
        self.request = request
        self.said = TailBuffer(TEXT_CHARACTERS_MAX)

    def feed(self, line: bytes, arrival_us: int) -> list[SessionEvent]:
        """Take a line as text."""
        self.said.feed(line + b"\n")
        text = head(line.decode("utf-8", errors="replace"), TEXT_CHARACTERS_MAX)
        return [Text(at=self.stamper.at(arrival_us), text=text)] if text.strip() else []

    def finish(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> Ending:
        """Judge by the exit status, with what the result file adds."""
        session_class = class_of_exit(exit_code, signal)
        clean, limited = session_class is SessionClass.CLEAN, session_class is SessionClass.LIMITED
        result = parse(read_bounded(result_path(self.request), RESULT_BYTES_MAX)) or Fields(None)
        events = self.read_events()
        limits = [event for event in events if isinstance(event, Limit)]
        reset_at = reset_in(result) or next((event.reset_at for event in reversed(limits)), None)
        if limited and not limits:
            events.append(Limit(at=self.stamper.again(), kind=LimitKind.UNKNOWN, reset_at=reset_at))
        final = result.text("final_text") or self.said.text().strip()
        details = (describe_exit(exit_code, signal, stderr_tail), detail_in(result, "detail"))
        conclusion = Conclusion(
            session_class=session_class,
            final_text=tail(final, TEXT_CHARACTERS_MAX) if clean else "",
            reset_at=reset_at if limited else None,
            resume_id=name_in(result, "resume_id") or None,
            detail=head("; ".join(part for part in details if part), DETAIL_CHARACTERS_MAX),
        )
        return Ending(conclusion=conclusion, events=tuple(events))

    def read_events(self) -> list[SessionEvent]:
        """Decode the events file, all of it arriving at the end."""
        splitter, events = LineSplitter(), list[SessionEvent]()
        data = read_bounded(events_path(self.request), EVENTS_BYTES_MAX)
        for line in splitter.feed(data) + splitter.finish():
            if isinstance(line, OverlongLine):
                events += self.overlong(line.size, self.stamper.last_arrival_us)
            else:
                events += decode_line(line, self.stamper.last_arrival_us, self.stamper)
        return events


def reset_in(result: Fields) -> Instant | None:
    """Read the reset from a result file; a malformed one is none."""
    try:
        return instant_in(result, "reset_at")
    except ValueError:
        return None


def events_path(request: LaunchRequest) -> Path:
    """Return where the program may write its events."""
    return said_folder(request) / "events.jsonl"


def result_path(request: LaunchRequest) -> Path:
    """Return where the program may write its result."""
    return said_folder(request) / "result.json"


def read_bounded(path: Path, bytes_max: int) -> bytes:
    """Read the beginning of a plain file; a missing one, a link, a pipe or a folder reads as empty."""
    if not path.is_file() or path.is_symlink():
        return b""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
        return stream.read(bytes_max)
