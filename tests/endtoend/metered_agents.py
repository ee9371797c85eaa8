"""Real agent CLIs whose only way to a model is the meter, and what they and the meter say afterwards."""

import base64
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import anyio
import psutil
import pytest
from agent_stage import require
from real_claude import CLAUDE_MODEL, bundled_claude
from real_codex import CODEX_MODEL, bundled_codex
from real_npm import AGENTS, LADDER, session_of

from workloop.domain.session import SessionEvent, SessionReport
from workloop.runner.harness.claude.launch import ClaudeConfig, ClaudeHarness, ClaudeHome
from workloop.runner.harness.codex.launch import CodexConfig, CodexHarness, CodexMode
from workloop.runner.harness.port import Harness, LaunchRequest
from workloop.runner.meter.port import CallCharge, CallPlan, CallRefusal, MeterReading, Upstream
from workloop.runner.meter.server import Meter, MeterSettings
from workloop.runner.session import SessionLimits, StopRequest, run_session
from workloop.testing.clocks import FakeClock

NOBODY = "http://127.0.0.1:9"
BOUND_SECONDS = 200
PROVIDER_KEY = "sk-of-the-operator-0123456789abcdef"
REFUSAL = CallRefusal(code="BUDGET_SPENT", message="1.2 of 1.0 USD are used; raise [budget.session] cost_usd")
MODELS = {"claude": CLAUDE_MODEL, "codex": CODEX_MODEL, "codex exec": CODEX_MODEL, "opencode": "s/scripted"}


@dataclass
class Purse:
    """A budget that lets so many calls through."""

    calls_max: int = 1_000
    plans: list[CallPlan] = field(default_factory=list[CallPlan])
    charges: list[CallCharge] = field(default_factory=list[CallCharge])

    def admit(self, plan: CallPlan) -> CallRefusal | None:
        self.plans.append(plan)
        return REFUSAL if len(self.plans) > self.calls_max else None

    def charge(self, charge: CallCharge) -> None:
        self.charges.append(charge)


@dataclass(kw_only=True)
class Metered:
    """One CLI, the folder it lives in, and all that came of its session."""

    kind: str
    folder: Path
    purse: Purse = field(default_factory=Purse)
    events: list[SessionEvent] = field(default_factory=list[SessionEvent])
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    seen: dict[str, str] = field(default_factory=dict[str, str])
    session_id: str = field(default_factory=lambda: str(uuid4()))
    change: Callable[[Harness], Harness] = lambda harness: harness

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def run(self, upstream: Upstream) -> tuple[SessionReport, MeterReading]:
        """Run one session to its end."""
        for name in ("work", "home", "session"):
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        meter = Meter(MeterSettings(), FakeClock())
        meter.start()
        try:
            return anyio.run(self.live, meter, upstream)
        finally:
            meter.stop()

    async def live(self, meter: Meter, upstream: Upstream) -> tuple[SessionReport, MeterReading]:
        harness, variables = self.harness()
        request = LaunchRequest(
            prompt="do it",
            cwd=self.folder / "work",
            session_dir=self.folder / "session",
            session_id=self.session_id,
            environment={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **variables, **self.environment},
            meter=meter.open(self.session_id, self.purse, upstream),
            model=MODELS.get(self.kind, "scripted"),
        )

        async def sink(event: SessionEvent) -> None:
            self.events.append(event)
            self.look()

        limits = SessionLimits(ladder=LADDER, look_seconds=0.3, quiet_seconds=120)
        with anyio.fail_after(BOUND_SECONDS):
            report = await run_session(
                self.change(harness), request, limits=limits, clock=FakeClock(), sink=sink, stop=StopRequest()
            )
        return report, await meter.close(self.session_id)

    def harness(self) -> tuple[Harness, Mapping[str, str]]:
        """Return the adapter, and what points the CLI at a provider that nobody reaches."""
        match self.kind:
            case "claude":
                config = ClaudeConfig(binary=str(bundled_claude()), home=ClaudeHome.OWN, home_dir=self.home)
                return ClaudeHarness(config), {"ANTHROPIC_BASE_URL": NOBODY, "ANTHROPIC_API_KEY": "dummy"}
            case "codex" | "codex exec":
                mode = CodexMode.EXEC if self.kind == "codex exec" else CodexMode.APP_SERVER
                return CodexHarness(CodexConfig(binary=str(bundled_codex()), home_dir=self.home, mode=mode)), {}
            case _:
                agent = AGENTS[self.kind]
                return agent.harness(str(agent.binary), self.home, {}), agent.provider(self.home, NOBODY)

    def look(self) -> None:
        """Remember the environment of every process of the session."""
        for process in psutil.process_iter():
            if session_of(process) == self.session_id:
                try:
                    self.seen[f"{process.pid}"] = json.dumps(process.environ()) + " ".join(process.cmdline())
                except psutil.Error:
                    continue

    def written(self) -> str:
        """Return all that the session found or left in files."""
        files = (path for path in self.folder.rglob("*") if path.is_file() and path.stat().st_size < 5_000_000)
        return " ".join(path.read_bytes().decode("utf-8", errors="replace") for path in files)


def keyed(url: str) -> Upstream:
    """Return a provider that is paid with the operator's key."""
    return Upstream(anthropic_url=url, openai_url=f"{url}/v1", api_key=PROVIDER_KEY)


def login(url: str) -> Upstream:
    """Return a provider that the session's own login pays."""
    return Upstream(anthropic_url=url, openai_url=f"{url}/v1", subscription=True)


def need(kind: str) -> None:
    """Skip, with the reason, where a CLI is not installed."""
    if kind in AGENTS:
        if not AGENTS[kind].binary.exists():
            pytest.skip(f"{kind} is not installed: `make npm-agents` brings it from npm")
        return
    require(kind.partition(" ")[0])


def chatgpt_login(home: Path) -> str:
    """Write a login by subscription into a home of Codex; returns its token."""
    about = {"chatgpt_plan_type": "plus", "chatgpt_account_id": "acc-1", "chatgpt_user_id": "user-1"}
    token = unsigned({"email": "a@b.example", "exp": 4_102_444_800, "https://api.openai.com/auth": about})
    tokens = {"id_token": token, "access_token": token, "refresh_token": "r", "account_id": "acc-1"}
    folder = home / ".codex"
    folder.mkdir(parents=True, exist_ok=True)
    login = {"auth_mode": "chatgpt", "tokens": tokens, "last_refresh": "2026-11-29T00:00:00Z"}
    (folder / "auth.json").write_text(json.dumps(login))
    return token


def unsigned(claims: Mapping[str, object]) -> str:
    """Return claims in the form of a token that nobody signed."""
    parts = (json.dumps(part).encode() for part in ({"alg": "none", "typ": "JWT"}, claims))
    return ".".join((*(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts), "sig"))
