"""What the scheduler chooses, why it leaves the rest, and when it looks again."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloop.domain.clock import Instant
from workloop.domain.gate import GateKey
from workloop.domain.poll import Poll
from workloop.driver.report import LoopEndReason
from workloop.driver.scheduling.blocks import Block, Code, blocks, gated
from workloop.driver.scheduling.scheduler import Decision, Probe, Reason, Start, Stop, Wait, decide
from workloop.driver.scheduling.situation import GateView, Halt, Snapshot, Spent, Standing, TargetView

NOW = Instant(1_000_000)
CLAUDE = GateKey(harness="claude", account="", tier="")
CODEX = GateKey(harness="codex", account="", tier="")
SPENT = Spent(sentence="budget.run.tokens has no room left", unblock="raise budget.run.tokens")


def at(seconds: float) -> Instant:
    """Return an instant some seconds from now."""
    return Instant(NOW + round(seconds * 1_000_000))


def look(claimable: int = 1, **fields: Any) -> Poll:
    return Poll(version=1, claimable=claimable, **fields)


def target(name: str = "shop", **fields: Any) -> TargetView:
    given: dict[str, Any] = {"gates": (CLAUDE,), "looked": look(), **fields}
    return TargetView(name=name, **given)


def seen(*targets: TargetView, **fields: Any) -> Snapshot:
    given: dict[str, Any] = {"sessions_max": 8, **fields}
    return Snapshot(now=NOW, targets=targets or (target(),), **given)


def limited(key: GateKey = CLAUDE, **fields: Any) -> GateView:
    return GateView(key=key, standing=Standing.LIMITED, **fields)


def stopped(key: GateKey = CLAUDE) -> GateView:
    return GateView(key=key, standing=Standing.STOPPED, remedy="log the agent in again")


def reason(decision: Decision, about: str = "shop") -> Reason:
    return next(found for found in decision.reasons if found.about == about)


def test_a_target_with_work_and_an_open_gate_gets_a_session_of_its_first_agent() -> None:
    decision = decide(seen(target(gates=(CODEX, CLAUDE))))
    assert decision.action == Start(target="shop", gate=CODEX)
    assert decision.reasons == ()


IN_THE_WAY: dict[Code, dict[str, Any]] = {
    Code.UNREADABLE: {"looked": None, "problem": "boom"},
    Code.PAUSED: {"pause": Halt(reason="lunch")},
    Code.QUEUE_PAUSED: {"looked": look(paused=True)},
    Code.OUTSIDE_HOURS: {"opens_at": at(60)},
    Code.BACKED_OFF: {"back_off": Halt(reason="3 fruitless sessions", until=at(900))},
    Code.IDLE: {"looked": look(0)},
    Code.UNCLAIMED: {"unclaimed": 1},
    Code.TARGET_FULL: {"sessions_max": 2, "live": 2},
    Code.DISK_FULL: {"disk": "5 bytes are free, less than 10"},
    Code.LIMITED: {"gates": (CODEX,)},
    Code.STOPPED: {"gates": ()},
    Code.BUDGET_SPENT: {"spent": Spent(sentence="nothing is left", unblock="raise it", until=at(900))},
}
SHUT = (limited(CODEX, until=at(30)),)


@pytest.mark.parametrize("code", list(IN_THE_WAY))
def test_each_thing_in_the_way_is_named_with_what_would_lift_it(code: Code) -> None:
    decision = decide(seen(target(**IN_THE_WAY[code]), gates=SHUT))
    assert decision.action == Wait()
    found = reason(decision)
    assert (found.code, found.also) == (code, ())
    assert found.sentence
    assert found.unblock


ONE_OF = ({Code.UNREADABLE, Code.QUEUE_PAUSED, Code.IDLE, Code.UNCLAIMED}, {Code.LIMITED, Code.STOPPED})
PAIRS = [pair for pair in itertools.combinations(IN_THE_WAY, 2) if not any(set(pair) <= group for group in ONE_OF)]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_things_in_the_way_are_both_named_so_that_one_change_is_not_promised_to_do(one: Code, other: Code) -> None:
    both = target(**{**IN_THE_WAY[one], **IN_THE_WAY[other]})
    told = reason(decide(seen(both, gates=SHUT)))
    assert {told.code, *told.also} == {one, other}


@pytest.mark.parametrize("code", list(IN_THE_WAY))
def test_what_is_in_the_way_of_one_target_is_in_the_way_of_no_other(code: Code) -> None:
    """A limit, a pause, a backlog that cannot be read: the rest goes on."""
    decision = decide(seen(target("a", **IN_THE_WAY[code]), target("b"), gates=SHUT))
    assert decision.action == Start(target="b", gate=CLAUDE)
    assert reason(decision, "a").code is code


def test_items_of_dead_holders_are_work_too() -> None:
    assert decide(seen(target(looked=look(0, stale_claimable=1)))).action == Start(target="shop", gate=CLAUDE)


def test_a_pause_ends_at_its_time_and_one_without_an_end_never_by_itself() -> None:
    past = target(pause=Halt(reason="lunch", until=NOW), back_off=Halt(reason="x", until=NOW), opens_at=NOW)
    assert isinstance(decide(seen(past)).action, Start)
    assert decide(seen(target(pause=Halt(reason="lunch")))).next_wake is None


def test_alternative_agents_take_over_while_the_first_is_limited_or_stopped() -> None:
    both = target(gates=(CLAUDE, CODEX))
    for gate in (limited(until=at(60)), stopped(), GateView(key=CLAUDE, standing=Standing.PROBING)):
        action = decide(seen(both, gates=(gate,))).action
        assert isinstance(action, Start)
        assert action == Start(target="shop", gate=CODEX, instead=action.instead)
        assert action.instead.startswith(
            f"claude is {gate.standing}" if gate.standing != "probing" else "claude is being"
        )
    neither = decide(seen(both, gates=(limited(until=at(60)), stopped(CODEX))))
    assert neither.action == Wait()
    assert reason(neither).code is Code.LIMITED
    assert "codex is stopped: log the agent in again" in reason(neither).sentence
    assert neither.next_wake == at(60)


def test_accounts_and_tiers_are_gates_of_their_own() -> None:
    work, home = (GateKey(harness="claude", account=account, tier="big") for account in ("work", "home"))
    decision = decide(seen(target(gates=(work, home)), gates=(limited(work, until=at(60)),)))
    assert isinstance(decision.action, Start)
    assert decision.action.gate == home


def test_after_a_reset_one_session_goes_first_and_the_others_follow_once_it_was_let_through() -> None:
    """A limit that still holds after its stated reset costs one session, not one per slot."""
    lapsed = limited(until=NOW)
    assert decide(seen(gates=(lapsed,))).action == Start(target="shop", gate=CLAUDE, tries=CLAUDE)
    assert decide(seen(gates=(replace(lapsed, by=CODEX),))).action == Start(target="shop", gate=CLAUDE, tries=CODEX)
    second = decide(seen(gates=(replace(lapsed, standing=Standing.PROBING),), live=1))
    assert (second.action, reason(second).code) == (Wait(), Code.PROBING)


def test_a_due_probe_goes_first_but_only_for_a_target_that_nothing_else_keeps() -> None:
    due = limited(probe_at=NOW)
    assert decide(seen(gates=(due,))).action == Probe(gate=CLAUDE, target="shop")
    assert decide(seen(target("a"), target("b", gates=(CODEX,)), gates=(due,))).action == Probe(gate=CLAUDE, target="a")
    keeps: tuple[dict[str, Any], ...] = ({"looked": look(0)}, {"pause": Halt(reason="lunch")})
    for kept in keeps:
        assert decide(seen(target(**kept), gates=(due,))).action == Wait()
    later = decide(seen(gates=(limited(probe_at=at(10), until=at(90)),)))
    assert (later.action, later.next_wake) == (Wait(), at(10))


def test_one_outage_is_probed_once_at_a_time() -> None:
    big, small = (GateKey(harness="claude", account="", tier=tier) for tier in ("big", "small"))
    gates = (GateView(key=big, standing=Standing.PROBING), limited(small, probe_at=NOW))
    both = (target("a", gates=(big,)), target("b", gates=(small,)))
    assert decide(seen(*both, gates=gates)).action == Wait()
    elsewhere = limited(replace(small, account="home"), probe_at=NOW)
    third = target("c", gates=(elsewhere.key,))
    assert decide(seen(*both, third, gates=(*gates, elsewhere))).action == Probe(gate=elsewhere.key, target="c")


def test_a_full_loop_or_host_starts_nothing_and_says_so() -> None:
    full: tuple[tuple[dict[str, Any], Code], ...] = (
        ({"live": 8}, Code.LOOP_FULL),
        ({"host_free": False}, Code.HOST_FULL),
    )
    for fields, code in full:
        decision = decide(seen(gates=(limited(CODEX, probe_at=NOW),), **fields))
        assert decision.action == Wait()
        assert reason(decision, "").code is code
        assert reason(decision).code is Code.TURN


def test_sessions_that_have_not_claimed_yet_are_not_started_twice() -> None:
    """C06: a backlog that only says that there is something gets one session at a time until it is taken."""
    flag = Poll(version=1, claimable=True)
    assert isinstance(decide(seen(target(looked=flag))).action, Start)
    assert reason(decide(seen(target(looked=flag, unclaimed=1)))).code is Code.UNCLAIMED
    assert isinstance(decide(seen(target(looked=look(3), unclaimed=2))).action, Start)


ENDS: list[tuple[dict[str, Any], LoopEndReason, dict[str, Any]]] = [
    ({"asked_to_end": "a STOP file"}, LoopEndReason.STOPPED, {"live": 1}),
    ({"ends_at": NOW}, LoopEndReason.BUDGET, {"live": 1}),
    ({"spent": SPENT}, LoopEndReason.BUDGET, {}),
    ({"sessions_left": 0}, LoopEndReason.SESSIONS, {}),
]


@pytest.mark.parametrize(("fields", "why", "busy"), ENDS)
def test_a_ceiling_ends_the_run(fields: dict[str, Any], why: LoopEndReason, busy: dict[str, Any]) -> None:
    action = decide(seen(**fields, **busy)).action
    assert isinstance(action, Stop)
    assert action.reason is why
    assert action.detail


@pytest.mark.parametrize("fields", [{"spent": SPENT}, {"sessions_left": 0}])
def test_what_is_under_way_may_still_give_back_what_it_was_counted_for(fields: dict[str, Any]) -> None:
    assert decide(seen(live=1, **fields)).action == Wait()
    assert decide(seen(busy=True, **fields)).action == Wait()


def test_an_empty_queue_is_no_reason_to_end() -> None:
    decision = decide(seen(target(looked=look(0, next_wake=at(40)))))
    assert (decision.action, decision.next_wake) == (Wait(), at(40))


ONCE = [
    (target(looked=look(0)), (), False, LoopEndReason.NOTHING),
    (target(looked=look(0)), (), True, LoopEndReason.DRAINED),
    (target(pause=Halt(reason="lunch")), (), False, LoopEndReason.NOTHING),
    (target(looked=look(0)), (limited(until=at(60)),), True, LoopEndReason.LIMITED),
    (target(), (stopped(),), True, LoopEndReason.HARNESS),
]


@pytest.mark.parametrize(("view", "gates", "worked", "why"), ONCE)
def test_a_run_that_is_to_drain_ends_with_the_reason(
    view: TargetView, gates: tuple[GateView, ...], worked: bool, why: LoopEndReason
) -> None:
    action = decide(seen(view, gates=gates, once=True, worked=worked)).action
    assert isinstance(action, Stop)
    assert action.reason is why
    assert decide(seen(view, gates=gates, once=True, live=1)).action == Wait()
    assert decide(seen(view, gates=gates, once=True, busy=True)).action == Wait()


def test_limits_end_the_run_only_if_nothing_can_begin_before_its_time_is_over() -> None:
    both, end = target(gates=(CLAUDE, CODEX)), at(600)
    shut = (limited(until=at(3600)), limited(CODEX, until=at(7200), probe_at=at(30), stated=True))
    stop = decide(seen(both, gates=shut, ends_at=end)).action
    assert isinstance(stop, Stop)
    assert stop.reason is LoopEndReason.LIMITED
    assert "1970-01-01T01:00:01" in stop.detail
    for still in (
        seen(both, gates=shut),
        seen(both, gates=shut, ends_at=end, live=1),
        seen(both, gates=(shut[0],), ends_at=end),
        seen(both, gates=(shut[0], limited(CODEX, until=at(30))), ends_at=end),
        seen(both, gates=(shut[0], limited(CODEX, until=at(7200), probe_at=at(30))), ends_at=end),
        seen(both, gates=(shut[0], stopped(CODEX)), ends_at=end),
        seen(both, target("idle", gates=(GateKey(harness="qwen", account="", tier=""),)), gates=shut, ends_at=end),
        seen(both, target("paused", pause=Halt(reason="lunch")), gates=shut, ends_at=end),
    ):
        assert not isinstance(decide(still).action, Stop), still


def test_the_next_look_is_at_the_earliest_of_all_times() -> None:
    times = [at(number) for number in range(1, 8)]
    for order in itertools.islice(itertools.permutations(times), 0, 5040, 97):
        pause, back, opening, limit, probe, due, end = order
        view = target(
            pause=Halt(reason="x", until=pause),
            back_off=Halt(reason="y", until=back),
            opens_at=opening,
            looked=look(next_wake=due),
        )
        decision = decide(seen(view, gates=(limited(until=limit, probe_at=probe),), ends_at=end))
        assert decision.next_wake == times[0]
    assert decide(seen(target(looked=look(next_wake=NOW)))).next_wake is None


@given(st.integers(1, 6), st.data())
def test_no_target_waits_for_more_than_one_session_of_each_other(number: int, data: st.DataObject) -> None:
    """H11: the bound on waiting, whatever the others do."""
    views = [target(f"t{index}") for index in range(number)]
    waited = dict.fromkeys((view.name for view in views), 0)
    served = 0
    for _ in range(40):
        busy = data.draw(st.sets(st.integers(0, number - 1)))
        now = [replace(view, looked=look(0)) if index in busy else view for index, view in enumerate(views)]
        action = decide(seen(*now)).action
        if not isinstance(action, Start):
            continue
        served += 1
        for index, view in enumerate(now):
            if view.name == action.target:
                views[index] = replace(views[index], served=served)
                assert waited[view.name] <= number - 1
                waited[view.name] = 0
            else:
                waited[view.name] = 0 if index in busy else waited[view.name] + 1
                assert waited[view.name] <= number - 1


def views() -> st.SearchStrategy[TargetView]:
    times = st.none() | st.integers(-5, 5).map(at)
    halts = st.none() | st.builds(Halt, reason=st.just("x"), until=times)
    polls = st.builds(
        Poll,
        version=st.just(1),
        claimable=st.integers(0, 2),
        stale_claimable=st.integers(0, 1),
        paused=st.booleans(),
        next_wake=times,
    )
    return st.builds(
        TargetView,
        name=st.just(""),
        gates=st.lists(st.sampled_from([CLAUDE, CODEX]), unique=True).map(tuple),
        looked=st.none() | polls,
        pause=halts,
        back_off=halts,
        opens_at=times,
        sessions_max=st.none() | st.just(1),
        live=st.integers(0, 1),
        unclaimed=st.integers(0, 1),
        served=st.integers(0, 5),
    )


def gates() -> st.SearchStrategy[tuple[GateView, ...]]:
    times = st.none() | st.integers(-5, 5).map(at)
    one: dict[str, Any] = {"standing": st.sampled_from(Standing), "until": times, "probe_at": times}
    pair = [st.builds(GateView, key=st.just(key), **one) for key in (CLAUDE, CODEX)]
    return st.tuples(*pair)


@given(st.lists(views(), max_size=4), gates(), st.integers(0, 2), st.booleans(), st.none() | st.integers(-3, 9).map(at))
def test_every_target_is_served_or_told_why_not(
    found: list[TargetView], doors: tuple[GateView, ...], live: int, once: bool, end: Instant | None
) -> None:
    named = [replace(view, name=f"t{index}") for index, view in enumerate(found)]
    shown = Snapshot(now=NOW, targets=tuple(named), gates=doors, live=live, sessions_max=2, once=once, ends_at=end)
    decision = decide(shown)
    assert decision == decide(shown)
    chosen = {decision.action.target} if isinstance(decision.action, Start | Probe) else set[str]()
    assert {told.about for told in decision.reasons} - {""} == {view.name for view in named} - chosen
    assert decision.next_wake is None or decision.next_wake > NOW
    if isinstance(decision.action, Start):
        (view,) = [view for view in named if view.name == decision.action.target]
        assert blocks(view, shown) == ()
        assert live < 2
    if isinstance(decision.action, Wait) and live < 2 and end is None:
        assert all(blocks(view, shown) for view in named)


def test_what_opens_first_is_the_reason_that_is_told() -> None:
    two = target(gates=(CLAUDE, CODEX))
    block = gated(two, seen(two, gates=(limited(until=at(90)), limited(CODEX, until=at(60)))))
    assert isinstance(block, Block)
    assert (block.code, block.until) == (Code.LIMITED, at(60))
