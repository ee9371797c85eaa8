"""What is wrong is refused by a code and an exit code, and leaves the store as it was."""

from dataclasses import dataclass

import pytest
from cli_project import Project, project_with

SETTINGS = """
[campaign]
name = "main"
slots = 3
lanes = ["browser"]

[campaign.boundaries]
spend-money = "May this cost money?"

[campaign.defaults]
boundaries = ["spend-money"]
verification = "session"
"""
SIGNED = "https://store.example/a.png?X-Amz-Signature=abc&X-Amz-Expires=60"


@dataclass(frozen=True, slots=True)
class Scene:
    """A campaign with items in many states, and the tokens of what is claimed."""

    project: Project
    tokens: dict[str, str]
    hashes: dict[str, str]

    def fill(self, word: str) -> str:
        """Put tokens and hashes where a case names them."""
        for key, token in self.tokens.items():
            word = word.replace(f"<token {key}>", token)
        for key, quoted in self.hashes.items():
            word = word.replace(f"<hash {key}>", quoted)
        return word


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Make the campaign once; refused calls leave it as it is."""
    project = project_with(tmp_path_factory.mktemp("refusals"), SETTINGS)
    lines = [
        '{"key": "held", "checks": ["true"], "evidence": ["proof"]}',
        '{"key": "judged", "checks": ["true"]}',
        '{"key": "late", "not_before": "2040-01-01T00:00:00Z"}',
        '{"key": "waits", "depends_on": ["held"]}',
        '{"key": "free", "outcomes": ["commit", "no_change"]}',
        '{"key": "over"}',
        '{"key": "plain", "boundaries": []}',
    ]
    project.ask("add", "--file", project.file("scene.jsonl", "\n".join(lines)))
    project.ask("cancel", "over", "--reason", "not wanted")
    tokens: dict[str, str] = {}
    hashes: dict[str, str] = {}
    for key in ("held", "judged", "plain"):
        answer = project.ask("claim", key, "--holder", f"h-{key}")
        tokens[key], hashes[key] = answer["token"], answer["contract_hash"]
    sha = project.repository.commit({"judged.txt": "x"})
    words = ("--token", tokens["judged"], "--contract-hash", hashes["judged"], "--commit", sha)
    project.ask("complete", *words)
    answer = project.ask("verify", "judged", "--holder", "judge")
    tokens["verifier"], hashes["verifier"] = answer["token"], answer["contract_hash"]
    return Scene(project, tokens, hashes)


HELD = ("--token", "<token held>")
SETTLE = ("complete", *HELD, "--contract-hash", "<hash held>")
JUDGE = ("complete", "--token", "<token verifier>", "--contract-hash", "<hash verifier>")
SETTLED = ("complete", "--token", "<token judged>", "--contract-hash", "<hash judged>")
SHA = "0123456789abcdef0123456789abcdef01234567"

CASES: tuple[tuple[tuple[str, ...], int, str], ...] = (
    (("frobnicate",), 2, "USAGE"),
    (("show", "free", "--colour", "red"), 2, "USAGE"),
    (("show", "free", "extra"), 2, "USAGE"),
    (("claim", "--key"), 2, "USAGE"),
    (("list", "--limit", "many"), 2, "BAD_REQUEST"),
    (("list", "--limit", "0"), 2, "BAD_REQUEST"),
    (("list", "--state", "sleeping"), 2, "BAD_REQUEST"),
    (("list", "--after", "zzz"), 2, "BAD_REQUEST"),
    (("show",), 2, "BAD_REQUEST"),
    (("show", "nowhere"), 7, "KEY_NOT_FOUND"),
    (("show", "--data", '{"key": "free", "colour": "red"}'), 2, "UNKNOWN_FIELD"),
    (("claim", "--holder", "  "), 2, "BAD_REQUEST"),
    (("claim", "nowhere"), 7, "KEY_NOT_FOUND"),
    (("claim", "held", "--holder", "other"), 4, "KEY_NOT_CLAIMABLE"),
    (("claim", "late", "--holder", "other"), 4, "KEY_NOT_CLAIMABLE"),
    (("claim", "waits", "--holder", "other"), 4, "KEY_NOT_CLAIMABLE"),
    (("claim", "over", "--holder", "other"), 4, "KEY_NOT_CLAIMABLE"),
    (("claim", "free", "--expected-role", "verify"), 4, "ROLE_MISMATCH"),
    (("claim", "free", "--expected-role", "chef"), 2, "BAD_REQUEST"),
    (("claim", "free", "--holder", "h-held"), 4, "HOLDER_BUSY"),
    (("claim", "free", "--holder", "other"), 4, "SLOTS_FULL"),
    (("verify", "free", "--holder", "other"), 7, "NO_VERIFIER"),
    (("verify", "--holder", ""), 2, "BAD_REQUEST"),
    (("heartbeat",), 2, "BAD_REQUEST"),
    (("heartbeat", "--token", "nonsense"), 4, "STALE_CLAIM"),
    (("heartbeat", *HELD, "--lease-seconds", "-5"), 2, "BAD_REQUEST"),
    (("heartbeat", *HELD, "--lease-seconds", "0"), 2, "BAD_REQUEST"),
    (("claim", "free", "--lease-seconds", "0"), 2, "BAD_REQUEST"),
    ((*SETTLED, "--commit", SHA), 4, "ALREADY_SETTLED"),
    ((*SETTLE, "--commit", "abc"), 5, "COMMIT_NOT_FULL"),
    ((*SETTLE, "--commit", SHA, "--no-change"), 2, "BAD_REQUEST"),
    ((*SETTLE,), 5, "OUTCOME_REQUIRED"),
    ((*SETTLE, "--evidence", "proof"), 2, "BAD_REQUEST"),
    ((*SETTLE, "--evidence", "dream:x"), 2, "BAD_REQUEST"),
    ((*SETTLE, "--evidence", '{"kind": "file", "ref": "x", "colour": "red"}'), 2, "UNKNOWN_FIELD"),
    ((*SETTLE, "--url", SIGNED), 5, "OUTCOME_NOT_ALLOWED"),
    (("attach", *HELD, "--evidence", f"url:{SIGNED}"), 5, "EVIDENCE_NOT_DURABLE"),
    (("complete", *HELD, "--contract-hash", "0" * 64, "--commit", SHA), 4, "CONTRACT_MISMATCH"),
    ((*JUDGE,), 5, "VERDICT_REQUIRED"),
    ((*JUDGE, "--verdict", "mostly ok"), 5, "VERDICT_REQUIRED"),
    ((*JUDGE, "--verdict", "rejected"), 5, "REJECT_DETAIL_REQUIRED"),
    ((*JUDGE, "--verdict", "rejected", "--failed-check", "dream", "--reproduction", "x"), 5, "REJECT_DETAIL_REQUIRED"),
    (("retry", *HELD), 2, "RETRY_DETAIL_REQUIRED"),
    (("retry", "free", "--reason", "again"), 4, "NOT_FAILED"),
    (("defer", *HELD, "--asks", "may I?"), 2, "BOUNDARY_REQUIRED"),
    (("defer", *HELD, "--boundary", "login", "--asks", "may I?"), 5, "NOT_A_HUMAN_BOUNDARY"),
    (("defer", *HELD, "--boundary", "paint-it", "--asks", "may I?"), 5, "BOUNDARY_NOT_IN_CONTRACT"),
    (("defer", "--token", "<token plain>", "--boundary", "spend-money", "--asks", "may I?"), 5, "DEFER_NOT_ALLOWED"),
    (("answer", "free", "yes"), 4, "NOT_DEFERRED"),
    (("answer", "free"), 2, "BAD_REQUEST"),
    (("answer", "free", "  "), 2, "BAD_REQUEST"),
    (("promote", "free"), 4, "TRANSITION_REFUSED"),
    (("cancel", "free"), 2, "BAD_REQUEST"),
    (("cancel", "over", "--reason", "again"), 4, "TRANSITION_REFUSED"),
    (("supersede", "free", "nowhere", "--reason", "x"), 7, "REPLACEMENT_NOT_FOUND"),
    (("supersede", "free", "free", "--reason", "x"), 2, "SAME_KEY"),
    (("supersede", "free", "over", "--reason", "x"), 4, "REPLACEMENT_TERMINAL"),
    (("supersede", "free", "waits"), 2, "BAD_REQUEST"),
    (("release", *HELD, "--infra"), 77, "FORBIDDEN"),
    (("pause",), 2, "BAD_REQUEST"),
    (("pause", "rest", "--until", "tomorrow"), 2, "BAD_REQUEST"),
    (("pause", "rest", "--until", "2001-01-01T00:00:00Z"), 2, "BAD_REQUEST"),
    (("lane", "acquire", *HELD), 4, "LANE_NOT_IN_CONTRACT"),
    (("lane", "clean", "tab", "--lane", "nowhere"), 7, "LANE_UNKNOWN"),
    (("add",), 2, "BAD_REQUEST"),
    (("add", "x", "--data", '{"items": []}'), 2, "BAD_REQUEST"),
    (("add", "--priority", "5", "--data", '{"items": [{"key": "x"}]}'), 2, "BAD_REQUEST"),
    (("add", "--data", '{"items": [], "items": [{"key": "x"}]}'), 2, "BAD_REQUEST"),
    (("add", "--data", '{"items": ' + "9" * 5000 + "}"), 2, "BAD_REQUEST"),
    (("add", "  "), 2, "BAD_REQUEST"),
    (("add", "two\nlines"), 2, "BAD_REQUEST"),
    (("add", "x", "--key", "a b"), 2, "BAD_REQUEST"),
    (("add", "x", "--key", "free~v1"), 2, "KEY_RESERVED"),
    (("add", "x", "--key", "free"), 4, "CONTRACT_CONFLICT"),
    (("add", "x", "--priority", "high"), 2, "BAD_REQUEST"),
    (("add", "x", "--priority", "0"), 2, "BAD_PRIORITY"),
    (("add", "x", "--priority", "1001"), 2, "BAD_PRIORITY"),
    (("add", "x", "--depends-on", "nowhere"), 2, "DEP_UNKNOWN"),
    (("add", "x", "--depends-on", "x"), 2, "DEP_SELF"),
    (("add", "x", "--boundary", "paint-it"), 2, "BOUNDARY_UNKNOWN"),
    (("add", "x", "--authority-allow", "deploy"), 2, "AUTHORITY_NOT_GRANTABLE"),
    (("add", "x", "--lane", "nowhere"), 7, "LANE_UNKNOWN"),
    (("add", "x", "--family", "f"), 2, "BAD_REQUEST"),
    (("add", "x", "--protected", "../outside"), 2, "BAD_REQUEST"),
    (("add", "x", "--verification", "magic"), 2, "BAD_REQUEST"),
    (("add", "x", "--objective", "y" * 19_999 + "\U0001f600" * 19_999), 2, "TOO_LARGE"),
    (("add", "--file", "/nowhere/items.jsonl"), 2, "FILE_NOT_FOUND"),
    (("add", "x", "--file", "-"), 2, "BAD_REQUEST"),
    (("add", "--data", '{"items": [' + ",".join(f'{{"key": "k{n}"}}' for n in range(501)) + "]}"), 2, "TOO_MANY_ITEMS"),
    (("--config", "/nowhere/workloop.toml", "list"), 7, "CONFIG_NOT_FOUND"),
    (("--campaign", "other", "status"), 7, "CAMPAIGN_NOT_FOUND"),
    (("completion", "cmd.exe"), 2, "BAD_REQUEST"),
    (("mcp", "--profile", "king"), 2, "BAD_REQUEST"),
    (("run", "--sessions", "none"), 2, "BAD_REQUEST"),
)  # fmt: skip


@pytest.mark.parametrize(("words", "code", "name"), CASES)
def test_a_wrong_call_is_refused_and_writes_nothing(scene: Scene, words: tuple[str, ...], code: int, name: str) -> None:
    """Every bad input that a shell can give has its own code."""
    before = scene.project.written()
    assert scene.project.refused(*(scene.fill(word) for word in words)) == (code, name)
    assert scene.project.written() == before


def test_a_lost_lease_tells_the_worker_to_stop_writing(scene: Scene) -> None:
    """The one refusal that a worker must obey at once says so in words and in a member of its own."""
    done = scene.project.run("heartbeat", "--token", "nonsense")
    assert done.problem["stop_writing"] is True
    told = scene.project.run("heartbeat", "--token", "nonsense", "--no-json")
    assert told.code == 4
    assert "hint: stop writing now" in told.err


def test_an_unknown_key_is_answered_with_keys_that_look_alike(scene: Scene) -> None:
    """A typing mistake costs one look."""
    assert "held" in scene.project.run("show", "hel").problem["suggested_fix"]
