"""Which code reads and runs an action, loaded only when the action is called."""

from collections.abc import Mapping
from typing import assert_never

from workloop.service.actions import Family
from workloop.service.requests.words import Look, Write


def writes_of(family: Family) -> Mapping[str, Write]:
    """Return the writing actions of one family by name."""
    match family:
        case "claims":
            from workloop.service.requests import claims

            return claims.WRITES
        case "settles":
            from workloop.service.requests import settles

            return settles.WRITES
        case "backlog":
            from workloop.service.requests import backlog

            return backlog.WRITES
        case "lanes":
            from workloop.service.requests import lanes

            return lanes.WRITES
        case "reads":
            return {}
        case _:
            assert_never(family)


def looks() -> Mapping[str, Look]:
    """Return the reads by name."""
    from workloop.service.requests.reads import LOOKS

    return LOOKS
