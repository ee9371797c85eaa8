"""How people let the repair bench work through a campaign, and what they are told when it has stopped."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from workloop.domain.errors import BadRequest
from workloop.domain.reader import Reader
from workloop.domain.units import MICROS
from workloop.interfaces.cli import render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

PLACES: tuple[Place, ...] = ()
DRIVER = Option(("--driver",), "driver", Shape.TEXT, "the file of a driver of your own; --config names the campaign's")
SETTINGS = Option(("--settings",), "settings", Shape.TEXT, "the settings of agents, walls and the meter")
KEY = Option(("--key",), "key", Shape.TEXT, "the operator's private key, a file in PEM, that signs the ledger's head")
USE = "workloop repair --config CAMPAIGN.json --settings SETTINGS.toml"


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (DRIVER, SETTINGS, KEY)


def run(invocation: Invocation, given: Given) -> int:
    """Carry a campaign out; the exit code says why it stopped."""
    reader = Reader(values_of(given.options))
    driver, settings, key = (Path(text) if text else None for text in map(reader.text, ("driver", "settings", "key")))
    if not invocation.config:
        raise BadRequest("USAGE", "name the campaign's file with --config", hint=USE)

    from workloop.repair.ledger.records import EXIT_CODES, exit_code
    from workloop.wiring.bench import RepairOrder, repair

    ended = repair(RepairOrder(config=Path(invocation.config), driver=driver, settings=settings, key=key))
    facts = {
        "reason": ended.reason.value,
        "detail": ended.detail,
        "ledger": str(ended.ledger) if ended.head else None,
        "head": ended.head or None,
        "spent_microusd": ended.close.spent_microusd if ended.close is not None else None,
        "accepted": list(ended.close.accepted) if ended.close is not None else None,
        "failed": list(ended.close.failed) if ended.close is not None else None,
        "remaining": list(ended.close.remaining) if ended.close is not None else None,
    }
    render.out(json.dumps(facts) if invocation.json else "\n".join(told(facts)))
    return exit_code(ended.close) if ended.close is not None else EXIT_CODES[ended.reason]


def told(facts: Mapping[str, object]) -> list[str]:
    """Say in words how a run ended."""
    lines = [f"stopped: {facts['reason']}"]
    lines += [str(facts["detail"])] if facts["detail"] else []
    if facts["ledger"] is None:
        return [*lines, "no ledger was made"]
    lines += [f"ledger: {facts['ledger']}", f"head: {facts['head']}  (keep it: only with it a cut shows)"]
    spent = facts["spent_microusd"]
    if not isinstance(spent, int):
        return [*lines, "the ledger could not be closed"]
    lines.append(f"spent: {spent / MICROS:.6f} USD")
    for name in ("accepted", "failed", "remaining"):
        tasks = facts[name]
        if tasks:
            lines.append(f"{name}: {', '.join(cast('list[str]', tasks))}")
    return lines
