"""What the tests of one attempt share: a real queue and repository, virtual time, and sessions that a test plays.

The one played part is the agent program: the loop reaches it through the port that a simulation fills, too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trio
from anyio.abc import TaskStatus

from workloop.domain.clock import Clock, Instant, later
from workloop.domain.gate import Admission, Entry, GateKey
from workloop.domain.grants import Actor
from workloop.domain.session import SessionClass, SessionReport, Stamp, Started, Tokens
from workloop.domain.settings import read_settings
from workloop.driver.attempt.handling import Handled, handle
from workloop.driver.attempt.holding import Held, Lease, renewed
from workloop.driver.gitshop import GitShop
from workloop.driver.oversight import SessionFacts
from workloop.driver.project import Project, SessionKit
from workloop.driver.seam import INLINE
from workloop.driver.turn.recovery import holder_prefix
from workloop.runner.harness.needs import Needs
from workloop.runner.harness.port import Capabilities, Harness, Launch, LaunchRequest, McpEndpoint, StreamReader
from workloop.runner.intake import EventSink
from workloop.runner.repository import open_repository
from workloop.runner.session import StopRequest
from workloop.runner.watch import SessionLimits
from workloop.service.call import Queue
from workloop.service.campaigns import create_campaign
from workloop.service.perform import perform
from workloop.store.memory.store import MemoryStore
from workloop.testing.clocks import BEGINNING, SeededIds
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

Facts = dict[str, Any]
Play = Callable[["Stage"], "SessionReport | None"]
WORKED = {"tool_call": 3, "text": 2}
CAPABLE = Capabilities(resumes=True, final_text=True)
SETTINGS: Facts = {"boundaries": {"choose": "Which?"}, "defaults": {"boundaries": ["choose"]}}


class TrioTime:
    """The time of the running trio clock, in which every wait is over at once."""

    def __init__(self) -> None:
        self.last = 0.0

    def now(self) -> Instant:
        """Return the virtual present."""
        try:
            self.last = trio.current_time()
        except RuntimeError:
            return later(BEGINNING, round(self.last * 1e6))
        return later(BEGINNING, round(self.last * 1e6))


async def let_pass(seconds: float) -> None:
    """Let virtual time pass; nothing else happens meanwhile, so it is over at once."""
    with trio.move_on_after(seconds):
        await trio.sleep_forever()


@dataclass(frozen=True)
class PlayedHarness:
    """An agent program by name and by what it can do; a test plays its sessions."""

    name: str = "played"
    capabilities: Capabilities = CAPABLE
    tested_versions: tuple[str, ...] = ()

    def version_command(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Never asked."""
        raise NotImplementedError

    def needs(self, environment: Mapping[str, str]) -> Needs:
        """Need nothing."""
        return Needs(home=Path("/nowhere"))

    def launch(self, request: LaunchRequest) -> Launch:
        """Never asked."""
        raise NotImplementedError

    def reader(self, request: LaunchRequest) -> StreamReader:
        """Never asked."""
        raise NotImplementedError


@dataclass
class Stage:
    """Where one session is played: what it was told, where it works, and its way to the queue."""

    request: LaunchRequest
    actor: Actor
    queue: Queue
    stop: StopRequest
    number: int

    @property
    def tree(self) -> ScratchRepository:
        """Return the work tree, to be committed in."""
        return ScratchRepository(path=self.request.cwd)

    @property
    def held(self) -> Facts:
        """Return the item's facts as a program reads them."""
        import json

        assert self.request.item_file is not None
        return json.loads(self.request.item_file.read_text(encoding="utf-8"))

    def act(self, action: str, **arguments: Any) -> Facts:
        """Call an action as this session."""
        return perform(self.queue, self.actor, action, arguments)

    def complete(self, text: str = "fixed\n") -> None:
        """Commit and hand in."""
        sha = self.tree.commit({"thing.txt": text})
        self.act("complete", contract_hash=self.held["contract_hash"], outcome={"kind": "commit", "ref": sha})

    def report(self, kind: SessionClass = SessionClass.CLEAN, **fields: Any) -> SessionReport:
        """Return a report of this session."""
        usual: Facts = {
            "event_counts": WORKED,
            "tokens": Tokens(input=10, output=10),
            "usage_reported": True,
            "resume_id": f"talk-{self.number}",
        }
        return SessionReport(
            session_id=self.request.session_id,
            session_class=kind,
            started_at=BEGINNING,
            ended_at=BEGINNING,
            **{**usual, **fields},
        )


@dataclass
class Overseer:
    """The loop above: what it was told, in order, and what it lets happen."""

    began_: list[SessionFacts] = field(default_factory=list)
    ended_: list[tuple[SessionFacts, SessionReport, bool]] = field(default_factory=list)
    refuses: str = ""
    closed: set[GateKey] = field(default_factory=set)
    asked: int = 0
    at: list[float] = field(default_factory=list)

    def may_go_on(self, gate: GateKey | None = None) -> str:
        """Say what the test said."""
        self.asked += 1
        return self.refuses

    def notice(self, session_id: str) -> str:
        """Say nothing of budgets."""
        return ""

    def enter(self, gate: GateKey) -> Admission:
        return self.admission(gate)

    def admission(self, gate: GateKey) -> Admission:
        """Close the gates that the test closed."""
        return Admission(entry=Entry.WAIT if gate in self.closed else Entry.GO)

    def began(self, session: SessionFacts) -> None:
        """Keep it, and when it was."""
        self.began_.append(session)
        self.at.append(trio.current_time())

    def ended(self, session: SessionFacts, report: SessionReport, *, guessed: bool = False) -> None:
        """Keep it."""
        self.ended_.append((session, report, guessed))

    async def change(self, seconds: float) -> None:
        """Wait as long as asked; nothing changes by itself."""
        await let_pass(seconds)


