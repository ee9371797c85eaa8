"""Where an answer of the Messages API says what it has used."""

import msgspec

from workloop.domain.session import Tokens
from workloop.runner.meter.usage import Counted, count, guessed_output

OWN_ITERATION = "message"  # what the totals already contain; all others are billed on top of them


class CacheCreation(msgspec.Struct):
    """How long what was written to the cache is kept."""

    ephemeral_1h_input_tokens: object = 0


class ServerTools(msgspec.Struct):
    """What the provider's own tools did."""

    web_search_requests: object = 0


class Iteration(msgspec.Struct):
    """One of several runs that an answer took."""

    type: object = OWN_ITERATION
    input_tokens: object = 0
    output_tokens: object = 0
    cache_read_input_tokens: object = 0
    cache_creation_input_tokens: object = 0


class Figures(msgspec.Struct):
    """The usage that one event names; None is a figure that it does not repeat."""

    input_tokens: object = None
    output_tokens: object = None
    cache_read_input_tokens: object = None
    cache_creation_input_tokens: object = None
    cache_creation: CacheCreation | None = None
    server_tool_use: ServerTools | None = None
    iterations: list[Iteration] | None = None
    speed: object = None


class Delta(msgspec.Struct):
    """A piece of the answer, of which only the length counts."""

    text: object = ""
    thinking: object = ""
    partial_json: object = ""


class Answer(msgspec.Struct):
    """An answer, whole or at its beginning."""

    model: str = ""
    usage: Figures | None = None


class Event(msgspec.Struct):
    """One event of a stream."""

    type: str = ""
    message: Answer | None = None
    usage: Figures | None = None
    delta: Delta | None = None


EVENTS = msgspec.json.Decoder(Event)
ANSWERS = msgspec.json.Decoder(Answer)


class MessagesCounter:
    """The usage of one answer: input at its beginning, output at its end, each figure in place of the one before."""

    def __init__(self) -> None:
        self.figures: dict[str, int] = {}
        self.extras: dict[str, int] = {}
        self.context: dict[str, str] = {}
        self.beside = Tokens()
        self.model = ""
        self.characters = 0
        self.complete = False
        self.failed = False

    def event(self, data: bytes) -> None:
        """Take the data of one event of a stream."""
        try:
            event = EVENTS.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return
        match event.type:
            case "message_start" if event.message is not None:
                self.begin(event.message)
            case "content_block_delta" if event.delta is not None:
                texts = (event.delta.text, event.delta.thinking, event.delta.partial_json)
                self.characters += sum(len(text) for text in texts if isinstance(text, str))
            case "message_delta" if event.usage is not None:
                self.take(event.usage)
                self.complete = type(event.usage.output_tokens) is int and "input_tokens" in self.figures
            case "error":
                self.failed = True
            case _:
                return

    def whole(self, body: bytes) -> None:
        """Take an answer that is no stream."""
        try:
            answer = ANSWERS.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return
        self.begin(answer)
        self.complete = {"input_tokens", "output_tokens"} <= self.figures.keys()

    def begin(self, answer: Answer) -> None:
        """Take the model and the first figures."""
        self.model = answer.model
        if answer.usage is not None:
            self.take(answer.usage)

    def take(self, usage: Figures) -> None:
        """Let each figure that is named stand in place of the one before."""
        named = {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_input_tokens": usage.cache_read_input_tokens,
            "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        }
        self.figures |= {name: count(value) for name, value in named.items() if type(value) is int}
        if usage.cache_creation is not None:
            self.extras["cache_write_1h_tokens"] = count(usage.cache_creation.ephemeral_1h_input_tokens)
        if usage.server_tool_use is not None:
            self.extras["web_searches"] = count(usage.server_tool_use.web_search_requests)
        if usage.iterations is not None:
            self.beside = sum((spent(run) for run in usage.iterations if run.type != OWN_ITERATION), Tokens())
        if isinstance(usage.speed, str):
            self.context["speed"] = usage.speed

    def counted(self) -> Counted:
        """Return what is known so far; without a final figure the output is at least what was seen of it."""
        output = self.figures.get("output_tokens", 0)
        tokens = Tokens(
            input=self.figures.get("input_tokens", 0),
            output=output if self.complete else max(output, guessed_output(self.characters)),
            cache_read=self.figures.get("cache_read_input_tokens", 0),
            cache_write=self.figures.get("cache_creation_input_tokens", 0),
        )
        return Counted(
            tokens=tokens + self.beside,
            model=self.model,
            complete=self.complete,
            failed=self.failed,
            input_known="input_tokens" in self.figures,
            extras={name: value for name, value in self.extras.items() if value},
            context=dict(self.context),
        )


def spent(run: Iteration) -> Tokens:
    """Return what one run came to."""
    return Tokens(
        input=count(run.input_tokens),
        output=count(run.output_tokens),
        cache_read=count(run.cache_read_input_tokens),
        cache_write=count(run.cache_creation_input_tokens),
    )
