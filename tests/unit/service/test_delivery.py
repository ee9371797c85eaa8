"""What the queue says of a result's way into the world, and what it makes of a break after landing."""

import pytest

from queue_bench import ANN, HOST, Answer, Bench, sha
from workloop.domain.campaign import Landing
from workloop.domain.checks import Check, CheckKind
from workloop.domain.clock import Instant
from workloop.domain.contract import from_canonical
from workloop.domain.errors import WorkloopError
from workloop.domain.grants import Actor, Grant
from workloop.service.delivery import landed_since, repair_for, report_green, report_red
from workloop.service.perform import run_as_host

GUARD = {"id": "suite", "command": "make test"}
TIP = sha(77)


def red(bench: Bench, tip: str = TIP, key: str = "x", broken: tuple[str, ...] = ("suite",)) -> Answer:
    """Report a red guard."""
    return dict(run_as_host(bench.queue, HOST, "look", lambda call: dict(report_red(call, key, tip, broken))))


def green(bench: Bench, tip: str = TIP, key: str = "x") -> Answer:
    """Report that the guards pass."""
    return dict(run_as_host(bench.queue, HOST, "look", lambda call: dict(report_green(call, key, tip))))


def land(bench: Bench, key: str = "x", number: int = 1) -> None:
    """Add, build, verify and land an item that has a guard and a check that proves."""
    bench.add(key, verification="none", guards=[GUARD], checks=[{"id": "new", "command": "test -f new"}])
    bench.finish(bench.claim(key), number)
    bench.fact(key, "landed", sha(number + 50))


def statements(bench: Bench, key: str = "x") -> dict[str, tuple[str, str]]:
    """Return how each of the four statements stands, and why."""
    return {row["fact"]: (row["known"], row["reason"]) for row in bench.do("show", key=key)["delivery"]}


def test_f18_one_break_has_one_repair_however_often_it_is_seen(bench: Bench) -> None:
    """E21, F18: the same break at the same and at a later tip is the repair that is under way."""
    land(bench)
    assert red(bench) == {"key": "x", "repair": "x~g1", "made": True, "reason": ""}
    for tip in (TIP, sha(78)):
        again = red(bench, tip)
        assert (again["repair"], again["made"], again["reason"]) == ("x~g1", False, "x~g1 is pending")
    assert bench.keys() == ["x", "x~g1"]


def test_e21_the_repairs_contract_asks_for_the_red_check_and_guards_the_rest(bench: Bench) -> None:
    """E21: what broke must be shown red and become green; what the item itself proved must still hold."""
    land(bench)
    red(bench)
    contract = from_canonical(bench.dossier("x~g1").contracts[-1])
    kinds = {check.id: check.kind for check in contract.checks}
    assert kinds == {"suite": CheckKind.PROVES, "new": CheckKind.GUARDS}
    assert TIP in contract.objective
    assert bench.item("x~g1").title == "Make suite pass again"
    assert bench.broken() == []


def test_f21_a_repair_that_landed_and_left_it_red_has_a_successor_a_bounded_number_of_times(bench: Bench) -> None:
    """F21: the wanted state is an open repair while it is red; after three that did not help a person must look."""
    land(bench)
    bench.change_settings(landing=Landing.LOCAL_MERGE)
    for number in (1, 2, 3):
        assert red(bench, sha(80 + number))["repair"] == f"x~g{number}"
        bench.finish(bench.claim(f"x~g{number}"), number + 1)
        waits = red(bench, sha(90 + number))
        assert (waits["made"], waits["reason"]) == (False, f"x~g{number} has not landed yet")
        bench.fact(f"x~g{number}", "landed", sha(number + 60))
    last = red(bench, sha(99))
    assert (last["made"], "a person must look" in last["reason"]) == (False, True)


@pytest.mark.parametrize("end", ["cancel", "fail"])
def test_a_repair_that_a_person_ended_or_that_failed_is_not_made_again_by_itself(bench: Bench, end: str) -> None:
    """Decision: a loop that pays for nothing is worse than a branch that stays red until a person looks."""
    land(bench)
    red(bench)
    if end == "cancel":
        bench.do("cancel", key="x~g1", reason="reverted by hand")
    else:
        while bench.item("x~g1").state == "pending":
            taken = bench.claim("x~g1")
            bench.do("retry", token=taken["token"], failed="f", cause="c", next_action="n", escalate=True)
    again = red(bench, sha(79))
    assert (again["made"], "a person must look" in again["reason"]) == (False, True)


