"""The page about the bench says every reason that a record can have, with the exit code that it really has."""

import re
from pathlib import Path

from workloop.repair.ledger.records import EXIT_CODES, RepairRefusal, StopReason

PAGE = (Path(__file__).parents[3] / "docs" / "repair.md").read_text("utf-8")
BEFORE_A_LEDGER = {
    StopReason.CONFIG_INVALID,
    StopReason.DRIVER_INVALID,
    StopReason.PLACEMENT_INVALID,
    StopReason.LEDGER_EXISTS,
}
NEVER_ON_RECORD = {RepairRefusal.ATTEMPTS_USED_UP}


def test_every_reason_to_stop_is_on_the_page_with_its_exit_code() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", PAGE, re.MULTILINE)
    expected = {reason.value: str(code) for reason, code in EXIT_CODES.items() if reason not in BEFORE_A_LEDGER}
    assert dict(rows) == expected
    assert len(rows) == len(expected)


def test_every_reason_to_refuse_a_repair_is_on_the_page() -> None:
    table = PAGE.partition("A repair that comes to nothing")[2]
    cells = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    named = [word for cell in cells for word in re.findall(r"`([a-z-]+)`", cell)]
    assert sorted(named) == sorted(reason.value for reason in RepairRefusal if reason not in NEVER_ON_RECORD)
