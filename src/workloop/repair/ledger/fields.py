"""What one field of a record may hold: bounded words, full commits and digests, and whole numbers."""

from typing import Annotated, Final, TypeAlias

TEXT_CHARACTERS_MAX: Final = 4_000
NAME_CHARACTERS_MAX: Final = 200
ENTRIES_MAX: Final = 10_000
WHOLE_MAX: Final = 2**53 - 1
"""Bounds of what a field holds. The word in each annotation below names the rule that decides, in the schema."""

Text: TypeAlias = Annotated[str, "text"]
"""Words for a person, bounded; may be empty."""
Name: TypeAlias = Annotated[str, "name"]
"""What something is called: bounded, not blank, on one line."""
Sha: TypeAlias = Annotated[str, "sha"]
"""A full commit SHA: 40 or 64 lower-case hexadecimal digits."""
Digest: TypeAlias = Annotated[str, "digest"]
"""The SHA-256 of some bytes: 64 lower-case hexadecimal digits."""
Whole: TypeAlias = Annotated[int, "whole"]
"""A whole number from 0 on."""
