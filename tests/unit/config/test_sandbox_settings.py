"""What the settings say of the walls around sessions and checks is read strictly."""

from pathlib import Path
from typing import Any

import pytest

from workloop.config import DriverConfig, NetworkWish, SandboxConfig, SandboxWish
from workloop.config.sandbox import read_sandbox
from workloop.config.validation import validate
from workloop.domain.errors import BadRequest
from workloop.runner.harness.port import Capabilities

BASE = Path("/settings")


def test_without_a_word_there_are_walls_where_they_work() -> None:
    assert read_sandbox(None, BASE) == SandboxConfig()
    assert SandboxConfig().kind is SandboxWish.AUTO


def test_everything_that_is_said_is_read() -> None:
    said: dict[str, Any] = {
        "kind": "bwrap",
        "network": "loopback",
        "checks_network": "none",
        "readable": ["tools", "/opt/tools"],
        "hidden": ["/srv/keys"],
        "ports": [11434, 8000],
    }
    assert read_sandbox(said, BASE) == SandboxConfig(
        kind=SandboxWish.BWRAP,
        network=NetworkWish.LOOPBACK,
        checks_network=NetworkWish.NONE,
        readable=(BASE / "tools", Path("/opt/tools")),
        hidden=(Path("/srv/keys"),),
        ports=(11434, 8000),
    )


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"kind": "docker"}, "sandbox.kind"),
        ({"network": "some"}, "sandbox.network"),
        ({"checks_network": "some"}, "sandbox.checks_network"),
        ({"network": "loopback", "ports": [0]}, "sandbox.ports[0]"),
        ({"network": "loopback", "ports": [80, 80]}, "sandbox.ports[1]"),
        ({"network": "loopback", "ports": list(range(1, 40))}, "sandbox.ports"),
        ({"ports": [80]}, "sandbox.ports"),
        ({"walls": True}, "sandbox.walls"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_entry(said: dict[str, Any], field: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_sandbox(said, BASE)
    assert refused.value.details["field"] == field


def test_sessions_that_settle_by_themselves_are_not_cut_off_from_the_loop() -> None:
    config = DriverConfig(harness="it", sandbox=SandboxConfig(network=NetworkWish.NONE))
    validate(config, {"it": Capabilities(hands_in_head=True)})
    with pytest.raises(BadRequest, match="could not reach the loop"):
        validate(config, {"it": Capabilities()})
