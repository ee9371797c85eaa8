"""What a session is told: its contract and how to end, from the claim alone; never what another session said."""

from collections.abc import Sequence
from importlib.resources import files

from workloop.domain.checks import CheckResult
from workloop.domain.contract import Contract
from workloop.driver.holding import Held

NOTHING = "Nothing: this contract names no checks."


def brief(
    held: Held, *, branch: str = "", base: str = "", receipts: Sequence[CheckResult] = (), advice: str = ""
) -> str:
    """Write the brief of one attempt; advice is the host's own on how the attempt before it fell short."""
    contract = held.contract
    template = files("workloop.driver").joinpath(f"briefs/{held.role}.md").read_text(encoding="utf-8")
    return template.format(
        key=held.key,
        attempt=held.attempt,
        contract_hash=held.contract_hash,
        branch=branch,
        base=base,
        candidate=contract.candidate.ref if contract.candidate is not None else "",
        title=contract.title,
        objective=contract.objective or contract.title,
        contract=contract_text(contract),
        findings=findings_text(contract),
        receipts=receipts_text(receipts),
        earlier=earlier_text(held, advice),
    )


def contract_text(contract: Contract) -> str:
    """Write the parts of a contract that say more than its objective."""
    sections = [
        (
            "Checks that the host will run",
            [check_line(check.id, check.kind, check.command) for check in contract.checks],
        ),
        ("Protected paths, not to be changed", list(contract.protected)),
        ("Evidence to attach", [f"{slot.id}: {' or '.join(slot.kinds)}" for slot in contract.evidence]),
        ("Sources", list(contract.source_refs)),
        ("You may", list(contract.authority_allow)),
        ("You may not", list(contract.authority_deny)),
        ("Boundaries, for a person to decide", list(contract.boundaries)),
        ("Versions", [f"{name} {version}" for name, version in contract.versions.items()]),
        ("Lane", [contract.lane] if contract.lane else []),
        ("A person answered", [f"{note.question} — {note.answer}" for note in contract.addenda]),
    ]
    return "\n\n".join(
        f"## {heading}\n\n" + "\n".join(f"- {line}" for line in lines) for heading, lines in sections if lines
    )


def check_line(name: str, kind: str, command: str | tuple[str, ...]) -> str:
    """Write one check."""
    text = command if isinstance(command, str) else " ".join(command)
    return f"`{text}` ({name}, {kind})"


def findings_text(contract: Contract) -> str:
    """Write why the candidate was rejected."""
    return "\n".join(f"- {finding.check_id}: {finding.reproduction}" for finding in contract.findings)


def receipts_text(receipts: Sequence[CheckResult]) -> str:
    """Write what the host's own checks said."""
    lines = [f"- {result.check_id}: {result.outcome_on_candidate} ({result.reason})" for result in receipts]
    return "\n".join(lines) or NOTHING


def earlier_text(held: Held, advice: str) -> str:
    """Warn a later attempt that an earlier one may have left effects, and say what it was lacking."""
    if held.attempt <= 1:
        return ""
    lacking = f"  This time: {advice}.\n" if advice else ""
    return (
        f"- This is attempt {held.attempt}. An earlier attempt ended without a result; what it did, in this branch or\n"
        f"  outside, may still be there. Look before you repeat it.\n{lacking}"
    )
