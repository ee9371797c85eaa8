"""What the scripted model was asked: one record a request, kept in memory and on disk for assertions."""

import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

TEXT_KEPT = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and what it was answered with; `move` reads as in `call Bash` or `fail 429`."""

    number: int
    kind: str
    path: str
    move: str
    session: str = ""
    model: str = ""
    credential: str = ""
    step: int = 0
    tools: tuple[str, ...] = ()
    prompt: str = ""
    last_result: str = ""
    problem: str = ""


class Log:
    """Collects exchanges from many threads."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.entries: list[Exchange] = []
        self.changed = threading.Condition()

    def add(self, exchange: Exchange) -> None:
        """Keep one exchange, append it to the file, and wake whoever waits for it."""
        with self.changed:
            self.entries.append(exchange)
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(asdict(exchange)) + "\n")
            self.changed.notify_all()

    def wait_for(self, wanted: Callable[[Exchange], bool], *, seconds: float) -> Exchange:
        """Return the first exchange that is wanted, waiting for it; raises TimeoutError."""
        with self.changed:
            if not self.changed.wait_for(lambda: any(map(wanted, self.entries)), seconds):
                raise TimeoutError(f"no such request within {seconds} s, of {len(self.entries)}")
            return next(filter(wanted, self.entries))

    def all(self) -> tuple[Exchange, ...]:
        """Return what was asked so far."""
        with self.changed:
            return tuple(self.entries)


def shown_credential(api_key: str | None, authorization: str | None) -> str:
    """Return the kind and the last characters of the credential, never all of a real one."""
    if authorization:
        return f"bearer …{authorization[-6:]}"
    return f"key …{api_key[-6:]}" if api_key else ""
