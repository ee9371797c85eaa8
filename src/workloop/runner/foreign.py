"""Which settings of git name programs, so that none that a session wrote down is ever run by the host."""

import re
from pathlib import Path

from workloop.runner.git import git

PROGRAM = re.compile(
    r"filter\..*\.(?:clean|smudge|process)|diff\..*\.(?:command|textconv)|diff\.external|merge\..*\.driver"
    r"|core\.(?:fsmonitor|sshcommand|editor|askpass|gitproxy|hookspath|alternaterefscommand)"
    r"|include(?:if)?\..*path|submodule\..*\.update|uploadpack\.packobjectshook"
    r"|remote\..*\.(?:uploadpack|receivepack|vcs|promisor)|protocol\..*allow|extensions\.partialclone",
    re.IGNORECASE | re.DOTALL,
)


def programs_named(settings: Path) -> frozenset[str]:
    """Return the entries of a settings file by which git could be made to run something, or to read another file."""
    if not settings.exists():
        return frozenset()
    listed = git(settings.parent, "config", "--file", str(settings), "--no-includes", "--list", "-z")
    return frozenset(entry for entry in listed.fields if PROGRAM.fullmatch(entry.partition("\n")[0]))
