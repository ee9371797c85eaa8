"""How the real Codex is run in a test: the adapter's configuration, and an environment that holds nothing else."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from workloop.runner.harness.codex.launch import CodexConfig, CodexMode, CodexSandbox, bundled_binary

CODEX_MODEL = "gpt-5.5"
PROVIDER = "scripted"
KEY_VARIABLE = "SCRIPTED_API_KEY"


def provider_args(base_url: str, *, retries: int = 1, idle_ms: int = 60_000) -> tuple[str, ...]:
    """Return the settings that make the scripted model the only provider."""
    provider = {
        "name": f'"{PROVIDER}"',
        "base_url": f'"{base_url}/v1"',
        "env_key": f'"{KEY_VARIABLE}"',
        "wire_api": '"responses"',
        "request_max_retries": str(retries),
        "stream_max_retries": str(retries),
        "stream_idle_timeout_ms": str(idle_ms),
    }
    table = ", ".join(f"{name} = {value}" for name, value in provider.items())
    return ("-c", f'model_provider="{PROVIDER}"', "-c", f"model_providers.{PROVIDER}={{{table}}}")


@dataclass(frozen=True, kw_only=True)
class Codex:
    """The real Codex with a home of its own; nothing of the caller's environment reaches it."""

    binary: Path
    home: Path
    mode: CodexMode = CodexMode.APP_SERVER
    sandbox: CodexSandbox = CodexSandbox.FULL
    extra: tuple[str, ...] = field(default=())

    def environment(self) -> dict[str, str]:
        """Return the base of a session's environment.

        Where bubblewrap is installed, Codex fences nothing when its home lies below the folder for temporary files.
        """
        temporary = self.home / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        return {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TMPDIR": str(temporary),
            KEY_VARIABLE: "dummy-key-for-tests",
        }

    def config(self, base_url: str, *, retries: int = 1) -> CodexConfig:
        """Return the adapter's configuration for a model that listens there."""
        return CodexConfig(
            binary=str(self.binary),
            home_dir=self.home,
            mode=self.mode,
            sandbox=self.sandbox,
            extra_args=(*provider_args(base_url, retries=retries), *self.extra),
        )


def bundled_codex() -> Path | None:
    """Return the program that the package openai-codex brings, if it is installed."""
    binary = bundled_binary()
    return None if binary is None else Path(binary)
