"""How the tasks that a run left become the campaign of a next one, with the same prompts and a ledger of its own."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from workloop.domain.errors import Conflict, NotFound
from workloop.repair.ledger.anchor import anchor_path
from workloop.repair.ledger.chain import Reason
from workloop.repair.ledger.faults import LedgerFault
from workloop.repair.ledger.verifying import AnchorState, Verification

FITS: Final = (AnchorState.MATCHES, AnchorState.BEHIND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remaining:
    """The campaign of a next run, and what its operator has to look at before it is begun."""

    config: dict[str, Any]
    tasks: tuple[str, ...]
    uncertain: tuple[str, ...]
    spent_microusd: int
    unknown_charges: int


def remaining(found: Verification, ledger: Path, config: Path | None = None, *, failed: bool = False) -> Remaining:
    """Return the campaign of what a run left; raises LedgerFault when its ledger cannot be believed.

    The campaign's file is the one that the run was opened with, or `config`; it has to be that file to the byte.
    With `failed`, tasks that used up their attempts are taken up again, too.
    """
    require_believed(found, ledger)
    standing, opening = found.standing, found.opening
    assert standing is not None
    assert opening is not None
    values = campaign_of(config or Path(opening.config_path), opening.config_digest)
    left = {*standing.remaining, *(standing.failed if failed else ())}
    values["tasks"] = [task for task in values["tasks"] if task["id"] in left]
    values["harness"] = {"commit": standing.harness.commit, "runtimeId": standing.harness.runtime_id}
    values["ledgerPath"] = str(next_path(ledger.absolute()))
    return Remaining(
        config=values,
        tasks=tuple(task for task in opening.tasks if task in left),
        uncertain=standing.uncertain,
        spent_microusd=standing.spent_microusd,
        unknown_charges=standing.unknown_charges,
    )


def require_believed(found: Verification, ledger: Path) -> None:
    """Refuse a ledger that is still written, or that does not say what was written; a torn last line is passed by."""
    if found.held:
        raise Conflict("LEDGER_HELD", f"{ledger}: a run still writes it", hint="wait until the run has stopped")
    bad = found.first_bad
    if bad is not None and not (bad.reason is Reason.TORN and found.anchor in FITS and found.entries):
        raise LedgerFault(
            "LEDGER_BROKEN",
            f"{ledger}: line {bad.line}: {bad.detail}",
            hint=f"workloop ledger verify {ledger}; nothing can be told of what it left",
        )


def campaign_of(path: Path, digest: str) -> dict[str, Any]:
    """Read a campaign's file that has to have exactly the bytes that a run was opened with."""
    try:
        spelt = path.read_bytes()
    except OSError as error:
        hint = "name a copy of the campaign's file with --config"
        raise NotFound("NO_CAMPAIGN_FILE", f"{path}: {(error.strerror or '').lower()}", hint=hint) from error
    if hashlib.sha256(spelt).hexdigest() != digest:
        raise Conflict(
            "CAMPAIGN_CHANGED",
            f"{path}: this is not the file that the run was opened with",
            hint="name an unchanged copy with --config",
        )
    return cast("dict[str, Any]", json.loads(spelt))


def next_path(ledger: Path) -> Path:
    """Return the next free path for a ledger beside an old one."""
    number = 2
    while True:
        path = ledger.with_name(f"{ledger.stem}.{number}{ledger.suffix}")
        if not any(where.exists() or where.is_symlink() for where in (path, anchor_path(path))):
            return path
        number += 1
