"""The same use case through every surface gives the same answers and the same refusals."""

from pathlib import Path

import pytest

from surface_bench import Call, Facts, Project, normal, open_project, surface

SURFACES = ("cli", "mcp-stdio", "mcp-http", "http")
ITEM: Facts = {
    "key": "greeting",
    "title": "Say hello",
    "objective": "A file hello.txt says hello",
    "evidence": ["transcript"],
    "verification": "session",
}


def story(call: Call, project: Project) -> dict[str, Facts]:
    """Take one item from the backlog to a verdict, with refusals on the way."""
    told: dict[str, Facts] = {"add": call("add_items", {"items": [ITEM]})}
    told["claim"] = claimed = call("claim", {"holder": "one", "request_id": "first"})
    token, quoted = claimed["token"], claimed["contract_hash"]
    told["claim again"] = call("claim", {"holder": "one", "request_id": "first"})
    told["other content"] = call("add_items", {"items": [{**ITEM, "objective": "something else"}]})
    told["heartbeat"] = call("heartbeat", {"token": token})
    sha = project.work()
    done: Facts = {"token": token, "contract_hash": quoted, "outcome": {"kind": "commit", "ref": sha}}
    told["complete without evidence"] = call("complete", done)
    proof = {"kind": "artifact", "ref": "transcript.txt", "slot": "transcript", "digest": "0" * 64}
    told["complete"] = call("complete", {**done, "evidence": [proof]})
    told["verify"] = verifying = call("verify", {"key": "greeting", "holder": "two"})
    verdict = {"token": verifying["token"], "contract_hash": verifying["contract_hash"], "verdict": "passed"}
    told["verdict without a look"] = call("complete", verdict)
    looked = {"kind": "file", "ref": "hello.txt", "digest": "1" * 64, "result": "passed"}
    told["verdict"] = call("complete", {**verdict, "evidence": [looked]})
    told["show"] = call("show", {"key": "greeting"})
    told["why"] = call("why", {"key": "greeting"})
    told["status"] = call("status", {})
    told["nothing left"] = call("claim", {"holder": "three"})
    told["unknown key"] = call("show", {"key": "no-such-item"})
    told["unknown field"] = call("claim", {"holder": "three", "colour": "red"})
    told["stale token"] = call("heartbeat", {"token": token})
    told["reused id"] = call("claim", {"holder": "nine", "request_id": "first"})
    told["wrong type"] = call("list", {"limit": "many"})
    return told


@pytest.mark.parametrize("name", SURFACES)
def test_a_surface_answers_as_the_service_does(name: str, tmp_path: Path) -> None:
    with open_project(tmp_path / "service") as project:
        expected = normal(story(project.act, project))
    with open_project(tmp_path / "surface") as project, surface(name, project) as call:
        told = normal(story(call, project))
    assert list(told) == list(expected)
    for step, answer in expected.items():
        assert told[step] == answer, step


def test_the_story_reaches_a_verdict_and_is_refused_on_the_way(tmp_path: Path) -> None:
    with open_project(tmp_path) as project:
        told = story(project.act, project)
    assert told["complete"]["state"] == "candidate"
    assert told["show"]["state"] == "succeeded"
    assert told["nothing left"]["item"] is None
    assert {step: answer["code"] for step, answer in told.items() if "suggested_fix" in answer} == {
        "other content": "CONTRACT_CONFLICT",
        "complete without evidence": "EVIDENCE_MISSING",
        "verdict without a look": "VACUOUS",
        "unknown key": "KEY_NOT_FOUND",
        "unknown field": "UNKNOWN_FIELD",
        "stale token": "ALREADY_SETTLED",
        "reused id": "REQUEST_ID_REUSED",
        "wrong type": "BAD_REQUEST",
    }


def test_a_repeated_claim_returns_the_same_claim(tmp_path: Path) -> None:
    """A client that cut a slow call repeats it with the same request id."""
    with open_project(tmp_path) as project:
        told = story(project.act, project)
    assert told["claim again"] == {**told["claim"], "replayed": True}
