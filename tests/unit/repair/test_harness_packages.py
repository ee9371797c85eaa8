"""Which skills, extension tools and MCP bundles a harness may bring, and by which rule every other one is refused."""

import io
import json
import zipfile
from hashlib import sha256
from typing import Any

import pytest
from harness_files import BUNDLE, SKILL, TOOL, bundled, changed, plain, zipped

from workloop.domain.errors import BadRequest
from workloop.domain.reader import Json
from workloop.repair.bundled.files import FileKind, HarnessFile
from workloop.repair.bundled.packages import archive
from workloop.repair.bundled.packages.announced import announced_in, require_announced
from workloop.repair.bundled.packages.archive import read_archive
from workloop.repair.bundled.packages.bundle import Bundle, read_bundle
from workloop.repair.bundled.packages.skill import read_skill
from workloop.repair.bundled.packages.tool import read_tool

FOLDER = "skills/fix-tests"
CLOSED: dict[str, Any] = {"type": "object", "additionalProperties": False}


def rule(refusal: "pytest.ExceptionInfo[BadRequest]") -> str:
    """Return the rule that a refusal names."""
    assert refusal.value.code == "HARNESS_REFUSED"
    return str(refusal.value.details["rule"])


def front(lines: str, words: str = "Run it.\n") -> str:
    """Return a skill with this front matter."""
    return f"---\n{lines}\n---\n{words}"


NAMED = "name: fix-tests\ndescription: Read it."
SKILLS = {
    "no front matter": ("Run it.", "front-matter"),
    "a blank line before it": ("\n" + SKILL, "front-matter"),
    "no end of it": ("---\nname: fix-tests\n", "front-matter"),
    "no words after it": (front(NAMED, " \n"), "front-matter"),
    "no YAML": (front("name: [fix"), "well-formed"),
    "a list": (front("- name"), "well-formed"),
    "an alias": (front(f"{NAMED}\nmetadata: {{a: &a x, b: *a}}"), "well-formed"),
    "a key twice": (front(f"{NAMED}\nname: fix-tests"), "well-formed"),
    "no name": (front("description: Read it."), "required-key"),
    "a name that is a number": (front("name: 7\ndescription: Read it."), "required-key"),
    "no description": (front("name: fix-tests"), "required-key"),
    "a blank description": (front('name: fix-tests\ndescription: " "'), "required-key"),
    "a long description": (front(f"name: fix-tests\ndescription: {'x' * 1025}"), "length"),
    "capitals": (front("name: Fix-Tests\ndescription: x"), "package-name"),
    "a hyphen at the end": (front("name: fix-tests-\ndescription: x"), "package-name"),
    "two hyphens": (front("name: fix--tests\ndescription: x"), "package-name"),
    "65 characters": (front(f"name: {'x' * 65}\ndescription: x"), "package-name"),
    "a line end after the name": (front('name: "fix-tests\\n"\ndescription: x'), "package-name"),
    "another name than the folder's": (front("name: fix-other\ndescription: x"), "skill-folder"),
    "an unknown key": (front(f"{NAMED}\nhooks: x"), "unknown-key"),
    "a license that is a list": (front(f"{NAMED}\nlicense: [x]"), "required-key"),
    "metadata that is no mapping of texts": (front(f"{NAMED}\nmetadata: {{a: 1}}"), "key-kind"),
    "a wildcard of tools": (front(f"{NAMED}\nallowed-tools: Bash(git:*)"), "only-narrower"),
    "tools that are a list": (front(f"{NAMED}\nallowed-tools: [Read]"), "required-key"),
    "more than it may hold": (SKILL + "x" * 300_000, "size"),
}


