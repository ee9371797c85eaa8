"""What harness.toml may say of a harness, and how every other one is refused by the rule that it breaks."""

import pytest
from harness_files import SKILL, plain, whole

from workloop.domain.errors import BadRequest
from workloop.repair.bundled.capabilities import widened
from workloop.repair.bundled.files import FileKind, HarnessFile
from workloop.repair.bundled.manifest import CodexFence, read_harness


def rule_of(files: dict[str, HarnessFile], forbidden: frozenset[str] = frozenset()) -> str:
    """Return the rule by which a harness is refused."""
    with pytest.raises(BadRequest) as refusal:
        read_harness(files, forbidden)
    assert refusal.value.code == "HARNESS_REFUSED"
    assert f"(rule {refusal.value.details['rule']})" in refusal.value.message
    assert refusal.value.details["field"]
    return str(refusal.value.details["rule"])


def test_a_whole_harness_is_read_as_it_stands() -> None:
    harness = read_harness(whole())
    assert harness.instructions == "Work in small steps."
    assert [skill.name for skill in harness.skills] == ["fix-tests"]
    assert [(tool.name, tool.entry, tool.timeout_seconds) for tool in harness.tools] == [
        ("count_lines", "bin/count.py", 10)
    ]
    assert [(bundle.name, bundle.tools) for bundle in harness.bundles] == [("notes", ("note_add",))]
    assert harness.settings.turns_max == 40
    assert harness.settings.qwen_excluded == ("web_fetch",)
    assert harness.settings.codex_sandbox is CodexFence.FULL
    assert harness.agent is not None
    assert harness.agent.arguments == ("{brief}",)


def test_a_harness_of_a_version_alone_is_an_empty_one() -> None:
    harness = read_harness({"harness.toml": plain("version = 1\n")})
    assert (harness.instructions, harness.skills, harness.tools, harness.bundles, harness.agent) == (
        "",
        (),
        (),
        (),
        None,
    )


LINES = {
    "no version": ({"version": ""}, "version"),
    "another version": ({"version": "version = 2"}, "version"),
    "a version that is true": ({"version": "version = true"}, "version"),
    "a version with a fraction": ({"version": "version = 1.0"}, "version"),
    "an unknown key": ({"version": "version = 1\nhooks = []"}, "field"),
    "a key twice": ({"version": "version = 1\nversion = 1"}, "well-formed"),
    "no TOML": ({"version": "version ="}, "well-formed"),
    "a time": ({"version": "version = 2026-01-01"}, "well-formed"),
    "an infinite number": ({"settings": "[settings]\nturns_max = inf"}, "well-formed"),
    "one text for a list": ({"instructions": 'instructions = "instructions.md"'}, "field"),
    "a blank entry": ({"instructions": 'instructions = [" "]'}, "field"),
    "a number in a list": ({"skills": "skills = [1]"}, "field"),
    "a file that is not there": ({"instructions": 'instructions = ["other.md"]'}, "file-there"),
    "a folder that is not there": ({"skills": 'skills = ["skills/none"]'}, "file-there"),
    "a file twice": ({"instructions": 'instructions = ["instructions.md", "instructions.md"]'}, "named-twice"),
    "a path that climbs": ({"instructions": 'instructions = ["../instructions.md"]'}, "path-inside"),
    "a path that is absolute": ({"tools": 'tools = ["/etc"]'}, "path-inside"),
    "a path with a backslash": ({"tools": "tools = ['tools\\count-lines']"}, "path-inside"),
    "a path into git": ({"instructions": 'instructions = [".git/config"]'}, "path-inside"),
    "a drive": ({"instructions": 'instructions = ["C:/x.md"]'}, "path-inside"),
    "a path with a slash at its end": ({"tools": 'tools = ["tools/count-lines/"]'}, "path-inside"),
    "a character that cannot be seen": ({"tools": 'tools = ["tools/count\\u200b-lines"]'}, "path-inside"),
    "a bundle without a digest": ({"bundles": '[[bundles]]\npath = "notes.mcpb"'}, "field"),
    "a bundle of another digest": (
        {"bundles": f'[[bundles]]\npath = "notes.mcpb"\nsha256 = "{"0" * 64}"'},
        "pinned",
    ),
    "no turns at all": ({"settings": "[settings]\nturns_max = 0"}, "field"),
    "turns that are true": ({"settings": "[settings]\nturns_max = true"}, "field"),
    "too many turns": ({"settings": "[settings]\nturns_max = 10001"}, "field"),
    "settings of an unknown program": ({"settings": "[settings.gemini]"}, "field"),
    "a setting that gives more": ({"settings": '[settings.claude]\ntools = ["WebFetch"]'}, "field"),
    "a list that allows": ({"settings": '[settings.opencode]\nallowed = ["webfetch"]'}, "field"),
    "an unknown fence": ({"settings": '[settings.codex]\nsandbox = "none"'}, "field"),
    "a name that is an option": ({"settings": '[settings.copilot]\ndenied_tools = ["--yolo"]'}, "plain-name"),
    "two names in one": ({"settings": '[settings.qwen]\nexcluded_tools = ["a,b"]'}, "plain-name"),
    "an agent that is not there": ({"agent": '[agent]\nentry = "agent/none.py"'}, "entry-inside"),
    "an agent that is no Python": ({"agent": '[agent]\nentry = "instructions.md"'}, "entry-inside"),
    "an agent outside": ({"agent": '[agent]\nentry = "../main.py"'}, "entry-inside"),
    "an agent with a key too many": ({"agent": '[agent]\nentry = "agent/main.py"\nenv = {}'}, "field"),
}


