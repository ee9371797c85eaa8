"""What others can write is no word of the operator's, and a secret goes to nobody who was not named."""

import json
import os
from pathlib import Path

import pytest

from workloop.config import load, make_private, place_of, read_secret, read_trusted
from workloop.config.mcp import McpServer, found_files, vet_mcp_file
from workloop.domain.errors import BadRequest, NotFound
from workloop.domain.origin import is_loopback, keeps_secrets, origin_of
from workloop.testing.gitrepo import scratch_repository


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that is this user's alone."""
    tmp_path.chmod(0o700)
    return tmp_path


def refused(path: Path) -> BadRequest:
    """Return the refusal of a settings file."""
    with pytest.raises(BadRequest) as caught:
        read_trusted(path)
    return caught.value


@pytest.mark.parametrize(("mode", "fine"), [(0o600, True), (0o644, True), (0o664, False), (0o602, False)])
def test_a_settings_file_that_others_can_write_is_refused(folder: Path, mode: int, fine: bool) -> None:
    """Who writes it owns the next night."""
    file = folder / "workloop.toml"
    file.write_text("[loop]\n")
    file.chmod(mode)
    if fine:
        assert read_trusted(file) == "[loop]\n"
    else:
        assert refused(file).code == "CONFIG_UNTRUSTED"


def test_the_remedy_of_an_untrusted_file_makes_it_trusted(folder: Path) -> None:
    """A hint that does not help is worse than none."""
    file = folder / "workloop.toml"
    file.write_text("[loop]\n")
    file.chmod(0o666)
    folder.chmod(0o777)
    assert refused(file).hint == f"chmod go-w {file}"
    file.chmod(0o644)
    assert refused(file).hint == f"chmod go-w {folder}"
    folder.chmod(0o755)
    assert read_trusted(file) == "[loop]\n"


def test_a_link_is_judged_by_where_it_leads_too(folder: Path) -> None:
    """A file in a folder of everybody's can be replaced behind the link."""
    shared, own = folder / "shared", folder / "own"
    shared.mkdir()
    own.mkdir(mode=0o700)
    shared.chmod(0o777)
    (shared / "real.toml").write_text("[loop]\n")
    (shared / "real.toml").chmod(0o600)
    (own / "workloop.toml").symlink_to(shared / "real.toml")
    assert refused(own / "workloop.toml").code == "CONFIG_UNTRUSTED"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_settings_file_of_another_user_is_refused(folder: Path) -> None:
    """Its owner could change it at any time."""
    file = folder / "workloop.toml"
    file.write_text("[loop]\n")
    os.chown(file, 12345, 12345)
    assert "belongs to user 12345" in refused(file).message


def test_what_is_no_plain_file_is_refused_without_waiting_for_it(folder: Path) -> None:
    """A pipe would hold the loop up for ever."""
    os.mkfifo(folder / "pipe")
    assert "no plain file" in refused(folder / "pipe").message


def test_a_secret_s_file_must_be_its_owner_s_alone(folder: Path) -> None:
    """Readable by the group is published."""
    file = folder / "key"
    file.write_text("  very-secret\n")
    file.chmod(0o640)
    with pytest.raises(BadRequest, match="open to others") as caught:
        read_secret(file)
    assert caught.value.hint == f"chmod 600 {file}"
    file.chmod(0o600)
    assert read_secret(file) == "very-secret"


def test_a_settings_file_found_in_a_work_dir_is_refused_loudly_and_never_read(folder: Path) -> None:
    """A run that ignored it in silence would be another run than the one that was asked for."""
    scratch_repository(folder / "project")
    environment = {"WORKLOOP_STATE": str(folder / "state")}
    place = place_of(folder / "project", environment)
    place.folder.mkdir(mode=0o700, parents=True)
    place.config.write_text("[loop]\nsessions_max = 3\n")
    (place.repository / "workloop.toml").write_text("this is not even TOML [")
    with pytest.raises(BadRequest, match="is never read") as caught:
        load(place.repository, environment, whole=True)
    assert caught.value.code == "CONFIG_IN_WORK_DIR"
    assert load(place.repository, environment).loop.sessions_max == 3
    assert load(place.repository, environment, place.config, whole=True).loop.sessions_max == 3


