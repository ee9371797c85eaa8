"""How the real Claude Code CLI is run headless in a test: its argv, and an environment that holds nothing else."""

import importlib.util
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

CLAUDE_MODEL = "claude-sonnet-4-5"
CLAUDE_TOOLS = "mcp__workloop Read Write Edit Bash"
RUN_SECONDS = 90


@dataclass(frozen=True, kw_only=True)
class AgentRun:
    """How one run of the CLI ended, and every event that it printed."""

    code: int
    events: list[dict[str, Any]]
    stderr: str

    @property
    def start(self) -> dict[str, Any]:
        """Return the first event, which lists tools and MCP servers."""
        return self.events[0]

    @property
    def result(self) -> dict[str, Any]:
        """Return the last event."""
        return self.events[-1]


@dataclass(frozen=True, kw_only=True)
class Claude:
    """The real Claude Code CLI with a home of its own; nothing of the caller's environment reaches it."""

    binary: Path
    home: Path
    workdir: Path
    extra: Mapping[str, str] = field(default_factory=dict[str, str])

    def environment(self, base_url: str) -> dict[str, str]:
        """Return the whole environment of a run."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": base_url,
            "ANTHROPIC_API_KEY": "dummy-key-for-tests",
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "3",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            "ENABLE_TOOL_SEARCH": "false",
            **self.extra,
        }

    def run(self, prompt: str, base_url: str, *, mcp: Mapping[str, object] | None = None) -> AgentRun:
        """Run one session to its end."""
        argv = [str(self.binary), "-p", prompt, "--output-format", "stream-json", "--verbose"]
        argv += ["--model", CLAUDE_MODEL, "--permission-mode", "dontAsk", "--allowedTools", CLAUDE_TOOLS]
        if mcp is not None:
            configuration = self.home / "mcp.json"
            configuration.write_text(json.dumps(mcp))
            argv += ["--mcp-config", str(configuration), "--strict-mcp-config"]
        done = subprocess.run(
            argv,
            cwd=self.workdir,
            env=self.environment(base_url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        events = [cast("dict[str, Any]", json.loads(line)) for line in done.stdout.splitlines() if line]
        return AgentRun(code=done.returncode, events=events, stderr=done.stderr)


def bundled_claude() -> Path | None:
    """Return the CLI that ships inside claude-agent-sdk, if that package is installed."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        return None
    binary = Path(spec.origin).with_name("_bundled") / "claude"
    return binary if os.access(binary, os.X_OK) else None
