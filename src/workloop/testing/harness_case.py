"""What a harness is proved with: one adapter, a fresh folder, and a recorded session."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workloop.runner.harness.port import Harness, LaunchRequest, McpEndpoint

ARRIVAL_US = 42
CREDENTIAL = "contract-credential-9f2c"
PROMPT = "contract-prompt-7d1e"


class ContractBroken(AssertionError):
    """An adapter does something that the runner cannot live with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessCase:
    """One adapter, a fresh folder, and a recorded session of it that ended well.

    interjections: whole lines that its program was seen to write into the middle of another.
    token_variable: the one variable that may hold the token, of a program that takes it in no better way.
    """

    harness: Harness
    folder: Path
    stream: bytes
    final_text: str
    token_variable: str = ""
    interjections: tuple[bytes, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"})

    def request(self) -> LaunchRequest:
        """Return a plain request."""
        for name in ("work", "session"):
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        return LaunchRequest(
            prompt=PROMPT,
            cwd=self.folder / "work",
            session_dir=self.folder / "session",
            session_id="0b1e7c1a-6a0b-4f5e-9d55-1c1f2a3b4c5d",
            environment=self.environment,
            endpoint=McpEndpoint(url_mcp="http://127.0.0.1:9/mcp", url_api="http://127.0.0.1:9", token=CREDENTIAL),
        )


def require(condition: object, message: str) -> None:
    """Raise ContractBroken unless the condition holds."""
    if not condition:
        raise ContractBroken(message)
