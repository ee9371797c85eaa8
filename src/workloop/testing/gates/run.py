"""The attack set as the command line asks for it: all of it, or some cases by name."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from workloop.domain.errors import NotFound
from workloop.testing.gates.catalogue import CASES
from workloop.testing.gates.report import play

AT_ONCE_MAX = 4


class Answer(NamedTuple):
    """What is shown, and whether the gates held."""

    facts: dict[str, Any]
    sound: bool


def main(wanted: tuple[str, ...], *, walls: bool, tell: Callable[[str], None]) -> Answer:
    """Play the cases that are named, or all; raises NotFound for a name that none has."""
    known = {case.id for case in CASES}
    for name in wanted:
        if name not in known:
            raise NotFound("CASE_UNKNOWN", f"no case is named {name}", hint=f"one of: {', '.join(sorted(known))}")
    chosen = [case for case in CASES if not wanted or case.id in wanted]
    at_once = min(AT_ONCE_MAX, os.cpu_count() or 1, max(1, len(chosen)))
    score = play(chosen, walls=walls, at_once=at_once, tell=tell)
    wrong = score.false_passes or score.false_refusals
    return Answer(score.facts(), sound=score.sound or (bool(wanted) and bool(score.ended) and not wrong))
