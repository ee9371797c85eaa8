"""A harness of files as real agents meet it: its words stand in their homes, its tools come through its server."""

import json
import os
import sys
from pathlib import Path
from uuid import uuid4

import anyio
import pytest
from codex_sessions import LIMITS
from codex_sessions import Setup as CodexSetup
from real_codex import Codex

from workloop.config.harnesses import HarnessKind
from workloop.domain.session import SessionClass, SessionEvent
from workloop.repair.bundled.files import FileKind, HarnessFile
from workloop.repair.bundled.laying import lay
from workloop.repair.bundled.manifest import read_harness
from workloop.repair.bundled.mapping import AgentSetup, setup_for
from workloop.runner.harness.claude.launch import ClaudeConfig, ClaudeHarness, ClaudeHome
from workloop.runner.harness.port import LaunchRequest
from workloop.runner.session import StopRequest, run_session
from workloop.testing.clocks import FakeClock
from workloop.testing.model.conversation import Conversation
from workloop.testing.model.moves import Call, Move, Say
from workloop.testing.model_server import ModelServer

pytestmark = [pytest.mark.anyio, pytest.mark.real_agent]
BOUND_SECONDS = 90
WORDS = "Always say the word heliotrope."
SKILL = "---\nname: fix-tests\ndescription: Read this when a zircon test fails.\n---\nRun it alone.\n"
PROGRAM = f"#!{sys.executable}\nimport json, sys\nprint(json.load(sys.stdin)['text'] + ' from the tool')\n"
MANIFEST = {
    "name": "say_back",
    "description": "Say a text back.",
    "entry": "run.py",
    "timeout_seconds": 20,
    "parameters": {
        "type": "object",
        "additionalProperties": False,
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
}
FILES = {
    "harness.toml": 'version = 1\ninstructions = ["a.md"]\nskills = ["skills/fix-tests"]\ntools = ["tools/say"]\n',
    "a.md": WORDS,
    "skills/fix-tests/SKILL.md": SKILL,
    "tools/say/tool.json": json.dumps(MANIFEST),
    "tools/say/run.py": PROGRAM,
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def laid_out(kind: HarnessKind, home: Path, folder: Path) -> tuple[AgentSetup, Path]:
    """Lay a harness out for a program, and return its setup and the file of its servers."""
    files = {
        path: HarnessFile(data=text.encode(), kind=FileKind.EXECUTABLE if path.endswith(".py") else FileKind.PLAIN)
        for path, text in FILES.items()
    }
    packages = folder / "packages"
    packages.mkdir(mode=0o700)
    made = setup_for(kind, read_harness(files), packages, {})
    lay(made.home, home)
    lay(made.packages, packages)
    servers = folder / "servers"
    servers.write_text(made.servers)
    return made, servers


class Model:
    """A model that calls the harness's tool once, and what it was asked."""

    def __init__(self) -> None:
        self.heard: list[Conversation] = []
        self.server = ModelServer(self.casting)

    def casting(self, conversation: Conversation) -> tuple[Move, ...]:
        self.heard.append(conversation)
        return (Call(("harness", "say_back"), {"text": "word"}), Say("all done"))

    def require_told(self) -> None:
        """Require that the model was told of instructions and skill, and got the tool's answer."""
        asked = json.dumps([one.body for one in self.heard])
        assert "heliotrope" in asked
        assert "a zircon test fails" in asked
        assert "word from the tool" in self.heard[-1].last_result


async def test_real_claude_reads_a_harness_and_calls_its_tool(tmp_path: Path, claude_binary: Path) -> None:
    home, work, session = (tmp_path / name for name in ("home", "work", "session"))
    for folder in (home, work, session):
        folder.mkdir(mode=0o700)
    made, servers = laid_out(HarnessKind.CLAUDE, home, tmp_path)
    config = ClaudeConfig(binary=str(claude_binary), home=ClaudeHome.OWN, home_dir=home, tools=(made.options["tools"],))
    model, events = Model(), list[SessionEvent]()

    async def sink(event: SessionEvent) -> None:
        events.append(event)

    with model.server, anyio.fail_after(BOUND_SECONDS):
        request = LaunchRequest(
            prompt="do it",
            cwd=work,
            session_dir=session,
            session_id=str(uuid4()),
            environment={
                "PATH": os.environ["PATH"],
                "LANG": "C.UTF-8",
                "ANTHROPIC_BASE_URL": model.server.url,
                "CLAUDE_CODE_OAUTH_TOKEN": "dummy",
            },
            model="claude-sonnet-4-5",
            mcp_config=servers,
        )
        report = await run_session(
            ClaudeHarness(config), request, limits=LIMITS, clock=FakeClock(), sink=sink, stop=StopRequest()
        )
    assert (report.session_class, report.final_text) == (SessionClass.CLEAN, "all done")
    model.require_told()


async def test_real_codex_reads_a_harness_and_calls_its_tool(tmp_path: Path, codex: Codex) -> None:
    setup = CodexSetup(tmp_path, codex)
    codex.home.mkdir(mode=0o700)
    _, servers = laid_out(HarnessKind.CODEX, codex.home, tmp_path)
    model = Model()
    with model.server:
        report = await setup.run(model.server, mcp_config=servers)
    assert (report.session_class, report.final_text) == (SessionClass.CLEAN, "all done")
    model.require_told()
    assert setup.processes() == []
