"""How a surface reaches the service: in this process, or in the loop that already runs it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

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
from workloop.domain.grants import Actor
from workloop.domain.reader import JsonObject
from workloop.service.call import Queue
from workloop.service.perform import perform, run_prepared

if TYPE_CHECKING:
    from workloop.domain.new_item import NewItem
    from workloop.service.adding import Ready

ANSWER_BYTES_MAX = 64 * 1024 * 1024
TIMEOUT_SECONDS = 30.0
KINDS: Mapping[str, type[WorkloopError]] = {
    kind.kind: kind
    for kind in (BadRequest, NotFound, Conflict, EvidenceRejected, Forbidden, Fault, StoreUnavailable, IntegrityFault)
}


class Client(Protocol):
    """Whoever answers actions."""

    def call(self, action: str, arguments: JsonObject) -> dict[str, Any]:
        """Run one action; raises the same WorkloopError wherever it ran."""
        ...


@dataclass(frozen=True, slots=True)
class LocalClient:
    """Runs actions on a store that this process opened."""

    queue: Queue
    actor: Actor

    def call(self, action: str, arguments: JsonObject) -> dict[str, Any]:
        """Run one action in this process."""
        return perform(self.queue, self.actor, action, arguments)

    def add(self, items: "Sequence[NewItem]", ready: "Ready") -> dict[str, Any]:
        """Add items that were read already, with contracts that were merged already."""
        from workloop.service.adding import add_items

        return run_prepared(self.queue, self.actor, "add_items", lambda call: add_items(call, items, ready))


@dataclass(frozen=True, slots=True)
class RemoteClient:
    """Runs actions in a loop or server over HTTP, with a bearer token."""

    url: str
    token: str

    def call(self, action: str, arguments: JsonObject) -> dict[str, Any]:
        """Post one action; raises the error that the other side raised, or StoreUnavailable when it is not there."""
        from urllib.error import HTTPError
        from urllib.request import ProxyHandler, Request, build_opener

        request = Request(
            f"{self.url.rstrip('/')}/v1/{action}",
            data=json.dumps(arguments).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=TIMEOUT_SECONDS) as response:
                return json.loads(response.read(ANSWER_BYTES_MAX))
        except HTTPError as refused:
            raise from_problem(refused.code, refused.read(ANSWER_BYTES_MAX)) from refused
        except OSError as failed:
            raise StoreUnavailable(
                "ENDPOINT_UNREACHABLE",
                f"{self.url} does not answer: {failed}",
                hint="start workloop run, or unset WORKLOOP_URL to use the store directly",
            ) from failed


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


def from_problem(status: int, body: bytes) -> WorkloopError:
    """Read an error back from a problem document."""
    try:
        values: dict[str, Any] = json.loads(body)
        kind, code, message = values["kind"], values["code"], values["title"]
    except (ValueError, KeyError, TypeError):
        return Fault("ENDPOINT_CONFUSED", f"the endpoint answered {status} without a problem document")
    if kind == LeaseLost.kind:
        return LeaseLost(message, code=code)
    facts = {name: value for name, value in values.items() if name not in RESERVED}
    return KINDS.get(kind, Fault)(
        code, message, hint=values.get("suggested_fix", ""), retryable=values.get("retryable"), facts=facts
    )