def two_projects(folder: Path, extra: str = "") -> tuple[Path, dict[str, str]]:
    """Make two initialised projects and a file over both; returns the file and the environment."""
    environment = {"WORKLOOP_STATE": str(folder / "state")}
    text = extra
    for name in ("one", "two"):
        scratch_repository(folder / name)
        place = place_of(folder / name, environment)
        place.folder.mkdir(mode=0o700, parents=True)
        place.config.write_text(f'[campaign]\nname = "{name}-work"\nslots = 2\n')
        text += f'[target.{name}]\nwork_dir = "{name}"\nsessions_max = 2\n'
    file = folder / "night.toml"
    file.write_text(text)
    return file, environment


def test_a_file_over_several_projects_is_one_loop_with_a_store_for_each(folder: Path) -> None:
    """Each project keeps its place and its own campaign; the loop has a folder of its own."""
    file, environment = two_projects(folder)
    settings = load(folder, environment, file, whole=True)
    assert [(target.name, target.campaign) for target in settings.targets] == [("one", "one-work"), ("two", "two-work")]
    assert len({settings.folder, *(target.place.folder for target in settings.targets)}) == 3
    assert settings.folder.parent == folder / "state" / "loops"
    assert load(folder / "two", environment, file).campaign == "two-work"
    scratch_repository(folder / "three")
    with pytest.raises(NotFound) as caught:
        load(folder / "three", environment, file)
    assert caught.value.code == "NOT_A_TARGET"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('[campaign]\nname = "x"\n', "campaign"),
        ('[target.three]\nwork_dir = "one"\n', "target.one.work_dir"),
        ('[target.three]\nwork_dir = "nowhere"\n', "target.three.work_dir"),
        ('[target.three]\nwork_dir = "one/deep"\n', "target.three.work_dir"),
    ],
)
def test_a_file_over_several_projects_that_contradicts_itself_is_refused(folder: Path, text: str, path: str) -> None:
    """Counts from one project and work in another is the worst of both."""
    file, environment = two_projects(folder, text)
    (folder / "one" / "deep").mkdir()
    with pytest.raises(BadRequest) as caught:
        load(folder, environment, file, whole=True)
    assert caught.value.details["field"] == path


OPERATOR = {
    "mcpServers": {"files": {"command": "npx", "args": ["server-files"]}, "docs": {"url": "https://docs.example"}}
}


def vetted(folder: Path, servers: object, origin: str = "") -> tuple[McpServer, ...]:
    """Write a file of MCP servers and look at it."""
    file = folder / "mcp.json"
    file.write_text(json.dumps(servers))
    return vet_mcp_file(file, "harness.claude.mcp_config", [folder / "project"], origin)


def test_an_operator_s_servers_are_listed_with_the_programs_they_start(folder: Path) -> None:
    """A program runs before any permission rule."""
    assert vetted(folder, OPERATOR) == (
        McpServer(name="files", command="npx server-files"),
        McpServer(name="docs", url="https://docs.example"),
    )


@pytest.mark.parametrize(
    "server",
    [
        {"url": "http://docs.example/mcp"},
        {"url": "http://127.0.0.1.example/mcp"},
        {"url": "http://127.0.0.1@evil.example/mcp"},
        {"url": "ftp://docs.example"},
        {"url": "https://me:pass@docs.example"},
        {"url": "https://docs.example", "headers": {"Authorization": "Bearer ${WORKLOOP_TOKEN}"}},
        {"command": "npx", "env": {"WORKLOOP_TOKEN_FILE": "x"}},
    ],
)
@pytest.mark.parametrize("table", ["mcpServers", "mcp"])
def test_a_server_that_would_leak_a_secret_is_refused_whatever_table_it_hides_in(
    folder: Path, server: object, table: str
) -> None:
    """A harmless table for the reader must not cover a hostile one for the agent."""
    with pytest.raises(BadRequest) as caught:
        vetted(folder, {**OPERATOR, table: {"other": server}})
    assert caught.value.code == "MCP_FILE_REFUSED"
    assert "harness.claude.mcp_config" in caught.value.message


def test_a_server_with_our_name_goes_to_this_machine_or_to_the_one_named_origin(folder: Path) -> None:
    """Whoever is called workloop is given what workloop is given."""
    remote = {"mcpServers": {"Workloop": {"url": "https://queue.example:443/mcp"}}}
    with pytest.raises(BadRequest):
        vetted(folder, remote)
    with pytest.raises(BadRequest):
        vetted(folder, remote, origin="https://queue.example.evil")
    assert vetted(folder, remote, origin="https://QUEUE.example./api")
    assert vetted(folder, {"mcpServers": {"workloop": {"url": "http://[::1]:4000/mcp"}}})


