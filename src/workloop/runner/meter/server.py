"""Where the meter listens, and the thread it runs on, so that nothing the loop does delays a token."""

import asyncio
import logging
import secrets
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
import uvloop
from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, web

from workloop.domain.clock import Clock, Instant
from workloop.domain.errors import Fault
from workloop.runner.harness.port import MeterEndpoint
from workloop.runner.meter.book import Book
from workloop.runner.meter.port import Allowance, MeterReading, Upstream
from workloop.runner.meter.prices import ListedPrices, Prices
from workloop.runner.meter.proxy import Books, Proxy
from workloop.runner.meter.routes import KEY_MARK, Family

LOG = logging.getLogger(__name__)
LOOPBACK = "127.0.0.1"
HEADER_BYTES_MAX = 65_536
TURN_SECONDS = 0.0005


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterSettings:
    """Where the meter listens and how patient it is.

    port 0 takes a free one; socket is a Unix socket besides, for sessions whose network is cut; idle_seconds is how
    long a provider may stay silent within a call; proxies are the ones on the way to providers, by scheme.
    """

    port: int = 0
    socket: Path | None = None
    body_bytes_max: int = 64 * 1024 * 1024
    connect_seconds: float = 20.0
    idle_seconds: float = 900.0
    proxies: Mapping[str, str] = field(default_factory=dict[str, str])


class Meter:
    """Counts and caps the model calls of many sessions; every method may be called from any thread."""

    def __init__(
        self,
        settings: MeterSettings,
        clock: Clock,
        *,
        prices: Prices | None = None,
        secret: Callable[[], str] = lambda: secrets.token_urlsafe(32),
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.prices = prices or ListedPrices()
        self.secret = secret
        self.books = Books()
        self.port = 0
        self.loop: asyncio.AbstractEventLoop | None = None
        self.stopping: asyncio.Event | None = None
        self.ready = threading.Event()
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self.live, name="workloop-meter", daemon=True)

    def start(self) -> None:
        """Listen; raises Fault when that is impossible."""
        self.thread.start()
        self.ready.wait()
        if self.failure is not None:
            hint = "give another port or socket"
            raise Fault("METER_UNAVAILABLE", f"the meter cannot listen: {self.failure}", hint=hint) from self.failure

    def stop(self) -> None:
        """End what is on its way, book it, and stop listening; never raises, and may be called twice."""
        if self.loop is not None and self.stopping is not None and self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.stopping.set)
        self.thread.join()

    async def serve(self, *, task_status: "anyio.abc.TaskStatus[int]" = anyio.TASK_STATUS_IGNORED) -> None:
        """Listen until cancelled; reports the port once it does."""
        await anyio.to_thread.run_sync(self.start)
        try:
            task_status.started(self.port)
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self.stop)

    def open(
        self, session_id: str, allowance: Allowance, upstream: Upstream, *, deadline: Instant | None = None
    ) -> MeterEndpoint:
        """Let a session send calls, under a key of its own; its calls end at the deadline."""
        key = f"{KEY_MARK}{self.secret()}"
        providers = {
            Family.ANTHROPIC: self.prices.provider(upstream.anthropic_url, Family.ANTHROPIC),
            Family.OPENAI: self.prices.provider(upstream.openai_url, Family.OPENAI),
        }
        book = Book(
            session_id=session_id, allowance=allowance, upstream=upstream, providers=providers, deadline=deadline
        )
        self.books.add(key, book)
        base, login = f"http://{LOOPBACK}:{self.port}", upstream.api_key is None
        place = f"/{key}" if login else ""
        return MeterEndpoint(
            anthropic_url=f"{base}/{Family.ANTHROPIC}{place}",
            openai_url=f"{base}/{Family.OPENAI}{place}/v1",
            key="" if login else key,
        )

    async def close(self, session_id: str) -> MeterReading:
        """Let a session send nothing more, end what it has on its way, and say what it came to."""
        book = self.books.remove(session_id)
        if book is None:
            return MeterReading()
        book.over = True
        if self.loop is not None and self.thread.is_alive():
            ending = asyncio.run_coroutine_threadsafe(end_calls(book), self.loop)
            await anyio.to_thread.run_sync(ending.result)
        return book.reading

    def live(self) -> None:
        """Run the meter's own loop on its thread."""
        try:
            self.prices.warm()
            with short_turns(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self.listen())
        except Exception as error:
            LOG.exception("the meter ended")
            self.failure = error
        finally:
            self.ready.set()

    async def listen(self) -> None:
        """Serve until told to stop."""
        self.loop, self.stopping = asyncio.get_running_loop(), asyncio.Event()
        timeout = ClientTimeout(
            total=None, sock_connect=self.settings.connect_seconds, sock_read=self.settings.idle_seconds
        )
        async with ClientSession(
            connector=TCPConnector(limit=0),
            cookie_jar=DummyCookieJar(),
            timeout=timeout,
            auto_decompress=False,
            max_line_size=HEADER_BYTES_MAX,
            max_field_size=HEADER_BYTES_MAX,
        ) as client:
            proxy = Proxy(
                books=self.books,
                prices=self.prices,
                clock=self.clock,
                client=client,
                body_bytes_max=self.settings.body_bytes_max,
                proxies=self.settings.proxies,
            )
            await self.answer(proxy)

    async def answer(self, proxy: Proxy) -> None:
        """Take requests until told to stop, then end those that are under way."""
        assert self.loop is not None, "the meter runs on a loop"
        assert self.stopping is not None, "the meter can be stopped"
        server = web.Server(
            proxy.handle,
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            max_line_size=HEADER_BYTES_MAX,
            max_field_size=HEADER_BYTES_MAX,
        )
        listener = await self.loop.create_server(server, LOOPBACK, self.settings.port)
        self.port = listener.sockets[0].getsockname()[1]
        inside = None
        if self.settings.socket is not None:
            inside = await self.loop.create_unix_server(server, self.settings.socket)
            self.settings.socket.chmod(0o600)
        self.ready.set()
        await self.stopping.wait()
        for place in (listener, inside):
            if place is not None:
                place.close()
        for book in tuple(self.books.by_digest.values()):
            await end_calls(book)
        await server.shutdown(timeout=1.0)


@contextmanager
def short_turns() -> Generator[None]:
    """Let no other thread keep the interpreter for longer than a token may wait; usually it may for 5 ms."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(min(usual, TURN_SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


async def end_calls(book: Book) -> None:
    """End a session's calls that are under way, and wait until they are booked."""
    book.over = True
    while book.tasks:
        for task in tuple(book.tasks):
            task.cancel()
        await asyncio.wait(tuple(book.tasks))
