"""How claims are settled: evidence, completion, retry, deferral and release as a caller asks for them."""

from collections.abc import Mapping
from typing import Final

from workloop.domain.contract import OutcomeKind
from workloop.domain.errors import BadRequest, EvidenceRejected
from workloop.domain.evidence import EvidenceKind, NewEvidence
from workloop.domain.grants import Actor
from workloop.domain.reader import Json, Reader, one_of, read_instant
from workloop.domain.verdict import Outcome
from workloop.service.attaching import attach
from workloop.service.closing import again
from workloop.service.completing import Completion, complete
from workloop.service.requests.words import Write, Written, token_of
from workloop.service.settling import Deferral, Release, Retry, defer, release, retry


def read_evidence(reader: Reader) -> tuple[NewEvidence, ...]:
    """Read the evidence list of a call."""
    pieces: list[NewEvidence] = []
    for path, value in reader.entries("evidence"):
        pieces.append(read_piece(value, path))
    return tuple(pieces)


def read_piece(value: Json, path: str) -> NewEvidence:
    """Read one reference."""
    reader = Reader(value, path)
    piece = NewEvidence(
        kind=one_of(reader, "kind", EvidenceKind, reader.text("kind", required=True)),
        ref=reader.text("ref", required=True),
        slot=reader.optional_text("slot") or reader.optional_text("check_id"),
        digest=reader.optional_text("digest"),
        result=reader.optional_text("result"),
        captured_at=read_instant(reader, "captured_at"),
        grant=reader.whole("grant", default=0, lowest=0, highest=2**31) or None,
        checkout_sha=reader.optional_text("checkout_sha"),
    )
    reader.done()
    return piece


def read_outcome(reader: Reader) -> tuple[OutcomeKind | None, str]:
    """Read what a completion says it made."""
    value = reader.take("outcome")
    if value is None:
        return None, ""
    outcome = Reader(value, reader.at("outcome"))
    kind = one_of(outcome, "kind", OutcomeKind, outcome.text("kind", required=True))
    ref = outcome.text("ref")
    outcome.done()
    return kind, ref


def read_verdict(reader: Reader) -> Outcome | None:
    """Read a verifier's verdict."""
    text = reader.text("verdict")
    if not text:
        return None
    try:
        return Outcome(text)
    except ValueError as error:
        raise EvidenceRejected(
            "VERDICT_REQUIRED", f"{text!r} is no verdict", hint="verdict: passed, rejected or inconclusive"
        ) from error


def write_attach(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare evidence."""
    token, pieces = token_of(reader, actor), read_evidence(reader)
    return lambda call: attach(call, token, pieces)


def write_complete(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a completion."""
    outcome, ref = read_outcome(reader)
    done = Completion(
        token=token_of(reader, actor),
        contract_hash=reader.text("contract_hash"),
        outcome=outcome,
        ref=ref,
        evidence=read_evidence(reader),
        versions=reader.table("versions"),
        summary=reader.text("summary"),
        verdict=read_verdict(reader),
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


WRITES: Final[Mapping[str, Write]] = {
    "attach": write_attach,
    "complete": write_complete,
    "retry": write_retry,
    "defer": write_defer,
    "release": write_release,
}
