"""Which names operators may give to harnesses, accounts, tiers, phases and targets: they become parts of file names."""

import re

from workloop.domain.reader import bad

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")


def check_name(name: str, path: str) -> str:
    """Return a name that can be one; raises BadRequest otherwise."""
    if NAME.fullmatch(name) is None:
        hint = "use lower-case letters, digits and hyphens inside, 40 at most"
        raise bad(path, f"{name!r} is not a name", hint=hint)
    return name
