"""A settings file says how the loop runs, and what it cannot mean is refused by its path."""

import re
from pathlib import Path

import pytest

from workloop.config import DriverConfig, HarnessKind, OnLimit, Place, Settings, parse, sample
from workloop.domain.errors import BadRequest
from workloop.domain.versions import VersionPolicy

PLACE = Place(repository=Path("/projects/shop"), folder=Path("/private/shop"))
FILE = "/private/shop/workloop.toml"


def read(text: str) -> Settings:
    """Read a settings file of one project."""
    return parse(text, PLACE, {}, FILE)


def refused(text: str) -> BadRequest:
    """Return the refusal of a settings file."""
    with pytest.raises(BadRequest) as caught:
        read(text)
    return caught.value


def test_an_empty_file_gives_the_defaults_that_python_gives() -> None:
    """There is one place for defaults."""
    loop = read("").loop
    assert loop == DriverConfig(work_dir=PLACE.repository, state_dir=PLACE.folder)


def test_a_file_of_one_project_is_one_target_with_the_project_s_own_folder() -> None:
    """What drives several projects drives one as well."""
    settings = read('[campaign]\nname = "night"\n[loop]\nintegration_branch = "trunk"')
    (target,) = settings.targets
    assert (target.place, target.campaign, settings.folder) == (PLACE, "night", PLACE.folder)
    assert target.config.integration_branch == "trunk"


def test_blocks_of_one_kind_are_told_apart_by_name_account_and_models() -> None:
    """Two accounts of one agent are two harnesses."""
    text = """
    [loop]
    harness = "claude-home"
    [harness.claude-work]
    kind = "claude"
    account = "work"
    models = { strong = "opus", cheap = "haiku" }
    [harness.claude-home]
    kind = "claude"
    model = "sonnet"
    """
    loop = read(text).loop
    work = loop.harness_config("claude-work")
    assert (work.kind, work.account, work.model_for("strong")) == (HarnessKind.CLAUDE, "work", "opus")
    assert loop.harness_config().model_for("strong") == "sonnet"
    assert loop.harness_names() == ("claude-home",)


def test_agents_stand_in_for_each_other_the_preferred_one_first() -> None:
    """The first is the loop's own; whatever contradicts that is refused by its entry."""
    loop = read('[loop]\nagents = ["codex", "claude"]').loop
    assert (loop.harness, loop.agent_names(), loop.agent_names(("qwen",))) == ("codex", ("codex", "claude"), ("qwen",))
    for text, entry in (
        ('[loop]\nagents = ["codex", "codex"]', "loop.agents"),
        ('[loop]\nagents = ["codex", "nobody"]', "loop.agents[1]"),
        ('[loop]\nharness = "claude"\nagents = ["codex", "claude"]', "loop.harness"),
    ):
        with pytest.raises(BadRequest, match=re.escape(entry)):
            read(text)


def test_the_only_declared_harness_is_the_loop_s() -> None:
    """One agent needs no second word."""
    assert read("[harness.codex]").loop.harness == "codex"


