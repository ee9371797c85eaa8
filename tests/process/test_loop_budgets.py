"""Ceilings on spending, as a night of real processes meets them and a person is told of them."""

from typing import Any

from loop_bench import NewBench, honest, rule, write


def usage(output: int, cost_micros: int) -> dict[str, Any]:
    return {"emit": {"type": "usage", "output": output, "cost_micros": cost_micros}}


def test_a_run_ends_with_exit_code_6_at_its_ceiling_and_says_which_and_its_knob(new_bench: NewBench) -> None:
    bench = new_bench(harnesses="\n[budget.run]\ncost_usd = 0.5\n[budget.reserve]\ncost_usd = 0.3\n")
    bench.rules(rule("*", usage(1_000, 300_000), *honest()))
    for key in ("a", "b", "c"):
        bench.add(key)
    code, report, loop = bench.run()
    assert (code, report["reason"]) == (6, "budget_spent")
    assert "budget.run.cost_usd has no room left: 0.60 of 0.50 USD used" in report["detail"]
    assert report["sessions"] == 2
    told = bench.ask("why", "--loop")
    assert "budget.run.cost_usd" in told["reasons"][0]["message"]
    assert "a new run may use as much again; raise budget.run.cost_usd" in told["reasons"][0]["unblock"]
    assert bench.ask("cost")["total"]["cost_usd"] == 0.6
    assert loop.named("spend_unknown") == []


def test_an_item_that_has_used_up_its_own_budget_is_parked_with_the_key_to_raise(new_bench: NewBench) -> None:
    bench = new_bench(harnesses="\n[budget.item]\nsessions = 1\n")
    bench.rules(rule("a", usage(10, 5), write("half.txt", "half\n")), rule("b", usage(10, 5), *honest()))
    bench.add("a")
    bench.add("b")
    code, report, _ = bench.run("--once")
    assert bench.state("a") == "deferred", (code, report)
    why = str(bench.ask("why", "a"))
    assert "budget.item.sessions" in why
    assert "1 of 1 sessions used" in why
    assert bench.state("b") == "succeeded" or bench.ends("b") == ["complete"]


def test_a_session_is_ended_at_its_ceiling_and_its_work_is_kept(new_bench: NewBench) -> None:
    bench = new_bench(harnesses="\n[budget.session]\ntokens = 500\n")
    wait = {"wait_for": str(bench.mark("never"))}
    bench.rules(rule("a", write("half.txt", "half\n"), usage(600, 5), wait))
    bench.add("a")
    code, report, loop = bench.run("--once")
    told = loop.named("budget")
    assert [facts["key"] for facts in told] == ["a"], (code, report, loop.events)
    assert "budget.session.tokens is reached: 600 of 500 tokens" in told[0]["detail"]
    assert bench.state("a") == "deferred"
    assert [facts["files"] for facts in loop.named("salvaged")] == [["half.txt"]]
