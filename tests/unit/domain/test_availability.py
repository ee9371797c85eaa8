"""Gates: what closes an account, what opens it, and when it may be tried."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from workloop.domain.availability import admission, after, excused, probe_lost, probing, reopened, worth_telling
from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.gate import (
    DAY_US,
    HOUR_US,
    MINUTE_US,
    Admission,
    Cause,
    Entry,
    Gate,
    GateKey,
    GatePolicy,
    GateState,
    OnLimit,
    Seen,
    Source,
    seen,
)
from workloop.domain.session import SessionClass, SessionReport, Tokens

NOW = Instant(1_800_000_000_000_000)
KEY = GateKey(harness="claude", account="work", tier="large")
SMALL = replace(KEY, tier="small")
OTHER = replace(KEY, account="home")
POLICY = GatePolicy()
C = SessionClass


def at(duration_us: int) -> Instant:
    return Instant(NOW + duration_us)


def met(kind: SessionClass, ended_at: Instant = NOW, **facts: Any) -> Seen:
    begun = Instant(ended_at - 5 * SECOND_US)
    return replace(Seen(session_class=kind, began_at=begun, ended_at=ended_at), **facts)


def limit(ended_at: Instant = NOW, **facts: Any) -> Seen:
    return met(C.LIMITED, ended_at, produced=True, **facts)


def one(gate: Gate | None, end: Seen, policy: GatePolicy = POLICY) -> Gate:
    return after([] if gate is None else [gate], KEY, end, policy)[0]


def test_d09_an_account_nobody_spoke_of_is_open_and_a_session_without_a_usage_report_leaves_it_so() -> None:
    assert admission([], KEY, NOW) == Admission(entry=Entry.GO, at=NOW)
    quiet = one(None, met(C.CLEAN, produced=True, usage_reported=False))
    assert quiet.state is GateState.OPEN
    assert admission([quiet], KEY, NOW).entry is Entry.GO


@pytest.mark.parametrize("kind", list(SessionClass))
def test_every_class_closes_what_it_should_and_nothing_else(kind: SessionClass) -> None:
    expected = {
        C.LIMITED: (GateState.LIMITED, Cause.LIMIT),
        C.AUTH: (GateState.STOPPED, Cause.AUTH),
        C.BILLING: (GateState.STOPPED, Cause.BILLING),
        C.CONFIG: (GateState.STOPPED, Cause.CONFIG),
        C.MODEL_MISSING: (GateState.STOPPED, Cause.MODEL_MISSING),
    }
    for produced in (False, True):
        gate = one(None, met(kind, produced=produced))
        assert (gate.state, gate.cause) == expected.get(kind, (GateState.OPEN, None))


@pytest.mark.parametrize(
    ("cause_class", "closed"),
    [
        (C.LIMITED, {KEY}),
        (C.MODEL_MISSING, {KEY}),
        (C.AUTH, {KEY, SMALL}),
        (C.BILLING, {KEY, SMALL}),
        (C.CONFIG, {KEY, SMALL, OTHER}),
    ],
)
def test_d27_a_limit_closes_one_tier_a_login_the_account_a_setting_the_harness(
    cause_class: SessionClass, closed: set[GateKey]
) -> None:
    gates = after([], KEY, met(cause_class), POLICY)
    stranger = GateKey(harness="codex", account="work", tier="large")
    asked = (KEY, SMALL, OTHER, stranger)
    assert {key for key in asked if admission(gates, key, NOW).entry is not Entry.GO} == closed


def test_d02_two_limited_sessions_of_one_account_share_one_gate_with_one_deadline() -> None:
    first = one(None, limit(reset_at=at(HOUR_US)))
    second = one(first, limit(at(MINUTE_US), reset_at=at(HOUR_US)))
    told_nothing = one(second, limit(at(2 * MINUTE_US)))
    for gate in (first, second, told_nothing):
        assert (gate.until, gate.source, gate.since) == (at(HOUR_US), Source.STATED, NOW)
    asked = [admission([told_nothing], KEY, at(minute * MINUTE_US)).entry for minute in range(3, 60)]
    assert asked.index(Entry.PROBE) + 3 == 32, "it is asked again without any session, and due by the wall clock"
    assert admission([told_nothing], KEY, at(536 * MINUTE_US)).entry is Entry.PROBE


def test_d03_a_stated_reset_is_a_hint_probed_cheaply_before_and_after_it() -> None:
    gate = one(None, limit(reset_at=at(70 * MINUTE_US)))
    probed: list[int] = []
    now = NOW
    for _ in range(7):
        found = admission([gate], KEY, now)
        assert found.entry is Entry.WAIT
        assert found.at is not None
        now = found.at
        assert admission([gate], KEY, now).entry is Entry.PROBE
        gate = probing(gate, now)
        assert admission([gate], KEY, now).entry is Entry.WAIT, "one probe at a time"
        assert admission([gate], KEY, now).at is None
        probed.append((now - NOW) // MINUTE_US)
        gate = one(gate, met(C.LIMITED, now, probe=True, reset_at=at(70 * MINUTE_US)))
    assert probed == [30, 60, 70, 71, 72, 74, 78]
    assert (gate.probes, gate.last_probe, gate.since) == (7, now, NOW)
    opened = one(probing(gate, now), met(C.CLEAN, now, probe=True, produced=True))
    assert (opened.state, opened.probes) == (GateState.OPEN, 8)


def test_d03_the_wait_is_capped_and_a_person_is_told_once() -> None:
    gate = one(None, limit())
    told = [worth_telling(None, gate)]
    now = NOW
    for _ in range(2_000):
        found = admission([gate], KEY, now)
        if found.entry is Entry.CLOSED:
            break
        assert found.at is not None
        now = found.at
        tried = probing(gate, now)
        again = one(tried, met(C.LIMITED, now, probe=True))
        told += [worth_telling(gate, tried), worth_telling(tried, again)]
        gate = again
    assert (gate.state, gate.cause) == (GateState.STOPPED, Cause.LIMIT)
    assert POLICY.wait_max_us <= now - NOW <= POLICY.wait_max_us + POLICY.probe_us
    assert told.count(True) == 2, "when it closed and when it was given up"
    assert "resume claude/work/large" in gate.remedy


def test_a_limit_without_a_stated_reset_is_guessed_and_probed_early() -> None:
    gate = one(None, limit())
    assert (gate.source, gate.until, gate.try_at) == (Source.GUESSED, at(HOUR_US), at(30 * MINUTE_US))


@pytest.mark.parametrize("reset", [1, NOW - 11 * MINUTE_US, NOW + 36 * DAY_US, 2**62, -5])
def test_d26_an_implausible_reset_is_not_believed_and_stops_nothing(reset: int) -> None:
    gate = one(None, limit(reset_at=Instant(reset)))
    assert (gate.state, gate.source, gate.until) == (GateState.LIMITED, Source.GUESSED, at(HOUR_US))
    assert gate.try_at == at(30 * MINUTE_US)
    assert "not plausible" in gate.detail
    others = [GateKey(harness="claude", account=name) for name in ("second", "third")]
    assert [admission([gate], key, NOW).entry for key in others] == [Entry.GO, Entry.GO]


def test_a_reset_that_has_just_passed_is_tried_again_soon() -> None:
    gate = one(None, limit(reset_at=at(-2 * MINUTE_US)))
    assert (gate.source, gate.try_at) == (Source.STATED, at(2 * MINUTE_US))


@pytest.mark.parametrize("wish", [OnLimit.STOP, OnLimit.ASK])
def test_d05_an_operator_may_forbid_that_the_night_goes_on_after_a_limit(wish: OnLimit) -> None:
    policy = replace(POLICY, on_limit=wish)
    gate = one(None, limit(reset_at=at(HOUR_US)), policy)
    assert (gate.state, gate.until) == (GateState.STOPPED, at(HOUR_US)), "when it would end is still told"
    assert admission([gate], KEY, at(9 * HOUR_US)).entry is Entry.CLOSED
    assert f"on_limit = {wish}" in gate.detail
    assert admission([reopened(gate)], KEY, at(9 * HOUR_US)).entry is Entry.GO


@pytest.mark.parametrize("kind", [C.AUTH, C.BILLING, C.CONFIG, C.MODEL_MISSING])
def test_d10_d34_what_only_a_person_can_mend_is_never_tried_again_by_itself(kind: SessionClass) -> None:
    gate = one(None, met(kind, detail="as the vendor says"))
    assert (gate.state, gate.try_at, gate.detail) == (GateState.STOPPED, None, "as the vendor says")
    assert "claude/work/large" in gate.remedy
    assert all(admission([gate], KEY, at(hours * HOUR_US)).entry is Entry.CLOSED for hours in range(200))
    for late in (limit(at(1)), met(C.CLEAN, at(1), produced=True), met(C.DEAD, at(1))):
        assert one(gate, late).state is GateState.STOPPED, "a session from before has no say"
    assert one(gate, limit(at(1))).cause is gate.cause


def test_d25_sessions_without_model_output_on_one_account_look_like_an_outage() -> None:
    gates: list[Gate] = []
    for number, key in enumerate([KEY, SMALL, KEY]):
        now = at(number * SECOND_US)
        changed = after(gates, key, met(C.DEAD, now), POLICY)
        gates = [gate for gate in gates if gate.key not in {one.key for one in changed}] + list(changed)
        assert excused(gates, key) == (number == 2), "the item keeps its attempt once the account is suspected"
    assert [admission(gates, key, at(3 * SECOND_US)).entry for key in (KEY, SMALL)] == [Entry.WAIT, Entry.WAIT]
    assert admission(gates, OTHER, NOW).entry is Entry.GO
    down = next(gate for gate in gates if gate.cause is Cause.OUTAGE)
    assert down.until is None
    assert "3 sessions in a row without model output" in down.detail


def test_d25_an_outage_is_probed_one_at_a_time_at_growing_distances_until_there_is_output() -> None:
    gate = replace(Gate(key=KEY), silent=2)
    gate = one(gate, met(C.DEAD))
    distances: list[int] = []
    now = NOW
    for _ in range(9):
        found = admission([gate], KEY, now)
        assert found.at is not None
        distances.append((found.at - now) // MINUTE_US)
        now = found.at
        gate = probing(gate, now)
        assert admission([gate], SMALL, now) == Admission(entry=Entry.WAIT, by=gate)
        gate = one(gate, met(C.DEAD, now, probe=True))
    assert distances == [1, 1, 2, 4, 8, 16, 30, 30, 30]
    heard = one(probing(gate, now), met(C.CLEAN, now, probe=True, produced=True))
    assert (heard.state, heard.silent) == (GateState.OPEN, 0)


def test_output_on_another_tier_ends_an_outage_and_every_silence() -> None:
    down = one(replace(Gate(key=KEY), silent=2), met(C.DEAD))
    quiet = replace(Gate(key=SMALL), silent=2)
    spoken = met(C.CLEAN, at(HOUR_US), produced=True)
    changed = {gate.key: gate for gate in after([down, quiet], SMALL, spoken, POLICY)}
    assert (changed[KEY].state, changed[KEY].silent, changed[SMALL].silent) == (GateState.OPEN, 0, 0)
    early = met(C.CLEAN, at(HOUR_US), produced=True, began_at=at(-HOUR_US))
    kept = {gate.key: gate for gate in after([down, quiet], SMALL, early, POLICY)}
    assert kept[KEY].state is GateState.LIMITED, "a session from before the outage proves nothing"


@pytest.mark.parametrize("kind", [kind for kind in SessionClass if kind not in (C.DEAD, C.CRASHED, C.HUNG)])
def test_only_deaths_count_as_silence(kind: SessionClass) -> None:
    gate = replace(Gate(key=KEY), silent=2)
    assert one(gate, met(kind)).cause is not Cause.OUTAGE


def test_a_program_that_tells_nothing_is_never_taken_for_an_outage() -> None:
    report = SessionReport(session_id="s", session_class=C.CRASHED, started_at=NOW, ended_at=at(1))
    gate: Gate | None = None
    for _ in range(5):
        gate = one(gate, seen(report, watched=False))
    assert gate is not None
    assert gate.state is GateState.OPEN


def test_what_a_session_produced_is_read_from_its_report() -> None:
    report = SessionReport(session_id="s", session_class=C.DEAD, started_at=NOW, ended_at=at(1), reset_at=at(2))
    assert not seen(report).produced
    assert seen(replace(report, tokens=Tokens(output=1))).produced
    assert seen(replace(report, event_counts={"text": 1})).produced
    assert seen(replace(report, event_counts={"tool_call": 1})).produced
    assert not seen(replace(report, event_counts={"usage": 1, "retrying": 4}, tokens=Tokens(input=9))).produced
    assert (seen(report).reset_at, seen(report, probe=True).probe) == (at(2), True)


def test_d30_passing_failures_leave_the_gate_open_until_three_in_a_row_reported_no_usage() -> None:
    gate: Gate | None = None
    for number in range(3):
        gate = one(gate, met(C.TRANSIENT, at(number)))
        assert gate.state is (GateState.OPEN if number < 2 else GateState.LIMITED)
    assert gate is not None
    assert gate.cause is Cause.OUTAGE


def test_a_usage_report_ends_the_streak_of_passing_failures_and_a_limit_counts_neither_way() -> None:
    gate: Gate | None = None
    for number in range(20):
        gate = one(gate, met(C.TRANSIENT, at(number), usage_reported=number % 3 == 2))
    assert gate is not None
    assert gate.state is GateState.OPEN
    twice = one(one(None, met(C.TRANSIENT)), met(C.TRANSIENT))
    assert one(twice, met(C.LIMITED)).transients == twice.transients == 2
    assert one(twice, met(C.CLEAN, produced=True)).transients == 0


def test_two_guesses_that_a_failure_is_passing_are_enough() -> None:
    first = one(None, met(C.TRANSIENT, guessed=True, usage_reported=True, produced=True))
    second = one(first, met(C.TRANSIENT, guessed=True, usage_reported=True, produced=True))
    assert (first.state, second.state, second.cause) == (GateState.OPEN, GateState.LIMITED, Cause.OUTAGE)
    between = one(first, met(C.CLEAN, produced=True))
    assert one(between, met(C.TRANSIENT, guessed=True, usage_reported=True)).state is GateState.OPEN


def test_d29_a_limit_that_comes_back_without_output_waits_longer_and_ends_after_five_openings() -> None:
    gate = one(None, limit())
    waits: list[int] = []
    now = NOW
    for _ in range(20):
        found = admission([gate], KEY, now)
        if found.entry is Entry.CLOSED:
            break
        assert found.at is not None
        waits.append((found.at - now) // MINUTE_US)
        now = found.at
        gate = one(probing(gate, now), met(C.CLEAN, now, probe=True, produced=True))
        assert gate.state is GateState.OPEN
        gate = one(gate, met(C.LIMITED, now))
    assert waits == [30, 60, 120, 240, 480]
    assert (gate.state, gate.openings) == (GateState.STOPPED, 5)
    assert reopened(gate).openings == 0, "a person's word starts a new streak"


def test_output_between_two_limits_is_no_relapse() -> None:
    gate = one(None, limit())
    for number in range(1, 12):
        now = at(number * 6 * HOUR_US)
        gate = one(probing(gate, now), met(C.CLEAN, now, probe=True, produced=True))
        gate = one(gate, met(C.TURN_CAP, now, produced=True))
        gate = one(gate, limit(now))
        assert gate.try_at == Instant(now + 30 * MINUTE_US)


def test_a_session_that_began_before_the_limit_does_not_open_the_gate() -> None:
    gate = one(None, limit(reset_at=at(HOUR_US)))
    before = met(C.CLEAN, at(MINUTE_US), produced=True, began_at=at(-HOUR_US))
    assert one(gate, before).state is GateState.LIMITED
    assert one(gate, replace(before, began_at=at(1))).state is GateState.OPEN


@pytest.mark.parametrize("kind", [C.TRANSIENT, C.DEAD, C.HUNG, C.CRASHED, C.STOPPED])
def test_a_probe_that_tells_nothing_leaves_the_gate_closed_for_one_more_interval(kind: SessionClass) -> None:
    gate = probing(one(None, limit(reset_at=at(2 * HOUR_US))), at(30 * MINUTE_US))
    again = one(gate, met(kind, at(31 * MINUTE_US), probe=True))
    assert (again.state, again.try_at, again.cause) == (GateState.LIMITED, at(61 * MINUTE_US), Cause.LIMIT)


def test_a_probe_that_died_with_its_loop_is_booked_and_tried_again() -> None:
    gate = probing(one(None, limit(reset_at=at(2 * HOUR_US))), at(30 * MINUTE_US))
    back = probe_lost(gate, at(40 * MINUTE_US), POLICY)
    assert (back.state, back.probes, back.try_at) == (GateState.LIMITED, 1, at(70 * MINUTE_US))
    closed = one(None, limit())
    assert probe_lost(closed, at(1), POLICY) == closed, "only a gate that is being probed can lose a probe"


def test_the_strictest_of_all_gates_that_hold_for_a_key_decides() -> None:
    limited = one(None, limit(reset_at=at(HOUR_US)))
    auth = after([], SMALL, met(C.AUTH), POLICY)[0]
    for gates in itertools.permutations([limited, auth, Gate(key=OTHER)]):
        assert admission(gates, KEY, NOW) == Admission(entry=Entry.CLOSED, by=auth)
        assert admission(gates, OTHER, NOW).entry is Entry.GO


def test_no_sequence_of_ends_closes_a_gate_for_ever_without_a_remedy_or_a_next_try() -> None:
    """Every closed gate names when it is tried, is being tried, or says what a person must do."""
    kinds = [C.LIMITED, C.TRANSIENT, C.DEAD, C.CLEAN, C.AUTH]
    for sequence in itertools.product(kinds, repeat=5):
        gate: Gate | None = None
        now = NOW
        for kind in sequence:
            now = Instant(now + MINUTE_US)
            probe = gate is not None and gate.state is GateState.LIMITED
            tried = probing(gate, now) if gate is not None and probe else gate
            gate = one(tried, met(kind, now, probe=probe, produced=kind is C.CLEAN))
            match gate.state:
                case GateState.LIMITED:
                    assert gate.try_at is not None
                    assert gate.try_at > now
                case GateState.STOPPED:
                    assert gate.remedy
                case GateState.OPEN | GateState.PROBING:
                    assert gate.state is GateState.OPEN


def test_a_gate_is_named_as_its_parts() -> None:
    assert [str(key) for key in (KEY, GateKey(harness="codex"))] == ["claude/work/large", "codex/-/-"]
