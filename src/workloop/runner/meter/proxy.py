"""What becomes of each request that reaches the meter: whose it is, whether it may go on, and where."""

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession, web
from yarl import URL

from workloop.domain.clock import Clock
from workloop.runner.meter.book import Book
from workloop.runner.meter.exchange import Exchange, Sending, own
from workloop.runner.meter.headers import LOOPBACK, Headers, backward, from_loopback, onward, shown_keys
from workloop.runner.meter.port import CallPlan
from workloop.runner.meter.prices import Prices
from workloop.runner.meter.refusals import closed, malformed, no_upgrade, spent, too_big, unauthorized, unreachable
from workloop.runner.meter.request import read_call
from workloop.runner.meter.routes import Address, Passage, address_of, dialect_of, passage, target

FREE_BYTES_MAX = 64 * 1024 * 1024


@dataclass(slots=True)
class Books:
    """The open sessions, by the digest of their keys, so that a key is compared in constant time."""

    by_digest: dict[bytes, Book] = field(default_factory=dict[bytes, Book])

    def add(self, key: str, book: Book) -> None:
        """Enter a session."""
        self.by_digest[digest(key)] = book

    def remove(self, session_id: str) -> Book | None:
        """Take a session out."""
        found = [name for name, book in self.by_digest.items() if book.session_id == session_id]
        return self.by_digest.pop(found[0]) if found else None

    def find(self, address: Address, headers: Headers) -> tuple[Book, str] | None:
        """Return the session that a request's key is for, and the key as it was shown."""
        for key in (address.key,) if address.key else shown_keys(headers):
            book = self.by_digest.get(digest(key))
            if book is not None and bool(address.key) == (book.upstream.api_key is None):
                return book, key
        return None


@dataclass(slots=True, kw_only=True)
class Proxy:
    """Answers requests; proxies are the ones on the way to providers, by scheme, and hosts without one under `no`."""

    books: Books
    prices: Prices
    clock: Clock
    client: ClientSession
    body_bytes_max: int
    proxies: Mapping[str, str]

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        address = address_of(request.rel_url.raw_path)
        if address is None or not from_loopback(request.headers):
            return web.Response(status=404)
        dialect = dialect_of(address)
        way = passage(request.method, address, upgrade="upgrade" in request.headers)
        if way is Passage.PROBE:
            return web.Response(status=200)
        known = self.books.find(address, request.headers)
        if known is None:
            return own(unauthorized(dialect))
        match way:
            case Passage.UPGRADE:
                return own(no_upgrade())
            case Passage.CLOSED:
                return own(closed(dialect, f"{request.method} {address.rest[:100]}"))
            case Passage.FREE | Passage.METERED:
                body = await self.body(request)
                if body is None:
                    return own(too_big(dialect, self.body_bytes_max))
                going = Going(address=address, book=known[0], key=known[1], body=body)
                return await (self.free if way is Passage.FREE else self.metered)(request, going)

    async def body(self, request: web.BaseRequest) -> bytes | None:
        """Read a request's body as it was sent; None when it is too big."""
        pieces: list[bytes] = []
        held = 0
        async for piece in request.content.iter_any():
            held += len(piece)
            if held > self.body_bytes_max:
                return None
            pieces.append(piece)
        return b"".join(pieces)

    async def metered(self, request: web.BaseRequest, going: "Going") -> web.StreamResponse:
        """Admit a call that costs something, send it and book it."""
        book, dialect = going.book, dialect_of(going.address)
        call = read_call(dialect, going.body, request.headers.get("content-encoding", ""))
        if call.problem:
            return own(malformed(dialect, call.problem))
        plan = CallPlan(
            session_id=book.session_id,
            number=book.next_number(),
            dialect=dialect,
            model=call.model,
            input_bytes=len(call.body),
            output_tokens_max=call.output_tokens_max,
        )
        refusal = book.admit(plan, self.clock.now())
        if refusal is not None:
            return own(spent(dialect, refusal))
        sending = Sending(
            plan=plan,
            family=going.address.family,
            url=target(book.upstream, going.address, request.rel_url.raw_query_string),
            headers=onward(request.headers, going.key, book.upstream.api_key),
            body=call.body,
            proxy=self.proxy_for(target(book.upstream, going.address, "")),
        )
        with book.working(asyncio.current_task()):
            return await Exchange(sending, book, self.prices, self.clock).run(request, self.client)

    async def free(self, request: web.BaseRequest, going: "Going") -> web.StreamResponse:
        """Pass on what costs nothing, as long as the session may send at all."""
        dialect, book = dialect_of(going.address), going.book
        refusal = book.closed_by(self.clock.now())
        if refusal is not None:
            return own(spent(dialect, refusal))
        url = target(book.upstream, going.address, request.rel_url.raw_query_string)
        try:
            async with self.client.request(
                request.method,
                URL(url, encoded=True),
                data=going.body or None,
                headers=onward(request.headers, going.key, book.upstream.api_key),
                allow_redirects=False,
                proxy=self.proxy_for(url),
            ) as answer:
                body = await answer.content.read(FREE_BYTES_MAX)
                headers = backward(answer.headers)
                headers.popall("content-length", None)
                return web.Response(status=answer.status, body=body, headers=headers)
        except (ClientError, TimeoutError) as error:
            return own(unreachable(dialect, f"the provider gave no answer: {type(error).__name__}"))

    def proxy_for(self, url: str) -> str | None:
        """Return the proxy on the way to a URL, if there is one; nothing on this machine is reached by one."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        if f"[{host}]" in LOOPBACK or host in LOOPBACK or direct(host, self.proxies.get("no", "")):
            return None
        return self.proxies.get(parts.scheme)


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """A request on its way: where to, for whom, under which key, with what."""

    address: Address
    book: Book
    key: str
    body: bytes


def direct(host: str, without: str) -> bool:
    """Tell whether a host is among those that are reached without a proxy: by its name, or by the end of it."""
    names = [name.strip().lower().lstrip(".") for name in without.split(",")]
    return any(name in {"*", host} or host.endswith(f".{name}") for name in names if name)


def digest(key: str) -> bytes:
    """Return what a key is found by."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
