"""How one case goes through the gates that the loop and `workloop verify` use, on real git and a real store."""

import importlib.util
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workloop.config import parse, place_of
from workloop.domain.errors import Fault, Refusal
from workloop.domain.grants import Actor, Grant
from workloop.domain.settings import read_settings
from workloop.driver.attempt.hostcheck import verify_once
from workloop.driver.project import Project
from workloop.driver.workshop import WorkOrder
from workloop.runner.quarters import NO_WALLS
from workloop.runner.sandbox.enclosure import BARE
from workloop.service.call import Queue
from workloop.service.campaigns import create_campaign
from workloop.service.perform import perform
from workloop.store.system import SystemIds
from workloop.testing.gates.case import Case, Need, Tool, Worker
from workloop.testing.gates.shop import HIDDEN, advised, build
from workloop.testing.gitrepo import ScratchRepository, scratch_repository
from workloop.wiring import make_project, open_store

PERSON = Actor(principal="person", grant=Grant.OPERATOR)
ROUNDS_MAX = 6
SETTINGS = '[campaign]\nname = "gates"\n[loop]\nintegration_branch = "main"\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a case ended: whether its item succeeded, and the words of each gate it met."""

    id: str
    honest: bool
    passed: bool
    gates: tuple[str, ...]

    @property
    def wrong(self) -> bool:
        """Tell whether a lie got through, or honest work did not."""
        return self.passed != self.honest


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One project, one store and one workshop; each case is an item of its own."""

    folder: Path
    shop: ScratchRepository
    project: Project

    @property
    def walls(self) -> bool:
        """Tell whether checks run in a sandbox here."""
        return self.project.check_walls.enclosure != BARE

    def play(self, case: Case) -> Ended:
        """Take one case to its end."""
        self.reset()
        perform(self.project.queue, PERSON, "add_items", {"items": [{**advised(), **case.contract, **named(case)}]})
        gates = self.attempt(case.id, case.act)
        for _ in range(ROUNDS_MAX):
            follow_up = self.open_follow_up(case.id)
            if follow_up.startswith(f"{case.id}~v"):
                gates += self.verify(follow_up)
            elif follow_up and case.again is not None:
                gates += self.attempt(follow_up, case.again)
            else:
                break
        passed = self.state(case.id) == "succeeded"
        return Ended(id=case.id, honest=case.honest, passed=passed, gates=tuple(gates))

    def attempt(self, key: str, act: Callable[[Worker], object]) -> list[str]:
        """Let a worker do its part of an item; a completion that is refused is told."""
        claim = perform(self.project.queue, PERSON, "claim", {"key": key, "holder": f"worker-of-{key}"})
        contract = claim["contract"]
        workshop = self.project.workshop
        tree = workshop.make(
            WorkOrder(
                root_id=self.shown(key)["root_id"],
                attempt=len(self.shown(key)["claims"]) + (1000 if "~r" in key else 0),
                title=key,
                created=self.project.now(),
                start=contract.get("candidate", {}).get("ref"),
            )
        )
        queue = replace(self.project.queue, probe=workshop.probe(tree, tuple(contract.get("protected", ()))))
        worker = Worker(
            tree=tree,
            repository=self.shop,
            home=self.folder / "home",
            scratch=self.folder / "scratch",
            outside=self.folder / "outside",
            queue=queue,
            actor=Actor(principal="session", grant=Grant.SESSION, token=claim["token"]),
            claim=claim,
        )
        try:
            act(worker)
        except Refusal as refused:
            self.give_back(worker)
            return [f"complete: {refused.code}"]
        finally:
            workshop.put_away(tree, "the attempt ended")
        return []

    def give_back(self, worker: Worker) -> None:
        """Free the slot of a worker whose completion was refused, unless it was taken after all."""
        if self.shown(worker.claim["item"]["key"])["state"] == "in_progress":
            worker.act("release", reason="the attack was refused")

    def verify(self, key: str) -> list[str]:
        """Run the host's checks as `workloop verify` does."""
        try:
            told = verify_once(self.project, key)
        except (Refusal, Fault) as refused:
            return [f"verify: {refused.code}"]
        except OSError as failed:
            return [f"verify: {type(failed).__name__}"]
        return [f"host: {told['word']}", *told["reproduction"].splitlines()[:3]]

    def reset(self) -> None:
        """Empty the folders that workers and checks share."""
        for name in ("home", "scratch", "outside"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).mkdir()

    def shown(self, key: str) -> dict[str, Any]:
        """Return what the queue says of an item."""
        facts = perform(self.project.queue, PERSON, "show", {"key": key})
        root = (
            facts
            if facts.get("root") in (None, key)
            else perform(self.project.queue, PERSON, "show", {"key": facts["root"]})
        )
        return {**facts, "root_id": root["id"]}

    def state(self, key: str) -> str:
        """Return an item's state."""
        return self.shown(key)["state"]

    def open_follow_up(self, key: str) -> str:
        """Return the follow-up that can be claimed now, or nothing."""
        listed = perform(self.project.queue, PERSON, "list", {"limit": 500})["items"]
        mine = [item for item in listed if item["key"].startswith(f"{key}~") and item["state"] == "pending"]
        return mine[0]["key"] if mine else ""


def open_stage(folder: Path, *, walls: bool = True) -> Stage:
    """Build the project, its store and its workshop in a folder that is not there yet.

    Checks run in the sandbox where this machine has one, unless no walls are wanted.
    """
    shop = scratch_repository(folder / "shop")
    build(shop)
    environment = check_environment(folder)
    settings = parse(SETTINGS, place_of(shop.path, {"WORKLOOP_STATE": str(folder / "state")}), environment, "the gates")
    store = open_store(settings.place, create=True)
    create_campaign(store, settings.campaign, read_settings(settings.campaign_table))
    queue = Queue(store=store, ids=SystemIds(), slug=settings.campaign)
    project = make_project(settings, queue, quiet, "host")
    hidden = folder / "hidden" / "tests"
    hidden.mkdir(parents=True)
    (hidden / "hidden_total.py").write_text(HIDDEN, encoding="utf-8")
    return Stage(
        folder=folder,
        shop=shop,
        project=replace(
            project,
            check_environment=environment,
            check_overlay=hidden.parent,
            check_walls=project.check_walls if walls else NO_WALLS,
        ),
    )


def check_environment(folder: Path) -> dict[str, str]:
    """Return the environment of an operator who trusts a relative folder and one in HOME to hold programs."""
    home = folder / "home"
    path = os.pathsep.join(("bin", str(home / ".local" / "bin"), os.environ.get("PATH", os.defpath)))
    return {**os.environ, "HOME": str(home), "TMPDIR": str(folder / "scratch"), "PATH": path}


def available(case: Case, *, walls: bool) -> str:
    """Return why a case cannot be tried here, or nothing."""
    if Need.SANDBOX in case.needs and not walls:
        return "needs the sandbox"
    match case.tool:
        case Tool.PYTEST:
            return "" if importlib.util.find_spec("pytest") else "needs pytest"
        case Tool.MAKE:
            return "" if shutil.which("make") else "needs make"
        case None:
            return ""


def named(case: Case) -> dict[str, Any]:
    """Return the key and title of a case's item."""
    return {"key": case.id, "title": case.story[:100]}


def quiet(kind: str, facts: Mapping[str, Any]) -> None:
    """Tell nobody."""
