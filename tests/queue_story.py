"""A story in which every action happens, told call by call so that it can be broken off and gone on with anywhere."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from queue_bench import ANN, HOST, Answer, sha
from workloop.domain.grants import Actor, Grant
from workloop.domain.question import FactKind
from workloop.service.answering import park_item
from workloop.service.call import Queue
from workloop.service.campaigns import tend
from workloop.service.closing import record_fact
from workloop.service.perform import perform, run_as_host
from workloop.service.requests.words import Written
from workloop.testing.clocks import FakeClock

LOOKED = [{"kind": "url", "ref": "https://ci.example/run/7"}]
DETAIL: Answer = {"failed": "test", "cause": "typo", "next_action": "fix it"}


@dataclass
class Story:
    """The story so far: answers by call, so that a call that was given is not given again."""

    queue: Queue
    clock: FakeClock
    told: dict[str, Answer] = field(default_factory=dict[str, Answer])
    at: dict[str, int] = field(default_factory=dict[str, int])

    def act(self, name: str, action: str, actor: Actor = ANN, **arguments: Any) -> Answer:
        """Perform one named call once, under its name as request id."""
        return self.once(name, lambda: perform(self.queue, actor, action, {**arguments, "request_id": name}))

    def host(self, name: str, run: Written) -> Answer:
        """Run one of the host's use cases once."""
        return self.once(name, lambda: dict(run_as_host(self.queue, HOST, name.split("/", maxsplit=1)[0], run)))

    def once(self, name: str, run: Callable[[], Answer]) -> Answer:
        """Run a call unless it has its answer."""
        if name not in self.told:
            self.told[name] = run()
        return self.told[name]

    def wait(self, name: str, seconds: float) -> None:
        """Let time pass once."""
        if name not in self.at:
            self.at[name] = self.clock.advance(seconds)

    def claim(self, name: str, key: str, holder: str = "builder") -> Answer:
        """Claim a key."""
        return self.act(name, "claim", HOST, holder=holder, key=key)

    def build(self, key: str, number: int, holder: str = "builder", **more: Any) -> str:
        """Claim and complete an item; returns its verifier's key."""
        taken = self.claim(f"claim/{key}/{number}", key, holder)
        done = self.act(
            f"build/{key}/{number}",
            "complete",
            token=taken["token"],
            contract_hash=taken["contract_hash"],
            outcome={"kind": "commit", "ref": sha(number)},
            **more,
        )
        return (done["follow_up"] or {"key": ""})["key"]

    def judge(self, key: str, verdict: str, holder: str = "checker") -> Answer:
        """Claim a verifier, attach the host's receipt and give a verdict."""
        taken = self.claim(f"claim/{key}", key, holder)
        receipt = {"kind": "check", "ref": "log", "slot": "suite", "result": "passed"}
        self.act(f"receipt/{key}", "attach", HOST, token=taken["token"], evidence=[receipt])
        return self.act(
            f"judge/{key}",
            "complete",
            token=taken["token"],
            contract_hash=taken["contract_hash"],
            verdict=verdict,
            failed_checks=["objective"] if verdict == "rejected" else [],
            reproduction="" if verdict == "passed" else "look",
            evidence=LOOKED,
        )

    def tell(self) -> None:
        """Tell everything, from wherever it stands."""
        self.act("add", "add_items", items=ITEMS)
        self.act("pause", "pause", reason="lunch")
        self.act("resume", "resume")
        verifier = self.build("built", 1)
        repair = self.judge(verifier, "rejected")["follow_up"]["key"]
        self.judge(self.build(repair, 2), "passed")
        self.host("record_fact/landed", lambda call: record_fact(call, "built", FactKind.LANDED, "m1"))
        self.host("record_fact/red", lambda call: record_fact(call, "built", FactKind.RED_AFTER_LANDING, "m2"))
        self.tell_waiting()
        self.tell_lane()
        self.tell_ends()
        self.host("tend", tend)

    def tell_waiting(self) -> None:
        """Retry, release, defer, park, expire and answer."""
        taken = self.claim("hold/tried", "tried")
        self.act("beat", "heartbeat", token=taken["token"])
        self.act("retry", "retry", token=taken["token"], **DETAIL)
        taken = self.claim("hold/tried/2", "tried")
        self.act("release", "release", token=taken["token"], untouched=True)
        taken = self.claim("hold/tried/3", "tried")
        self.act("infra", "release", HOST, token=taken["token"], infra=True)
        taken = self.claim("hold/tried/4", "tried")
        self.act("defer", "defer", token=taken["token"], boundary="spend-money", asks="May I?")
        self.act("answer", "answer", key="tried", text="yes")
        self.host("park_item/tried", lambda call: park_item(call, "tried", "no_progress", "What now?", ""))
        self.act("answer/2", "answer", key="tried", text="go on")
        self.claim("hold/tried/5", "tried")
        self.wait("lapse", 3600)
        self.host("tend/lapse", tend)
        verifier = self.build("tried", 3)
        taken = self.claim("hold/tried/unsure", verifier, "checker")
        unsure: Answer = {"token": taken["token"], "contract_hash": taken["contract_hash"], "verdict": "inconclusive"}
        self.act("unsure", "complete", reproduction="no device", **unsure)
        self.host("park_item/candidate", lambda call: park_item(call, "tried", "no_progress", "What now?", ""))
        again = self.act("answer/3", "answer", key="tried", text="verify it again")["follow_up"]["key"]
        self.judge(again, "passed")

    def tell_lane(self) -> None:
        """Take a lane, leave things in it, and clean it."""
        taken = self.claim("claim/seen", "seen")
        grant = self.act("acquire", "lane_acquire", token=taken["token"])["grant"]
        url = "http://localhost:3000"
        self.act("record", "lane_record", token=taken["token"], resources=[url, "tab"], checkout_sha=sha(9))
        live = {"kind": "url", "ref": f"{url}/page", "slot": "live", "grant": grant, "checkout_sha": sha(9)}
        self.act("live", "attach", token=taken["token"], evidence=[live])
        self.act("clean", "lane_clean", token=taken["token"], resources=["tab"])
        self.act("give-back", "lane_release", token=taken["token"])
        self.act("clean/2", "lane_clean", lane="browser", resources=[url])
        self.act("acquire/2", "lane_acquire", token=taken["token"])
        self.build("seen", 4)

    def tell_ends(self) -> None:
        """Propose, promote, supersede, cancel, fail and try again."""
        taken = self.claim("claim/ends", "ends")
        session = Actor(principal="session", grant=Grant.SESSION, token=taken["token"])
        self.act("propose", "add_items", session, items=[{"key": "idea", "title": "idea"}])
        self.act("promote", "promote", key="idea")
        self.act("supersede", "supersede", key="ends", replacement="idea", reason="better")
        self.act("cancel", "cancel", key="unwanted", reason="no")
        taken = self.claim("claim/fails", "fails")
        self.act("fail", "retry", token=taken["token"], **DETAIL)
        self.act("again", "retry", key="fails", reason="once more")
        self.act("verify", "verify", HOST, key="seen", holder="last")


ITEMS: list[Answer] = [
    {"key": "built", "title": "built", "checks": [{"id": "suite", "command": "make test"}]},
    {"key": "after", "title": "after", "depends_on": ["built", {"key": "tried", "until": "candidate"}]},
    {"key": "tried", "title": "tried", "family": "page", "subject": "/"},
    {"key": "newer", "title": "newer", "family": "page", "subject": "/"},
    {"key": "seen", "title": "seen", "lane": "browser", "evidence": [{"id": "live", "kinds": ["url"], "live": True}]},
    {"key": "ends", "title": "ends"},
    {"key": "waits", "title": "waits", "depends_on": ["ends", "fails"]},
    {"key": "unwanted", "title": "unwanted"},
    {"key": "fails", "title": "fails", "attempts_max": 1, "verification": "none"},
]
