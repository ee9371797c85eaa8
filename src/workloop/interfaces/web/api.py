"""The HTTP API: every action as one POST, and the reads as GETs too."""

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast

import anyio
from anyio import to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from workloop.client import LocalClient
from workloop.domain.errors import BadRequest, Fault, WorkloopError
from workloop.domain.reader import Json, JsonObject
from workloop.interfaces.web.guard import BODY_BYTES_MAX, body_too_large, client_of
from workloop.interfaces.web.problems import json_bytes, problem_response

Handler = Callable[[Request], Awaitable[Response]]
Reading = Callable[[Request], tuple[str, JsonObject]]


def routes(limiter: anyio.CapacityLimiter) -> list[Route]:
    """Return the routes of the API; its calls share a limited number of worker threads."""

    async def run(client: LocalClient, action: str, arguments: JsonObject) -> Response:
        answer = await to_thread.run_sync(client.call, action, arguments, limiter=limiter)
        return Response(json_bytes(answer), media_type="application/json")

    async def post(request: Request) -> Response:
        arguments = await read_body(request)
        return await run(client_of(request.scope), request.path_params["action"], arguments)

    def get(read: Reading) -> Handler:
        async def answer(request: Request) -> Response:
            return await run(client_of(request.scope), *read(request))

        return answered(answer)

    return [
        Route("/health", health, methods=["GET"]),
        Route("/v1/status", get(lambda request: ("status", {})), methods=["GET"]),
        Route("/v1/list", get(read_list), methods=["GET"]),
        Route("/v1/show/{key:path}", get(lambda request: ("show", request.path_params)), methods=["GET"]),
        Route("/v1/why/{key:path}", get(lambda request: ("why", request.path_params)), methods=["GET"]),
        Route("/v1/{action}", answered(post), methods=["POST"]),
    ]


async def health(request: Request) -> Response:
    """Say that the server serves."""
    return Response(json_bytes({"status": "ok"}), media_type="application/json")


def answered(handler: Handler) -> Handler:
    """Turn every error of a handler into a problem document; what nobody expected is recorded."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except BodyTooLarge:
            return problem_response(body_too_large(), 413)
        except WorkloopError as error:
            return problem_response(error, 415 if error.code == "NOT_JSON" else None)
        except Exception as broken:
            logging.getLogger(__name__).exception("the API failed")
            hint = "the operator's log has the details; try once more"
            return problem_response(Fault("INTERNAL", f"workloop failed: {type(broken).__name__}", hint=hint))

    return handle


class BodyTooLarge(Exception):
    """The body grew beyond the bound while it was read."""


async def read_body(request: Request) -> JsonObject:
    """Read a bounded JSON object; raises BadRequest when it is none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise BadRequest("NOT_JSON", f"content-type {kind!r} is not application/json", hint="send a JSON object")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_BYTES_MAX:
                raise BodyTooLarge
    except ClientDisconnect as gone:
        raise BadRequest("BODY_CUT", "the body ended early", hint="send it whole") from gone
    try:
        value: Json = json.loads(bytes(body) or b"{}")
    except (ValueError, RecursionError) as malformed:
        raise BadRequest(
            "MALFORMED_JSON", f"the body is not JSON: {malformed}", hint="send a JSON object"
        ) from malformed
    if not isinstance(value, dict):
        raise BadRequest("BAD_REQUEST", "arguments: expected an object", hint="send a JSON object", field="arguments")
    return value


def read_list(request: Request) -> tuple[str, JsonObject]:
    """Read a list's filter out of the query."""
    arguments: dict[str, Any] = {}
    for name in request.query_params:
        values = request.query_params.getlist(name)
        arguments[name] = values if name == "state" else whole(values[-1]) if name == "limit" else values[-1]
    return "list", cast("JsonObject", arguments)


def whole(text: str) -> Json:
    """Read digits as a number; leave anything else to be refused."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else text
