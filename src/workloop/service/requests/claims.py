"""How claims, their verifiers' claims and their renewals are asked for."""

from collections.abc import Mapping
from typing import Final

from workloop.domain.grants import Actor
from workloop.domain.item import Role
from workloop.domain.lease import LEASE_SECONDS_MAX
from workloop.domain.reader import Reader, one_of
from workloop.service.claiming import ClaimWish, claim, claim_verifier, heartbeat
from workloop.service.requests.words import Write, Written, optional_seconds, token_of


def read_claim(reader: Reader) -> ClaimWish:
    """Read what a caller wants to claim."""
    tools = reader.texts("tools") if "tools" in reader.values else None
    return ClaimWish(
        holder=reader.text("holder", required=True, longest=200),
        key=reader.optional_text("key") or reader.optional_text("canonical_key"),
        expected_role=read_role(reader),
        executor=reader.optional_text("executor"),
        lease_seconds=optional_seconds(reader, "lease_seconds", LEASE_SECONDS_MAX),
        tools=tools,
    )


def read_role(reader: Reader) -> Role | None:
    """Read an expected role."""
    text = reader.text("expected_role")
    return one_of(reader, "expected_role", Role, text) if text else None


def write_claim(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a claim."""
    wish = read_claim(reader)
    return lambda call: claim(call, wish)


def write_verify(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare the claim of a root's verifier."""
    wish = read_claim(reader)
    return lambda call: claim_verifier(call, wish)


def write_heartbeat(reader: Reader, actor: Actor, digest: str) -> Written:
    """Prepare a renewal."""
    token = token_of(reader, actor)
    seconds = optional_seconds(reader, "lease_seconds", LEASE_SECONDS_MAX)
    return lambda call: heartbeat(call, token, seconds)


WRITES: Final[Mapping[str, Write]] = {"claim": write_claim, "verify": write_verify, "heartbeat": write_heartbeat}
