"""How harness.toml says what a harness consists of, read strictly: every file named, every package judged."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from workloop.domain.reader import Reader
from workloop.repair.bundled.files import HarnessFiles, refused, require_path, require_plain, ruled, text_of
from workloop.repair.bundled.packages.bundle import Bundle, read_bundle
from workloop.repair.bundled.packages.names import BUILT_IN, folded
from workloop.repair.bundled.packages.skill import Skill, read_skill
from workloop.repair.bundled.packages.tool import ExtensionTool, read_tool
from workloop.repair.bundled.reading import toml_in

MANIFEST: Final = "harness.toml"
MANIFEST_BYTES_MAX: Final = 64 * 1024
INSTRUCTION_BYTES_MAX: Final = 64 * 1024
INSTRUCTIONS_BYTES_MAX: Final = 256 * 1024
VERSION: Final = 1
ENTRIES_MAX: Final = 64
ARGUMENTS_MAX: Final = 64
TURNS_MAX: Final = 10_000
PROGRAMS: Final = ("codex", "copilot", "qwen")


class CodexFence(StrEnum):
    """What Codex may let its commands touch, when no walls stand around it."""

    FULL = "danger-full-access"
    WORKSPACE = "workspace-write"
    READ_ONLY = "read-only"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessSettings:
    """What a harness sets of its agents; all of it takes something away from them, nothing gives more."""

    turns_max: int | None = None
    codex_sandbox: CodexFence = CodexFence.FULL
    copilot_denied: tuple[str, ...] = ()
    qwen_excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCode:
    """The agent's own Python code: the file that is run, and its arguments."""

    entry: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessSpec:
    """A harness that may be used; instructions is what all of its files of them say, in the order they are named."""

    instructions: str = ""
    skills: tuple[Skill, ...] = ()
    tools: tuple[ExtensionTool, ...] = ()
    bundles: tuple[Bundle, ...] = ()
    settings: HarnessSettings = field(default_factory=HarnessSettings)
    agent: AgentCode | None = None


def read_harness(files: HarnessFiles, forbidden: frozenset[str] = frozenset()) -> HarnessSpec:
    """Judge a harness; forbidden are tool names seen in a refusal; raises BadRequest that names rule and place."""
    values = toml_in(text_of(files, MANIFEST, MANIFEST_BYTES_MAX), MANIFEST)
    with ruled("field"):
        reader = Reader(values, MANIFEST)
        require_version(reader)
        harness = HarnessSpec(
            instructions=instructions_of(reader, files),
            skills=tuple(read_skill(files, folder) for folder in paths_of(reader, "skills")),
            tools=tuple(read_tool(files, folder, forbidden) for folder in paths_of(reader, "tools")),
            bundles=bundles_of(reader, files, forbidden),
            settings=settings_of(reader),
            agent=agent_of(reader, files),
        )
        reader.done()
    require_together(harness)
    return harness


def require_version(reader: Reader) -> None:
    """Refuse a file of another version than the one that is read here."""
    value = reader.take("version")
    if isinstance(value, bool) or value != VERSION or not isinstance(value, int):
        raise refused("version", reader.at("version"), f"is not {VERSION}", f"begin with version = {VERSION}")


def listed(reader: Reader, name: str, most: int) -> tuple[str, ...]:
    """Return a list of texts as they stand; one text alone is no list."""
    texts: list[str] = []
    for at, value in reader.entries(name):
        if not isinstance(value, str) or not value.strip() or "\0" in value or len(texts) >= most:
            raise refused("field", at, f"is blank, no text, or one of more than {most}")
        texts.append(value)
    return tuple(texts)


def paths_of(reader: Reader, name: str) -> tuple[str, ...]:
    """Return a list of different paths inside of the harness."""
    paths = tuple(require_path(path, reader.at(name)) for path in listed(reader, name, ENTRIES_MAX))
    if len(set(paths)) != len(paths):
        raise refused("named-twice", reader.at(name), "names a path twice")
    return paths


