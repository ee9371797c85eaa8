"""The pages tell the truth about today's code."""

import importlib.util
import re
import tomllib
from enum import StrEnum
from pathlib import Path

import pytest
from generated_docs import PARTS, pages, refreshed, settings_keys
from settings_meanings import MEANING

from workloop.config.landing import read_landing
from workloop.config.lanes import read_lanes
from workloop.config.reading import read_loop
from workloop.config.targets import read_targets
from workloop.config.trackers import read_tracker
from workloop.domain.campaign import CampaignState
from workloop.domain.evidence import EvidenceKind
from workloop.domain.grants import Grant
from workloop.domain.item import Role, State
from workloop.domain.lane import LaneState
from workloop.domain.reader import Reader
from workloop.domain.settings import read_settings
from workloop.domain.verdict import Outcome
from workloop.interfaces.cli.invocation import GLOBALS
from workloop.interfaces.cli.plan import ORDER, plan_of

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "workloop"
PAGES = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md"))
LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#]+)")
COMMAND = re.compile(r"^(?:\$ )?workloop (?P<words>[^\n]+)$", re.MULTILINE)
TARGET = re.compile(r"\bmake (?P<name>[a-z]+(?:-[a-z]+)*)\b")
PLACE = re.compile(r"`(?P<path>[a-z_/]+(?:\.py|/))`")
WORDS = (
    "boundary", "brake", "campaign", "candidate", "claim", "contract", "evidence", "executor", "fact", "family",
    "hand-off", "harness", "holder", "item", "lane", "ledger", "lineage", "observation", "phase", "principal",
    "question", "role", "runtime", "session", "settle", "subject", "target", "verdict",
)  # fmt: skip
NOT_YET = ("bench",)


def entries() -> set[str]:
    """Return the words that the glossary explains."""
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "words.md").read_text("utf-8"), re.MULTILINE)
    return {word.strip() for row in rows for word in row.split(",")} - {"word", "---"}


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.name)
def test_generated_parts_are_up_to_date(page: Path) -> None:
    assert page.read_text("utf-8") == refreshed(page.read_text("utf-8")), "run make docs"


def test_every_generated_part_is_on_a_page_and_a_stale_one_is_noticed() -> None:
    written = "".join(page.read_text("utf-8") for page in pages())
    assert [name for name in PARTS if f"<!-- generated: {name} -->" not in written] == []
    stale = "<!-- generated: exit-codes -->\n| 0 | all is well |\n<!-- end -->"
    assert refreshed(stale) != stale


def test_every_key_of_the_settings_has_a_meaning_and_no_other() -> None:
    assert set(settings_keys()) == MEANING.keys()


@pytest.mark.parametrize("word", WORDS)
def test_the_glossary_explains_every_word_of_the_design_that_the_code_uses(word: str) -> None:
    assert word in entries()


@pytest.mark.parametrize("word", sorted(entries()))
def test_the_code_uses_every_word_of_the_glossary(word: str) -> None:
    pattern = re.compile(rf"{re.escape(word)}|{re.escape(word.replace('-', '_'))}", re.IGNORECASE)
    assert any(pattern.search(path.read_text("utf-8")) for path in SRC.rglob("*.py"))


@pytest.mark.parametrize("word", NOT_YET)
def test_words_of_later_parts_are_not_in_the_glossary(word: str) -> None:
    assert word not in entries()


@pytest.mark.parametrize("kind", [State, Role, Grant, EvidenceKind, Outcome, LaneState, CampaignState])
def test_the_pages_name_every_member_of_the_public_enumerations(kind: type[StrEnum]) -> None:
    written = "".join(page.read_text("utf-8") for page in PAGES)
    assert [member.value for member in kind if member.value not in written] == []


def shown_commands() -> list[tuple[str, str]]:
    """Return the page and words of each command that stands on a line of its own."""
    return [(page.name, found["words"]) for page in PAGES for found in COMMAND.finditer(page.read_text("utf-8"))]


@pytest.mark.parametrize(("page", "words"), shown_commands())
def test_a_shown_command_exists_with_its_options(page: str, words: str) -> None:
    name = next(name for length in (2, 1) if (name := " ".join(words.split()[:length])) in ORDER)
    known = {flag for option in (*plan_of(name).options, *GLOBALS) for flag in option.flags}
    used = re.findall(r"(?<=\s)--[a-z-]+", re.sub(r'"[^"]*"', "", words))
    assert set(used) <= known


def shown_settings() -> list[tuple[str, str]]:
    """Return the page and text of each piece of a settings file that is shown."""
    pieces = re.compile(r"```toml\n(.*?)```", re.DOTALL)
    return [(page.name, text) for page in PAGES for text in pieces.findall(page.read_text("utf-8"))]


@pytest.mark.parametrize(("page", "text"), shown_settings())
def test_shown_settings_are_taken_by_the_reader(page: str, text: str) -> None:
    reader = Reader(tomllib.loads(text), page)
    read_targets(reader.take("target") or {}, ROOT)
    read_tracker(reader.take("tracker"), "tracker", ROOT)
    read_landing(reader.take("landing"))
    read_lanes(reader.take("lane"), ROOT)
    read_settings(reader.take("campaign") or {})
    read_loop(reader, ROOT)
    reader.done()


def test_the_page_of_lanes_shows_the_example_that_is_tested() -> None:
    page = (ROOT / "docs" / "lanes.md").read_text("utf-8")
    assert f"```toml\n{(ROOT / 'examples' / 'browser_lane' / 'lane.toml').read_text('utf-8')}```" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    targets = [match["target"] for match in LINK.finditer(page.read_text("utf-8"))]
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_named_make_target_exists(page: Path) -> None:
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert {match["name"] for match in TARGET.finditer(code(page))} <= made


def code(page: Path) -> str:
    """Return what a page shows as code."""
    text = page.read_text("utf-8")
    return "\n".join([*re.findall(r"```console\n(.*?)```", text, re.DOTALL), *re.findall(r"`([^`\n]+)`", text)])


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_named_place_exists(page: str) -> None:
    named = [match["path"] for match in PLACE.finditer((ROOT / page).read_text("utf-8"))]
    assert named
    assert [path for path in named if not any((base / path).exists() for base in (ROOT, SRC))] == []


def test_every_room_has_its_line_in_the_architecture() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    rooms = [path.stem for path in SRC.iterdir() if path.suffix in ("", ".py") and not path.name.startswith((".", "_"))]
    assert [room for room in rooms if room not in page and importlib.util.find_spec(f"workloop.{room}")] == []


def test_prose_has_one_sentence_a_line() -> None:
    two = re.compile(r"^[A-Z][^|`#\n]*[a-z]\. [A-Z][^|\n]*$", re.MULTILINE)
    found = {page.name: two.findall(page.read_text("utf-8").split("```")[0]) for page in PAGES}
    assert {name: lines for name, lines in found.items() if lines} == {}
