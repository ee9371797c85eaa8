"""Where an answer of OpenAI's two dialects says what it has used."""

import msgspec

from workloop.domain.session import Tokens
from workloop.runner.meter.usage import Counted, count, guessed_output


class InputDetails(msgspec.Struct):
    """The part of the input that the cache took or gave."""

    cached_tokens: object = 0
    cache_write_tokens: object = 0


class ResponseFigures(msgspec.Struct):
    """The usage of a response."""

    input_tokens: object = None
    output_tokens: object = None
    input_tokens_details: InputDetails | None = None


class Response(msgspec.Struct):
    """A response, whole or in an event."""

    model: str = ""
    usage: ResponseFigures | None = None
    service_tier: object = None


class ResponseEvent(msgspec.Struct):
    """One event of a stream of the Responses API."""

    type: str = ""
    delta: object = None
    response: Response | None = None


class ChatFigures(msgspec.Struct):
    """The usage of a chat completion, with the names that other providers have for the cached part."""

    prompt_tokens: object = None
    completion_tokens: object = None
    total_tokens: object = None
    prompt_tokens_details: InputDetails | None = None
    cached_tokens: object = 0
    prompt_cache_hit_tokens: object = 0


class Function(msgspec.Struct):
    """A piece of a tool call."""

    arguments: object = None


class ToolPart(msgspec.Struct):
    """A tool call that is being said."""

    function: Function | None = None


class ChatDelta(msgspec.Struct):
    """A piece of the answer, of which only the length counts."""

    content: object = None
    reasoning_content: object = None
    reasoning: object = None
    tool_calls: list[ToolPart] | None = None


class Choice(msgspec.Struct):
    """One of the answers."""

    delta: ChatDelta | None = None


class Completion(msgspec.Struct):
    """A chat completion, whole or one chunk of it."""

    model: str = ""
    usage: ChatFigures | None = None
    choices: list[Choice] | None = None
    service_tier: object = None
    error: object = None


RESPONSE_EVENTS = msgspec.json.Decoder(ResponseEvent)
RESPONSES = msgspec.json.Decoder(Response)
COMPLETIONS = msgspec.json.Decoder(Completion)
ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.done"})
DONE = b"[DONE]"


class Tally:
    """What both dialects keep of an answer while it passes."""

    def __init__(self) -> None:
        self.tokens: Tokens | None = None
        self.model = ""
        self.tier = ""
        self.characters = 0
        self.failed = False

    def head(self, model: str, tier: object) -> None:
        """Take who answers, and at which service."""
        self.model = model or self.model
        self.tier = tier if isinstance(tier, str) else self.tier

    def counted(self) -> Counted:
        """Return what is known so far; without a final figure only the text that was seen."""
        return Counted(
            tokens=self.tokens or Tokens(output=guessed_output(self.characters)),
            model=self.model,
            complete=self.tokens is not None,
            failed=self.failed,
            input_known=self.tokens is not None,
            context={"service_tier": self.tier} if self.tier else {},
        )


class ResponsesCounter(Tally):
    """The usage of one response, which stands at its end."""

    def event(self, data: bytes) -> None:
        """Take the data of one event of a stream."""
        try:
            event = RESPONSE_EVENTS.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return
        if event.type == "error" or event.type == "response.failed":
            self.failed = True
        if event.type.endswith(".delta") and isinstance(event.delta, str):
            self.characters += len(event.delta)
        if event.response is not None:
            self.head(event.response.model, event.response.service_tier)
            if event.type in ENDS:
                self.take(event.response.usage)

    def whole(self, body: bytes) -> None:
        """Take an answer that is no stream."""
        try:
            response = RESPONSES.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return
        self.head(response.model, response.service_tier)
        self.take(response.usage)

    def take(self, usage: ResponseFigures | None) -> None:
        """Take the final figures."""
        if usage is None or type(usage.input_tokens) is not int or type(usage.output_tokens) is not int:
            return
        details = usage.input_tokens_details or InputDetails()
        self.tokens = split(count(usage.input_tokens), count(usage.output_tokens), details.cached_tokens, details)


class ChatCounter(Tally):
    """The usage of one completion, which stands in its last chunk or is repeated in each."""

    def event(self, data: bytes) -> None:
        """Take the data of one event of a stream."""
        if data == DONE:
            return
        completion = self.read(data)
        if completion is None:
            return
        self.failed = self.failed or completion.error is not None
        for choice in completion.choices or ():
            self.characters += said(choice.delta) if choice.delta is not None else 0

    def whole(self, body: bytes) -> None:
        """Take an answer that is no stream."""
        self.read(body)

    def read(self, data: bytes) -> Completion | None:
        """Take who answers and what figures there are."""
        try:
            completion = COMPLETIONS.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        self.head(completion.model, completion.service_tier)
        if completion.usage is not None:
            self.take(completion.usage)
        return completion

    def take(self, usage: ChatFigures) -> None:
        """Take figures in place of the ones before; what a total has beyond them is reasoning, and output."""
        if type(usage.prompt_tokens) is not int or type(usage.completion_tokens) is not int:
            return
        prompt, output = count(usage.prompt_tokens), count(usage.completion_tokens)
        details = usage.prompt_tokens_details or InputDetails()
        cached = details.cached_tokens or usage.cached_tokens or usage.prompt_cache_hit_tokens
        self.tokens = split(prompt, max(output, count(usage.total_tokens) - prompt), cached, details)


def split(prompt: int, output: int, cached: object, details: InputDetails) -> Tokens:
    """Fold a prompt that contains its cached part into the buckets."""
    read = min(count(cached), prompt)
    write = min(count(details.cache_write_tokens), prompt - read)
    return Tokens(input=prompt - read - write, output=output, cache_read=read, cache_write=write)


def said(delta: ChatDelta) -> int:
    """Return how much text a piece holds."""
    calls: list[object] = [part.function.arguments for part in delta.tool_calls or () if part.function is not None]
    texts = (delta.content, delta.reasoning_content, delta.reasoning, *calls)
    return sum(len(text) for text in texts if isinstance(text, str))
