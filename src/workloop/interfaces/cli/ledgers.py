"""What the commands about a ledger share: how one is named, verified, and told by an exit code."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloop.domain.errors import BadRequest
from workloop.domain.reader import Reader
from workloop.interfaces.cli import exits
from workloop.interfaces.cli.layout import columns, pairs, short
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

if TYPE_CHECKING:
    from workloop.repair.ledger.verifying import Verification

PLACES = (Place("ledger"),)
OPTIONS = (
    Option(("--anchor",), "anchor", Shape.TEXT, "where the head was kept, unless beside the ledger"),
    Option(("--head",), "head", Shape.TEXT, "the hash that was told when the run stopped"),
    Option(("--key",), "key", Shape.TEXT, "the operator's public key, a file in PEM, that must have signed the head"),
    Option(("--no-anchor",), "no_anchor", Shape.FLAG, "believe a copy without a head; then a cut does not show"),
)


SUMMARY = (
    "whole", "first_bad_line", "detail", "run", "stopped", "stop_detail", "open_phases", "harness", "spent_microusd",
    "limit_microusd", "unknown_charges", "repairs", "head", "head_outside", "signed_by",
)  # fmt: skip
TABLES = (
    ("tasks", ("task", "end", "attempts", "uncertain", "commit")),
    ("phases", ("phase", "kind", "task", "attempt", "microusd", "enforced_by", "open")),
    ("verdicts", ("kind", "passed", "commit", "about")),
    ("rejected_repairs", ("repair", "reason", "commit", "detail")),
)
"""What a report says in lines of its own, and in tables with their columns."""


def report_lines(facts: dict[str, Any]) -> list[str]:
    """Write a report for people."""
    lines = pairs(facts, SUMMARY)
    for name, cells in TABLES:
        if facts.get(name):
            lines += ["", f"{name.replace('_', ' ')}:", *columns(cells, facts[name])]
    return lines


def record_line(facts: dict[str, Any]) -> str:
    """Write one record for people, on one line; what it leaves out is left out."""
    said = {name: value for name, value in facts["data"].items() if value not in (None, "", [])}
    return f"{facts['line']:>5}  {facts['ts']}  {facts['type']}: {short(said)}"


def ledger_of(given: Given, command: str) -> Path:
    """Return the one ledger that was named."""
    if len(given.places) != 1:
        raise BadRequest("USAGE", "name one ledger", hint=f"workloop {command} LEDGER")
    return Path(given.places[0])


def verified(given: Given, command: str) -> "Verification":
    """Verify the ledger that was named, against what else was named."""
    from workloop.repair.ledger.signing import public_key
    from workloop.repair.ledger.verifying import verify

    path = ledger_of(given, command)
    reader = Reader(values_of(given.options))
    anchor, key = reader.text("anchor"), reader.text("key")
    return verify(
        path,
        anchor=Path(anchor) if anchor else None,
        key=public_key(Path(key)) if key else None,
        head=reader.optional_text("head"),
        anchored=not reader.flag("no_anchor"),
    )


def code_of(found: "Verification") -> int:
    """Return 9 for a ledger that is broken, 1 for a whole one of a run that was not closed, else 0."""
    if not found.whole:
        return exits.INTEGRITY
    return exits.OK if found.close is not None else exits.UNEXPECTED
