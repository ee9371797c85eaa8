"""How the scripted model is reached: HTTP/1.1 on loopback, one thread a connection, the dialect by path."""

import itertools
import json
import secrets
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import assert_never, cast

from workloop.testing.model.chat import CHAT
from workloop.testing.model.conversation import JsonObject, ScenarioError
from workloop.testing.model.dialect import Dialect, Envelope
from workloop.testing.model.exchange import Exchange, Log, shown_credential
from workloop.testing.model.messages import MESSAGES
from workloop.testing.model.moves import Call, Cut, Fail, Hang, Say, Usage
from workloop.testing.model.player import Player, ReadyMove
from workloop.testing.model.responses import RESPONSES

JSON_TYPE = "application/json"
STREAM_TYPE = "text/event-stream"
BROKEN_TEXT = "I was about to"
MODEL_NAME = "scripted-model"
COUNTS = "/messages/count_tokens"
DIALECTS = (MESSAGES, RESPONSES, CHAT)


class LoopbackServer(ThreadingHTTPServer):
    """Listens on 127.0.0.1 and can be closed while requests hang."""

    daemon_threads = False
    allow_reuse_address = True

    def __init__(self, port: int, player: Player, log: Log, usage: Usage) -> None:
        super().__init__(("127.0.0.1", port), ModelHandler)
        self.player = player
        self.log = log
        self.usage = usage
        self.closing = threading.Event()
        self.numbers = itertools.count(1)
        self.nonce = secrets.token_hex(6)
        self.connections: set[socket.socket] = set()
        self.guard = threading.Lock()

    def hang_up_all(self) -> None:
        """Drop every connection, the hanging ones too."""
        self.closing.set()
        with self.guard:
            for connection in self.connections:
                hang_up(connection)

    def opened(self, connection: socket.socket) -> None:
        """Remember a connection, or drop it at once when the server closes."""
        with self.guard:
            self.connections.add(connection)
            if self.closing.is_set():
                hang_up(connection)

    def closed(self, connection: socket.socket) -> None:
        """Forget a connection."""
        with self.guard:
            self.connections.discard(connection)

    def handle_error(self, request: object, client_address: object) -> None:
        """Record what a handler died of; a client that hangs up is no problem."""
        error = sys.exception()
        problem = "" if isinstance(error, ConnectionError) else f"{type(error).__name__}: {error}"
        self.log.add(Exchange(number=0, kind="connection", path="", move="lost", problem=problem))


