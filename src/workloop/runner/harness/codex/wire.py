"""The shape of Codex's lines: only what is read is decoded, and what nobody reads is not even parsed."""

import msgspec
from msgspec import Raw, Struct, UnsetType, field

from workloop.runner.harness.fields import Fields
from workloop.runner.harness.shapes import NOTHING, Shape, built


class Part(Struct, gc=False):
    """One part of what an MCP tool answered."""

    text: str | None = None


class McpResult(Struct, gc=False):
    """What an MCP tool answered, with its structure in either spelling."""

    content: list[Part] | None = None
    structured_content: Raw = NOTHING
    structured_content_camel: Raw = field(default=NOTHING, name="structuredContent")


class Item(Struct, gc=False):
    """One thread item, in the spelling of either mode; an exit code has a name in each."""

    id: str = ""
    type: str = ""
    text: str | None = None
    server: str | None = None
    tool: str | None = None
    arguments: Raw = NOTHING
    result: McpResult | None = None
    error: Raw = NOTHING
    status: str | None = None
    exit_code: int | None = None
    exit_code_camel: int | None = field(default=None, name="exitCode")


class Counts(Struct, rename="camel", gc=False):
    """Tokens, where both kinds of cached input are parts of the input."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0


class SnakeCounts(Struct, gc=False):
    """The same as `exec` spells it."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0


class TokenUsage(Struct, gc=False):
    """What a thread has cost so far, and what its last call did."""

    total: Counts = field(default_factory=Counts)
    last: Counts = field(default_factory=Counts)


class Window(Struct, gc=False):
    """One usage window of the account, in either spelling."""

    used_percent: float | None = None
    resets_at: int | None = None
    used_percent_camel: float | None = field(default=None, name="usedPercent")
    resets_at_camel: int | None = field(default=None, name="resetsAt")


class Limits(Struct, gc=False):
    """The account's usage windows, as far as a report tells of them."""

    primary: Window | None = None
    secondary: Window | None = None


class Told(Struct, gc=False):
    """What an item of a finished turn is, and what it says if it is a message."""

    type: str = ""
    text: str = ""


class Turn(Struct, gc=False):
    """One turn, of which the end tells its items or its error."""

    id: str = ""
    status: str = ""
    items: list[Told] = []
    error: Raw = NOTHING


class Thread(Struct, rename="camel", gc=False):
    """One thread."""

    id: str = ""
    cli_version: str = ""


class Opened(Struct, gc=False):
    """The answer to what was opened: a thread or a turn."""

    model: str = ""
    thread: Thread = field(default_factory=Thread)
    turn: Turn = field(default_factory=Turn)


class Params(Struct, rename="camel", gc=False):
    """The parameters of every notification that is read."""

    thread_id: str | None = None
    turn_id: str | None = None
    item: Item | None = None
    token_usage: TokenUsage | None = None
    rate_limits: Limits | None = None
    error: Raw = NOTHING
    turn: Raw = NOTHING
    will_retry: bool = False
    name: str | None = None
    status: Raw = NOTHING


class Message(Struct, gc=False):
    """One line of the app-server: an answer, a question or a notification."""

    method: str = ""
    id: Raw | UnsetType = msgspec.UNSET
    params: Params | None = None
    result: Raw | UnsetType = msgspec.UNSET
    error: Raw | UnsetType = msgspec.UNSET


class ExecLine(Struct, gc=False):
    """One line of `exec --json`."""

    type: str = ""
    thread_id: str | None = None
    item: Item | None = None
    usage: SnakeCounts | None = None
    error: Raw = NOTHING
    message: str | None = None


NO_RESULT, NO_ITEM = McpResult(), Item()


def fields_of(raw: Raw | UnsetType) -> Fields:
    """Read a part that was left undecoded as an object; anything else reads as an empty one."""
    return Fields(None if isinstance(raw, UnsetType) else value_of(raw))


def shape_of(shape: type[Shape], raw: Raw | UnsetType) -> Shape:
    """Read a part that was left undecoded as a shape; what does not fit reads as absent."""
    if isinstance(raw, UnsetType):
        return shape()
    try:
        return msgspec.json.decode(raw, type=shape)
    except msgspec.ValidationError:
        return built(shape, fields_of(raw).values)


def value_of(raw: Raw) -> object:
    """Read a part that was left undecoded, which is known to be JSON."""
    return msgspec.json.decode(raw)
