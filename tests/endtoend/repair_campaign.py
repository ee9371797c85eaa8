"""A campaign over mini-swe-agent with its defects: what the operator writes for it, and what a run of it left."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mini_swe import (
    BROKEN_SHELL,
    BROKEN_SKILL,
    DEAF_SHELL,
    FOLDER,
    LOST_HASH,
    PROGRAM,
    WRONG_ENCODING,
    Change,
    harness_files,
    harness_repository,
    own_files,
    project_repository,
)
from mini_swe_model import Mender, Repairer

from workloop.repair.ledger.verifying import Verification, verify
from workloop.testing.gitrepo import ScratchRepository
from workloop.testing.model.conversation import Conversation
from workloop.testing.model.moves import Move
from workloop.testing.model_server import ModelServer
from workloop.wiring.runtimes import runtime_store

PROBES: Final = Path(__file__).with_name("mini_swe_probes")
MODEL: Final = "scripted"
CALL_MICROS: Final = 60_000
"""What each answer costs, since only what the model writes has a price here."""
BOUND_SECONDS: Final = 280
TASKS: Final = {
    "encode": Mender(module="tests.test_encode", bug=WRONG_ENCODING),
    "format": Mender(module="tests.test_format", bug=LOST_HASH),
}
SKILL_REPAIR: Final = Repairer(changes=(BROKEN_SKILL.undone,))
DEAF_REPAIR: Final = Repairer(changes=(BROKEN_SHELL.undone, DEAF_SHELL))
SHELL_REPAIR: Final = Repairer(changes=(BROKEN_SHELL.undone,))
REPAIRS: Final[Mapping[str, tuple[Repairer, ...]]] = {
    "run_tests": (SKILL_REPAIR,),
    "bash": (DEAF_REPAIR, SHELL_REPAIR),
}
"""Who repairs a finding, by its subject: one worker for each attempt."""
SETTINGS: Final = """
[loop]
harness = "mini"
[sandbox]
kind = "bwrap"
readable = {readable}
[meter.prices]
scripted = {{ input_usd = 0, output_usd = 1000, cache_read_usd = 0, cache_write_usd = 0 }}
[harness.mini]
kind = "command"
command = [{python}]
meter = {meter}
[harness.mender]
kind = "command"
command = [{python}, {stock}, "{{brief}}"]
readable = [{folder}]
meter = {meter}
"""

Player = Mender | Repairer
Instead = Callable[[str, Conversation], Move | None]


class CampaignModel:
    """The model of all workers: it plays a part by the brief, and a repair's by how often there was one before."""

    def __init__(self, repairs: Mapping[str, tuple[Repairer, ...]] = REPAIRS, instead: Instead | None = None) -> None:
        self.repairs = repairs
        self.instead = instead
        self.heard: list[Conversation] = []
        self.began: dict[str, int] = {}
        self.server = ModelServer(self.casting)

    def casting(self, heard: Conversation) -> list[Move]:
        """Return a script with the next move at its place."""
        self.heard.append(heard)
        name = self.part(heard)
        if not heard.answers:
            self.began[name] = self.began.get(name, 0) + 1
        moved = self.instead(name, heard) if self.instead is not None else None
        return [moved or self.player(name).move(heard)] * (heard.step + 1)

    def part(self, heard: Conversation) -> str:
        """Return whose brief it is: a task's, or that of a repair by its subject."""
        if "the harness of a coding agent" in heard.prompt:
            return next(subject for subject in self.repairs if repr(subject) in heard.prompt)
        return next(task for task in TASKS if f"mdurl.{task}" in heard.prompt)

    def player(self, name: str) -> Player:
        """Return who plays a part this time."""
        if name in TASKS:
            return TASKS[name]
        return self.repairs[name][min(self.began[name], len(self.repairs[name])) - 1]


