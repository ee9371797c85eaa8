"""How a surface reaches the service: in this process, or in the loop that already runs it."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from workloop.domain.errors import (
    BadRequest,
    Conflict,
    EvidenceRejected,
    Fault,
    Forbidden,
    IntegrityFault,
    LeaseLost,
    NotFound,
    StoreUnavailable,
    WorkloopError,
)

if TYPE_CHECKING:
    from workloop.domain.grants import Actor
    from workloop.domain.new_item import NewItem
    from workloop.domain.reader import JsonObject
    from workloop.posting import Posted
    from workloop.service.adding import Ready
    from workloop.service.call import Queue

OK = 200
KINDS: Mapping[str, type[WorkloopError]] = {
    kind.kind: kind
    for kind in (BadRequest, NotFound, Conflict, EvidenceRejected, Forbidden, Fault, StoreUnavailable, IntegrityFault)
}


class Client(Protocol):
    """Whoever answers actions."""

    def call(self, action: str, arguments: "JsonObject") -> dict[str, Any]:
        """Run one action; raises the same WorkloopError wherever it ran."""
        ...


class LocalClient(NamedTuple):
    """Runs actions on a store that this process opened."""

    queue: "Queue"
    actor: "Actor"

    def call(self, action: str, arguments: "JsonObject") -> dict[str, Any]:
        """Run one action in this process."""
        from workloop.service.perform import perform

        return perform(self.queue, self.actor, action, arguments)

    def add(self, items: "Sequence[NewItem]", ready: "Ready") -> dict[str, Any]:
        """Add items that were read already, with contracts that were merged already."""
        from workloop.service.adding import add_items
        from workloop.service.perform import run_prepared

        return run_prepared(self.queue, self.actor, "add_items", lambda call: add_items(call, items, ready))


class RemoteClient(NamedTuple):
    """Runs actions in a loop or server over HTTP, with a bearer token."""

    url: str
    token: str

    def call(self, action: str, arguments: "JsonObject") -> dict[str, Any]:
        """Post one action; raises the error that the other side raised, or StoreUnavailable when it is not there."""
        from workloop.posting import post

        try:
            answer = post(f"{self.url.rstrip('/')}/v1/{action}", self.token, arguments)
        except (OSError, ValueError) as failed:
            raise StoreUnavailable(
                "ENDPOINT_UNREACHABLE",
                f"{self.url} does not answer: {failed}",
                hint="start workloop run, or unset WORKLOOP_URL to use the store directly",
            ) from failed
        if answer.status != OK:
            raise from_problem(answer.status, answer.body)
        return read_facts(answer)


def remote_client(environment: Mapping[str, str]) -> Client | None:
    """Return a client of the loop that WORKLOOP_URL names, or None when it names none."""
    url = environment.get("WORKLOOP_URL")
    if not url:
        return None
    token_file = environment.get("WORKLOOP_TOKEN_FILE")
    if not token_file:
        raise BadRequest(
            "TOKEN_MISSING",
            "WORKLOOP_URL is set but WORKLOOP_TOKEN_FILE is not",
            hint="point WORKLOOP_TOKEN_FILE at the file that holds the token",
        )
    from pathlib import Path

    try:
        token = Path(token_file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise BadRequest(
            "TOKEN_UNREADABLE", f"{token_file} cannot be read: {error.strerror}", hint="check the path and its mode"
        ) from error
    return RemoteClient(url, token)


def problem(error: WorkloopError) -> dict[str, Any]:
    """Write an error as a problem document (RFC 9457) with code, suggested_fix and retryable."""
    return {
        "type": f"urn:workloop:error:{error.code.lower().replace('_', '-')}",
        "title": error.message,
        "kind": error.kind,
        "code": error.code,
        "detail": error.message,
        "suggested_fix": error.hint,
        "retryable": error.retryable,
        **{name: value for name, value in error.details.items() if name not in RESERVED},
    }


RESERVED = frozenset({"type", "title", "kind", "code", "detail", "suggested_fix", "retryable", "status"})


def read_facts(answer: "Posted") -> dict[str, Any]:
    """Read an action's answer; raises Fault when it is not one."""
    try:
        facts = json.loads(answer.body)
    except ValueError as error:
        raise confused(answer.status) from error
    if not isinstance(facts, dict):
        raise confused(answer.status)
    return cast("dict[str, Any]", facts)


def confused(status: int) -> Fault:
    """Build the fault of whoever answers, but not as a loop does."""
    return Fault(
        "ENDPOINT_CONFUSED",
        f"the endpoint answered {status} without a document of ours",
        hint="check that WORKLOOP_URL is the address of a running loop",
    )


def from_problem(status: int, body: bytes) -> WorkloopError:
    """Read an error back from a problem document."""
    try:
        values: dict[str, Any] = json.loads(body)
        kind, code, message = values["kind"], values["code"], values["title"]
    except (ValueError, KeyError, TypeError):
        return confused(status)
    if kind == LeaseLost.kind:
        return LeaseLost(message, code=code)
    facts = {name: value for name, value in values.items() if name not in RESERVED}
    return KINDS.get(kind, Fault)(
        code, message, hint=values.get("suggested_fix", ""), retryable=values.get("retryable"), facts=facts
    )
