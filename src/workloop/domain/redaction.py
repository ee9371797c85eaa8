"""How secrets are kept out of what is logged: known values wherever they stand, and texts that look like a key.

Only logs pass through here. What a session is given, asks of a tool or writes to a file is never changed.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from workloop.domain.session import head, printable

MARK = "[secret]"
VALUE_CHARACTERS_MIN = 6
VALUES_MAX = 1000
TEXT_CHARACTERS_MAX = 256 * 1024
DEPTH_MAX = 8
LINE_CHARACTERS_MIN = 16
SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|COOKIE|AUTH", re.IGNORECASE)
SHAPES = re.compile(
    r"""
    -----BEGIN\ [A-Z ]{0,40}PRIVATE\ KEY-----.{0,8192}?(?:-----END\ [A-Z ]{0,40}PRIVATE\ KEY-----|\Z)
    | \bsk-[A-Za-z0-9_-]{16,256}
    | \b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,255}
    | \bgithub_pat_[A-Za-z0-9_]{20,255}
    | \bxox[abprs]-[A-Za-z0-9-]{10,255}
    | \bAKIA[0-9A-Z]{16}\b
    | \bAIza[0-9A-Za-z_-]{30,64}
    | \beyJ[A-Za-z0-9_-]{10,4096}\.[A-Za-z0-9_-]{10,4096}\.[A-Za-z0-9_-]{6,4096}
    | (?<=[Bb]earer\ )[A-Za-z0-9._~+/=-]{8,4096}
    | (?<=://)[^\s/:@]{1,256}:[^\s/@]{1,256}(?=@)
    """,
    re.VERBOSE | re.DOTALL,
)


class Redactor:
    """Knows secret values and takes them out of texts; bounded in how many it knows and how much it reads."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self.values: dict[str, None] = {}
        self.pattern: re.Pattern[str] | None = None
        self.learn(values)

    def learn(self, values: Iterable[str]) -> None:
        """Add secret values: each as a whole, as one line of JSON, and its long lines alone; the oldest are let go."""
        for value in values:
            for form in forms_of(value):
                self.values.pop(form, None)
                self.values[form] = None
        while len(self.values) > VALUES_MAX:
            del self.values[next(iter(self.values))]
        longest_first = sorted(self.values, key=len, reverse=True)
        self.pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        """Return a printable text without secrets, cut at a bound; no half of a secret is left at the cut."""
        room = TEXT_CHARACTERS_MAX + max(map(len, self.values), default=0)
        shown = printable(text[: 2 * room])[:room]
        if self.pattern is not None:
            shown = self.pattern.sub(MARK, shown)
        return head(SHAPES.sub(MARK, shown), TEXT_CHARACTERS_MAX)

    def facts(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return an event's facts without secrets, in names and values, however deep they stand."""
        return {self.text(name): self.cleaned(value, DEPTH_MAX) for name, value in facts.items()}

    def cleaned(self, value: object, depth: int) -> object:
        """Return one value without secrets; what lies too deep is left out."""
        if isinstance(value, str):
            return self.text(value)
        if not isinstance(value, Mapping | list | tuple):
            return value
        if depth == 0:
            return "..."
        if isinstance(value, Mapping):
            table = cast("Mapping[object, object]", value)
            return {self.text(str(name)): self.cleaned(inner, depth - 1) for name, inner in table.items()}
        return [self.cleaned(inner, depth - 1) for inner in cast("Sequence[object]", value)]


def forms_of(value: str) -> tuple[str, ...]:
    """Return how a secret may stand in a log; one that is too short to be told from ordinary words has no form."""
    import json

    plain = printable(value.strip())
    lines = [line for raw in plain.splitlines() if len(line := raw.strip()) >= LINE_CHARACTERS_MIN]
    forms = (plain, json.dumps(plain)[1:-1], json.dumps(plain, ensure_ascii=False)[1:-1], *lines)
    return tuple(form for form in dict.fromkeys(forms) if len(form) >= VALUE_CHARACTERS_MIN)


def secrets_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of an environment whose names say that they are secret."""
    return tuple(value for name, value in environment.items() if SECRET_NAME.search(name))