def test_a_file_says_every_policy_of_the_loop() -> None:
    """What Python can say a file can say."""
    text = """
    [loop]
    max_iterations = 40
    run_seconds_max = 36000
    sessions_max = 4
    sessions_max_target = 2
    sessions_max_host = 6
    on_limit = "ask"
    untested_versions = "refuse"
    keep_awake = false
    kept_days = 7
    kept_bytes_max = 1000
    environment = ["ANTHROPIC_API_KEY"]
    state_dir = "elsewhere"
    """
    loop = read(text).loop
    assert (loop.max_iterations, loop.run_seconds_max, loop.sessions_max) == (40, 36_000.0, 4)
    assert (loop.sessions_max_target, loop.sessions_max_host) == (2, 6)
    assert (loop.on_limit, loop.untested_versions, loop.keep_awake) == (OnLimit.ASK, VersionPolicy.REFUSE, False)
    assert (loop.retention.kept_days, loop.retention.kept_bytes_max) == (7.0, 1000)
    assert (loop.environment, loop.state_dir) == (("ANTHROPIC_API_KEY",), Path("/private/shop/elsewhere"))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[loop]\nmax_turn = 3", "loop.max_turn"),
        ("[loops]", "loops"),
        ('[loop]\nharness = "clod"\n[harness.clod]', "harness.clod.kind"),
        ('[harness."Big One"]\nkind = "claude"', "harness.Big One"),
        ('[harness.claude]\naccount = "a/b"', "harness.claude.account"),
        ('[harness.claude]\nmodels = { strong = " " }', "harness.claude.models.strong"),
        ('[loop]\ntime_zone = "Europe/Berlin"', "loop.time_zone"),
        ('[loop]\nactive_hours = ["22:00-06:00"]\ntime_zone = "Mars/Olympus"', "loop.time_zone"),
        ('[loop]\nactive_hours = ["22-6"]', "loop.active_hours[0]"),
        ('[loop]\nactive_hours = ["22:00-06:00", "xyz 01:00-02:00"]', "loop.active_hours[1]"),
        ('[loop]\nactive_hours = ["25:00-06:00"]', "loop.active_hours[0]"),
        ('[loop]\non_limit = "forget"', "loop.on_limit"),
        ("[loop]\nmax_iterations = -1", "loop.max_iterations"),
        ("[loop]\nwall_seconds = -5", "loop.wall_seconds"),
        ('[[phase]]\nname = "Implement"', "phase[0].name"),
        ('[[phase]]\nname = "implement"\n[[phase]]\nname = "implement"', "phase[1].name"),
        ('[[phase]]\nname = "polish"', "phase[0].brief"),
        ('[[phase]]\nname = "review"\n[[phase]]\nname = "implement"', "phase[1].name"),
        ('[[phase]]\nname = "implement"', "phase[0].name"),
        ('[[phase]]\nname = "review"\nturns = 4', "phase[0].turns"),
    ],
)
def test_what_a_file_cannot_mean_is_refused_by_its_path(text: str, path: str) -> None:
    """A mistyped bound would be an absent one."""
    assert refused(text).details["field"] == path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('[harness.claude]\nscript = "x.json"', "harness.claude.script"),
        ('[harness.command]\ncommand = ["x"]\nhome = "own"', "harness.command.home"),
        ('[harness.command]\ncommand = ["x"]\nextra_args = ["y"]', "harness.command.extra_args"),
        ('[harness.scripted]\nscript = "x"\ncommand = ["x"]', "harness.scripted.command"),
    ],
)
def test_h01_a_key_without_effect_is_refused_instead_of_accepted(text: str, path: str) -> None:
    """Silence would be read as consent."""
    error = refused(text)
    assert error.details["field"] == path
    assert "does nothing" in error.message


def test_a_loop_s_folder_inside_the_work_dir_is_refused() -> None:
    """A session could stop the loop, or read its tokens."""
    assert refused('[loop]\nstate_dir = "/projects/shop/.loop"').code == "STATE_IN_WORK_DIR"


def test_brief_and_mcp_files_are_meant_from_the_settings_file_s_folder() -> None:
    """The daemon's present folder means nothing."""
    text = '[harness.claude]\nmcp_config = "mcp.json"\n[[phase]]\nname = "polish"\nbrief = "briefs/polish.md"'
    loop = read(text).loop
    assert loop.phases[0].brief == Path("/private/shop/briefs/polish.md")
    assert loop.harnesses["claude"].mcp_config == Path("/private/shop/mcp.json")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('[loop]\nharness = "wish"', "loop.harness"),
        ('[[phase]]\nname = "review"\nharness = "wish"', "phase[0].harness"),
    ],
)
def test_a_harness_that_no_block_sets_is_refused_where_it_is_named(text: str, path: str) -> None:
    """Every command says so, not only the run."""
    assert refused(text).details["field"] == path


def test_every_line_that_the_sample_leaves_as_a_comment_can_be_put_to_use() -> None:
    """A sample that is wrong is found by whoever trusts it, at night."""
    text = re.sub(r"^# (?=[a-z_\[]+)", "", sample(PLACE, "trunk"), flags=re.MULTILINE)
    loop = read(text).loop
    assert (loop.integration_branch, loop.harness_names()) == ("trunk", ("claude", "codex-work"))
    assert [phase.tier for phase in loop.phases] == ["", "strong"]
