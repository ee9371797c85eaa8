"""What a worker gets, unchanged: the contract, its canonical text and its hash."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any

from workloop.domain.checks import Check, CheckKind
from workloop.domain.item import Verification

SLOT_KINDS = ("artifact", "commit", "file", "row", "url")


class OutcomeKind(StrEnum):
    """What a completion may bring as the thing done."""

    COMMIT = "commit"
    ARTIFACT = "artifact"
    ROW = "row"
    URL = "url"
    NO_CHANGE = "no_change"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSlot:
    """Evidence a completion must bring, by name; a live slot needs the lane's own grant."""

    id: str
    kinds: tuple[str, ...] = SLOT_KINDS
    live: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Addendum:
    """A person's answer that became part of the contract; the time is RFC 3339."""

    question: str
    answer: str
    answered_by: str
    answered_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """The result a follow-up judges or repairs."""

    ref: str
    kind: OutcomeKind
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Why a candidate was rejected: a check of its contract and how to see it fail."""

    check_id: str
    reproduction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """The agreed work: what to reach, what proves it, what is allowed, and what only a person may decide."""

    title: str
    objective: str
    family: str | None = None
    subject: str | None = None
    source_refs: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    lane: str | None = None
    checks: tuple[Check, ...] = ()
    evidence: tuple[EvidenceSlot, ...] = ()
    outcomes: tuple[OutcomeKind, ...] = (OutcomeKind.COMMIT,)
    authority_allow: tuple[str, ...] = ()
    authority_deny: tuple[str, ...] = ()
    boundaries: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    protected: tuple[str, ...] = ()
    verification: Verification = Verification.BOTH
    waived: tuple[str, ...] = ()
    addenda: tuple[Addendum, ...] = ()
    candidate: Candidate | None = None
    findings: tuple[Finding, ...] = ()


RED_EXIT_CODES = (1,)
encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, check_circular=False).encode
TEXTS = ("title", "objective", "family", "subject", "lane")
TEXT_LISTS = ("source_refs", "tools", "authority_allow", "authority_deny", "boundaries", "protected", "waived")


def check_values(check: Check) -> dict[str, Any]:
    """Write one check as plain values, leaving defaults out."""
    command = check.command if isinstance(check.command, str) else list(check.command)
    values: dict[str, Any] = {"id": check.id, "kind": check.kind.value, "command": command}
    values["timeout_seconds"] = check.timeout_seconds
    if check.cwd != ".":
        values["cwd"] = check.cwd
    if not check.red_on_base:
        values["red_on_base"] = False
    if check.red_exit_codes != RED_EXIT_CODES:
        values["red_exit_codes"] = list(check.red_exit_codes)
    if check.control is not None:
        values["control"] = check.control if isinstance(check.control, str) else list(check.control)
    if check.runs != 1:
        values["runs"] = check.runs
    return values


def read_check(values: Mapping[str, Any]) -> Check:
    """Read back what check_values wrote."""
    command, control = values["command"], values.get("control")
    return Check(
        id=values["id"],
        kind=CheckKind(values["kind"]),
        command=command if isinstance(command, str) else tuple(command),
        timeout_seconds=values["timeout_seconds"],
        cwd=values.get("cwd", "."),
        red_on_base=values.get("red_on_base", True),
        red_exit_codes=tuple(values.get("red_exit_codes", RED_EXIT_CODES)),
        control=control if control is None or isinstance(control, str) else tuple(control),
        runs=values.get("runs", 1),
    )


def contract_values(contract: Contract) -> dict[str, Any]:
    """Write a contract as plain values for JSON, leaving empty fields out."""
    values: dict[str, Any] = {name: value for name in TEXTS if (value := getattr(contract, name))}
    values.update({name: list(value) for name in TEXT_LISTS if (value := getattr(contract, name))})
    values["outcomes"] = [kind.value for kind in contract.outcomes]
    values["verification"] = contract.verification.value
    if contract.versions:
        values["versions"] = dict(contract.versions)
    if contract.checks:
        values["checks"] = [check_values(check) for check in contract.checks]
    if contract.evidence:
        values["evidence"] = [
            {"id": slot.id, "kinds": list(slot.kinds), "live": slot.live} for slot in contract.evidence
        ]
    if contract.addenda:
        values["addenda"] = [
            {"question": a.question, "answer": a.answer, "answered_by": a.answered_by, "answered_at": a.answered_at}
            for a in contract.addenda
        ]
    if contract.candidate is not None:
        candidate = contract.candidate
        values["candidate"] = {"ref": candidate.ref, "kind": candidate.kind.value, "round": candidate.round}
    if contract.findings:
        values["findings"] = [{"check_id": f.check_id, "reproduction": f.reproduction} for f in contract.findings]
    return values


def canonical_text(contract: Contract) -> str:
    """Write a contract as canonical JSON: sorted members, no spaces, empty fields left out."""
    return encode(contract_values(contract))


def contract_hash(text: str) -> str:
    """Return the SHA-256 of a canonical text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=64)
def from_canonical(text: str) -> Contract:
    """Read back what canonical_text wrote; a claim and its settle read the same text several times."""
    values: dict[str, Any] = json.loads(text)
    candidate = values.get("candidate")
    return Contract(
        title=values.get("title", ""),
        objective=values.get("objective", ""),
        family=values.get("family"),
        subject=values.get("subject"),
        lane=values.get("lane"),
        source_refs=tuple(values.get("source_refs", ())),
        tools=tuple(values.get("tools", ())),
        checks=tuple(read_check(check) for check in values.get("checks", ())),
        evidence=tuple(
            EvidenceSlot(id=slot["id"], kinds=tuple(slot["kinds"]), live=slot["live"])
            for slot in values.get("evidence", ())
        ),
        outcomes=tuple(OutcomeKind(kind) for kind in values["outcomes"]),
        authority_allow=tuple(values.get("authority_allow", ())),
        authority_deny=tuple(values.get("authority_deny", ())),
        boundaries=tuple(values.get("boundaries", ())),
        versions=values.get("versions", {}),
        protected=tuple(values.get("protected", ())),
        verification=Verification(values["verification"]),
        waived=tuple(values.get("waived", ())),
        addenda=tuple(Addendum(**entry) for entry in values.get("addenda", ())),
        candidate=None
        if candidate is None
        else Candidate(ref=candidate["ref"], kind=OutcomeKind(candidate["kind"]), round=candidate["round"]),
        findings=tuple(Finding(**entry) for entry in values.get("findings", ())),
    )
