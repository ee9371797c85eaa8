"""What the runner asks of one agent CLI: how to start it and how to read what it prints."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from workloop.domain.clock import Instant
from workloop.domain.session import Conclusion, SessionEvent
from workloop.runner.harness.needs import Needs
from workloop.runner.sandbox.enclosure import BARE, Enclosure, Rooms


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a harness can do, so that the loop never has to know its name.

    observes_claims: its events carry what the queue's tools were asked and answered; final_text: its last message is
    known, so that a hand-off can be read from it; hands_in_head: it cannot settle by itself; modelless: it follows a
    script, so that whatever it says has cost nothing.
    """

    reports_cost: bool = False
    reports_reset: bool = False
    resumes: bool = False
    turn_cap: bool = False
    cost_cap: bool = False
    per_run_mcp: bool = False
    permission_policy: bool = False
    observes_claims: bool = False
    final_text: bool = False
    hands_in_head: bool = False
    modelless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class McpEndpoint:
    """Where a session reaches the loop, and the token that is good for this session only.

    socket is the same door as a Unix socket, for a session without a network.
    """

    url_mcp: str
    url_api: str
    token: str = field(repr=False)
    socket: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterEndpoint:
    """Where a session's model calls go instead of to its provider, and the key that is good for this session only.

    anthropic_url is a base without /v1, openai_url one with it, as the CLIs want them. An empty key means that the
    session's own login goes through unchanged; the URLs then tell the sessions apart.
    """

    anthropic_url: str
    openai_url: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest:
    """Everything an adapter may know about the session it starts.

    session_dir is private (0700) and the adapter may write into it; environment is the allow-listed base, resume_id
    what an earlier session's report named, started_at the wall clock at the start, by which a reader understands a
    time of day, mcp_config the operator's own file of MCP servers in this harness's dialect, to be joined with ours
    in a private copy; enclosure and rooms are the runner's, not the adapter's: they are put around what it launches.
    """

    prompt: str
    cwd: Path
    session_dir: Path
    session_id: str
    environment: Mapping[str, str]
    resume_id: str | None = None
    started_at: Instant | None = None
    endpoint: McpEndpoint | None = None
    meter: MeterEndpoint | None = None
    item_file: Path | None = None
    mcp_config: Path | None = None
    model: str | None = None
    turns_max: int | None = None
    cost_micros_max: int | None = None
    read_only: bool = False
    enclosure: Enclosure = BARE
    rooms: Rooms = field(default_factory=Rooms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A process to start; the files it needs are already written.

    Standard input is /dev/null, or, when interactive, a pipe for the reader's replies, closed once the session said
    that it is over. walled is the runner's: the program that is started only builds walls, and the agent itself leads a
    namespace of processes inside them.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    interactive: bool = False
    walled: bool = False


class StreamReader(Protocol):
    """Folds one session's standard output into events; holds the state that needs."""

    def feed(self, line: bytes, arrival_us: int) -> list[SessionEvent]:
        """Decode one line without its newline; never raises, whatever the line is."""
        ...

    def overlong(self, size: int, arrival_us: int) -> list[SessionEvent]:
        """Take note of a line that was too long to keep."""
        ...

    def replies(self) -> bytes:
        """Return what to write to an interactive session now, once; asked at the start and after each line."""
        ...

    def finish(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> "Ending":
        """Read what is left after the process has ended, and judge."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The last events of a session and the adapter's judgement."""

    conclusion: Conclusion
    events: tuple[SessionEvent, ...] = ()


class Harness(Protocol):
    """One agent CLI; it never decides to retry, wait or stop."""

    @property
    def name(self) -> str:
        """Return the name used in configuration and on claims."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """Return what this harness can do."""
        ...

    @property
    def tested_versions(self) -> tuple[str, ...]:
        """Return the versions its rules were read from, oldest first; empty for an operator's own program."""
        ...

    def version_command(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Return what prints its version, empty if nothing does; raises Fault when it is not installed."""
        ...

    def needs(self, environment: Mapping[str, str]) -> Needs:
        """Return what of its own a session must reach from inside walls; raises Fault when it is not installed."""
        ...

    def launch(self, request: LaunchRequest) -> Launch:
        """Write the session's files and say what to start; raises Fault when it cannot be started."""
        ...

    def reader(self, request: LaunchRequest) -> StreamReader:
        """Make a fresh reader for the session's output."""
        ...
