"""What may be done about an agent program whose version nobody has tested."""

from enum import StrEnum


class VersionPolicy(StrEnum):
    """What to do about a version whose output nobody has recorded."""

    WARN = "warn"
    REFUSE = "refuse"
    ALLOW = "allow"
