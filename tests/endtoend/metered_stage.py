"""A bench of any agent CLI that has no key and no provider: behind walls, with the loop's meter as its only way out."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from agent_stage import MEND, AgentStage, require
from real_claude import CLAUDE_MODEL, bundled_claude
from real_codex import CODEX_MODEL, bundled_codex
from real_npm import AGENTS, opencode_provider

from workloop.testing.model.conversation import Conversation
from workloop.testing.model.moves import Call, Say, Scenario
from workloop.testing.model_scenarios import Edit, commit, complete_commit, shell

CUT = 'kind = "bwrap"\nnetwork = "loopback"\nchecks_network = "none"'
NOBODY = "http://127.0.0.1:9"
CALL_MICROS = 460_000  # 400 new tokens and 60 of output at a dollar for a thousand
PRICE = "{ input_usd = 1000, output_usd = 1000, cache_read_usd = 0, cache_write_usd = 0 }"
UNCOUNTED = frozenset({"models", "other", "count_tokens"})
TRIAL = "the single word OK"
SEARCHED = "[o]f-the-operator-01234"  # which does not match itself


class MeteredStage(AgentStage):
    """A bench whose agent's key lies with the meter, and whose model's price is known."""

    def __init__(
        self, folder: Path, name: str, parts: Mapping[str, Scenario], budget: str, *, sandbox: str = CUT
    ) -> None:
        self.name = name
        self.program = program_of(name)
        prices = f"[meter.prices]\n{json.dumps(model_of(name).rpartition('/')[2])} = {PRICE}\n"
        super().__init__(folder, [name], parts, harnesses=f"{prices}{budget}", sandbox=sandbox)

    def open(self) -> Any:
        """Make the campaign; opencode is told of the kind of its provider in its home."""
        bench = super().open()
        if self.name == "opencode":
            opencode_provider(bench.settings.folder / "homes" / self.name, NOBODY)
        return bench

    def casting(self, conversation: Conversation) -> Scenario:
        """Answer a trial of the doctor's, too."""
        return [Say("OK")] if TRIAL in conversation.prompt else super().casting(conversation)

    def settings(self, name: str) -> dict[str, Any]:
        """Return the agent's block of the settings, without anything that leads to a model but the meter."""
        key = self.folder / f"{name}.key"
        key.write_text(self.keys[name])
        key.chmod(0o600)
        url = self.model.url
        meter = {"key": f"@{key}", "anthropic_url": url, "openai_url": f"{url}/v1"}
        options = {"options": {"auth_type": "openai"}} if name == "qwen" else {}
        return {"command": [str(self.program)], "model": model_of(name), "home": "own", "meter": meter, **options}

    def calls(self) -> int:
        """Return how many model calls the scripted model answered, each with the same usage."""
        return sum(request.kind not in UNCOUNTED for request in self.model.requests)

    def titles(self, part: str) -> int:
        """Count what a part's sessions asked beside their conversation, which no part is played for."""
        sessions = {heard.session for heard in self.of(part)}
        return sum(request.kind == "side" and request.session in sessions for request in self.model.requests)

    def turns(self, part: str) -> list[Conversation]:
        """Return what a part's sessions asked with their tools at hand, which leaves titles out."""
        return [heard for heard in self.of(part) if heard.tools]

    def holders(self) -> list[str]:
        """Return every file that holds the provider's key, but the one that is there for it."""
        secret, private = self.keys[self.name].encode(), self.folder / f"{self.name}.key"
        files = (path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink())
        return [str(path) for path in files if path != private and secret in path.read_bytes()]


def model_of(name: str) -> str:
    """Return the model that an agent is told to use."""
    return {"claude": CLAUDE_MODEL, "codex": CODEX_MODEL, "opencode": "s/scripted"}.get(name, "scripted")


def program_of(name: str) -> Path:
    """Return an agent's program; skips, with the reason, where it is not installed."""
    if name in AGENTS:
        if not AGENTS[name].binary.exists():
            pytest.skip(f"{name} is not installed: `make npm-agents` brings it from npm")
        return AGENTS[name].binary
    require(name)
    return (bundled_claude() if name == "claude" else bundled_codex()) or Path()


def looking_for_the_key(folder: Path) -> Call:
    """Return the call by which a session looks for the provider's key wherever it may be, and says what it finds.

    What it looks for does not match the call itself.
    """
    places = f"{folder} $TMPDIR /proc/[0-9]*/environ /proc/[0-9]*/cmdline"
    found = f"$(grep -rls '{SEARCHED}' {places})"
    return shell(f'echo "named: $(env | grep -c ^WORKLOOP_)"; echo "found: {found}."', "look for keys")


def worker() -> list[Any]:
    """Do the work, commit it, and hand it in."""
    return [
        Call("Read", {"file_path": MEND.path}, say="I look."),
        mending(),
        shell("sh test.sh", "run the tests"),
        commit(MEND.path, "fix: as the contract asks"),
        complete_commit("mended"),
        Say("Done."),
    ]


def mending(edit: Edit = MEND) -> Call:
    """Return the call that mends the thing."""
    return Call("Edit", {"file_path": edit.path, "old_string": edit.old, "new_string": edit.new}, say="I mend.")