def test_a_named_file_in_a_work_dir_is_refused_and_a_found_one_is_only_told(folder: Path) -> None:
    """What a session can write must not choose the next session's tools."""
    project = folder / "project"
    project.mkdir()
    file = project / ".mcp.json"
    file.write_text(json.dumps(OPERATOR))
    with pytest.raises(BadRequest, match="lies inside the work dir"):
        vet_mcp_file(file, "entry", [project])
    (folder / "link.json").symlink_to(file)
    with pytest.raises(BadRequest, match="lies inside the work dir"):
        vet_mcp_file(folder / "link.json", "entry", [project])
    assert found_files(project) == (file,)


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": []}', '{"mcpServers": {"a": 1}}'])
def test_an_mcp_file_that_cannot_be_understood_is_refused_not_dropped(folder: Path, text: str) -> None:
    """Sessions without their tools look like an empty backlog."""
    (folder / "mcp.json").write_text(text)
    with pytest.raises(BadRequest):
        vet_mcp_file(folder / "mcp.json", "entry", [])


def test_where_secrets_may_go_is_decided_by_the_text_of_the_address() -> None:
    """A name could be made to point anywhere."""
    assert [is_loopback(host) for host in ("127.9.9.9", "::1", "LOCALHOST.")] == [True] * 3
    assert not any(is_loopback(host) for host in ("127.0.0.1.x", "localhost.example", "0.0.0.0", "127.1", "", None))
    assert origin_of("https://A.example.:443/x") == origin_of("https://a.example")
    assert [
        keeps_secrets(url) for url in ("http://127.0.0.1:1", "http://example", "https://example", "x", "http://[")
    ] == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_a_private_folder_is_made_closed_and_an_open_one_is_closed(folder: Path) -> None:
    """Transcripts hold prompts, outputs and sometimes tokens."""
    state = folder / "home" / "state"
    assert make_private(state)
    assert state.stat().st_mode & 0o777 == 0o700
    state.chmod(0o755)
    assert not make_private(state)
    assert state.stat().st_mode & 0o777 == 0o700
    state.chmod(0o500)
    make_private(state)
    assert state.stat().st_mode & 0o777 == 0o500


@pytest.mark.parametrize("kind", ["link", "dangling", "file"])
def test_a_private_folder_that_is_a_link_or_no_folder_is_refused(folder: Path, kind: str) -> None:
    """Whoever planted it chose where secrets go."""
    state, real = folder / "state", folder / "real"
    real.mkdir()
    match kind:
        case "link":
            state.symlink_to(real)
        case "dangling":
            state.symlink_to(folder / "nowhere")
        case _:
            state.write_text("")
    with pytest.raises(BadRequest) as caught:
        make_private(state)
    assert caught.value.code == "STATE_UNTRUSTED"
    assert not (folder / "nowhere").exists()


def test_a_project_whose_private_folder_became_a_link_is_refused_by_every_command(folder: Path) -> None:
    """The store behind it may be anybody's."""
    scratch_repository(folder / "project")
    environment = {"WORKLOOP_STATE": str(folder / "state")}
    place = place_of(folder / "project", environment)
    other = folder / "other"
    other.mkdir()
    (other / "workloop.toml").write_text("")
    place.folder.parent.mkdir()
    place.folder.symlink_to(other)
    with pytest.raises(BadRequest) as caught:
        load(place.repository, environment)
    assert caught.value.code == "STATE_UNTRUSTED"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_private_folder_of_another_user_is_refused(folder: Path) -> None:
    """Its owner could change it at any time."""
    state = folder / "state"
    state.mkdir(mode=0o700)
    os.chown(state, 12345, 12345)
    with pytest.raises(BadRequest, match="belongs to user 12345"):
        make_private(state)


def test_a_private_folder_in_a_work_dir_is_refused_also_through_a_link(folder: Path) -> None:
    """A session could stop the loop, or read its tokens."""
    project = folder / "project"
    project.mkdir()
    (folder / "way").symlink_to(project)
    with pytest.raises(BadRequest) as caught:
        make_private(folder / "way" / "state", (project,))
    assert caught.value.code == "STATE_IN_WORK_DIR"
