"""How one admitted call goes to its provider and comes back, and what is booked of it, however it ends."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import ClientConnectorError, ClientError, ClientResponse, ClientSession, ConnectionTimeoutError, web
from multidict import CIMultiDict
from yarl import URL

from workloop.domain.clock import SECOND_US, Clock, Instant
from workloop.domain.session import Tokens
from workloop.runner.meter.book import PAST, Book
from workloop.runner.meter.copying import AnswerCopy
from workloop.runner.meter.headers import backward
from workloop.runner.meter.port import CallCharge, CallOutcome, CallPlan
from workloop.runner.meter.prices import SUBSCRIPTION, Price, Prices
from workloop.runner.meter.refusals import Answer, unreachable
from workloop.runner.meter.routes import Family
from workloop.runner.meter.usage import Counted, guessed_input

ERRORS_FROM = 400


class PassedOn(web.StreamResponse):
    """An answer that is broken off where the provider's was, instead of being ended in good order.

    Its head goes with its first bytes where those are there already, so that the session is woken once for both.
    """

    _send_headers_immediately = False
    broken = False

    async def write_eof(self, data: bytes = b"") -> None:
        """End the answer, or let the connection end without it."""
        if self.broken:
            raise ConnectionResetError("the provider broke off")
        await super().write_eof(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """A call that is ready to be sent; proxy is the one on the way to the provider, if there is one."""

    plan: CallPlan
    family: Family
    url: str
    headers: CIMultiDict[str]
    body: bytes
    proxy: str | None = None


class Exchange:
    """One admitted call; it is charged exactly once."""

    def __init__(self, sending: Sending, book: Book, prices: Prices, clock: Clock) -> None:
        self.sending = sending
        self.book = book
        self.prices = prices
        self.clock = clock
        self.began = clock.now()
        self.copy: AnswerCopy | None = None
        self.passed: PassedOn | None = None
        self.status: int | None = None
        self.first_byte_us: int | None = None
        self.outcome = CallOutcome.ABORTED
        self.sent = True

    async def run(self, request: web.BaseRequest, client: ClientSession) -> web.StreamResponse:
        """Send the call and pass its answer on; whatever ends this, what was used is booked."""
        try:
            async with until(self.book.deadline, self.clock):
                return await self.pass_on(request, client)
        except TimeoutError:
            return self.passed or own(unreachable(self.sending.plan.dialect, PAST.message))
        finally:
            self.book.charge(self.charge())

    async def pass_on(self, request: web.BaseRequest, client: ClientSession) -> web.StreamResponse:
        """Send the call; when no answer comes say so in the dialect's own words."""
        sending, started = self.sending, asyncio.get_running_loop().time()
        try:
            answer = await client.post(
                URL(sending.url, encoded=True),
                data=sending.body,
                headers=sending.headers,
                allow_redirects=False,
                proxy=sending.proxy,
            )
        except (ClientError, TimeoutError) as error:
            self.sent = not isinstance(error, ClientConnectorError | ConnectionTimeoutError)
            self.outcome = CallOutcome.UNKNOWN if self.sent else CallOutcome.FAILED
            return own(unreachable(sending.plan.dialect, f"the provider gave no answer: {type(error).__name__}"))
        async with answer:
            self.first_byte_us = round((asyncio.get_running_loop().time() - started) * SECOND_US)
            self.status = answer.status
            return await self.stream(request, answer)

    async def stream(self, request: web.BaseRequest, answer: ClientResponse) -> web.StreamResponse:
        """Pass the answer's bytes on as they come; the copy is looked at only after each piece has gone."""
        headers = backward(answer.headers)
        self.copy = AnswerCopy(
            self.sending.plan.dialect, headers.get("content-type", ""), headers.get("content-encoding", "")
        )
        self.passed = PassedOn(status=answer.status, reason=answer.reason, headers=headers)
        self.passed.broken = True
        writer = await self.passed.prepare(request)
        piece = at_hand(answer)
        if not piece and writer is not None:
            writer.send_headers()
        while piece := piece or await self.next_piece(answer):
            try:
                await self.passed.write(piece)
            finally:
                self.copy.pass_by(piece)
            piece = b""
        self.passed.broken = self.outcome is not CallOutcome.OK
        return self.passed

    async def next_piece(self, answer: ClientResponse) -> bytes:
        """Return what has come, empty at the end; a provider that breaks off ends the answer, too."""
        try:
            piece = await answer.content.readany()
        except (ClientError, TimeoutError):
            self.outcome = CallOutcome.FAILED
            return b""
        if not piece:
            self.outcome = CallOutcome.OK
        return piece

    def charge(self) -> CallCharge:
        """Return what is booked."""
        counted = self.copy.counted() if self.copy is not None else Counted()
        outcome, exact, tokens = self.verdict(counted)
        plan, ended = self.sending.plan, self.clock.now()
        price = self.price(counted, tokens, ended)
        return CallCharge(
            session_id=plan.session_id,
            number=plan.number,
            dialect=plan.dialect,
            model=plan.model or counted.model,
            tokens=tokens,
            cost_micros=price.cost_micros,
            priced_as=price.priced_as,
            outcome=outcome,
            status=self.status,
            began=self.began,
            ended=ended,
            first_byte_us=self.first_byte_us,
            exact=exact,
        )

    def verdict(self, counted: Counted) -> tuple[CallOutcome, bool, Tokens]:
        """Say how the call ended, whether its tokens are the provider's own, and what they are."""
        if self.status is not None and self.status >= ERRORS_FROM:
            return CallOutcome.FAILED, True, counted.tokens if counted.complete else Tokens()
        if not self.sent:
            return self.outcome, True, Tokens()
        outcome = self.outcome
        if outcome is CallOutcome.OK and counted.failed:
            outcome = CallOutcome.FAILED
        if counted.complete:
            return outcome, True, counted.tokens
        floor = Tokens() if counted.input_known else Tokens(input=guessed_input(self.sending.plan.input_bytes))
        return CallOutcome.UNKNOWN if outcome is CallOutcome.OK else outcome, False, counted.tokens + floor

    def price(self, counted: Counted, tokens: Tokens, at: Instant) -> Price:
        """Return the price under the model that the provider says it was, else the one that was asked for."""
        if self.book.upstream.subscription:
            return Price(cost_micros=0, priced_as=SUBSCRIPTION)
        model = counted.model or self.sending.plan.model
        used = Counted(tokens=tokens, extras=counted.extras, context=counted.context)
        return self.prices.price(self.book.providers[self.sending.family], model, used, at)


@asynccontextmanager
async def until(deadline: Instant | None, clock: Clock) -> AsyncGenerator[None]:
    """Bound what is done inside by an instant; raises TimeoutError."""
    left = None if deadline is None else max(0, deadline - clock.now()) / SECOND_US
    async with asyncio.timeout(left):
        yield


def at_hand(answer: ClientResponse) -> bytes:
    """Return what of an answer has come already; what broke it off meets whoever waits for more."""
    try:
        return answer.content.read_nowait()
    except (ClientError, TimeoutError):
        return b""


def own(answer: Answer) -> web.Response:
    """Return an answer of the meter's own."""
    return web.Response(status=answer.status, body=answer.body, headers=answer.headers)