def test_a_repair_that_nobody_began_goes_when_it_is_green_again(bench: Bench) -> None:
    """F21: the repair exists while it is red, and no session is spent on what is mended."""
    land(bench)
    red(bench)
    assert green(bench, sha(78))["reason"] == "not needed any more"
    assert bench.item("x~g1").state == "cancelled"
    red(bench, sha(79))
    assert bench.keys() == ["x", "x~g1"]


def test_a_repair_that_was_begun_is_left_to_its_worker(bench: Bench) -> None:
    """Decision: nobody's claim is taken away because of a look."""
    land(bench)
    red(bench)
    bench.claim("x~g1")
    green(bench, sha(78))
    assert bench.item("x~g1").state == "in_progress"


def test_one_repair_serves_all_results_that_the_same_command_guards(bench: Bench) -> None:
    """F18: three items under one suite do not make three repairs of it."""
    land(bench, "x", 1)
    land(bench, "y", 2)
    red(bench, key="y")
    check = Check(id="other-name", kind=CheckKind.GUARDS, command="make test")
    with bench.store.read() as tx:
        found = landed_since(tx, bench.item("x").campaign_id, Instant(0))
        assert [one.item.key for one in found] == ["x", "y"]
        repair = repair_for(tx, found, check)
    assert repair is not None
    assert repair.key == "y~g1"


def test_only_what_landed_can_break_after_landing(bench: Bench) -> None:
    """E19: a look at what has not landed says nothing about it."""
    bench.add("x", verification="none", guards=[GUARD])
    bench.finish(bench.claim("x"))
    for look in (red, green):
        with pytest.raises(WorkloopError) as refused:
            look(bench)
        assert refused.value.code == "NOT_LANDED"


def test_only_the_host_says_what_a_branch_shows(bench: Bench) -> None:
    """E09: nobody else's word makes a fact."""
    land(bench)
    with pytest.raises(WorkloopError) as refused:
        run_as_host(bench.queue, ANN, "look", lambda call: dict(report_red(call, "x", TIP, ("suite",))))
    assert refused.value.code == "FORBIDDEN"


def test_four_statements_are_unknown_until_each_was_seen(bench: Bench) -> None:
    """E15: unknown is never pass, and each says what is missing."""
    bench.change_settings(landing=Landing.PUSH)
    bench.add("x", guards=[GUARD])
    assert {known for known, _ in statements(bench).values()} == {"unknown"}
    assert statements(bench)["landed"] == ("unknown", "it lands after its verdict")
    verifier = bench.finish(bench.claim("x"))["follow_up"]["key"]
    assert statements(bench)["submitted"] == ("unknown", f"the remote has not been seen to have {sha(1)}")
    assert statements(bench)["verified"] == ("unknown", f"there is no verdict on {sha(1)} yet")
    taken = bench.claim(verifier, "checker")
    receipt = {"kind": "check", "ref": "suite", "slot": "suite", "result": "passed"}
    bench.do("attach", HOST, token=taken["token"], evidence=[receipt])
    bench.verdict(taken)
    assert statements(bench)["verified"] == ("yes", "")
    assert statements(bench)["landed"] == ("unknown", "it waits to land")
    bench.fact("x", "landed", sha(50))
    assert statements(bench)["submitted"][0] == "yes"
    assert statements(bench)["landed"] == ("yes", "")
    assert statements(bench)["still_green"][0] == "unknown"
    green(bench)
    assert statements(bench)["still_green"] == ("yes", "")
    red(bench, sha(78))
    assert statements(bench)["still_green"][0] == "no"


def test_a_rejected_or_refused_result_says_so(bench: Bench) -> None:
    """E18: the statement is about the newest result alone."""
    bench.change_settings(landing=Landing.PUSH)
    bench.rejected("x")
    assert statements(bench)["verified"] == ("no", "rejected: objective")
    bench.add("y", verification="none")
    bench.finish(bench.claim("y"), 3)
    bench.fact("y", "submitted", f"workloop/y/y@{sha(2)}")
    assert statements(bench, "y")["submitted"][0] == "unknown"
    bench.fact("y", "submitted", f"workloop/y/y@{sha(3)}")
    bench.fact("y", "landing_refused", "conflict: a.txt")
    assert statements(bench, "y")["submitted"][0] == "yes"
    assert statements(bench, "y")["landed"] == ("no", "it was refused for good")


def test_a_session_is_not_told_of_deliveries(bench: Bench) -> None:
    """E13: what became of earlier results is not the worker's to know."""
    bench.add("x")
    taken = bench.claim("x")
    session = Actor(principal="session:1", grant=Grant.SESSION, token=taken["token"])
    assert "delivery" not in bench.do("show", session)
