"""How each action's raw arguments become a use case that is ready to run."""

from collections.abc import Callable, Mapping
from typing import Any

from workloop.domain.errors import BadRequest
from workloop.domain.grants import Actor
from workloop.domain.new_item import LEASE_SECONDS_MAX, read_instant, read_new_item
from workloop.domain.reader import Reader
from workloop.service import arguments as read
from workloop.service.adding import add_items
from workloop.service.answering import answer
from workloop.service.attaching import attach
from workloop.service.call import Call, Queue
from workloop.service.campaigns import pause, resume
from workloop.service.claiming import ClaimWish, claim, claim_verifier, heartbeat
from workloop.service.closing import again, cancel, promote, supersede
from workloop.service.completing import Completion, complete
from workloop.service.insights import LIST_ROWS, list_items, show, status
from workloop.service.lanes import acquire, clean, record, release_lane
from workloop.service.reasons import why
from workloop.service.settling import Deferral, Release, Retry, defer, release, retry

Answer = dict[str, Any]
Written = Callable[[Call], Mapping[str, Any]]


def token_of(reader: Reader, actor: Actor, *, required: bool = True) -> str:
    """Read the claim's token; a session's own is known."""
    return reader.text("token", default=actor.token, required=required)


def read_claim(reader: Reader, actor: Actor) -> ClaimWish:
    """Read what a caller wants to claim."""
    tools = reader.texts("tools") if "tools" in reader.values else None
    return ClaimWish(
        holder=reader.text("holder", required=True, longest=200),
        key=reader.optional_text("key") or reader.optional_text("canonical_key"),
        expected_role=read.read_role(reader),
        executor=reader.optional_text("executor"),
        lease_seconds=read.optional_seconds(reader, "lease_seconds", LEASE_SECONDS_MAX),
        tools=tools,
    )


def write_claim(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a claim."""
    wish = read_claim(reader, actor)
    return lambda call: claim(call, wish)


def write_verify(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare the claim of a root's verifier."""
    wish = read_claim(reader, actor)
    return lambda call: claim_verifier(call, wish)


def write_heartbeat(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a renewal."""
    token = token_of(reader, actor)
    seconds = read.optional_seconds(reader, "lease_seconds", LEASE_SECONDS_MAX)
    return lambda call: heartbeat(call, token, seconds)


def write_attach(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare evidence."""
    token, pieces = token_of(reader, actor), read.read_evidence(reader)
    return lambda call: attach(call, token, pieces)


def write_complete(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a completion."""
    outcome, ref = read.read_outcome(reader)
    done = Completion(
        token=token_of(reader, actor),
        contract_hash=reader.text("contract_hash"),
        outcome=outcome,
        ref=ref,
        evidence=read.read_evidence(reader),
        versions=reader.table("versions"),
        summary=reader.text("summary"),
        verdict=read.read_verdict(reader),
        failed_checks=reader.texts("failed_checks"),
        reproduction=reader.text("reproduction"),
        digest=digest,
    )
    return lambda call: complete(call, done)


def write_retry(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a retry; without a token, a person's new try of a failed item."""
    token = token_of(reader, actor, required=False)
    if not token and reader.values.get("key"):
        key, reason = reader.text("key"), reader.text("reason")
        return lambda call: again(call, key, reason)
    reader.take("key")
    wish = Retry(
        token=token_of(reader, actor),
        failed=detail(reader, "failed"),
        cause=detail(reader, "cause"),
        next_action=detail(reader, "next_action"),
        escalate=reader.flag("escalate"),
        delay_seconds=reader.whole("delay_seconds", default=0, lowest=0, highest=30 * 86_400),
        digest=digest,
    )
    return lambda call: retry(call, wish)


def detail(reader: Reader, name: str) -> str:
    """Read one of the three things a retry must say."""
    text = reader.text(name)
    if not text:
        raise BadRequest(
            "RETRY_DETAIL_REQUIRED",
            f"{name} is required",
            hint="say what failed, the root cause, and what the next attempt does differently",
            field=name,
        )
    return text


def write_defer(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a deferral."""
    boundary = reader.text("boundary")
    if not boundary:
        raise BadRequest(
            "BOUNDARY_REQUIRED", "boundary is required", hint="name one of the contract's", field="boundary"
        )
    wish = Deferral(
        token=token_of(reader, actor),
        boundary=boundary,
        asks=reader.text("asks", required=True),
        resume_when=reader.text("resume_when"),
        evidence=reader.text("summary"),
        digest=digest,
    )
    return lambda call: defer(call, wish)


def write_release(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a release."""
    wish = Release(
        token=token_of(reader, actor),
        reason=reader.text("reason"),
        untouched=reader.flag("untouched"),
        infra=reader.flag("infra"),
        not_before=read_instant(reader, "not_before"),
        digest=digest,
    )
    return lambda call: release(call, wish)


def write_supersede(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a supersession."""
    key, new = reader.text("key", required=True), reader.text("replacement", required=True)
    reason, token = reader.text("reason", required=True), token_of(reader, actor, required=False)
    return lambda call: supersede(call, key, new, reason, token)


def write_add_items(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare new items."""
    items = [read_new_item(value, path) for path, value in reader.entries("items")]
    return lambda call: add_items(call, items)


def write_answer(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a person's answer."""
    key, text = reader.text("key", required=True), reader.text("text", required=True)
    return lambda call: answer(call, key, text)


def write_promote(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare promotions."""
    keys = reader.texts("keys") or (reader.text("key", required=True),)
    reader.take("key")
    return lambda call: promote(call, keys)


def write_cancel(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a cancellation."""
    key, reason = reader.text("key", required=True), reader.text("reason", required=True)
    return lambda call: cancel(call, key, reason)


def write_pause(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a pause."""
    reason, until = reader.text("reason", required=True), read.read_until(reader)
    return lambda call: pause(call, reason, until)


def write_resume(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare the end of a pause."""
    return resume


def write_lane_acquire(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a lane's grant."""
    token, lane = token_of(reader, actor), reader.text("lane")
    return lambda call: acquire(call, token, lane)


def write_lane_record(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare the record of what a lane holds."""
    token, lane, resources = token_of(reader, actor), reader.text("lane"), reader.texts("resources")
    checkout = (reader.text("checkout_root"), reader.text("checkout_sha"))
    return lambda call: record(call, token, lane, resources, checkout)


def write_lane_clean(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare the acknowledgement of a lane's cleaning."""
    token, lane, resources = token_of(reader, actor, required=False), reader.text("lane"), reader.texts("resources")
    return lambda call: clean(call, token, lane, resources)


def write_lane_release(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a lane's return."""
    token, lane = token_of(reader, actor), reader.text("lane")
    return lambda call: release_lane(call, token, lane)


def look_status(reader: Reader, actor: Actor, queue: Queue) -> Answer:
    """Answer how a campaign stands."""
    return status(queue)


def look_list(reader: Reader, actor: Actor, queue: Queue) -> Answer:
    """Answer which items there are."""
    states, after = read.read_states(reader), reader.text("after")
    return list_items(queue, states, after, reader.whole("limit", default=LIST_ROWS, lowest=1, highest=1000))


def look_show(reader: Reader, actor: Actor, queue: Queue) -> Answer:
    """Answer one item whole."""
    return show(queue, actor, reader.text("key", required=not actor.token))


def look_why(reader: Reader, actor: Actor, queue: Queue) -> Answer:
    """Answer why an item stands where it stands."""
    return why(queue, actor, reader.text("key", required=not actor.token))