@dataclass(frozen=True, slots=True)
class Told:
    """What a run of the program came to."""

    exit_code: int
    output: str
    records: list[tuple[str, dict[str, Any]]]
    verification: Verification

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the data of every record of a type."""
        return [data for name, data in self.records if name == kind]

    def ended(self, kind: str) -> list[dict[str, Any]]:
        """Return how the phases of a kind ended."""
        names = {data["phase"] for data in self.of("phase_start") if data["kind"] == kind}
        return [data for data in self.of("phase_end") if data["phase"] in names]

    @property
    def phases(self) -> list[str]:
        """Return the kinds of the phases that began."""
        return [data["kind"] for data in self.of("phase_start")]


@dataclass(kw_only=True)
class RepairCampaign:
    """One campaign in a folder, with everything that the operator has to write for it."""

    folder: Path
    model: CampaignModel = field(default_factory=CampaignModel)
    tasks: tuple[str, ...] = tuple(TASKS)
    defects: tuple[Change, ...] = (BROKEN_SHELL, BROKEN_SKILL)
    limits: Mapping[str, object] = field(default_factory=dict[str, object])
    driver: Mapping[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        for name in ("operator", "home", "scratch", "state"):
            (self.folder / name).mkdir(mode=0o700)
        self.operator = self.folder / "operator"
        self.ledger = self.operator / "run.jsonl"
        self.environment = {
            "PATH": f"{PROGRAM.parent}:/usr/bin:/bin",
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "XDG_STATE_HOME": str(self.folder / "state"),
        }
        self.harness: ScratchRepository = harness_repository(self.folder / "harness", *self.defects)
        self.project: ScratchRepository = project_repository(self.folder / "project")
        self.runtime = runtime_store(self.environment).build(self.harness.path, self.harness.head)
        written(self.folder / "stock", harness_files())
        for name in ("harness", "project"):
            written(self.operator / "probes" / name, own_files(PROBES / name))
        key = self.operator / "provider.key"
        key.write_text("sk-of-the-operator-0123456789abcdef")
        key.chmod(0o600)

    @property
    def shown(self) -> dict[str, str]:
        """Return the environment of the program itself."""
        return self.environment | {"PYTHONPATH": os.pathsep.join(sys.path)}

    @property
    def config(self) -> Path:
        """Return where the campaign's file is."""
        return self.operator / "campaign.json"

    def write(self) -> None:
        """Write the campaign's file and the settings; the model listens."""
        self.config.write_text(json.dumps(self.campaign(), indent=2))
        meter = f'{{ key = "@{self.operator}/provider.key", openai_url = "{self.model.server.url}/v1" }}'
        readable = json.dumps([str(FOLDER), sys.base_prefix])
        (self.operator / "settings.toml").write_text(
            SETTINGS.format(
                readable=readable,
                python=json.dumps(str(PROGRAM)),
                stock=json.dumps(str(self.folder / "stock" / "agent" / "main.py")),
                folder=json.dumps(str(self.folder / "stock")),
                meter=meter,
            )
        )

    def campaign(self) -> dict[str, object]:
        """Return what the campaign's file says."""
        return {
            "tasks": [{"id": name, "prompt": f"Mend mdurl.{name}: one of its tests fails."} for name in self.tasks],
            "harness": {"commit": self.harness.head, "runtimeId": self.runtime.id},
            "ledgerPath": str(self.ledger),
            "maxTasks": 2,
            "maxTaskAttempts": 2,
            "maxRepairs": 2,
            "maxRepairAttempts": 2,
            "maxRuntimeMs": 900_000,
            "maxSpendUsd": 60,
            **self.limits,
            "driver": {**self.bundled(), **self.driver},
        }

    def bundled(self) -> dict[str, object]:
        """Return what the bundled driver is told."""
        return {
            "project": str(self.project.path),
            "projectCommit": self.project.head,
            "harnessRepository": str(self.harness.path),
            "scratch": str(self.folder / "scratch"),
            "taskAgent": "mini",
            "repairAgent": "mender",
            "taskModel": MODEL,
            "repairModel": MODEL,
            "acceptance": {name: [self.probe("project", "accept.py", name)] for name in self.tasks},
            "regression": [{**self.of_harness("regression"), "control": ["python3", "probe.py", "control"]}],
            "reproducers": [
                {"kind": "tool_error", "subject": "bash", "probe": self.of_harness("shell")},
                {"kind": "missing_tool", "subject": "run_tests", "probe": self.of_harness("skill")},
            ],
            "reproducerRuns": 2,
        }

    def of_harness(self, check: str) -> dict[str, object]:
        """Return a probe of the harness."""
        return self.probe("harness", "probe.py", check)

    def probe(self, name: str, program: str, check: str) -> dict[str, object]:
        """Return a probe whose program lies with the operator."""
        return {"command": ["python3", program, check], "files": str(self.operator / "probes" / name)}

    def start_with(self, text: str) -> "subprocess.Popen[str]":
        """Start the program on a campaign that another run has left."""
        self.config.write_text(text)
        self.ledger = Path(json.loads(text)["ledgerPath"])
        return self.launch()

    def start(self) -> "subprocess.Popen[str]":
        """Start the program on the campaign."""
        self.write()
        return self.launch()

    def launch(self) -> "subprocess.Popen[str]":
        """Start the program on what the operator's files say."""
        argv = [sys.executable, "-m", "workloop", "--config", str(self.config), "repair"]
        return subprocess.Popen(
            [*argv, "--settings", str(self.operator / "settings.toml")],
            env=self.shown,
            cwd=self.operator,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self) -> Told:
        """Run the campaign to its end."""
        with self.model.server:
            return self.told(self.start())

    def workloop(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run another command of the program for the operator."""
        argv = [sys.executable, "-m", "workloop", *words]
        return subprocess.run(argv, env=self.shown, capture_output=True, text=True, check=False, timeout=BOUND_SECONDS)

    def told(self, running: "subprocess.Popen[str]") -> Told:
        """Wait for the end and return what it came to."""
        try:
            output, _ = running.communicate(timeout=BOUND_SECONDS)
        finally:
            running.kill()
        assert self.ledger.exists(), output
        lines = [json.loads(line) for line in self.ledger.read_text("utf-8").splitlines()]
        records = [(line["type"], line["data"]) for line in lines]
        return Told(running.returncode, output, records, verify(self.ledger))


def written(folder: Path, files: Mapping[str, str]) -> None:
    """Write files below a new folder."""
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
