"""Each verb does its work for a user at a shell."""

from pathlib import Path

from cli_project import Project, project_with

SESSION = """
[campaign]
name = "main"
lanes = ["browser"]

[campaign.boundaries]
spend-money = "May this cost money?"

[campaign.defaults]
boundaries = ["spend-money"]
verification = "session"
"""


def claimed(project: Project, key: str, holder: str = "one") -> tuple[str, str]:
    """Claim exactly one item; returns its token and the hash of its contract."""
    answer = project.ask("claim", key, "--holder", holder)
    assert answer["item"]["key"] == key
    return answer["token"], answer["contract_hash"]


def test_an_item_goes_from_its_title_to_a_verified_result(tmp_path: Path) -> None:
    """The whole life of an item, every step a command."""
    project = project_with(tmp_path, SESSION)
    added = project.ask("add", "Say hello", "--check", "test -f hello.txt", "--priority", "5")
    assert added["items"] == [{"key": "say-hello", "result": "added", "state": "pending"}]
    assert [row["key"] for row in project.ask("list", "--state", "pending")["items"]] == ["say-hello"]
    assert project.ask("why", "say-hello")["claimable"] is True
    token, quoted = claimed(project, "say-hello")
    assert project.ask("heartbeat", "--token", token)["key"] == "say-hello"
    assert project.ask("attach", "--token", token, "--evidence", "note:it was easy")["kept"] == 1
    sha = project.repository.commit({"hello.txt": "hello\n"})
    done = project.ask("complete", "--commit", sha, "--contract-hash", quoted, WORKLOOP_TOKEN=token)
    assert done["state"] == "candidate"
    verifier = project.ask("verify", "say-hello", "--holder", "two")
    assert verifier["item"]["role"] == "verify"
    rejected = project.ask(
        "complete", "--token", verifier["token"], "--contract-hash", verifier["contract_hash"], "--verdict", "rejected",
        "--failed-check", "check-1", "--reproduction", "test -f hello.txt", "--evidence", "file:hello.txt",
    )  # fmt: skip
    assert rejected["state"] == "succeeded"
    whole = project.ask("show", "say-hello")
    assert whole["state"] == "repairing"
    assert [row["role"] for row in whole["follow_ups"]] == ["verify", "repair"]
    status = project.ask("status")
    assert status["counts"] == {"pending": 1, "repairing": 1, "succeeded": 1}


def test_work_is_given_back_parked_answered_and_closed(tmp_path: Path) -> None:
    """Release, retry, defer and answer, supersede and cancel."""
    project = project_with(tmp_path, SESSION)
    for title in ("first", "second", "third"):
        project.ask("add", title)
    token, _ = claimed(project, "first")
    assert project.ask("release", "--token", token, "--reason", "wrong moment")["state"] == "pending"
    token, _ = claimed(project, "first")
    reasons = ("--failed", "the build", "--cause", "a typo", "--next-action", "fix the typo")
    assert project.ask("retry", "--token", token, *reasons)["state"] == "pending"
    token, _ = claimed(project, "first")
    asked = ("--boundary", "spend-money", "--asks", "May I buy it?")
    assert project.ask("defer", "--token", token, *asked)["state"] == "deferred"
    assert project.ask("status")["questions"][0]["key"] == "first"
    assert project.ask("answer", "first", "yes, up to ten")["key"] == "first"
    assert project.ask("show", "first")["contract"]["addenda"][0]["answer"] == "yes, up to ten"
    assert project.ask("supersede", "second", "third", "--reason", "the same work")["state"] == "superseded"
    assert project.ask("cancel", "third", "--reason", "not wanted")["state"] == "cancelled"


def test_a_pause_hands_out_nothing_until_work_is_resumed(tmp_path: Path) -> None:
    """Nothing claimable has an exit code of its own and says why."""
    project = project_with(tmp_path)
    project.ask("add", "one thing")
    assert project.ask("pause", "release week")["state"] == "paused"
    nothing = project.run("claim")
    assert nothing.code == 3
    assert nothing.answer["item"] is None
    assert "paused" in nothing.answer["message"]
    assert project.refused("claim", "one-thing") == (4, "CAMPAIGN_PAUSED")
    assert project.ask("resume")["state"] == "active"
    assert project.ask("claim")["item"]["key"] == "one-thing"
    assert project.ask("status")["claims"][0]["holder"].startswith("tester@")


def test_a_lane_is_taken_recorded_cleaned_and_given_back(tmp_path: Path) -> None:
    """What a claim opened in a lane is listed until it is acknowledged."""
    project = project_with(tmp_path, SESSION)
    project.ask("add", "look at it", "--lane", "browser")
    token, _ = claimed(project, "look-at-it")
    assert project.ask("lane", "acquire", "--token", token)["lane"] == "browser"
    project.ask("lane", "record", "tab-1", "tab-2", "--token", token, "--checkout-root", "/srv/preview")
    project.ask("lane", "release", WORKLOOP_TOKEN=token)
    assert project.ask("status")["lanes"] == [{"lane": "browser", "state": "dirty"}]
    project.ask("lane", "clean", "tab-1", "tab-2", "--lane", "browser")
    assert project.ask("status")["lanes"] == [{"lane": "browser", "state": "free"}]


def test_changed_settings_hold_for_items_added_after_they_are_applied(tmp_path: Path) -> None:
    """An item keeps the contract it was added with."""
    project = project_with(tmp_path, SESSION)
    project.ask("add", "before")
    config = Path(project.environment["WORKLOOP_CONFIG"])
    config.write_text(SESSION.replace('verification = "session"', 'verification = "none"'), encoding="utf-8")
    assert project.ask("init")["next"] == "workloop campaign apply"
    assert project.ask("campaign", "apply") == {"campaign": "main", "settings_version": 2}
    project.ask("add", "after")
    assert project.ask("show", "before")["contract"]["verification"] == "session"
    assert project.ask("show", "after")["contract"]["verification"] == "none"


def test_arguments_can_be_handed_over_as_they_are(tmp_path: Path) -> None:
    """--data takes one JSON object, from the line or from stdin."""
    project = project_with(tmp_path)
    project.ask("add", "--data", '{"items": [{"key": "a"}, {"key": "b"}]}')
    assert project.ask("list", "--data", "-", stdin='{"limit": 1}')["more"] is True
    assert project.ask("show", "--data", '{"key": "a"}')["key"] == "a"
    assert project.refused("show", "a", "--data", '{"key": "a"}') == (2, "BAD_REQUEST")
    assert project.refused("show", "--data", "[]") == (2, "BAD_REQUEST")
    assert project.refused("show", "--data", "{") == (2, "BAD_REQUEST")


def test_a_repeated_call_gets_the_first_answer_again(tmp_path: Path) -> None:
    """A request id makes a call safe to repeat; other arguments under it are refused."""
    project = project_with(tmp_path)
    first = project.ask("add", "once", "--request-id", "r1")
    again = project.ask("add", "once", "--request-id", "r1")
    assert again == {**first, "replayed": True}
    assert project.refused("add", "twice", "--request-id", "r1") == (4, "REQUEST_ID_REUSED")