class ModelHandler(BaseHTTPRequestHandler):
    """One connection of a CLI; kept alive over many requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def setup(self) -> None:
        """Enter the connection before anything is read."""
        super().setup()
        self.home.opened(self.connection)

    def finish(self) -> None:
        """Leave the connection."""
        self.home.closed(self.connection)
        super().finish()

    @property
    def home(self) -> LoopbackServer:
        """Return the server this connection belongs to."""
        return cast("LoopbackServer", self.server)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Print nothing; the log of exchanges says more."""

    def do_HEAD(self) -> None:
        """Answer a probe of the base URL."""
        self.send_whole(200, {})

    def do_GET(self) -> None:
        """List the models."""
        known = self.route().endswith("/models")
        self.note("models" if known else "other", "models" if known else "fail 404")
        if known:
            self.send_whole(200, models(MODEL_NAME))
        else:
            self.send_whole(404, not_found(self.path))

    def do_POST(self) -> None:
        """Answer a request to the model, or count its tokens."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json_object(raw)
        if self.route().endswith(COUNTS):
            self.note("count_tokens", "count")
            self.send_whole(200, {"input_tokens": len(raw) // 4})
        elif (dialect := self.dialect()) is not None and body is not None:
            self.converse(dialect, body)
        else:
            self.note("other", "fail 404")
            self.send_whole(404, not_found(self.path))

    def dialect(self) -> Dialect | None:
        """Return the dialect that the path asks for."""
        return next((dialect for dialect in DIALECTS if self.route().endswith(dialect.path)), None)

    def converse(self, dialect: Dialect, body: JsonObject) -> None:
        """Take the next move, enter it in the log, and make it."""
        read, problem = dialect.read(body, lambda name: self.headers.get(name, "")), ""
        conversation = replace(read, body=body)
        try:
            move = self.home.player.next_move(conversation, dialect.address)
        except ScenarioError as error:
            problem = str(error)
            move = Fail(status=400, kind="invalid_request_error", message=f"scenario: {problem}")
        number = next(self.home.numbers)
        exchange = Exchange(
            number=number,
            kind=dialect.name if conversation.tools else "side",
            path=self.path,
            move=spelled(move),
            session=conversation.session,
            model=conversation.model,
            credential=self.credential(),
            step=conversation.step,
            tools=conversation.tools,
            prompt=conversation.prompt,
            last_result=conversation.last_result,
            problem=problem,
        )
        self.home.log.add(exchange)
        envelope = Envelope(
            tag=f"{self.home.nonce}_{number:05d}",
            model=conversation.model,
            usage=(move.usage if isinstance(move, Call | Say) else None) or self.home.usage,
            declared=conversation.declared,
        )
        self.make(dialect, move, envelope, streaming=conversation.streaming)

    def make(self, dialect: Dialect, move: ReadyMove, envelope: Envelope, *, streaming: bool) -> None:
        """Send one move to the client."""
        match move:
            case Call() | Say() if streaming:
                self.send_stream(dialect.stream(move, envelope))
            case Call() | Say():
                self.send_whole(200, dialect.whole(move, envelope))
            case Fail() if move.in_stream and streaming:
                self.send_stream(dialect.broken(move, envelope, BROKEN_TEXT))
            case Fail():
                error = dialect.refuse(move)
                self.send_whole(error.status, error.body, error.headers)
            case Cut():
                self.begin_stream()
                self.send_events(dialect.broken(move, envelope, move.text))
                self.hang_up()
            case Hang():
                if move.after == "text":
                    self.begin_stream()
                    self.send_events(dialect.broken(Cut(), envelope, BROKEN_TEXT))
                self.home.closing.wait()
                self.hang_up()
            case _:
                assert_never(move)

    def send_whole(self, status: int, body: JsonObject, headers: Mapping[str, str] | None = None) -> None:
        """Send an answer of known length."""
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "content-type": JSON_TYPE,
            "content-length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
        self.wfile.flush()

    def send_stream(self, events: Iterator[bytes]) -> None:
        """Send a stream of events to its orderly end."""
        self.begin_stream()
        self.send_events(events)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def begin_stream(self) -> None:
        """Send the head of a chunked answer."""
        self.send_response(200)
        for name, value in {"content-type": STREAM_TYPE, "transfer-encoding": "chunked"}.items():
            self.send_header(name, value)
        self.end_headers()

    def send_events(self, events: Iterator[bytes]) -> None:
        """Send each event as a chunk of its own, at once."""
        for data in events:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

    def hang_up(self) -> None:
        """Drop the connection without ending the answer."""
        self.close_connection = True
        hang_up(self.connection)

    def note(self, kind: str, move: str) -> None:
        """Enter a request that no scenario decides."""
        number = next(self.home.numbers)
        self.home.log.add(Exchange(number=number, kind=kind, path=self.path, move=move, credential=self.credential()))

    def credential(self) -> str:
        """Return the shortened credential of this request."""
        return shown_credential(self.headers.get("x-api-key"), self.headers.get("authorization"))

    def route(self) -> str:
        """Return the path without its query."""
        return self.path.partition("?")[0]


def hang_up(connection: socket.socket) -> None:
    """Shut a connection down; one that is gone already needs no more."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def models(name: str) -> JsonObject:
    """Return the list of models, which is one, with the fields of every provider."""
    entry = {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
    entry |= {"object": "model", "owned_by": "scripted"}
    return {"object": "list", "data": [entry], "has_more": False, "first_id": name, "last_id": name}


def not_found(path: str) -> JsonObject:
    """Return the body of a refusal of a path that nobody serves."""
    return {"type": "error", "error": {"type": "not_found_error", "message": f"no such path: {path}"}}


def json_object(raw: bytes) -> JsonObject | None:
    """Read a JSON object, or None for anything else."""
    try:
        body: object = json.loads(raw)
    except ValueError:
        return None
    return cast("JsonObject", body) if isinstance(body, dict) else None


def spelled(move: ReadyMove) -> str:
    """Name a move for the log."""
    match move:
        case Call():
            return f"call {move.tool}"
        case Say():
            return "say"
        case Fail():
            return f"fail {move.status}"
        case Cut():
            return "cut"
        case Hang():
            return "hang"
        case _:
            assert_never(move)
