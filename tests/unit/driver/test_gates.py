"""How agent accounts stand for the scheduler, what a session makes of them, and what survives a restart."""

from collections.abc import Sequence
from typing import Any

from workloop.domain.clock import Instant
from workloop.domain.gate import HOUR_US, MINUTE_US, Entry, Gate, GateKey, GatePolicy, GateState, Seen
from workloop.domain.session import SessionClass
from workloop.driver.scheduling.situation import Standing
from workloop.driver.turn.gates import Gates

NOW = Instant(1_800_000_000_000_000)
KEY = GateKey(harness="claude", account="work", tier="big")
SMALL = GateKey(harness="claude", account="work", tier="small")
CODEX = GateKey(harness="codex", account="work", tier="big")


class Book:
    """What was told and kept."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.kept: dict[GateKey, Gate] = {}
        self.gates = Gates(GatePolicy(), lambda kind, facts: self.told.append(kind), self.keep)

    def keep(self, gates: Sequence[Gate]) -> None:
        self.kept |= {gate.key: gate for gate in gates}


def met(session_class: SessionClass, at: int = NOW, **fields: Any) -> Seen:
    given: dict[str, Any] = {"began_at": Instant(at - 1), "ended_at": Instant(at), **fields}
    return Seen(session_class=session_class, **given)


def test_a_limit_shuts_its_own_gate_and_no_other() -> None:
    book = Book()
    reset = Instant(NOW + 2 * HOUR_US)
    book.gates.met(KEY, met(SessionClass.LIMITED, reset_at=reset))
    view = book.gates.view(KEY, NOW, probes=True)
    assert (view.standing, view.until, view.stated, view.by) == (Standing.LIMITED, reset, True, KEY)
    assert view.probe_at == NOW + GatePolicy().probe_us
    for other in (SMALL, CODEX):
        assert book.gates.view(other, NOW, probes=True).standing is Standing.OPEN
    assert book.told == ["limited"]
    assert book.kept[KEY].state is GateState.LIMITED


def test_an_agent_that_no_prompt_can_try_is_tried_by_work_from_the_reset_on() -> None:
    book = Book()
    reset = Instant(NOW + 2 * HOUR_US)
    book.gates.met(KEY, met(SessionClass.LIMITED, reset_at=reset))
    view = book.gates.view(KEY, NOW, probes=False)
    assert (view.until, view.probe_at) == (reset, None)


def test_one_session_tries_a_gate_and_its_first_word_opens_it() -> None:
    book = Book()
    book.gates.met(KEY, met(SessionClass.LIMITED, reset_at=Instant(NOW + MINUTE_US)))
    later = Instant(NOW + 2 * MINUTE_US)
    book.gates.trying(KEY, later)
    assert book.gates.view(KEY, later, probes=True).standing is Standing.PROBING
    opens = met(SessionClass.CLEAN, later + 1, began_at=later, produced=True)
    assert book.gates.met(KEY, opens) == []
    assert book.gates.view(KEY, later, probes=True).standing is Standing.OPEN
    assert book.told == ["limited", "reopened"]


def test_a_session_that_told_nothing_leaves_the_gate_shut() -> None:
    book = Book()
    book.gates.met(KEY, met(SessionClass.LIMITED, reset_at=Instant(NOW + MINUTE_US)))
    later = Instant(NOW + 2 * MINUTE_US)
    book.gates.trying(KEY, later)
    book.gates.untold(KEY, later)
    view = book.gates.view(KEY, later, probes=True)
    assert view.standing is Standing.LIMITED
    assert view.until is not None
    assert view.until > later
    assert book.kept[KEY].probes == 1


def test_a_lost_login_stops_the_whole_account_once_and_a_persons_word_opens_it() -> None:
    book = Book()
    assert [gate.key for gate in book.gates.met(KEY, met(SessionClass.AUTH, detail="401"))] == [KEY]
    assert book.gates.met(KEY, met(SessionClass.AUTH, detail="401")) == []
    view = book.gates.view(SMALL, NOW, probes=True)
    assert (view.standing, view.by) == (Standing.STOPPED, KEY)
    assert "401" in view.remedy
    assert "log" in view.remedy
    assert book.gates.view(CODEX, NOW, probes=True).standing is Standing.OPEN
    book.gates.asked(KEY, "shop")
    assert book.kept[KEY].question == "shop"
    book.gates.reopen_named("codex")
    assert book.gates.admission(KEY, NOW).entry is Entry.CLOSED
    book.gates.reopen_named("claude")
    assert book.gates.admission(KEY, NOW).entry is Entry.GO


def test_what_was_known_survives_a_restart_and_a_probe_that_died_with_its_loop_told_nothing() -> None:
    before = Book()
    before.gates.met(KEY, met(SessionClass.LIMITED, reset_at=Instant(NOW + 3 * HOUR_US)))
    before.gates.met(CODEX, met(SessionClass.AUTH))
    before.gates.trying(KEY, NOW)
    after = Book()
    after.gates.restore(before.kept.values(), Instant(NOW + MINUTE_US))
    assert after.gates.view(KEY, NOW, probes=True).standing is Standing.LIMITED
    assert after.gates.view(CODEX, NOW, probes=True).standing is Standing.STOPPED
