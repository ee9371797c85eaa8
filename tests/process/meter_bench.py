"""A provider that says exactly the bytes it is told to, a client that keeps every byte, and a budget in memory."""

import http.client
import json
import socket
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from workloop.domain.clock import Instant
from workloop.runner.harness.port import MeterEndpoint
from workloop.runner.meter.port import CallCharge, CallPlan, CallRefusal, MeterReading, Upstream
from workloop.runner.meter.server import Meter, MeterSettings
from workloop.testing.clocks import FakeClock

BOUND_SECONDS = 90
PROVIDER_KEY = "sk-of-the-operator-0123456789abcdef"

Part = bytes | threading.Event


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as the provider got it."""

    line: str
    headers: Mapping[str, str]
    body: bytes


class Provider:
    """Listens on loopback and answers each request with the next script: bytes, and events that it waits for."""

    def __init__(self, *scripts: Sequence[Part]) -> None:
        self.scripts = list(scripts)
        self.asked: list[Asked] = []
        self.hung_up = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.threads: list[threading.Thread] = []
        self.connections: list[socket.socket] = []
        self.acceptor = threading.Thread(target=self.accept)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self.acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        with socket.create_connection(self.listener.getsockname()):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.acceptor.join()
        self.listener.close()
        for connection in self.connections:
            hang_up(connection)
        for thread in self.threads:
            thread.join()

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            thread = threading.Thread(target=self.answer, args=(connection,))
            self.threads.append(thread)
            thread.start()

    def answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while asked := read_request(stream):
                self.asked.append(asked)
                script = self.scripts.pop(0) if self.scripts else ()
                if not script:
                    return hang_up(connection)
                for part in script:
                    if isinstance(part, threading.Event):
                        part.wait(BOUND_SECONDS)
                    else:
                        try:
                            connection.sendall(part)
                        except OSError:
                            self.hung_up.set()
                            return None
            self.hung_up.set()
        return None


def read_request(stream: Any) -> Asked | None:
    """Read one request, or None at the end of the connection."""
    try:
        line = stream.readline().decode().strip()
        if not line:
            return None
        headers = {name.lower(): value for name, value in http.client.parse_headers(stream).items()}
        return Asked(line=line, headers=headers, body=stream.read(int(headers.get("content-length", 0))))
    except OSError:
        return None


def heard(connection: socket.socket, word: bytes) -> bytes:
    """Read until a word has come; how the bytes before it are cut is nobody's business."""
    got = b""
    while word not in got:
        piece = connection.recv(65_536)
        assert piece, got
        got += piece
    return got


def hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


@dataclass
class Purse:
    """A budget that remembers what it was asked and told."""

    refusal: CallRefusal | None = None
    plans: list[CallPlan] = field(default_factory=list[CallPlan])
    charges: list[CallCharge] = field(default_factory=list[CallCharge])
    fails: str = ""
    changed: threading.Condition = field(default_factory=threading.Condition)

    def admit(self, plan: CallPlan) -> CallRefusal | None:
        self.plans.append(plan)
        if self.fails == "admit":
            raise OSError("no disk")
        return self.refusal

    def charge(self, charge: CallCharge) -> None:
        with self.changed:
            self.charges.append(charge)
            self.changed.notify_all()
        if self.fails == "charge":
            raise OSError("no disk")

    def charged(self, count: int = 1) -> CallCharge:
        """Wait for so many charges and return the newest."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.charges) >= count, BOUND_SECONDS)
            return self.charges[-1]


@dataclass
class Stage:
    """A meter with one open session."""

    meter: Meter
    clock: FakeClock
    purse: Purse
    endpoint: MeterEndpoint
    session_id: str

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.meter.port), timeout=BOUND_SECONDS)

    def path(self, dialect_path: str) -> str:
        """Return the path of a call: `/v1/messages` is Anthropic's, all others are OpenAI's."""
        base = self.endpoint.anthropic_url if "messages" in dialect_path else self.endpoint.openai_url[:-3]
        return base.partition(str(self.meter.port))[2] + dialect_path

    def ask(self, path: str, body: object, **headers: str) -> "Told":
        """Send one call and read its answer to the end."""
        with self.connect() as connection:
            connection.sendall(self.request(path, body, **headers))
            return read_answer(connection)

    def request(self, path: str, body: object, **headers: str) -> bytes:
        """Return the bytes of a call."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"host": f"127.0.0.1:{self.meter.port}", "content-length": str(len(data)), **self.shown(), **headers}
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items() if value)
        return f"POST {self.path(path)} HTTP/1.1\r\n{lines}\r\n".encode() + data

    def shown(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.endpoint.key}"} if self.endpoint.key else {}


@dataclass(frozen=True, kw_only=True)
class Told:
    """An answer, its body without the marks of its chunks; complete says whether it ended in good order."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    complete: bool

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def read_answer(connection: socket.socket) -> Told:
    """Read one answer, as far as it goes."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    pieces: list[bytes] = []
    complete = True
    try:
        while piece := response.read1(65_536):
            pieces.append(piece)
    except (http.client.IncompleteRead, OSError):
        complete = False
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Told(status=response.status, headers=headers, body=b"".join(pieces), complete=complete)


@contextmanager
def stage(
    upstream: str | Callable[[], Upstream],
    *,
    purse: Purse | None = None,
    deadline: Instant | None = None,
    settings: MeterSettings | None = None,
) -> Generator[Stage]:
    """Open a meter with one session whose calls go to a provider."""
    clock, budget = FakeClock(), purse or Purse()
    meter = Meter(settings or MeterSettings(), clock)
    meter.start()
    try:
        going = upstream() if callable(upstream) else keyed(upstream)
        endpoint = meter.open("s-1", budget, going, deadline=deadline)
        yield Stage(meter=meter, clock=clock, purse=budget, endpoint=endpoint, session_id="s-1")
    finally:
        meter.stop()


def keyed(url: str) -> Upstream:
    """Return a provider that is paid with the operator's key."""
    return Upstream(anthropic_url=url, openai_url=f"{url}/v1", api_key=PROVIDER_KEY)


def reading(stage: Stage) -> MeterReading:
    """Close the session and return what it came to."""
    import anyio

    return anyio.run(stage.meter.close, stage.session_id)


def chunked(
    *pieces: bytes, status: str = "200 OK", content_type: str = "text/event-stream", end: bool = True
) -> list[Part]:
    """Return the parts of a streamed answer, one chunk a piece."""
    head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    return [head, *(chunk(piece) for piece in pieces), *([b"0\r\n\r\n"] if end else [])]


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)


def sized(body: bytes, *, status: str = "200 OK", headers: str = "content-type: application/json") -> list[Part]:
    """Return the parts of an answer of known length."""
    return [f"HTTP/1.1 {status}\r\n{headers}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body]


def events(*payloads: object) -> list[bytes]:
    """Return a stream's events, one piece each."""
    return [f"event: {name(entry)}\ndata: {json.dumps(entry)}\n\n".encode() for entry in payloads]


def name(entry: object) -> str:
    return entry.get("type", "message") if isinstance(entry, dict) else "message"
