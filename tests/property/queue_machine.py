"""The same random calls on memory and on SQLite, side by side, with every promise checked after each."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from queue_bench import ANN, COORDINATOR, HOST, SLUG, Answer, Bench, bench_on, make_store, settings, sha
from workloop.domain.campaign import Landing
from workloop.domain.errors import Refusal
from workloop.domain.grants import Actor, Grant
from workloop.domain.question import FactKind
from workloop.service.answering import park_item
from workloop.service.campaigns import tend
from workloop.service.closing import record_fact
from workloop.service.perform import perform, run_as_host
from workloop.service.requests.words import Written
from workloop.testing.clocks import FakeClock
from workloop.testing.invariants import check_snapshot, compare
from workloop.testing.snapshot import Snapshot, take_at

FAST_PLACE = Path("/dev/shm")
READS = ("status", "list", "why", "show")
FACTS = [kind for kind in FactKind if kind is not FactKind.SUCCEEDED_BY]
LEASE_SECONDS = 100
NAMES_MAX = 30
HOLDERS = ["h1", "h2", "h3", "h4", "h5"]
CHECK = {"id": "suite", "command": "make test"}
LOOKED = [
    {"kind": "url", "ref": "https://ci.example/7"},
    {"kind": "check", "ref": "log", "slot": "suite", "result": "passed"},
]
SHOT = [{"kind": "artifact", "ref": "shot.png", "slot": "screenshot"}]

MOVES = [
    *["claim"] * 7,
    *["complete"] * 7,
    *["give_up"] * 2,
    *["keep"] * 2,
    *["lane"] * 3,
    *["decide"] * 4,
    *["host"] * 3,
    *["tick", "tick", "look", "replay", "settle_again"],
]

index = st.integers(0, 59)
new_items = st.fixed_dictionaries(
    {"family": st.integers(0, 3), "needs": st.lists(index, max_size=2), "until": st.sampled_from(["", "candidate"])},
    optional={
        "priority": st.sampled_from([1, 100, 1000]),
        "verification": st.sampled_from(["none", "session", "both"]),
        "lane": st.sampled_from(["browser", "browser", "db"]),
        "evidence": st.just(["screenshot"]),
        "checks": st.just([CHECK]),
        "attempts_max": st.integers(1, 3),
        "expiries_max": st.integers(1, 2),
        "rounds_max": st.integers(1, 2),
        "boundaries": st.just([]),
        "not_before": st.just("2027-01-15T08:01:00Z"),
    },
)


class QueueMachine(RuleBasedStateMachine):
    """Every action, right and wrong, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(dir=FAST_PLACE if FAST_PLACE.is_dir() else None))
        self.clock = FakeClock()
        self.claims: list[dict[str, Any]] = []
        self.calls: list[tuple[Actor, str, dict[str, Any]]] = []
        self.numbers = 0
        self.names = -1
        self.benches: list[Bench] = []
        self.last: Snapshot | None = None

    @initialize(
        slots=st.integers(1, 4),
        cap=st.integers(2, 6),
        landing=st.booleans(),
        items=st.lists(new_items, min_size=3, max_size=5),
    )
    def begin(self, slots: int, cap: int, landing: bool, items: list[Answer]) -> None:
        """Make the same campaign in both stores, with work in it."""
        chosen = settings(slots=slots, candidates_max=cap, landing=Landing.LOCAL_MERGE if landing else Landing.NONE)
        for backend in ("memory", "sqlite"):
            store = make_store(backend, self.place, self.clock)
            self.benches.append(bench_on(store, self.clock, self.place, chosen))
        self.do("add_items", items=[self.named(item) for item in items])

    def named(self, wish: Answer) -> Answer:
        """Give an item a key, a subject that others share, and needs among the items there are."""
        item = {name: value for name, value in wish.items() if name not in ("family", "needs", "until")}
        self.names = (self.names + 1) % NAMES_MAX
        needs = [{"key": self.key(number), "until": wish["until"]} for number in wish["needs"] if self.items()]
        subject = {"family": "page", "subject": f"/{wish['family']}"} if wish["family"] < 2 else {}
        usual = {"key": f"item-{self.names}", "title": "do it", "lease_seconds": LEASE_SECONDS}
        return {**item, **usual, **subject, "depends_on": needs}

    def items(self, *states: str) -> list[str]:
        """Return the keys of items in some states, all when none is named, oldest first."""
        found = self.last.dossiers.values() if self.last is not None else ()
        return [dossier.item.key for dossier in found if not states or dossier.item.state.value in states]

    def key(self, number: int, *states: str) -> str:
        """Choose an item, mostly one for which a call would make sense, sometimes any, seldom none."""
        fitting = (self.items(*states) if number % 6 else []) or self.items()
        return fitting[number % len(fitting)] if fitting and number % 20 != 19 else "nowhere"

    def token(self, number: int, *, lane: bool = False) -> Answer:
        """Choose a claim, mostly a live one."""
        fitting = [taken for taken in self.claims if not lane or "lane" in taken["contract"]] or self.claims
        live = [taken for taken in fitting if number % 6 and self.live(taken)] or fitting
        return live[-1 - number % len(live)]

    def live(self, taken: Answer) -> bool:
        """Tell whether a claim is still open."""
        item = (
            next(d.item for d in self.last.dossiers.values() if d.item.key == taken["item"]["key"])
            if self.last
            else None
        )
        return item is not None and item.lease_until is not None and item.fence == taken["item"]["attempt"]

    def both(self, name: str, run: Callable[[Bench], Answer]) -> dict[str, Any] | None:
        """Run one call on both stores and demand one outcome; returns the answer when it was given."""
        outcomes: list[tuple[str, Any]] = []
        for bench in self.benches:
            try:
                outcomes.append(("answer", run(bench)))
            except Refusal as error:
                outcomes.append(("refused", (error.code, error.message, error.hint, error.details)))
        assert outcomes[0] == outcomes[1]
        assert outcomes[0][0] == "answer" or outcomes[0][1][2], "a refusal without a hint"
        refused = outcomes[0][0] == "refused"
        snapshots = [take_at(bench.store, SLUG) for bench in self.benches]
        assert snapshots[0][0] == snapshots[1][0]
        snapshot, now = snapshots[0]
        broken = check_snapshot(snapshot, now, after_expiry=name in ("tend", "claim") and not refused)
        if self.last is not None:
            broken += compare(self.last, snapshot)
        assert not broken, broken
        assert not refused or self.last is None or snapshot == self.last
        self.last = snapshot
        return None if refused else outcomes[0][1]

    def do(self, name: str, actor: Actor = ANN, **arguments: Any) -> dict[str, Any] | None:
        """Perform an action on both stores, under a request id of its own."""
        self.numbers += 1
        arguments["request_id"] = f"r{self.numbers}"
        answer = self.both(name, lambda bench: perform(bench.queue, actor, name, arguments))
        if answer is not None and answer.get("item", answer) is not None:  # a claim in vain is not remembered
            self.calls.append((actor, name, arguments))
        return answer

    def as_host(self, name: str, run: Written) -> dict[str, Any] | None:
        """Run one of the host's own use cases on both stores."""
        return self.both(name, lambda bench: dict(run_as_host(bench.queue, HOST, name, run)))

    def add(self, items: list[Answer], number: int) -> None:
        """Add items, now and then from within a session, as proposals."""
        actor = ANN
        if self.claims and number % 4 == 0:
            actor = Actor(principal="session", grant=Grant.SESSION, token=self.token(number)["token"])
        self.do("add_items", actor, items=[self.named(item) for item in items])

    def claim(self, number: int, other: int) -> None:
        """Claim the next item or a named one, as oneself or for another."""
        holder, how = HOLDERS[other % 5], ["next", "next", "key", "verify", "executor"][number % 5]
        match how:
            case "next":
                taken = self.do("claim", COORDINATOR if number % 2 else ANN, holder=holder)
            case "key":
                taken = self.do("claim", holder=holder, key=self.key(number, "pending"))
            case "verify":
                taken = self.do("verify", HOST, holder=holder, key=self.key(number, "candidate"))
            case _:
                key = self.key(number, "pending")
                taken = self.do("claim", holder=holder, key=key, executor=f"session-{holder}")
        if taken is not None and taken["item"] is not None:
            self.claims.append(taken)

    def complete(self, number: int, other: int) -> None:
        """Complete with what the role asks for; now and then with another contract or without proof."""
        verdict = ["passed", "rejected", "passed", "inconclusive"][other % 4]
        taken = self.token(number)
        said: Answer = {"token": taken["token"], "contract_hash": taken["contract_hash"] if other % 9 else "0" * 64}
        if taken["item"]["role"] == "verify":
            said |= {"verdict": verdict, "failed_checks": ["objective"], "reproduction": "look"}
            said["evidence"] = LOOKED if number % 7 else LOOKED[:1]
        else:
            said |= {"outcome": {"kind": "commit", "ref": sha(other)}, "evidence": SHOT if number % 7 else []}
        self.do("complete", HOST if other % 5 else ANN, **said)

    def give_up(self, number: int, other: int) -> None:
        """End a claim without a result."""
        how = ["retry", "retry", "retry", "defer", "untouched", "infra"][other % 6]
        token = self.token(number)["token"]
        match how:
            case "retry":
                word, delay = f"reason {number % 9}", 30 if number % 3 == 0 else 0
                self.do(
                    "retry", token=token, failed=word, cause=word, next_action=word, delay_seconds=delay, escalate=False
                )
            case "defer":
                boundary = ["spend-money", "delete-data", "login", "else"][number % 4]
                self.do("defer", token=token, boundary=boundary, asks="May I?")
            case "untouched":
                self.do("release", token=token, untouched=True, reason="stop")
            case _:
                self.do("release", HOST if number % 4 else ANN, token=token, infra=True, reason="stop")

    def keep(self, number: int, other: int) -> None:
        """Renew a lease or keep evidence."""
        how = ["beat", "attach", "receipt"][other % 3]
        token = self.token(number)["token"]
        match how:
            case "beat":
                self.do("heartbeat", token=token, lease_seconds=5 * (number % 2))
            case "attach":
                self.do("attach", token=token, evidence=[{"kind": "file", "ref": "log", "slot": "screenshot"}])
            case _:
                piece = {
                    "kind": "check",
                    "ref": "log",
                    "slot": "suite",
                    "result": "failed" if number % 5 == 0 else "passed",
                }
                self.do("attach", HOST, token=token, evidence=[piece])

    def lane(self, number: int, other: int) -> None:
        """Take, use, clean or give back a lane."""
        verb = ["acquire", "acquire", "record", "clean", "release", "sweep"][other % 6]
        token, thing = self.token(number, lane=True)["token"], ["tab", "url"][number % 2]
        if verb == "sweep":
            self.do(
                "lane_clean",
                COORDINATOR,
                lane=["browser", "db"][number % 2],
                resources=["tab", "url"][number % 3 % 2 :],
            )
        elif verb in ("record", "clean"):
            self.do(f"lane_{verb}", token=token, resources=[thing])
        else:
            self.do(f"lane_{verb}", token=token)

    def decide(self, number: int, other: int) -> None:
        """Decide as a person."""
        how = ["answer", "answer", "promote", "supersede", "cancel", "again", "again"][other % 7]
        match how:
            case "answer":
                self.do("answer", key=self.key(number, "deferred"), text=["yes", "no"][other % 2])
            case "promote":
                self.do("promote", key=self.key(number, "proposed"))
            case "supersede":
                key = self.key(number, "pending", "in_progress", "candidate", "repairing")
                self.do("supersede", key=key, replacement=self.key(other, "pending"), reason="newer")
            case "cancel":
                if other % 3 == 0:
                    self.do("cancel", key=self.key(number), reason="not wanted")
            case _:
                self.do("retry", key=self.key(number, "failed"), reason="once more")

    def host(self, number: int, other: int) -> None:
        """Set a brake, state a fact, or do the upkeep."""
        how, kind = ["park", "fact", "fact", "tend"][other % 4], FACTS[other % len(FACTS)]
        ref = "ab"[number % 2]
        match how:
            case "park":
                key = self.key(number, "candidate", "pending", "in_progress")
                self.as_host("park_item", lambda call: park_item(call, key, "no_progress", "What now?", ""))
            case "fact":
                ended = self.key(number, "succeeded")
                self.as_host("record_fact", lambda call: record_fact(call, ended, kind, ref))
            case _:
                self.as_host("tend", tend)

    def tick(self, number: int, other: int) -> None:
        """Let time pass, often over the end of a lease."""
        self.clock.advance([1, 30, LEASE_SECONDS - 1, LEASE_SECONDS, 1200][other % 5])

    def look(self, number: int, other: int) -> None:
        """Read everything there is to read, around a pause."""
        self.do("pause", reason="lunch")
        self.do("claim", holder="idler")
        self.do("status")
        self.do("list")
        self.do("why", key=self.key(number))
        self.do("show", key=self.key(number))
        self.do("resume")

    def replay(self, number: int, other: int) -> None:
        """Repeat an earlier call with its request id: the first answer, and nothing written."""
        actor, name, arguments = self.calls[-1 - number % len(self.calls)]
        before = self.last
        answer = self.both("replay", lambda bench: perform(bench.queue, actor, name, arguments))
        assert answer is not None
        assert name in READS or (answer["replayed"] and self.last == before)

    def settle_again(self, number: int, other: int) -> None:
        """Repeat an earlier settle under another request id: the first answer, and nothing written."""
        actor, name, arguments = self.calls[-1 - number % len(self.calls)]
        if name in ("complete", "retry", "defer", "release") and "token" in arguments:
            before = self.last
            answer = self.do(name, actor, **{key: value for key, value in arguments.items() if key != "request_id"})
            assert answer is not None
            assert answer["replayed"]
            assert self.last == before

    @rule(move=st.one_of(st.sampled_from(MOVES), new_items), number=index, other=index)
    def play(self, move: str | Answer, number: int, other: int) -> None:
        """Make one move; one rule, so that none of them is left out of a game."""
        if not isinstance(move, str):
            if number % 4 == 0:
                self.add([move] * (1 + other % 2), other)
        elif move in ("claim", "decide", "host", "tick", "look") or self.claims:
            getattr(self, move)(number, other)

    def teardown(self) -> None:
        """Give the files back."""
        for bench in self.benches:
            bench.store.close()
        shutil.rmtree(self.place)
