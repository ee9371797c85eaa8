"""The same random calls on memory and on SQLite, side by side, with every promise checked after each."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from queue_bench import ANN, COORDINATOR, HOST, SLUG, Answer, Bench, bench_on, make_store, settings, sha
from workloop.domain.campaign import Independence, Landing
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
KEYS = [f"item-{number}" for number in range(6)]
ROOTS = [*KEYS, *(f"{key}~again1" for key in KEYS[:2]), *(f"{key}~g1" for key in KEYS[:2])]
LEASE_SECONDS = 100
HOLDERS = ["h1", "h2", "h3", "h4"]
CHECK = {"id": "suite", "command": "make test"}
SETTING = {
    "slots": st.integers(1, 3),
    "candidates_max": st.integers(1, 6),
}

keys = st.sampled_from(KEYS)
roots = st.sampled_from(ROOTS)
index = st.integers(0, 50)
holders = st.sampled_from(HOLDERS)
people = st.sampled_from([ANN, COORDINATOR])
shas = st.integers(1, 12)
new_items = st.fixed_dictionaries(
    {"key": keys, "title": st.just("do it"), "lease_seconds": st.just(LEASE_SECONDS)},
    optional={
        "depends_on": st.lists(
            st.one_of(keys, st.fixed_dictionaries({"key": keys, "until": st.sampled_from(["candidate", "landed"])})),
            min_size=1,
            max_size=2,
        ),
        "priority": st.sampled_from([1, 100, 1000]),
        "verification": st.sampled_from(["none", "session", "both"]),
        "lane": st.sampled_from(["browser", "db"]),
        "evidence": st.just(["screenshot"]),
        "checks": st.just([CHECK]),
        "attempts_max": st.integers(1, 3),
        "expiries_max": st.integers(1, 2),
        "rounds_max": st.integers(1, 2),
        "boundaries": st.just([]),
        "not_before": st.just("2027-01-15T08:01:00Z"),
    },
)


def with_family(item: dict[str, Any], version: int) -> dict[str, Any]:
    """Give an item the one subject that several items share."""
    return {**item, "family": "page", "subject": f"/{version}"}


class QueueMachine(RuleBasedStateMachine):
    """Every action, right and wrong, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(dir=FAST_PLACE if FAST_PLACE.is_dir() else None))
        self.clock = FakeClock()
        self.claims: list[dict[str, Any]] = []
        self.calls: list[tuple[Actor, str, dict[str, Any]]] = []
        self.numbers = 0
        self.benches: list[Bench] = []
        self.last: Snapshot | None = None

    @initialize(slots=SETTING["slots"], cap=SETTING["candidates_max"], strict=st.booleans())
    def begin(self, slots: int, cap: int, strict: bool) -> None:
        """Make the same campaign in both stores."""
        chosen = settings(
            slots=slots,
            candidates_max=cap,
            landing=Landing.LOCAL_MERGE if strict else Landing.NONE,
            independence=Independence.EXECUTOR,
        )
        for backend in ("memory", "sqlite"):
            store = make_store(backend, self.place, self.clock)
            self.benches.append(bench_on(store, self.clock, self.place, chosen))

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
        if answer is not None and name != "show":
            self.calls.append((actor, name, arguments))
        return answer

    def as_host(self, name: str, run: Written) -> dict[str, Any] | None:
        """Run one of the host's own use cases on both stores."""
        return self.both(name, lambda bench: dict(run_as_host(bench.queue, HOST, name, run)))

    def picked(self, number: int) -> dict[str, Any]:
        """Return one of the claims ever made, the newest most often."""
        return self.claims[-1 - min(number % 8, number) % len(self.claims)]

    def claimed(self, answer: dict[str, Any] | None) -> None:
        """Remember a claim."""
        if answer is not None and answer["item"] is not None:
            self.claims.append(answer)

    @rule(items=st.lists(new_items, min_size=1, max_size=3), family=st.integers(0, 3))
    def add(self, items: list[dict[str, Any]], family: int) -> None:
        """Add items, some of them versions of one subject."""
        self.do("add_items", items=[with_family(item, family) for item in items] if family < 2 else items)

    @rule(item=new_items, family=st.integers(0, 3), number=index)
    @precondition(lambda self: self.claims)
    def propose(self, item: dict[str, Any], family: int, number: int) -> None:
        """Propose an item from within a session."""
        session = Actor(principal="session", grant=Grant.SESSION, token=self.picked(number)["token"])
        self.do("add_items", session, items=[with_family(item, family) if family < 2 else item])

    @rule(key=roots)
    def promote(self, key: str) -> None:
        """Promote what may be a proposal."""
        self.do("promote", key=key)

    @rule(holder=holders, actor=people)
    def claim(self, holder: str, actor: Actor) -> None:
        """Claim the next item."""
        self.claimed(self.do("claim", actor, holder=holder))

    @rule(holder=holders, key=roots, suffix=st.sampled_from(["", "~v1", "~v2", "~r1"]), executor=st.booleans())
    def claim_exactly(self, holder: str, key: str, suffix: str, executor: bool) -> None:
        """Claim one key, as oneself or for an executor."""
        more: Answer = {"executor": f"session-{holder}"} if executor else {}
        self.claimed(self.do("claim", holder=holder, key=key + suffix, **more))

    @rule(holder=holders, key=roots)
    def claim_verifier(self, holder: str, key: str) -> None:
        """Claim the verifier of a root."""
        self.claimed(self.do("verify", HOST, holder=holder, key=key))

    @rule(number=index, seconds=st.sampled_from([0, 5]))
    @precondition(lambda self: self.claims)
    def beat(self, number: int, seconds: int) -> None:
        """Renew a lease that may be lost."""
        self.do("heartbeat", token=self.picked(number)["token"], lease_seconds=seconds)

    @rule(number=index, kind=st.sampled_from(["file", "note", "artifact"]), slot=st.booleans())
    @precondition(lambda self: self.claims)
    def attach(self, number: int, kind: str, slot: bool) -> None:
        """Keep evidence."""
        piece = {"kind": kind, "ref": f"{kind}-{number}", **({"slot": "screenshot"} if slot else {})}
        self.do("attach", token=self.picked(number)["token"], evidence=[piece])

    @rule(number=index, result=st.sampled_from(["passed", "passed", "failed"]))
    @precondition(lambda self: self.claims)
    def receipt(self, number: int, result: str) -> None:
        """Attach the host's receipt of a check."""
        piece = {"kind": "check", "ref": "log", "slot": "suite", "result": result}
        self.do("attach", HOST, token=self.picked(number)["token"], evidence=[piece])

    @rule(number=index, commit=shas, good=st.integers(0, 5))
    @precondition(lambda self: self.claims)
    def build(self, number: int, commit: int, good: int) -> None:
        """Complete with a commit; one in six quotes a wrong contract."""
        taken = self.picked(number)
        self.do(
            "complete",
            token=taken["token"],
            contract_hash=taken["contract_hash"] if good else "0" * 64,
            outcome={"kind": "commit", "ref": sha(commit)},
            evidence=[{"kind": "artifact", "ref": "shot.png", "slot": "screenshot"}],
        )

    @rule(number=index, verdict=st.sampled_from(["passed", "passed", "rejected", "inconclusive"]), host=st.booleans())
    @precondition(lambda self: self.claims)
    def judge(self, number: int, verdict: str, host: bool) -> None:
        """Give a verdict, with a receipt when the host does."""
        taken, seen = self.picked(number), [{"kind": "url", "ref": "https://ci.example/7"}]
        if host:
            seen.append({"kind": "check", "ref": "log", "slot": "suite", "result": "passed"})
        self.do(
            "complete",
            HOST if host else ANN,
            token=taken["token"],
            contract_hash=taken["contract_hash"],
            verdict=verdict,
            failed_checks=["objective"],
            reproduction="look",
            evidence=seen,
        )

    @rule(number=index, words=st.sampled_from(["one", "two"]), delay=st.sampled_from([0, 30]), escalate=st.booleans())
    @precondition(lambda self: self.claims)
    def retry(self, number: int, words: str, delay: int, escalate: bool) -> None:
        """Give an item back for another attempt."""
        said: Answer = {"failed": words, "cause": words, "next_action": words}
        self.do("retry", **said, token=self.picked(number)["token"], delay_seconds=delay, escalate=escalate)

    @rule(number=index, boundary=st.sampled_from(["spend-money", "delete-data", "login", "else"]))
    @precondition(lambda self: self.claims)
    def defer(self, number: int, boundary: str) -> None:
        """Park an item at a boundary."""
        self.do("defer", token=self.picked(number)["token"], boundary=boundary, asks="May I?")

    @rule(number=index, untouched=st.booleans(), infra=st.booleans(), actor=st.sampled_from([ANN, HOST]))
    @precondition(lambda self: self.claims)
    def release(self, number: int, untouched: bool, infra: bool, actor: Actor) -> None:
        """Give a claim back unworked."""
        self.do("release", actor, token=self.picked(number)["token"], untouched=untouched, infra=infra, reason="stop")

    @rule(holder=holders, commit=shas, verdict=st.sampled_from(["passed", "rejected", "rejected"]))
    def work_one(self, holder: str, commit: int, verdict: str) -> None:
        """Take what comes next and settle it properly, so that long stories happen often."""
        taken = self.do("claim", HOST, holder=holder)
        if taken is None or taken["item"] is None:
            return
        self.claims.append(taken)
        said: Answer = {"token": taken["token"], "contract_hash": taken["contract_hash"]}
        if taken["item"]["role"] == "verify":
            seen = [
                {"kind": "url", "ref": "https://ci.example/7"},
                {"kind": "check", "ref": "log", "slot": "suite", "result": "passed"},
            ]
            said |= {"verdict": verdict, "failed_checks": ["objective"], "reproduction": "look", "evidence": seen}
        else:
            said["outcome"] = {"kind": "commit", "ref": sha(commit)}
            said["evidence"] = [{"kind": "artifact", "ref": "shot.png", "slot": "screenshot"}]
        self.do("complete", HOST, **said)

    @rule(key=roots, text=st.sampled_from(["yes", "no"]))
    def answer(self, key: str, text: str) -> None:
        """Answer a question that may not have been asked."""
        self.do("answer", key=key, text=text)

    @rule(suffix=st.sampled_from(["~v1", "~v2", "~r1"]), key=keys)
    def answer_follow_up(self, key: str, suffix: str) -> None:
        """Answer a follow-up's question."""
        self.do("answer", key=key + suffix, text="yes")

    @rule(key=roots, replacement=roots)
    def supersede(self, key: str, replacement: str) -> None:
        """Close an item in favour of another."""
        self.do("supersede", key=key, replacement=replacement, reason="newer")

    @rule(key=roots)
    def cancel(self, key: str) -> None:
        """Cancel an item."""
        self.do("cancel", key=key, reason="not wanted")

    @rule(key=roots)
    def again(self, key: str) -> None:
        """Try a failed item anew."""
        self.do("retry", key=key, reason="once more")

    @rule(number=index, verb=st.sampled_from(["lane_acquire", "lane_acquire", "lane_release"]))
    @precondition(lambda self: self.claims)
    def lane(self, number: int, verb: str) -> None:
        """Take or give back a lane."""
        self.do(verb, token=self.picked(number)["token"])

    @rule(number=index, verb=st.sampled_from(["lane_record", "lane_clean"]), what=st.sampled_from(["tab", "url"]))
    @precondition(lambda self: self.claims)
    def lane_things(self, number: int, verb: str, what: str) -> None:
        """Record or clean what a lane holds."""
        self.do(verb, token=self.picked(number)["token"], resources=[what])

    @rule(lane=st.sampled_from(["browser", "db"]), what=st.lists(st.sampled_from(["tab", "url"]), min_size=1))
    def sweep_lane(self, lane: str, what: list[str]) -> None:
        """Clean a dirty lane without holding a claim."""
        self.do("lane_clean", COORDINATOR, lane=lane, resources=what)

    @rule(pause=st.booleans())
    def hold(self, pause: bool) -> None:
        """Pause or resume the campaign."""
        if pause:
            self.do("pause", reason="lunch")
        self.do("resume")

    @rule(key=roots, suffix=st.sampled_from(["", "", "~v1", "~r1"]), brake=st.sampled_from(["no_progress"]))
    def park(self, key: str, suffix: str, brake: str) -> None:
        """Set a brake."""
        self.as_host("park_item", lambda call: park_item(call, key + suffix, brake, "What now?", ""))

    @rule(key=roots, kind=st.sampled_from(list(FactKind)[:5]), ref=st.sampled_from(["m1", "m2"]))
    def fact(self, key: str, kind: FactKind, ref: str) -> None:
        """State a fact."""
        self.as_host("record_fact", lambda call: record_fact(call, key, kind, ref))

    @rule()
    def tend(self) -> None:
        """Do the upkeep."""
        self.as_host("tend", tend)

    @rule(seconds=st.sampled_from([1, 30, LEASE_SECONDS - 1, LEASE_SECONDS, 1200]))
    def tick(self, seconds: int) -> None:
        """Let time pass, often over the end of a lease."""
        self.clock.advance(seconds)

    @rule(number=index)
    @precondition(lambda self: self.calls)
    def replay(self, number: int) -> None:
        """Repeat an earlier call with its request id: the first answer, and nothing written."""
        actor, name, arguments = self.calls[-1 - number % len(self.calls)]
        before = self.last
        answer = self.both("replay", lambda bench: perform(bench.queue, actor, name, arguments))
        assert answer is not None
        assert name in READS or (answer["replayed"] and self.last == before)

    @rule(number=index)
    @precondition(lambda self: self.calls)
    def settle_again(self, number: int) -> None:
        """Repeat an earlier settle under another request id: the first answer, and nothing written."""
        actor, name, arguments = self.calls[-1 - number % len(self.calls)]
        if name in ("complete", "retry", "defer", "release") and "token" in arguments:
            before = self.last
            answer = self.do(name, actor, **{key: value for key, value in arguments.items() if key != "request_id"})
            assert answer is not None
            assert answer["replayed"]
            assert self.last == before

    @rule(key=roots)
    def look(self, key: str) -> None:
        """Read everything there is to read."""
        self.do("status")
        self.do("list")
        self.do("why", key=key)
        self.do("show", key=key)

    def teardown(self) -> None:
        """Give the files back."""
        for bench in self.benches:
            bench.store.close()
        shutil.rmtree(self.place)


READS = ("status", "list", "why", "show")
