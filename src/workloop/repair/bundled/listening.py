"""How one MCP server is started behind walls, listened to within bounds, and ended with all that it started."""

import os
import selectors
import subprocess
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from workloop.domain.errors import BadRequest, Conflict, Fault
from workloop.repair.bundled.conversation import RULE, Conversation
from workloop.repair.bundled.files import refused
from workloop.repair.bundled.mapping import Server
from workloop.repair.verification.ground import Bounds
from workloop.runner.command import MARKER, plain_text
from workloop.runner.ending import watched
from workloop.runner.framing import LineSplitter, OverlongLine, TailBuffer
from workloop.runner.sandbox.enclosure import Enclosure, Rooms
from workloop.runner.sandbox.report import WALLS_FAILED, Report, open_report
from workloop.runner.sweep import end_tree

PHASE_OVER: Final = "PHASE_OVER"
CHUNK_BYTES: Final = 65_536
LOOK_SECONDS: Final = 0.05
EXIT_SECONDS: Final = 2.0
TAIL_BYTES_MAX: Final = 4_096
TOLD_CHARACTERS_MAX: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """How long a server may take to say its tools, and how many bytes it may write until then, on both its outputs."""

    seconds: float = 30.0
    output_bytes_max: int = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOrder:
    """Which server is started and where; the folder marks its processes, and `at` names it in a refusal."""

    server: Server
    at: str
    folder: Path
    cwd: Path
    env: Mapping[str, str]
    enclosure: Enclosure
    rooms: Rooms
    limits: ServerLimits


def announced_by(order: ServerOrder, bounds: Bounds) -> tuple[str, ...]:
    """Start a server, let it say its tools, and end it; returns them once everything that it started is dead.

    Raises BadRequest where it does not answer as a server does, Conflict once the phase is over, Fault where the walls
    fail or something will not die.
    """
    argv, marked = (order.server.command, *order.server.args), {**order.env, MARKER: str(order.folder)}
    try:
        enclosed = order.enclosure.enclose(argv, marked, order.cwd, order.rooms)
    except FileNotFoundError as error:
        raise refused(RULE, order.at, f"the server cannot be started: {error}", "install what it needs") from error
    if not enclosed.walled:
        return _Talk(order, bounds, _started(order, argv, enclosed.env)).tools()
    with closing(open_report()) as report:
        process = _started(order, report.asked(enclosed.argv), enclosed.env, (report.sink,))
        return _Talk(order, bounds, process, report).tools()


def _started(
    order: ServerOrder, argv: tuple[str, ...], env: Mapping[str, str], handles: tuple[int, ...] = ()
) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            argv,
            cwd=order.cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=handles,
        )
    except OSError as error:
        raise refused(RULE, order.at, f"the server cannot be started: {error.strerror}") from error


class _Talk:
    """One server that was started: what it says, how much and how long, and its end."""

    def __init__(
        self, order: ServerOrder, bounds: Bounds, process: "subprocess.Popen[bytes]", report: Report | None = None
    ) -> None:
        """Begin with nothing said."""
        self.order = order
        self.bounds = bounds
        self.process = process
        self.report = report
        self.stdin, self.stdout, self.stderr = map(present, (process.stdin, process.stdout, process.stderr))
        os.set_blocking(self.stdin.fileno(), False)
        self.conversation = Conversation(order.at)
        self.lines = LineSplitter(order.limits.output_bytes_max)
        self.errors = TailBuffer(TAIL_BYTES_MAX)
        self.seen = 0
        self.until = bounds.monotonic() + round(order.limits.seconds * 1000)

    def tools(self) -> tuple[str, ...]:
        """Return what the server announces; it is ended whatever becomes of it."""
        try:
            self.listen()
            ended = self.conversation.done or self.ends()
        finally:
            exit_code = self.end()
        if self.conversation.done:
            return self.conversation.tools
        if ended and self.report is not None:
            exit_code = self.report.exit_code()
            if exit_code == WALLS_FAILED:
                raise Fault("SANDBOX_FAILED", f"the walls around a server did not stand: {self.words}")
        how = f"ended with {exit_code}" if ended else "closed its output"
        raise self.refusal(f"the server {how} before it said its tools: {self.words}")

    def listen(self) -> None:
        """Go on until the server has said its tools or can say nothing more; raises at a bound."""
        with selectors.DefaultSelector() as open_pipes:
            open_pipes.register(self.stdout, selectors.EVENT_READ, self.heard)
            open_pipes.register(self.stderr, selectors.EVENT_READ, self.errors.feed)
            self.say(self.conversation.opening())
            while not self.conversation.done and self.stdout.fileno() in open_pipes.get_map():
                for key, _ in open_pipes.select(self.patience()):
                    data = os.read(key.fd, CHUNK_BYTES)
                    if not data:
                        open_pipes.unregister(key.fileobj)
                    self.count(data)
                    key.data(data)

    def heard(self, data: bytes) -> None:
        """Take what the server says, and answer it."""
        for line in self.lines.feed(data):
            if isinstance(line, OverlongLine):
                raise self.refusal("the server writes a line that is too long")
            self.say(self.conversation.take(line))

    def count(self, data: bytes) -> None:
        """Refuse a server that writes more than it may."""
        self.seen += len(data)
        if self.seen > self.order.limits.output_bytes_max:
            raise self.refusal(f"the server wrote more than {self.order.limits.output_bytes_max} bytes")

    def say(self, words: bytes) -> None:
        """Tell the server something; one that has closed its input is told nothing, and will be found to have ended."""
        try:
            if words:
                os.write(self.stdin.fileno(), words)
        except BlockingIOError as error:
            raise self.refusal("the server does not read what it is told") from error
        except BrokenPipeError:
            return

    def patience(self) -> float:
        """Return how long to wait for the next words; raises once there is no time left."""
        if self.bounds.stop.is_set() or self.bounds.seconds_left <= 0:
            raise Conflict(PHASE_OVER, "the phase was over before all servers had said their tools")
        left = (self.until - self.bounds.monotonic()) / 1000
        if left <= 0:
            raise self.refusal(f"the server took more than {self.order.limits.seconds:g} seconds: {self.words}")
        return min(LOOK_SECONDS, left)

    def ends(self) -> bool:
        """Tell whether a server that says nothing more ends by itself, so that its exit code is its own."""
        with watched(self.process.pid) as ends_within:
            return ends_within(EXIT_SECONDS)

    def end(self) -> int | None:
        """End the server with all that it started; raises Fault when something would not die."""
        self.stdin.close()
        marker = f"{MARKER}={self.order.folder}"
        survivors = end_tree(self.process.pid, marker=marker, folder=self.order.folder)
        exit_code = None if self.process.pid in survivors else self.process.wait()
        self.stdout.close()
        self.stderr.close()
        if survivors:
            raise Fault("SERVER_SURVIVES", f"{self.order.at}: processes of the server would not die: {survivors}")
        return exit_code

    def refusal(self, problem: str) -> BadRequest:
        """Build the refusal of this server."""
        return refused(RULE, self.order.at, problem)

    @property
    def words(self) -> str:
        """Return the end of what the server wrote beside its answers, for people."""
        said = " ".join(plain_text(self.errors.kept()).split())
        return said[-TOLD_CHARACTERS_MAX:] or "it wrote nothing about it"


def present(stream: IO[bytes] | None) -> IO[bytes]:
    """Return a pipe of a child that was started with it."""
    if stream is None:
        raise AssertionError("the server was started without its pipes")
    return stream
