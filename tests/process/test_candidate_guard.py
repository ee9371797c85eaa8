"""Which candidates of a repair are refused by what git says of them, before anything of them runs."""

from pathlib import Path

import pytest

from workloop.repair.ledger.records import RepairRefusal
from workloop.repair.verification.guard import GuardRules, refusals_of
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

FILES = {
    "harness.toml": 'name = "one"\n[settings]\nnetwork = false\n',
    "tool.sh": "exit 1\n",
    "tests/check.sh": "sh tool.sh\n",
    "Größe/limit.txt": "1\n",
}
RULES = GuardRules(protected=("tests", "limits/*.toml", "Größe"))


@pytest.fixture
def harness(tmp_path: Path) -> ScratchRepository:
    return scratch_repository(tmp_path / "harness", FILES)


def refused(harness: ScratchRepository, base: str, candidate: str, rules: GuardRules = RULES) -> list[RepairRefusal]:
    return [one.refusal for one in refusals_of(harness.path, base, candidate, rules)]


def test_a_plain_repair_of_a_tool_may_be_run(harness: ScratchRepository) -> None:
    base = harness.head
    assert refused(harness, base, harness.commit({"tool.sh": "exit 0\n", "docs/why.md": "because\n"})) == []


def test_what_is_no_full_commit_above_the_base_is_no_candidate(harness: ScratchRepository) -> None:
    base = harness.head
    good = harness.commit({"tool.sh": "exit 0\n"})
    harness.git("tag", "-a", "-m", "a tag", "v1")
    tag, tree = harness.git("rev-parse", "v1"), harness.git("rev-parse", "HEAD^{tree}")
    empty = harness.git("commit-tree", "-p", base, "-m", "nothing", f"{base}^{{tree}}")
    orphan = harness.git("commit-tree", "-m", "no parent", f"{good}^{{tree}}")
    names = (good[:12], good.upper(), "main", "HEAD", "-h", "0" * 40, tag, tree, orphan, empty, base, good + "\n", "")
    for name in names:
        assert refused(harness, base, name) == [RepairRefusal.INVALID_CANDIDATE], name
    assert refused(harness, good, base) == [RepairRefusal.INVALID_CANDIDATE]


@pytest.mark.parametrize(
    "path",
    [
        "tests/check.sh",
        "tests/new.sh",
        "Tests/check.sh",
        "TESTS/new.sh",
        "tests ./check.sh",
        "limits/run.toml",
        "Limits/RUN.TOML",
        "GRÖSSE/limit.txt",
        "Gro\u0308ße/limit.txt",
        "\uff54ests/check.sh",
    ],
)
def test_a_protected_path_is_protected_in_any_spelling(harness: ScratchRepository, path: str) -> None:
    base = harness.head
    assert refused(harness, base, harness.commit({path: "exit 0\n"}))[0] is RepairRefusal.PROTECTED_PATH


def test_a_protected_file_cannot_be_renamed_away_and_no_other_takes_its_place(harness: ScratchRepository) -> None:
    base = harness.head
    harness.git("mv", "tests/check.sh", "checked.sh")
    assert refused(harness, base, harness.commit({})) == [RepairRefusal.PROTECTED_PATH]
    harness.git("reset", "--quiet", "--hard", base)
    harness.git("mv", "-f", "tool.sh", "tests/check.sh")
    assert refused(harness, base, harness.commit({})) == [RepairRefusal.PROTECTED_PATH]


def test_a_name_that_git_would_quote_is_compared_as_it_is(harness: ScratchRepository) -> None:
    base = harness.head
    quoted = harness.commit({'tests/a "b"\tc.sh': "exit 0\n"})
    assert RepairRefusal.PROTECTED_PATH in refused(harness, base, quoted)


def test_what_decides_how_checks_run_is_not_the_candidate_s_to_bring(harness: ScratchRepository) -> None:
    base = harness.head
    for number, path in enumerate(("conftest.py", "pytest.ini", "sitecustomize.py", "json.py")):
        harness.git("checkout", "--quiet", "-B", f"try-{number}", base)
        assert refused(harness, base, harness.commit({path: "x = 1\n"})) == [RepairRefusal.PROTECTED_PATH], path


def test_links_submodules_binaries_hooks_and_attributes_are_never_part_of_a_repair(harness: ScratchRepository) -> None:
    base = harness.head

    def tried(name: str) -> list[RepairRefusal]:
        harness.git("add", "--all")
        harness.git("commit", "--quiet", "-m", name)
        found = refusals_of(harness.path, base, harness.head, RULES)
        harness.git("reset", "--quiet", "--hard", base)
        assert [name for one in found[:1] if name in one.why], (name, found)
        return [one.refusal for one in found]

    def wrote(path: str, data: bytes) -> None:
        place = harness.path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)

    invalid = [RepairRefusal.INVALID_CANDIDATE]
    (harness.path / "other").symlink_to("tool.sh")
    assert tried("symbolic link") == invalid
    (harness.path / "tool.sh").unlink()
    (harness.path / "tool.sh").symlink_to("tests/check.sh")
    assert tried("symbolic link") == invalid
    harness.git("update-index", "--add", "--cacheinfo", f"160000,{base},sub")
    (harness.path / "sub").mkdir()
    assert tried("submodule") == invalid
    for data in (b"\x7fELF\0", b"text\0more", b"\xff\xfe"):
        wrote("tool.bin", data)
        assert tried("binary file") == invalid
    for path in (".githooks/pre-commit", ".husky/any", "hooks/post-checkout.sh", "lefthook.yml", ".HUSKY/any"):
        wrote(path, b"exit 0\n")
        assert tried("hook") == invalid
    for path in (".gitattributes", "deep/.gitattributes", ".GitAttributes", ".gitmodules"):
        wrote(path, b"* filter=evil\n")
        assert tried("git's own settings") == invalid
    wrote("TOOL.sh", b"exit 0\n")
    assert tried("only in case") == invalid


def test_a_harness_that_grants_more_is_refused(harness: ScratchRepository) -> None:
    base = harness.head
    wider = harness.commit({"harness.toml": FILES["harness.toml"].replace("false", "true")})
    found = refusals_of(harness.path, base, wider, RULES)
    assert [one.refusal for one in found] == [RepairRefusal.CAPABILITY_WIDENED]
    assert "settings.network" in found[0].why
    broken = harness.commit({"harness.toml": "name ="})
    assert refused(harness, base, broken) == [RepairRefusal.INVALID_CANDIDATE]
    assert refused(harness, base, harness.commit({"harness.toml": None})) == [RepairRefusal.CAPABILITY_WIDENED]


def test_the_work_tree_and_its_settings_have_no_say(harness: ScratchRepository) -> None:
    """A dirty index, a rename setting, a filter and an order of diffs change nothing about two commits."""
    base = harness.head
    harness.git("config", "diff.renames", "copies")
    harness.git("config", "diff.noprefix", "true")
    harness.git("config", "diff.relative", "true")
    candidate = harness.commit({"tests/check.sh": "exit 0\n"})
    harness.git("checkout", "--quiet", base, "--", "tests")
    (harness.path / "tests" / "check.sh").write_text(FILES["tests/check.sh"])
    assert refused(harness, base, candidate) == [RepairRefusal.PROTECTED_PATH]