class PlayedEndpoint:
    """Gives each session its actor and its queue; nothing goes over a wire."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.admitted: dict[str, tuple[Actor, Queue]] = {}

    async def serve(self, *, task_status: TaskStatus[str]) -> None:
        """Never called."""
        raise NotImplementedError

    def admit(self, actor: Actor, queue: Queue | None = None, *, over_mcp: bool = True) -> McpEndpoint:
        """Keep what the session may use under a token."""
        token = f"token-{len(self.admitted)}"
        self.admitted[token] = (actor, queue or self.queue)
        return McpEndpoint(url_mcp="", url_api="", token=token)

    def dismiss(self, endpoint: McpEndpoint) -> None:
        """Let it be."""


class AttemptBench:
    """One campaign over one repository, and attempts whose sessions are played in order."""

    def __init__(self, folder: Path) -> None:
        self.repository = scratch_repository(folder / "shop", {"thing.txt": "broken\n", "other.txt": "as it was\n"})
        self.time: Clock = TrioTime()
        ids = SeededIds(7)
        self.store = MemoryStore(self.time, ids)
        create_campaign(self.store, "bench", read_settings(SETTINGS))
        self.queue = Queue(store=self.store, ids=ids, slug="bench")
        self.told: list[tuple[str, Mapping[str, Any]]] = []
        self.shop = GitShop(open_repository(self.repository.path, folder / "state", "main"))
        state = folder / "loop"
        state.mkdir()
        self.project = Project(
            queue=self.queue,
            workshop=self.shop,
            folder=state,
            clock=self.time,
            ids=ids,
            tell=lambda event, facts: self.told.append((event, facts)),
        )
        self.endpoint = PlayedEndpoint(self.queue)
        self.overseer = Overseer()
        self.plays: list[Play] = []
        self.requests: list[LaunchRequest] = []
        self.lease: Lease | None = None
        self.kit = SessionKit(
            harness=PlayedHarness(),
            run=self.run,
            endpoint=self.endpoint,
            gate=GateKey(harness="played", account="home"),
            oversight=self.overseer,
        )

    async def run(
        self,
        harness: Harness,
        request: LaunchRequest,
        *,
        limits: SessionLimits,
        clock: Clock,
        sink: EventSink,
        stop: StopRequest,
    ) -> SessionReport:
        """Play the next session."""
        self.requests.append(request)
        assert self.plays, f"no play for session {len(self.requests)}: {request.prompt[:200]}"
        assert request.endpoint is not None
        actor, queue = self.endpoint.admitted[request.endpoint.token]
        stage = Stage(request=request, actor=actor, queue=queue, stop=stop, number=len(self.requests))
        at = Stamp(seq=1, arrival_us=0, session_id=request.session_id)
        await sink(Started(at=at, resume_id=f"talk-{stage.number}"))
        await trio.lowlevel.checkpoint()
        played = self.plays.pop(0)(stage)
        return played or stage.report()

    def add(self, key: str = "a", **fields: Any) -> None:
        """Add an item."""
        item: Facts = {"key": key, "title": f"Mend {key}", "verification": "none", **fields}
        self.client("add_items", items=[item])

    def client(self, action: str, **arguments: Any) -> Facts:
        """Act as a person."""
        from workloop.domain.grants import Grant

        return perform(self.queue, Actor(principal="person:ada", grant=Grant.OPERATOR), action, arguments)

    def show(self, key: str = "a") -> Facts:
        """Show an item."""
        return self.client("show", key=key)

    def reports(self, key: str = "a") -> list[Facts]:
        """Return what is kept of each ended claim."""
        return [claim["report"] for claim in self.show(key)["claims"]]

    def ends(self, key: str = "a") -> list[str | None]:
        """Return how the item's claims ended."""
        return [claim["end"] for claim in self.show(key)["claims"]]

    def questions(self, key: str = "a") -> list[Facts]:
        """Return what is asked about an item."""
        return self.show(key).get("questions", [])

    def named(self, event: str) -> list[Mapping[str, Any]]:
        """Return what was told under a name."""
        return [facts for name, facts in self.told if name == event]

    def play(self, *plays: Play) -> None:
        """Say how the next sessions go."""
        self.plays.extend(plays)

    async def attempt(self, key: str | None = None, **fields: Any) -> Handled:
        """Claim the next item and see the claim through."""
        INLINE.set(True)
        kit = replace(self.kit, **fields)
        session_id = f"{self.project.ids.bits(128):032x}"
        arguments: Facts = {
            "holder": f"{holder_prefix(self.project)}1",
            "executor": session_id,
            **({"key": key} if key else {}),
        }
        answer = perform(self.queue, self.project.host, "claim", arguments)
        assert answer["item"] is not None, answer
        async with renewed(self.queue, self.project.host, Held.from_answer(answer, session_id)) as lease:
            self.lease = lease
            handled = await handle(self.project, kit, lease, 0)
        assert not handled.fault, handled.fault
        return handled

    def claimable(self) -> bool:
        """Tell whether anything could be claimed now."""
        return bool(perform(self.queue, self.project.host, "status", {})["claimable"])
