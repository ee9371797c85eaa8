"""An item's private home is laid out anew before each session, whatever an earlier one left in it."""

import json
import os
from pathlib import Path

import pytest

from workloop.runner.dwelling import furnish, home_of, vacate
from workloop.runner.harness.claude.launch import ClaudeConfig, ClaudeHarness
from workloop.runner.harness.codex.launch import CodexConfig, CodexHarness
from workloop.runner.harness.command import CommandConfig, CommandHarness
from workloop.runner.harness.needs import Needs, program_places, seen_from_outside
from workloop.runner.harness.opencode.launch import OpencodeConfig, OpencodeHarness
from workloop.runner.quarters import there
from workloop.runner.sandbox.rooms import Rooms


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """Return an operator's home with an agent's files in it."""
    home = tmp_path / "operator"
    (home / ".claude" / "skills").mkdir(parents=True)
    (home / ".claude" / "settings.json").write_text("{}")
    (home / ".claude" / ".credentials.json").write_text("login")
    return home


def test_each_of_the_operators_files_finds_a_plain_place(tmp_path: Path, inside: Path) -> None:
    home = tmp_path / "home"
    places = [inside / ".claude" / name for name in ("settings.json", "skills", ".credentials.json")]
    assert furnish(home, Needs(home=inside, copies={"note": "a copy"}), places) == {inside: home}
    assert (home / ".claude" / "settings.json").read_text() == ""
    assert (home / ".claude" / "skills").is_dir()
    assert (home / "note").read_text() == "a copy"
    assert (home / "note").stat().st_mode & 0o777 == 0o600


def test_folder_that_an_agent_is_told_of_is_there_in_a_home_that_nobody_has_used(tmp_path: Path) -> None:
    own, home = tmp_path / "own", tmp_path / "home"
    own.mkdir()
    needs = CodexHarness(CodexConfig(binary="/bin/true", home_dir=own)).needs({"PATH": "/bin"})
    furnish(home, needs, ())
    assert (home / ".codex").is_dir()


def test_a_link_that_a_session_left_is_never_followed(tmp_path: Path, inside: Path) -> None:
    home, target = tmp_path / "home", tmp_path / "target"
    target.mkdir()
    home.mkdir()
    (home / ".claude").symlink_to(target)
    (home / "note").symlink_to(target / "note")
    furnish(home, Needs(home=inside, copies={"note": "a copy"}), [inside / ".claude" / "settings.json"])
    assert list(target.iterdir()) == []
    assert not (home / ".claude").is_symlink()
    assert (home / "note").read_text() == "a copy"


def test_what_a_session_put_in_the_place_of_a_file_or_a_folder_gives_way(tmp_path: Path, inside: Path) -> None:
    home = tmp_path / "home"
    (home / ".claude" / "settings.json" / "deep").mkdir(parents=True)
    os.mkfifo(home / ".claude" / ".credentials.json")
    (home / ".claude" / "skills").write_text("a file")
    places = [inside / ".claude" / name for name in ("settings.json", ".credentials.json", "skills")]
    furnish(home, Needs(home=inside), places)
    assert [place.is_dir() for place in (home / ".claude" / place.name for place in places)] == [False, False, True]
    assert (home / ".claude" / ".credentials.json").is_file()


def test_a_folder_elsewhere_becomes_a_private_one_and_what_is_kept_in_it_is_found_again(
    tmp_path: Path, inside: Path
) -> None:
    home, moved = tmp_path / "home", tmp_path / "moved"
    moved.mkdir()
    harness = CodexHarness(CodexConfig(binary="/bin/sh"))
    needs = harness.needs({"HOME": str(inside), "CODEX_HOME": str(moved), "PATH": "/bin"})
    assert needs.elsewhere == (moved,)
    seen = furnish(home, needs, [])
    rooms = Rooms(home=home, standing={place: folder for place, folder in seen.items() if folder != home})
    assert seen_from_outside(moved, inside, rooms) == seen[moved] != moved
    assert seen_from_outside(inside / ".codex", inside, rooms) == home / ".codex"
    assert seen_from_outside(inside / ".codex", inside, Rooms()) == inside / ".codex"


def test_homes_differ_by_harness_item_and_phase_and_go_with_their_item(tmp_path: Path) -> None:
    kept = home_of(tmp_path, "claude", "open", "review")
    gone = [home_of(tmp_path, name, "over", phase) for name, phase in (("claude", ""), ("codex", "implement"))]
    for home in (kept, *gone):
        home.mkdir(parents=True)
    assert len({kept, *gone}) == 3
    assert vacate(tmp_path, lambda item: item == "over") == ()
    assert [home.exists() for home in (kept, *gone)] == [True, False, False]


def test_claude_gets_its_login_its_settings_and_of_its_account_a_copy_without_the_rest(inside: Path) -> None:
    (inside / ".claude.json").write_text(json.dumps({"primaryApiKey": "key", "projects": {"/srv": {}}}))
    needs = ClaudeHarness(ClaudeConfig(binary="/bin/sh")).needs({"HOME": str(inside), "PATH": "/bin"})
    assert needs.writable == (inside / ".claude" / ".credentials.json",)
    assert inside / ".claude" / "settings.json" in needs.readable
    assert json.loads(needs.copies[".claude.json"]) == {"primaryApiKey": "key"}


def test_opencode_gets_its_settings_in_a_folder_where_it_can_write_a_file_beside_them(
    tmp_path: Path, inside: Path
) -> None:
    settings = inside / ".config" / "opencode"
    (settings / "agent").mkdir(parents=True)
    (settings / "opencode.json").write_text("{}")
    needs = OpencodeHarness(OpencodeConfig(binary="/bin/sh")).needs({"HOME": str(inside), "PATH": "/bin"})
    assert [place for place in needs.readable if inside in place.parents] == [
        settings / "agent",
        settings / "opencode.json",
    ]
    bare = OpencodeHarness(OpencodeConfig(binary="/bin/sh", home_dir=tmp_path / "own")).needs({"PATH": "/bin"})
    assert not [place for place in bare.readable if tmp_path in place.parents]


def test_a_home_of_the_agents_own_is_where_its_login_is_looked_for(tmp_path: Path, inside: Path) -> None:
    own = tmp_path / "own"
    harness = CodexHarness(CodexConfig(binary="/bin/sh", home_dir=own))
    needs = harness.needs({"HOME": str(inside), "CODEX_HOME": "/elsewhere", "PATH": "/bin"})
    assert (needs.home, needs.writable, needs.elsewhere) == (own, (own / ".codex" / "auth.json",), ())


def test_a_program_is_seen_with_its_links_and_the_packages_it_came_with(tmp_path: Path) -> None:
    real = tmp_path / "lib" / "node_modules" / "agent" / "bin" / "agent.js"
    link = tmp_path / "bin" / "agent"
    for path in (real, link):
        path.parent.mkdir(parents=True)
    real.touch()
    link.symlink_to("../lib/node_modules/agent/bin/agent.js")
    assert set(program_places(link)) == {link, real, real.parent, tmp_path / "lib" / "node_modules"}


def test_files_that_a_command_line_names_are_needed_and_nothing_opens_a_whole_home(tmp_path: Path) -> None:
    program, script = tmp_path / "agent", tmp_path / "deep" / "script.py"
    script.parent.mkdir()
    for path in (program, script):
        path.touch(mode=0o755)
    needs = CommandHarness(CommandConfig(argv=(str(program), str(script), "/nowhere"))).needs({"HOME": str(tmp_path)})
    assert there(needs.readable, needs.home) == (program, script)
