"""How what the doctor finds is told, and when it makes the command fail."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloop.domain.reader import Reader
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.commands.campaign import refuse_remote
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

if TYPE_CHECKING:
    from workloop.wiring.doctor import Finding

PLACES: tuple[Place, ...] = ()


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (
        Option(("--probe",), "probe", Shape.FLAG, "try every agent by one short session, which costs a little"),
        Option(("--strict",), "strict", Shape.FLAG, "fail on a WARN, too"),
    )


def run(invocation: Invocation, given: Given) -> int:
    """Look at everything, say what was found, and fail when the loop would make no progress."""
    from workloop.wiring.doctor import Level, examine, worst

    refuse_remote(invocation)
    reader = Reader(values_of(given.options))
    probing, strict = reader.flag("probe"), reader.flag("strict")
    config = Path(invocation.config) if invocation.config else None
    findings = list(examine(invocation.start(), invocation.environment, config, probing=probing))
    render.answer(invocation, "doctor", facts_of(findings))
    level = worst(findings)
    return exits.UNEXPECTED if level is Level.BROKEN or (strict and level is not Level.FINE) else exits.OK


def facts_of(findings: "list[Finding]") -> dict[str, Any]:
    """Return findings as facts: their numbers by level, and each by itself."""
    counted = Counter(finding.level.value for finding in findings)
    rows = [
        {"check": found.check, "level": found.level.value, "detail": found.detail, "remedy": found.remedy}
        for found in findings
    ]
    numbers = {level.lower(): counted[level] for level in ("PASS", "SKIP", "WARN", "FAIL")}
    return {**numbers, "findings": rows}