@pytest.mark.parametrize(("text", "name"), SKILLS.values(), ids=SKILLS.keys())
def test_a_skill_that_is_none_is_refused_by_its_rule(text: str, name: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        read_skill({f"{FOLDER}/SKILL.md": plain(text)}, FOLDER)
    assert rule(refusal) == name


@pytest.mark.parametrize(
    ("path", "name"),
    [("hooks/start.sh", "skill-folders"), ("scripts/../../x", "path-inside"), ("scripts/.git/config", "path-inside")],
)
def test_a_skill_has_only_the_folders_of_one(path: str, name: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        read_skill({f"{FOLDER}/SKILL.md": plain(SKILL), f"{FOLDER}/{path}": plain("x")}, FOLDER)
    assert rule(refusal) == name


def test_a_name_of_64_characters_is_taken() -> None:
    name = "x" * 64
    text = front(f"name: {name}\ndescription: x\nlicense: MIT\nmetadata: {{author: me}}")
    assert read_skill({f"skills/{name}/SKILL.md": plain(text)}, f"skills/{name}").name == name


TOOLS = {
    "an unknown key": ("shell", True, "field"),
    "no name": ("name", ..., "field"),
    "a name with a hyphen": ("name", "count-lines", "tool-name"),
    "a name of 49 characters": ("name", "x" * 49, "tool-name"),
    "a built-in": ("name", "bash", "no-shadowing"),
    "a built-in in other words": ("name", "read_file", "no-shadowing"),
    "a built-in without its joint": ("name", "readfile", "no-shadowing"),
    "the queue's tool": ("name", "work_loop", "no-shadowing"),
    "a server's tool": ("name", "mcp_workloop", "no-shadowing"),
    "no description": ("description", " ", "field"),
    "a long description": ("description", "x" * 1025, "field"),
    "no time": ("timeout_seconds", ..., "timeout"),
    "no bound of time": ("timeout_seconds", 0, "field"),
    "too much time": ("timeout_seconds", 601, "field"),
    "time that is true": ("timeout_seconds", True, "field"),
    "time with a fraction": ("timeout_seconds", 1.5, "field"),
    "a result without a bound": ("result_bytes_max", 0, "field"),
    "too large a result": ("result_bytes_max", 1024 * 1024 + 1, "field"),
    "a network": ("capabilities", ["network"], "capability"),
    "an entry outside": ("entry", "../count.py", "entry-inside"),
    "an absolute entry": ("entry", "/bin/sh", "entry-inside"),
    "an entry that is not there": ("entry", "bin/none.py", "entry-inside"),
    "an entry that cannot be executed": ("entry", "tool.json", "entry-executable"),
    "no schema": ("parameters", ..., "schema"),
    "a schema that is true": ("parameters", True, "schema"),
    "a schema of a text": ("parameters", {"type": "string"}, "schema"),
    "a schema of two types": ("parameters", {"type": ["object", "null"]}, "schema"),
    "an open object": ("parameters", {"type": "object"}, "schema-closed"),
    "an object of other properties": (
        "parameters",
        {"type": "object", "additionalProperties": {"type": "string"}},
        "schema-closed",
    ),
    "an open object inside": (
        "parameters",
        {**CLOSED, "properties": {"a": {"type": "array", "items": {"type": "object"}}}},
        "schema-closed",
    ),
    "a list of anything": ("parameters", {**CLOSED, "properties": {"a": {"type": "array"}}}, "schema"),
    "a reference": ("parameters", {**CLOSED, "$ref": "https://localhost/x"}, "schema"),
    "an unknown word": ("parameters", {**CLOSED, "properties": {"a": {"type": "string", "format": "uri"}}}, "schema"),
    "a word of another type": (
        "parameters",
        {**CLOSED, "properties": {"a": {"type": "string", "minimum": 1}}},
        "schema",
    ),
    "a length below 0": ("parameters", {**CLOSED, "properties": {"a": {"type": "string", "maxLength": -1}}}, "schema"),
    "an empty choice": ("parameters", {**CLOSED, "properties": {"a": {"type": "string", "enum": []}}}, "schema"),
    "required and not there": ("parameters", {**CLOSED, "required": ["a"]}, "schema"),
    "a property with a blank": ("parameters", {**CLOSED, "properties": {"a b": {"type": "string"}}}, "schema"),
}


def tool_files(manifest: str) -> dict[str, HarnessFile]:
    """Return the files of a tool."""
    entry = HarnessFile(data=b"#!/bin/sh\n", kind=FileKind.EXECUTABLE)
    return {"tools/a/tool.json": plain(manifest), "tools/a/bin/count.py": entry}


@pytest.mark.parametrize(("path", "value", "name"), TOOLS.values(), ids=TOOLS.keys())
def test_a_tool_that_is_none_is_refused_by_its_rule(path: str, value: object, name: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        read_tool(tool_files(json.dumps(changed(TOOL, path, value))), "tools/a")
    assert rule(refusal) == name


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"name": "a", "name": "b"}', '{"timeout_seconds": NaN}', '{"timeout_seconds": 1e999}', "[" * 5000],
)
def test_a_manifest_that_is_no_strict_json_is_refused(text: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        read_tool(tool_files(text), "tools/a")
    assert rule(refusal) == "well-formed"


def of_bundle(data: bytes, forbidden: frozenset[str] = frozenset()) -> Bundle:
    """Judge a bundle under its right digest."""
    return read_bundle({"notes.mcpb": plain(data)}, "notes.mcpb", sha256(data).hexdigest(), forbidden)


START = "server.mcp_config"
BUNDLES = {
    "an unknown version": ("manifest_version", "9.0", "manifest-version"),
    "a version that is a number": ("manifest_version", 0.3, "manifest-version"),
    "no version": ("version", ..., "required-key"),
    "a version that is no semantic one": ("version", "1.0", "version"),
    "no author": ("author", ..., "required-key"),
    "an author without a name": ("author", {"email": "x"}, "key-kind"),
    "an author that is a text": ("author", "x", "key-kind"),
    "a name with a blank": ("name", "my notes", "package-name"),
    "the loop's server": ("name", "workloop", "no-shadowing"),
    "no description": ("description", "", "key-kind"),
    "an unknown key": ("prompts", [], "unknown-key"),
    "what a person has to fill in": ("user_config", {}, "unknown-key"),
    "no server": ("server", ..., "required-key"),
    "a server of another type": ("server.type", "docker", "command"),
    "a server of a type that is a list": ("server.type", [], "command"),
    "an entry outside": ("server.entry_point", "../main.py", "entry-inside"),
    "an entry that is not there": ("server.entry_point", "server/none.py", "entry-inside"),
    "a shell": (f"{START}.command", "sh", "command"),
    "a program by its path": (f"{START}.command", "/usr/bin/python3", "command"),
    "a node for a python": (f"{START}.command", "node", "command"),
    "code as an argument": (f"{START}.args", ["-c", "print()"], "command"),
    "no argument": (f"{START}.args", [], "command"),
    "arguments that are a text": (f"{START}.args", "x", "key-kind"),
    "a variable of a person": (f"{START}.args", ["${__dirname}/server/main.py", "${user_config.key}"], "no-variables"),
    "the home": (f"{START}.args", ["${__dirname}/server/main.py", "${HOME}"], "no-variables"),
    "a key": (f"{START}.env", {"API_KEY": "x"}, "no-secrets"),
    "a token": (f"{START}.env", {"github_token": "x"}, "no-secrets"),
    "a variable that is filled in": (f"{START}.env", {"A": "${HOME}"}, "no-secrets"),
    "a loader": (f"{START}.env", {"LD_PRELOAD": "x.so"}, "no-secrets"),
    "Python's own folder": (f"{START}.env", {"PYTHONPATH": "x"}, "no-secrets"),
    "another way to the network": (f"{START}.env", {"HTTPS_PROXY": "x"}, "no-secrets"),
    "a variable that is a number": (f"{START}.env", {"A": 1}, "key-kind"),
    "another key of the start": (f"{START}.platform_overrides", {}, "unknown-key"),
    "no tools": ("tools", ..., "required-key"),
    "an empty list of tools": ("tools", [], "declared-tools"),
    "a tool twice": ("tools", [{"name": "a"}, {"name": "a"}], "declared-tools"),
    "a tool that shadows": ("tools", [{"name": "bash"}], "no-shadowing"),
    "a tool without a name": ("tools", [{"description": "x"}], "required-key"),
}


@pytest.mark.parametrize(("path", "value", "name"), BUNDLES.values(), ids=BUNDLES.keys())
def test_a_bundle_that_is_none_is_refused_by_its_rule(path: str, value: object, name: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        of_bundle(bundled(changed(BUNDLE, path, value)))
    assert rule(refusal) == name


def test_a_binary_starts_its_own_entry_and_nothing_else() -> None:
    binary = changed(changed(BUNDLE, "server.type", "binary"), f"{START}.command", "${__dirname}/server/main.py")
    assert of_bundle(bundled(binary)).command == "${__dirname}/server/main.py"
    with pytest.raises(BadRequest) as refusal:
        of_bundle(bundled(changed(binary, f"{START}.command", "${__dirname}/other")))
    assert rule(refusal) == "command"


def test_a_bundle_of_other_bytes_than_those_pinned_is_refused() -> None:
    with pytest.raises(BadRequest) as refusal:
        read_bundle({"a.mcpb": plain(bundled())}, "a.mcpb", sha256(b"other").hexdigest())
    assert rule(refusal) == "pinned"


@pytest.mark.parametrize(
    "name", ["../x", "/etc/x", "a/../../x", "..\\x", "a//b", "./x", "C:/x", "a/.git/hooks/x", "a\nb", "a\u202eb"]
)
def test_a_zip_whose_names_leave_it_is_refused(name: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        read_archive(zipped((name, b"x")), "a.mcpb")
    assert rule(refusal) == "zip-slip"


def test_a_name_that_python_would_cut_at_a_nul_is_refused() -> None:
    data = zipped(("ab.py", b"x")).replace(b"ab.py", b"a\0.py")
    with pytest.raises(BadRequest) as refusal:
        read_archive(data, "a.mcpb")
    assert rule(refusal) == "zip-slip"


def test_a_zip_with_a_link_is_refused() -> None:
    with pytest.raises(BadRequest) as refusal:
        of_bundle(bundled(BUNDLE, ("server/link", b"/etc/passwd"), link="server/link"))
    assert rule(refusal) == "no-links"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_with_a_name_twice_or_one_that_differs_in_case_is_refused() -> None:
    for pair in (("a", "a"), ("a", "A"), ("caf\u00e9", "cafe\u0301")):
        with pytest.raises(BadRequest) as refusal:
            read_archive(zipped(*((name, b"x") for name in pair)), "a.mcpb")
        assert rule(refusal) == "path-twice"


def test_a_zip_that_grows_too_much_is_refused_by_what_it_says_and_by_what_comes_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bomb = zipped(("zeros", bytes(10_000_000)))
    with pytest.raises(BadRequest) as refusal:
        read_archive(bomb, "a.mcpb")
    assert rule(refusal) == "zip-bomb"
    monkeypatch.setattr(archive, "TOTAL_BYTES_MAX", 1_000)
    with pytest.raises(BadRequest) as refusal:
        read_archive(zipped(("a", b"x" * 600), ("b", b"y" * 600)), "a.mcpb")
    assert rule(refusal) == "zip-bomb"


def test_a_zip_that_says_less_than_it_holds_is_refused() -> None:
    data = bytearray(zipped(("zeros", bytes(5_000_000))))
    size = (5_000_000).to_bytes(4, "little")
    assert data.count(size) == 2
    lying = bytes(data).replace(size, (1_000).to_bytes(4, "little"))
    with pytest.raises(BadRequest) as refusal:
        read_archive(lying, "a.mcpb")
    assert rule(refusal) == "zip"


def test_a_zip_of_too_many_files_is_refused() -> None:
    with pytest.raises(BadRequest) as refusal:
        read_archive(zipped(*((f"f{number}", b"") for number in range(2_001))), "a.mcpb")
    assert rule(refusal) == "zip-count"


def test_a_zip_that_is_cut_off_changed_or_none_is_refused_and_never_half_read() -> None:
    data = zipped(("a", b"pass"), ("b", b"x" * 100), method=zipfile.ZIP_STORED)
    for broken in (b"", b"PK", b"no zip", data[:-30], data.replace(b"pass", b"fail"), data[:60]):
        with pytest.raises(BadRequest) as refusal:
            read_archive(broken, "a.mcpb")
        assert rule(refusal) == "zip"


def test_a_zip_that_is_packed_in_an_unusual_way_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as packed:
        packed.writestr("a", b"x" * 100)
    with pytest.raises(BadRequest) as refusal:
        read_archive(out.getvalue(), "a.mcpb")
    assert rule(refusal) == "zip"


def test_a_server_that_announces_what_is_declared_is_taken() -> None:
    require_announced(of_bundle(bundled()), announced_in({"tools": [{"name": "note_add"}]}, "notes"))


@pytest.mark.parametrize(
    "answer",
    [
        {"tools": []},
        {"tools": [{"name": "note_add"}, {"name": "note_delete"}]},
        {"tools": [{"name": "note_add"}, {"name": "note_add"}]},
        {"tools": [{"name": "note_ADD"}]},
        {"tools": [{"name": "note_add"}], "nextCursor": "more"},
        {"tools": [{"title": "x"}]},
        {"tools": "note_add"},
        {},
        None,
    ],
)
def test_a_server_that_announces_anything_else_is_refused(answer: Json) -> None:
    with pytest.raises(BadRequest) as refusal:
        require_announced(of_bundle(bundled()), announced_in(answer, "notes"))
    assert rule(refusal) == "announced-declared"
