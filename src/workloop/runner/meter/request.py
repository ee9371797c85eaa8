"""What a call asks for, and the one change that makes a stream say what it has used."""

import zlib
from dataclasses import dataclass

import msgspec

from workloop.runner.meter.port import Dialect

DECODED_BYTES_MAX = 256 * 1024 * 1024


class StreamOptions(msgspec.Struct):
    """What a chat's stream is to contain."""

    include_usage: object = None


class Asked(msgspec.Struct):
    """The fields of a request that matter here."""

    model: object = ""
    stream: object = False
    background: object = False
    max_tokens: object = None
    max_output_tokens: object = None
    max_completion_tokens: object = None
    stream_options: StreamOptions | None = None


ASKED = msgspec.json.Decoder(Asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request as it will be sent; problem says why it can not be counted."""

    body: bytes
    model: str = ""
    output_tokens_max: int | None = None
    problem: str = ""


def read_call(dialect: Dialect, body: bytes, encoding: str) -> Call:
    """Read a request, and ask for the usage of a stream that would not tell it."""
    plain = decoded(body, encoding)
    if plain is None:
        return Call(body=body, problem=f"the request's content-encoding cannot be read here: {encoding[:40]!r}")
    try:
        asked = ASKED.decode(plain)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return Call(body=body, problem=f"the request is not the JSON of a call: {error}")
    if asked.background:
        return Call(body=body, problem="a call in the background is billed when nobody counts; send it without")
    silent = dialect is Dialect.CHAT and asked.stream is True
    if silent and (asked.stream_options is None or asked.stream_options.include_usage is not True):
        if plain is not body:
            return Call(body=body, problem="a compressed stream request must ask for stream_options.include_usage")
        body = telling_usage(body)
    return Call(body=body, model=asked.model if isinstance(asked.model, str) else "", output_tokens_max=ceiling(asked))


def ceiling(asked: Asked) -> int | None:
    """Return the most output that a request asks for."""
    named = (asked.max_tokens, asked.max_output_tokens, asked.max_completion_tokens)
    return max((value for value in named if type(value) is int and value > 0), default=None)


def telling_usage(body: bytes) -> bytes:
    """Return a chat request that asks for the usage at the end of its stream."""
    request: dict[str, object] = msgspec.json.decode(body, type=dict[str, object])
    options = request.get("stream_options")
    request["stream_options"] = {**(options if isinstance(options, dict) else {}), "include_usage": True}
    return msgspec.json.encode(request)


def decoded(body: bytes, encoding: str) -> bytes | None:
    """Undo a body's encoding; None when it is not one that this Python can undo, or is broken."""
    match encoding.strip().lower():
        case "" | "identity":
            return body
        case "gzip" | "x-gzip":
            return unpacked(body, 16 + zlib.MAX_WBITS)
        case "deflate":
            return unpacked(body, zlib.MAX_WBITS)
        case _:
            return None


def unpacked(body: bytes, window_bits: int) -> bytes | None:
    """Decompress a whole body within bounds."""
    unpacker = zlib.decompressobj(window_bits)
    try:
        plain = unpacker.decompress(body, DECODED_BYTES_MAX)
    except zlib.error:
        return None
    return plain if unpacker.eof else None