def instructions_of(reader: Reader, files: HarnessFiles) -> str:
    """Return what the instructions say, one file after the other."""
    texts: list[str] = []
    for path in paths_of(reader, "instructions"):
        text = text_of(files, path, INSTRUCTION_BYTES_MAX).strip()
        if not text:
            raise refused("not-blank", path, "says nothing")
        texts.append(text)
    whole = "\n\n".join(texts)
    if len(whole.encode()) > INSTRUCTIONS_BYTES_MAX:
        raise refused("size", reader.at("instructions"), f"are more than {INSTRUCTIONS_BYTES_MAX} bytes together")
    return whole


def bundles_of(reader: Reader, files: HarnessFiles, forbidden: frozenset[str]) -> tuple[Bundle, ...]:
    """Return the bundles, each of which is pinned."""
    bundles: list[Bundle] = []
    for at, value in reader.entries("bundles"):
        entry = Reader(value, at)
        path = require_path(entry.text("path", required=True), entry.at("path"))
        bundles.append(read_bundle(files, path, entry.text("sha256", required=True), forbidden))
        entry.done()
        if len(bundles) > ENTRIES_MAX:
            raise refused("field", at, f"is one of more than {ENTRIES_MAX}")
    return tuple(bundles)


def settings_of(outer: Reader) -> HarnessSettings:
    """Return the settings; each program has its own few."""
    reader = Reader(outer.values.get("settings", {}), outer.at("settings"))
    outer.take("settings")
    programs = {name: Reader(reader.values.get(name, {}), reader.at(name)) for name in PROGRAMS}
    for name in PROGRAMS:
        reader.take(name)
    codex = programs["codex"]
    settings = HarnessSettings(
        turns_max=reader.whole_bound("turns_max", highest=TURNS_MAX),
        codex_sandbox=CodexFence(codex.choice("sandbox", CodexFence, default=CodexFence.FULL)),
        copilot_denied=plain_names(programs["copilot"], "denied_tools"),
        qwen_excluded=plain_names(programs["qwen"], "excluded_tools"),
    )
    for entry in (reader, *programs.values()):
        entry.done()
    return settings


def plain_names(reader: Reader, name: str) -> tuple[str, ...]:
    """Return names that become a part of a command line; none can be taken for an option or for two names."""
    names = listed(reader, name, ENTRIES_MAX)
    for text in names:
        if text.startswith("-") or "," in text or not text.isprintable() or text != text.strip():
            raise refused("plain-name", reader.at(name), f"{text[:80]!r} is not the plain name of a tool")
    return names


def agent_of(outer: Reader, files: HarnessFiles) -> AgentCode | None:
    """Return the agent's own code, if the harness brings it."""
    value = outer.take("agent")
    if "agent" not in outer.values:
        return None
    reader = Reader(value, outer.at("agent"))
    entry = require_path(reader.text("entry", required=True), reader.at("entry"), "entry-inside")
    if entry not in files or not entry.endswith(".py"):
        raise refused("entry-inside", reader.at("entry"), f"{entry} is no Python file of the harness")
    require_plain(entry, files[entry])
    agent = AgentCode(entry=entry, arguments=listed(reader, "arguments", ARGUMENTS_MAX))
    reader.done()
    return agent


def require_together(harness: HarnessSpec) -> None:
    """Refuse packages that are fine one by one: two of one name, or a skill that asks for a tool nobody has."""
    tools = [*(tool.name for tool in harness.tools), *(name for one in harness.bundles for name in one.tools)]
    refuse_twice("tool", tools)
    refuse_twice("skill", [skill.name for skill in harness.skills])
    refuse_twice("server", [bundle.name for bundle in harness.bundles])
    known = {folded(name) for name in (*BUILT_IN, *tools)}
    for skill in harness.skills:
        for name in skill.allowed_tools or ():
            if folded(name.partition("(")[0]) not in known:
                raise refused("only-narrower", skill.folder, f"the skill asks for {name[:80]!r}, which is not there")


def refuse_twice(what: str, names: Iterable[str]) -> None:
    """Refuse a name that two packages bear."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(folded(name), name)
        if other != name or list(names).count(name) > 1:
            raise refused("no-shadowing", MANIFEST, f"there are two {what}s that may be taken for {name!r}")
