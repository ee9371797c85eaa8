"""A bench whose agents are the real CLIs, the scripted model that they ask, and what they leave behind, if anything."""

import json
import os
import subprocess
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from real_claude import CLAUDE_MODEL, bundled_claude
from real_codex import CODEX_MODEL, KEY_VARIABLE, bundled_codex, provider_args

from loop_bench import LoopBench, check
from workloop.testing.model.conversation import Conversation, JsonObject
from workloop.testing.model.moves import Call, Say, Scenario, Step
from workloop.testing.model_scenarios import Edit, commit, complete_commit, shell
from workloop.testing.model_server import ModelServer

AGENTS = ("claude", "codex")
TEST = "sh test.sh"
MEND = Edit(path="thing.txt", old="broken", new="fixed")
NIGHT_SECONDS = 300
GZIP = 16 + zlib.MAX_WBITS
PRIVATE = frozenset({"token", "mcp.json", "operator.token", "endpoint.json"})
OPENINGS = {
    "# One item of work: its implementation": "implement",
    "# One item of work: its review": "review",
    "# You go on with an item of work": "successor",
}


class AgentStage:
    """A bench with real agents; each session plays the part that is named for its item, its role and its attempt.

    Its sessions run behind walls where there can be any; MODEL in their settings is the port that the model listens at.
    """

    def __init__(
        self,
        folder: Path,
        agents: Sequence[str],
        parts: Mapping[str, Scenario],
        blocks: Mapping[str, Mapping[str, Any]] | None = None,
        **bench: Any,
    ) -> None:
        self.folder = folder
        self.agents = agents
        self.parts = dict(parts)
        self.blocks = blocks or {}
        self.heard: list[Conversation] = []
        self.keys = {name: f"sk-{name}-secret-of-the-operator-0123456789" for name in agents}
        self.model = ModelServer(self.casting)
        walled: dict[str, Any] = {"sandbox": 'kind = "auto"', **bench}
        self.bench = LoopBench(folder, harness=agents[0], **walled)
        self.bench.repository.commit({"test.sh": "grep -q fixed thing.txt\n"}, "a test that fails")

    def casting(self, conversation: Conversation) -> Scenario:
        """Choose the part of a session: by item, role and attempt, without the attempt, or by the role alone."""
        self.heard.append(conversation)
        key, role, attempt = named(conversation)
        names = (f"{key} {role} {attempt}", f"{key} {role}", role)
        found = next((self.parts[name] for name in names if name in self.parts), None)
        return found if found is not None else (Say(f"There is no part for {names[0]}"),)

    def open(self) -> LoopBench:
        """Let the model listen and make the campaign."""
        self.model.__enter__()
        self.bench.sandbox = self.bench.sandbox.replace("MODEL", str(urlsplit(self.model.url).port))
        tables = [table(f"harness.{name}", self.settings(name)) for name in self.agents]
        self.bench.harnesses = "\n".join((*tables, self.bench.harnesses))
        bench = self.bench.open()
        if "codex" in self.agents:
            settle_in(bench.settings.folder / "homes" / "codex" / ".codex")
        return bench

    def settings(self, name: str) -> dict[str, Any]:
        """Return one agent's block of the settings; its key lies in a private file."""
        key = self.folder / f"{name}.key"
        key.write_text(self.keys[name])
        key.chmod(0o600)
        usual = claude_settings(self.model.url, key) if name == "claude" else codex_settings(self.model.url, key)
        return {**usual, **self.blocks.get(name, {})}

    def close(self) -> None:
        """End what was started, and see that nothing of it is left."""
        if self.bench.loops or hasattr(self.bench, "store"):
            self.bench.close()
        self.model.close()
        left = self.processes()
        for process in left:
            process.kill()
        assert not left

    def of(self, part: str) -> list[Conversation]:
        """Return the requests of one part's sessions: `key role` or `key role attempt`."""
        wanted = part.split()
        return [heard for heard in self.heard if list(named(heard))[: len(wanted)] == wanted]

    def processes(self) -> list[psutil.Process]:
        """Return every living process whose environment names this stage, whoever its parent is."""
        return [process for process in psutil.process_iter() if process.pid != os.getpid() and self.owns(process)]

    def owns(self, process: psutil.Process) -> bool:
        """Tell whether a living process was started for this stage."""
        try:
            values = process.environ().values() if process.status() != psutil.STATUS_ZOMBIE else ()
        except psutil.Error:
            return False
        return any(str(self.folder) in value for value in values)

    def leaks(self) -> list[str]:
        """Say where a secret stands that should not: the agents' keys, and the token of every session and of people."""
        state = self.folder / "state"
        private = [path for path in state.rglob("*") if path.name in {"token", "operator.token"}]
        assert private
        secrets = {path.read_text().strip() for path in private} | set(self.keys.values())
        return [name for name, text in self.written(state) if any(secret.encode() in text for secret in secrets)]

    def written(self, state: Path) -> Iterator[tuple[str, bytes]]:
        """Yield all that the loops told and wrote down, but the private files that are there to hold a secret."""
        for number, loop in enumerate(self.bench.loops):
            yield f"what loop {number} told", json.dumps(loop.events).encode()
        for path in state.rglob("*"):
            if path.is_file() and not path.is_symlink() and path.name not in PRIVATE:
                yield str(path.relative_to(state)), whole(path)

    def sessions(self) -> list[dict[str, Any]]:
        """Return the record of every session, the oldest first."""
        return list(reversed(self.bench.ask("sessions", "--limit", "100")["sessions"]))


