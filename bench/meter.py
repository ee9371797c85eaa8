"""What the meter adds to a call: time to the first byte, alone and beside 32 streams, and delay of each token after it.

Provider, meter and clients are processes of their own. Calls through the meter and past it are made in turns, so that
noise meets both; the one cost of the meter is the difference. The provider stamps each event with the clock that all
processes share, so that a token's way is measured, too.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.result import Result, percentile
from workloop.runner.meter.port import CallCharge, CallPlan, CallRefusal, Upstream
from workloop.runner.meter.server import Meter, MeterSettings
from workloop.store.system import SystemClock

STREAMS = 32
EVENTS_A_SECOND = 40
TOKENS = 20
REQUEST_BYTES = 100_000
LIMIT_MS = 5.0
KEY = "sk-bench"
BEGIN = {
    "type": "message_start",
    "message": {"model": "claude-sonnet-4-5", "usage": {"input_tokens": 9, "output_tokens": 1}},
}
END = {"type": "message_delta", "usage": {"output_tokens": 20}}


class Open:
    """A budget without an end."""

    def admit(self, plan: CallPlan) -> CallRefusal | None:
        """Let every call through."""
        del plan
        return None

    def charge(self, charge: CallCharge) -> None:
        """Forget it."""


async def provide() -> None:
    """Answer every call with a stream of stamped tokens."""

    def event(payload: dict[str, object]) -> bytes:
        data = b"event: x\ndata: %s\n\n" % json.dumps(payload).encode()
        return b"%x\r\n%s\r\n" % (len(data), data)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                size = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
                await reader.readexactly(size)
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                )
                writer.write(event(BEGIN))
                for _ in range(TOKENS):
                    await asyncio.sleep(1 / EVENTS_A_SECOND)
                    said = {"type": "text_delta", "text": "token "}
                    writer.write(event({"type": "content_block_delta", "delta": said, "at": time.monotonic_ns()}))
                writer.write(event(END) + b"0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=2**20)
    print(json.dumps({"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"}), flush=True)
    await server.serve_forever()


def meter(url: str) -> None:
    """Run a meter before the provider until the standard input ends."""
    running = Meter(MeterSettings(), SystemClock())
    running.start()
    endpoint = running.open("bench", Open(), Upstream(anthropic_url=url, api_key=KEY))
    print(json.dumps({"url": endpoint.anthropic_url, "key": endpoint.key}), flush=True)
    sys.stdin.read()
    running.stop()


class Caller:
    """A connection that is kept open, as the agent CLIs do."""

    def __init__(self, url: str, key: str) -> None:
        self.host, _, path = url.removeprefix("http://").partition("/")
        body = json.dumps(
            {"model": "claude-sonnet-4-5", "stream": True, "max_tokens": 9, "x": "y" * REQUEST_BYTES}
        ).encode()
        place = f"/{path}/v1/messages" if path else "/v1/messages"
        head = f"POST {place} HTTP/1.1\r\nhost: {self.host}\r\nx-api-key: {key}\r\ncontent-length: {len(body)}\r\n\r\n"
        self.request = head.encode() + body
        self.delays_ms: list[float] = []

    async def connect(self) -> "Caller":
        """Open the connection."""
        host, _, port = self.host.partition(":")
        self.reader, self.writer = await asyncio.open_connection(host, int(port), limit=2**20)
        return self

    async def call(self) -> float:
        """Make one call; return the milliseconds to its first byte, and keep each token's."""
        begun = time.perf_counter()
        self.writer.write(self.request)
        await self.reader.readuntil(b"\r\n\r\n")
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        first = (time.perf_counter() - begun) * 1000
        while size:
            data = await self.reader.readexactly(size + 2)
            arrived = time.monotonic_ns()
            for part in data.split(b'"at": ')[1:]:
                self.delays_ms.append((arrived - int(part.partition(b"}")[0])) / 1e6)
            size = int(await self.reader.readuntil(b"\r\n"), 16)
        await self.reader.readexactly(2)
        return first


@contextmanager
def child(*arguments: str) -> Iterator[dict[str, str]]:
    """Run one of the other processes; yields what it says first."""
    argv = [sys.executable, "-m", "bench.meter", *arguments]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        process.terminate()
        process.wait()


async def turns(past: Caller, through: Caller, rounds: int) -> tuple[list[float], list[float]]:
    """Call past the meter and through it in turns; return the milliseconds to the first byte of each."""
    await past.connect()
    await through.connect()
    await past.call()
    await through.call()
    past.delays_ms, through.delays_ms = [], []
    pairs = [(await past.call(), await through.call()) for _ in range(rounds)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


async def busy(caller: Caller, began: asyncio.Event, number: int) -> None:
    """Hold one stream after another open, each begun at its own moment."""
    await caller.connect()
    await asyncio.sleep(number / STREAMS * TOKENS / EVENTS_A_SECOND)
    while not began.is_set():
        await caller.call()


async def run(url: str, metered: dict[str, str], rounds: int, streams: int) -> list[Result]:
    """Measure beside that many streams which run through the meter."""
    past, through, over = Caller(url, KEY), Caller(metered["url"], metered["key"]), asyncio.Event()
    others = [Caller(metered["url"], metered["key"]) for _ in range(streams)]
    async with asyncio.TaskGroup() as group:
        for number, other in enumerate(others):
            group.create_task(busy(other, over, number))
        await asyncio.sleep(bool(streams))
        direct, metered_ms = await turns(past, through, rounds)
        over.set()
    beside = f"beside {streams} streams" if streams else "alone"
    added = percentile(metered_ms, 0.95) - percentile(direct, 0.95)
    tokens = percentile(through.delays_ms, 0.95) - percentile(past.delays_ms, 0.95)
    middle = percentile(metered_ms, 0.5) - percentile(direct, 0.5)
    note = f"p95 {percentile(metered_ms, 0.95):.1f} against {percentile(direct, 0.95):.1f} ms; median +{middle:.1f} ms"
    return [
        Result(
            name=f"meter: added to the first byte, p95, {beside}", values=(added,), unit="ms", limit=LIMIT_MS, note=note
        ),
        Result(name=f"meter: added to each token, p95, {beside}", values=(tokens,), unit="ms", limit=LIMIT_MS),
    ]


def measure(quick: bool) -> list[Result]:
    """Measure alone and beside many streams."""
    rounds = 15 if quick else 60
    with child("provide") as provider, child("meter", provider["url"]) as metered:
        return [
            result for streams in (0, STREAMS) for result in asyncio.run(run(provider["url"], metered, rounds, streams))
        ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["provide"]:
        asyncio.run(provide())
    elif sys.argv[1:2] == ["meter"]:
        meter(sys.argv[2])
    else:
        from bench.result import table

        print(table(measure("--quick" in sys.argv)))
