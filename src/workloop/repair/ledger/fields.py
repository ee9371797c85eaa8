"""What one field of a record may hold: bounded words, full commits and digests, and whole numbers."""

from typing import Annotated, Final, TypeAlias

from msgspec import Meta

TEXT_CHARACTERS_MAX: Final = 4_000
NAME_CHARACTERS_MAX: Final = 200
ENTRIES_MAX: Final = 10_000
WHOLE_MAX: Final = 2**53 - 1
"""Bounds of what a field holds. The word in each annotation below is the rule that decides (in the schema); what stands
beside it holds for plain lines too, of printable ASCII, and lets those be read at once."""

Text: TypeAlias = Annotated[str, "text", Meta(max_length=TEXT_CHARACTERS_MAX)]
"""Words for a person, bounded; may be empty."""
Name: TypeAlias = Annotated[str, "name", Meta(max_length=NAME_CHARACTERS_MAX, pattern="[!-~]")]
"""What something is called: bounded, not blank, on one line."""
Sha: TypeAlias = Annotated[str, "sha", Meta(pattern="^(?!0+$)(?:[0-9a-f]{40}|[0-9a-f]{64})$")]
"""A full commit SHA: 40 or 64 lower-case hexadecimal digits."""
Digest: TypeAlias = Annotated[str, "digest", Meta(pattern="^[0-9a-f]{64}$")]
"""The SHA-256 of some bytes: 64 lower-case hexadecimal digits."""
Whole: TypeAlias = Annotated[int, "whole", Meta(ge=0, le=WHOLE_MAX)]
"""A whole number from 0 on."""
