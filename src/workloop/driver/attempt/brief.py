"""What a session is told: its contract and how to end, from config and the claim alone; never what another one said."""

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from workloop.config import PhaseConfig
from workloop.domain.checks import CheckResult
from workloop.domain.contract import Contract
from workloop.domain.handoff import CHAIN_MAX, MARKER, PROMPT_BYTES_MAX
from workloop.domain.verdict import told_once
from workloop.driver.attempt.attempt import Words
from workloop.driver.attempt.holding import Held
from workloop.driver.workshop import WorkTree

NOTHING = "Nothing: this contract names no checks."
MARK_CHARACTERS = 12
PLACE = re.compile(r"\{([a-z_]+)\}")
BRIEF_BYTES_MAX = 65_536


def words_of(
    held: Held, tree: WorkTree, phase: PhaseConfig, *, advice: str = "", last: bool = True, handoffs: bool = False
) -> Words:
    """Write everything that the sessions of one phase of a work or repair item may be told."""
    facts = facts_of(held, branch=tree.branch, base=tree.base)
    ending = written("end-work" if last else "end-phase", facts)
    facts |= {
        "earlier": earlier_text(held, advice),
        "handoff": written("handoff-offer", facts | OFFER) if handoffs else "",
    }
    text = phase_text(phase, facts) if phase.name else written(held.role, facts)
    return Words(
        brief=text + ending,
        go_on=written("go-on", facts) + ending,
        nudge=written("nudge", facts) + ending,
        frame=framing(facts, ending) if handoffs else None,
    )


def verifier_words(held: Held, base: str, receipts: Sequence[CheckResult]) -> Words:
    """Write everything that a verifier's sessions may be told."""
    facts = facts_of(held, base=base) | {"receipts": receipts_text(receipts)}
    ending = written("end-verify", facts)
    return Words(
        brief=written("verify", facts) + ending,
        go_on=written("go-on", facts) + ending,
        nudge=written("nudge", facts) + ending,
    )


def framing(facts: dict[str, str], ending: str) -> tuple[str, str]:
    """Write what stands before and after a predecessor's words, which are filled in last and never read for places."""
    before, after = shipped("handoff-frame").split("{asked}")
    return filled(before, facts), filled(after, facts) + ending


def phase_text(phase: PhaseConfig, facts: dict[str, str]) -> str:
    """Write a phase's brief: the one that belongs to its name, or the operator's own with the item below it."""
    if phase.brief is None:
        return written(phase.name, facts)
    return filled(own_brief(phase.brief), facts) + written("item", facts)


def own_brief(path: Path) -> str:
    """Read the operator's brief of a phase, its beginning when it is longer than any brief should be."""
    with path.open("rb") as stream:
        return stream.read(BRIEF_BYTES_MAX).decode("utf-8", errors="replace").rstrip() + "\n\n"


def facts_of(held: Held, *, branch: str = "", base: str = "") -> dict[str, str]:
    """Return what the places in a brief are filled with: facts of the claim, and the item's own text as data."""
    contract = held.contract
    objective = contract.objective or contract.title
    return {
        "key": held.key,
        "role": held.role,
        "attempt": str(held.attempt),
        "contract_hash": held.contract_hash,
        "branch": branch,
        "base": base,
        "candidate": contract.candidate.ref if contract.candidate is not None else "",
        "item": quoted(held, f"{contract.title}\n\n{objective}", "the backlog"),
        "contract": contract_text(contract),
        "findings": quoted(held, findings_text(contract), "its verifier") if contract.findings else NOTHING,
        "earlier": "",
        "handoff": "",
        "receipts": NOTHING,
    }


OFFER = {"marker": MARKER, "bytes_max": str(PROMPT_BYTES_MAX), "chain_max": str(CHAIN_MAX)}


def quoted(held: Held, text: str, source: str) -> str:
    """Set a text apart as data of a named source; the marks hold the contract's hash, which it cannot contain."""
    mark = f"{held.key} {held.contract_hash[:MARK_CHARACTERS]}"
    return f"[data from {source}: {mark}]\n{text}\n[end of data: {mark}]"


def written(name: str, facts: dict[str, str]) -> str:
    """Return a shipped text with its places filled."""
    return filled(shipped(name), facts)


def shipped(name: str) -> str:
    """Read one of the shipped texts."""
    return files("workloop.driver.attempt").joinpath(f"briefs/{name}.md").read_text(encoding="utf-8")


def filled(text: str, facts: dict[str, str]) -> str:
    """Fill a text's places in one go, so that nothing in a fact is taken for a place; unknown ones stay visible."""
    parts = PLACE.split(text)
    return "".join(facts.get(part, f"{{{part}}}") if number % 2 else part for number, part in enumerate(parts))


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
        ("Lane", lane_lines(contract.lane) if contract.lane else []),
        ("A person answered", [f"{note.question} — {note.answer}" for note in contract.addenda]),
    ]
    return "\n\n".join(
        f"## {heading}\n\n" + "\n".join(f"- {line}" for line in lines) for heading, lines in sections if lines
    )


def lane_lines(name: str) -> list[str]:
    """Write what holds of a lane while a session has it."""
    return [
        f"`{name}` is for one claim at a time; `lane_acquire` gives it to yours. Its variables are in the environment.",
        "Record what you open in it at once, with `lane_record`. Close nothing there that you did not open.",
    ]


def check_line(name: str, kind: str, command: str | tuple[str, ...]) -> str:
    """Write one check."""
    text = command if isinstance(command, str) else " ".join(command)
    return f"`{text}` ({name}, {kind})"


def findings_text(contract: Contract) -> str:
    """Write why the candidate was rejected; what is known of several checks together is written once."""
    seen = dict[str, list[str]]()
    for finding in contract.findings:
        seen.setdefault(finding.reproduction, []).append(finding.check_id)
    return "\n".join(f"- {told_once(names, said)}" for said, names in seen.items())


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