@pytest.mark.parametrize(("lines", "rule"), LINES.values(), ids=LINES.keys())
def test_what_harness_toml_may_not_say_is_refused_by_its_rule(lines: dict[str, str], rule: str) -> None:
    assert rule_of(whole(**lines)) == rule


FILES = {
    "no harness.toml": ("harness.toml", None, "file-there"),
    "a harness.toml that is a link": ("harness.toml", HarnessFile(data=b"x", kind=FileKind.LINK), "no-links"),
    "a harness.toml with a mark": ("harness.toml", plain("\ufeffversion = 1\n"), "utf-8"),
    "a harness.toml that is not UTF-8": ("harness.toml", plain(b"\xff"), "utf-8"),
    "a harness.toml that is too large": ("harness.toml", plain("#" * 70_000), "size"),
    "instructions that are blank": ("instructions.md", plain(" \n"), "not-blank"),
    "instructions that are a link": ("instructions.md", HarnessFile(data=b"x", kind=FileKind.LINK), "no-links"),
    "instructions that are too large": ("instructions.md", plain("x" * 70_000), "size"),
    "an agent that is a link": ("agent/main.py", HarnessFile(data=b"x", kind=FileKind.LINK), "no-links"),
    "a link in a skill": ("skills/fix-tests/scripts/x", HarnessFile(data=b"x", kind=FileKind.LINK), "no-links"),
    "names that differ in case": ("skills/fix-tests/Scripts/run.sh", plain("x"), "path-twice"),
}


@pytest.mark.parametrize(("path", "file", "rule"), FILES.values(), ids=FILES.keys())
def test_a_file_that_a_harness_may_not_have_is_refused_by_its_rule(
    path: str, file: HarnessFile | None, rule: str
) -> None:
    files = whole()
    if file is None:
        del files[path]
    else:
        files[path] = file
    assert rule_of(files) == rule


def test_a_tool_in_two_packages_is_refused() -> None:
    files = whole(tools='tools = ["tools/count-lines", "tools/again"]')
    for path in ("tool.json", "bin/count.py"):
        files[f"tools/again/{path}"] = files[f"tools/count-lines/{path}"]
    assert rule_of(files) == "no-shadowing"


def test_a_skill_may_name_tools_that_are_there_and_no_others() -> None:
    files = whole()
    head = "skills/fix-tests/SKILL.md"
    files[head] = plain(SKILL.replace("\n---\nRun", "\nallowed-tools: Read count_lines note_add\n---\nRun"))
    assert read_harness(files).skills[0].allowed_tools == ("Read", "count_lines", "note_add")
    files[head] = plain(SKILL.replace("\n---\nRun", "\nallowed-tools: Read delete_all\n---\nRun"))
    assert rule_of(files) == "only-narrower"


@pytest.mark.parametrize("name", ["count_lines", "note_add", "CountLines"])
def test_a_tool_whose_call_was_refused_before_is_not_registered(name: str) -> None:
    assert rule_of(whole(), frozenset({name})) == "refused-name"


def test_a_repair_that_only_changes_words_widens_nothing() -> None:
    files = whole()
    files["instructions.md"] = plain("Work in smaller steps.\n")
    assert widened(read_harness(whole()), read_harness(files)) == ()


WIDER = {
    "more turns": ({"settings": "[settings]\nturns_max = 41"}, "turns:41"),
    "turns without a bound": ({"settings": ""}, "turns:unbounded"),
    "a denial dropped": ({"settings": "[settings]\nturns_max = 40"}, "denial dropped:qwen:web_fetch"),
}


@pytest.mark.parametrize(("lines", "named"), WIDER.values(), ids=WIDER.keys())
def test_a_setting_that_takes_less_away_is_widening(lines: dict[str, str], named: str) -> None:
    assert named in widened(read_harness(whole()), read_harness(whole(**lines)))


@pytest.mark.parametrize(
    ("part", "named"), [("tools", "tool:count_lines"), ("bundles", "server:notes"), ("agent", "agent:code")]
)
def test_what_a_repair_adds_is_widening_and_what_it_drops_is_not(part: str, named: str) -> None:
    less, more = read_harness(whole(**{part: ""})), read_harness(whole())
    assert named in widened(less, more)
    assert widened(more, less) == ()


def test_a_looser_fence_is_widening_and_a_tighter_one_is_not() -> None:
    tight = read_harness(whole(settings='[settings.codex]\nsandbox = "read-only"'))
    loose = read_harness(whole(settings='[settings.codex]\nsandbox = "workspace-write"'))
    assert widened(tight, loose) == ("codex:workspace-write",)
    assert widened(loose, tight) == ()
