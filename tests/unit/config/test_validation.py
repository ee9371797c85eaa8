"""A combination of harnesses, phases and MCP files that cannot work is refused before anything starts, by its entry."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from workloop.config import DriverConfig, HarnessConfig, HarnessKind, PhaseConfig
from workloop.config.validation import hand_off_allowed, validate
from workloop.domain.errors import BadRequest
from workloop.runner.harness.port import Capabilities

WHOLE = Capabilities(turn_cap=True, cost_cap=True, per_run_mcp=True, observes_claims=True, final_text=True)
BARE = Capabilities()
TELLING = Capabilities(final_text=True)
BOTH = {"claude": WHOLE, "command": BARE, "codex": WHOLE}
CLAUDE = HarnessConfig(kind=HarnessKind.CLAUDE, models={"strong": "opus"})
TWO_PHASES = (PhaseConfig(name="implement"), PhaseConfig(name="review", harness="codex"))


@dataclass(frozen=True)
class Somewhere:
    """A target as validation sees it."""

    work_dir: Path
    name: str = "shop"
    mcp_config_path: Path | None = None
    mcp_config_paths: Mapping[str, Path] = field(default_factory=dict[str, Path])
    queue: object | None = None
    agents: tuple[str, ...] = ()


def config(**changes: object) -> DriverConfig:
    """Build a configuration; blocks for claude and a command are declared."""
    blocks = {"claude": CLAUDE, "command": HarnessConfig(kind=HarnessKind.COMMAND, command=("x",))}
    return replace(DriverConfig(harnesses=blocks), **changes)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"harness": "gone"}, "loop.harness"),
        ({"harnesses": {"command": HarnessConfig(kind=HarnessKind.COMMAND, turns_max=3)}}, "harness.command.turns_max"),
        (
            {"harnesses": {"command": HarnessConfig(kind=HarnessKind.COMMAND, cost_micros_max=3)}},
            "harness.command.cost_usd_max",
        ),
        (
            {"harnesses": {"command": HarnessConfig(kind=HarnessKind.COMMAND, mcp_config=Path("x"))}},
            "harness.command.mcp_config",
        ),
        ({"phases": (PhaseConfig(name="review", harness="gone"),)}, "phase[0].harness"),
        ({"phases": (PhaseConfig(name="review", tier="weak"),)}, "phase[0].tier"),
        ({"phases": (PhaseConfig(name="review", tier="strong", harness="command"),)}, "phase[0].tier"),
        ({"phases": (PhaseConfig(name="review", harness="command", turns_max=3),)}, "phase[0].turns_max"),
        ({"phases": (PhaseConfig(name="review", harness="command", handoff=True),)}, "phase[0].handoff"),
        ({"agents": ("claude", "gone")}, "loop.agents[1]"),
        ({"agents": ("claude", "codex"), "phases": (PhaseConfig(name="review", harness="codex"),)}, "loop.agents"),
        ({"agents": ("claude", "codex"), "phases": (PhaseConfig(name="review", tier="strong"),)}, "phase[0].tier"),
        ({"phases": (PhaseConfig(name="review"), PhaseConfig(name="implement"))}, "phase[1].name"),
        ({"phases": (PhaseConfig(name="review"), PhaseConfig(name="review"))}, "phase[1].name"),
    ],
)
def test_what_a_harness_cannot_do_is_refused_where_it_is_asked(changes: dict[str, object], path: str) -> None:
    """A bound that nobody keeps is worse than none."""
    with pytest.raises(BadRequest) as caught:
        validate(config(**changes), BOTH)
    assert caught.value.details["field"] == path


def test_what_harnesses_can_do_is_accepted() -> None:
    """Caps, tiers and hand-offs where they are honoured."""
    block = HarnessConfig(kind=HarnessKind.CLAUDE, models={"strong": "opus"}, turns_max=3, cost_micros_max=5)
    phases = (PhaseConfig(name="implement", tier="strong", turns_max=2), PhaseConfig(name="review", handoff=True))
    validate(config(harnesses={"claude": block}, phases=phases), BOTH)


def test_a_target_with_a_queue_needs_no_mcp_file_for_a_phase_elsewhere(tmp_path: Path) -> None:
    """The loop adds itself to every session."""
    validate(config(phases=TWO_PHASES), BOTH, [Somewhere(tmp_path / "shop", queue=object())])


@pytest.mark.parametrize("queue", [None, object()])
def test_a_phase_elsewhere_needs_its_own_mcp_file_where_the_operator_s_is_used(
    tmp_path: Path, queue: object | None
) -> None:
    """Counts would come from one place and work go to another."""
    file, other = tmp_path / "mcp.json", tmp_path / "codex.toml"
    file.write_text("{}")
    other.write_text("")
    lacking = Somewhere(tmp_path / "shop", mcp_config_path=file, queue=queue)
    with pytest.raises(BadRequest) as caught:
        validate(config(phases=TWO_PHASES), BOTH, [lacking])
    assert caught.value.details["field"] == "target.shop.mcp_config_paths.codex"
    whole = Somewhere(tmp_path / "shop", mcp_config_path=file, mcp_config_paths={"codex": other}, queue=queue)
    validate(config(phases=TWO_PHASES), BOTH, [whole])


def test_a_phase_elsewhere_needs_its_own_mcp_file_where_sessions_claim_for_themselves(tmp_path: Path) -> None:
    """Without a queue of ours, that file is their only way to the backlog."""
    with pytest.raises(BadRequest) as caught:
        validate(config(phases=TWO_PHASES), BOTH, [Somewhere(tmp_path / "shop")])
    assert caught.value.details["field"] == "target.shop.mcp_config_paths.codex"


def test_an_mcp_file_for_a_harness_that_takes_none_or_that_is_unknown_is_refused(tmp_path: Path) -> None:
    """It would never be read."""
    for name in ("command", "gone"):
        target = Somewhere(tmp_path / "shop", mcp_config_paths={name: tmp_path / "x"}, queue=object())
        with pytest.raises(BadRequest) as caught:
            validate(config(), BOTH, [target])
        assert caught.value.details["field"] == f"target.shop.mcp_config_paths.{name}"


def test_phases_without_a_queue_need_harnesses_whose_claims_are_seen(tmp_path: Path) -> None:
    """Otherwise nobody knows whose item the second phase goes on with."""
    phases = (PhaseConfig(name="implement"), PhaseConfig(name="review"))
    target = Somewhere(tmp_path / "shop")
    validate(config(phases=phases), BOTH, [target])
    validate(config(phases=phases[1:], harness="command"), BOTH, [target])
    with pytest.raises(BadRequest) as caught:
        validate(config(phases=phases, harness="command"), {**BOTH, "command": TELLING}, [target])
    assert caught.value.details["field"] == "phase[0].harness"


def test_a_brief_that_a_session_could_change_or_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """Its text is the next session's orders."""
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "brief.md").write_text("x")
    for brief in (shop / "brief.md", tmp_path / "gone.md"):
        with pytest.raises(BadRequest) as caught:
            validate(config(phases=(PhaseConfig(name="polish", brief=brief),)), BOTH, [Somewhere(shop, queue=1)])
        assert caught.value.details["field"] == "phase[0].brief"


def test_a_hand_off_is_allowed_where_the_last_message_is_known_and_nobody_forbade_it() -> None:
    """None leaves it to the harness."""
    phase = PhaseConfig(name="review")
    assert hand_off_allowed(phase, WHOLE)
    assert hand_off_allowed(None, WHOLE)
    assert not hand_off_allowed(phase, BARE)
    assert not hand_off_allowed(PhaseConfig(name="review", handoff=False), WHOLE)