def whole(path: Path) -> bytes:
    """Return what a file holds, unpacked; what a killed loop wrote has no end."""
    return zlib.decompressobj(GZIP).decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def named(conversation: Conversation) -> tuple[str, str, str]:
    """Return a session's item, its role and its attempt, by its newest brief; its first line tells its phase."""
    opening = conversation.prompt.lstrip().partition("\n")[0].strip()
    role = OPENINGS.get(opening) or conversation.brief("role")
    return conversation.brief("key"), role, conversation.brief("attempt")


def claude_settings(url: str, key: Path) -> dict[str, Any]:
    """Return how the real Claude Code asks the scripted model."""
    variables = {"ANTHROPIC_BASE_URL": url, "CLAUDE_CODE_OAUTH_TOKEN": f"@{key}", "CLAUDE_CODE_MAX_RETRIES": "1"}
    return {"command": [str(bundled_claude())], "model": CLAUDE_MODEL, "home": "own", "variables": variables}


def codex_settings(url: str, key: Path) -> dict[str, Any]:
    """Return how the real Codex asks the scripted model."""
    command = [str(bundled_codex()), *provider_args(url, retries=1)]
    return {"command": command, "model": CODEX_MODEL, "home": "own", "variables": {KEY_VARIABLE: f"@{key}"}}


def settle_in(home: Path) -> None:
    """Let Codex make the files of its home, which two first sessions at once would do in each other's way."""
    home.mkdir(mode=0o700, parents=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "CODEX_HOME": str(home)}
    begun = {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "settler", "version": "0"}}}
    argv = [str(bundled_codex()), "app-server"]
    subprocess.run(argv, env=environment, input=json.dumps(begun).encode(), capture_output=True, timeout=60, check=True)


def unfenced(folder: Path) -> str:
    """Say why Codex cannot keep the commands of a session in its work tree on this machine, or nothing.

    Its fence is a program in its home, which it does not make below the folder for temporary files.
    """
    home = folder / "fence"
    home.mkdir(exist_ok=True)
    argv = [str(bundled_codex()), "sandbox", "-c", 'sandbox_mode="workspace-write"', "--", "true"]
    environment = {"PATH": os.environ["PATH"], "CODEX_HOME": str(home), "TMPDIR": str(scratch(folder))}
    done = subprocess.run(argv, cwd=home, env=environment, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"


def scratch(folder: Path) -> Path:
    """Return a folder for temporary files beside the homes of agents, and not above them."""
    path = folder / "scratch"
    path.mkdir(exist_ok=True)
    return path


def installed(agent: str) -> bool:
    """Tell whether a CLI is there."""
    return (bundled_claude() if agent == "claude" else bundled_codex()) is not None


def require(*agents: str) -> None:
    """Skip, with the reason, where a CLI is not installed."""
    for name in agents:
        if not installed(name):
            pytest.skip(f"the extra `{name}` is not installed: pip install '.[{name}]' brings the CLI")


def table(name: str, entries: Mapping[str, Any]) -> str:
    """Write one table of the settings."""
    return "\n".join((f"[{name}]", *(f"{key} = {written(value)}" for key, value in entries.items())))


def written(value: object) -> str:
    """Write a value as TOML does."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(str(key))} = {written(entry)}" for key, entry in value.items()) + " }"
    return json.dumps(value)


def item(**fields: Any) -> dict[str, Any]:
    """Return an item whose check fails before the work and passes after it."""
    return {"checks": [check(TEST, "test")], "protected": ["test.sh"], **fields}


def implementer(*, say: str = "") -> list[Step]:
    """Do the work, commit it, and leave the settling to the next phase."""
    return [
        Call("Read", {"file_path": MEND.path}, say=f"I look. {say}"),
        Call("Edit", {"file_path": MEND.path, "old_string": MEND.old, "new_string": MEND.new}, say=f"I mend. {say}"),
        shell(f"echo 'it printed: {say}' >&2; {TEST}", "run the tests"),
        commit(MEND.path, "fix: as the contract asks"),
        Say(f"Implemented. {say}"),
    ]


def reviewer() -> list[Step]:
    """Look at what is there, and complete with it."""
    return [shell("git rev-parse HEAD", "what stands here"), complete_commit("reviewed"), Say("Reviewed.")]


def going_on(before: int, then: Sequence[Step]) -> list[Step]:
    """Go on after so many calls that an interrupted session has made."""
    return [*[Say("This part was played before the interruption.")] * before, *then]


def told(body: JsonObject) -> str:
    """Return all of a request as text."""
    return json.dumps(body, ensure_ascii=False)
