"""A lane's settings: what is asked for is taken as it stands, what cannot work is refused by its path."""

import tomllib
from pathlib import Path

import pytest

from workloop.config.lanes import filled, read_lanes
from workloop.config.place import Place
from workloop.config.reading import parse, parse_targets
from workloop.domain.errors import BadRequest


def lanes(text: str) -> object:
    return read_lanes(tomllib.loads(text)["lane"], Path("/etc"))


def test_lane_is_read_with_its_commands_ports_and_places() -> None:
    lane = lanes(
        """
        [lane.browser]
        prepare = ["up", "--port", "${WORKLOOP_PORT_DEVTOOLS}"]
        list = ["tabs"]
        clean = ["close"]
        adopt = true
        writable = ["shots"]
        environment = { URL = "http://127.0.0.1:${WORKLOOP_PORT_DEVTOOLS}" }
        [lane.browser.ports]
        devtools = 0
        """
    )
    assert isinstance(lane, dict)
    browser = lane["browser"]
    assert browser.prepare[-1] == "${WORKLOOP_PORT_DEVTOOLS}"
    assert (browser.listing, browser.adopt, browser.ports) == (("tabs",), True, {"devtools": 0})
    assert browser.writable == (Path("/etc/shots"),)


def test_places_are_filled_and_what_is_a_shells_own_stays() -> None:
    values = {"WORKLOOP_GRANT": "7"}
    assert filled("${WORKLOOP_GRANT} $HOME ${HOME} ${WORKLOOP_OTHER}", values) == "7 $HOME ${HOME} ${WORKLOOP_OTHER}"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[lane.UP]", "lane.UP"),
        ('[lane."a..b"]', "lane.a..b"),
        ('[lane.a]\nstart = ["x", "${WORKLOOP_PORT_WEB}"]', "lane.a.start"),
        ('[lane.a]\nenvironment = { URL = "${WORKLOOP_NOTHING}" }', "lane.a.environment.URL"),
        ('[lane.a]\nenvironment = { WORKLOOP_LANE = "b" }', "lane.a.environment.WORKLOOP_LANE"),
        ('[lane.a]\nenvironment = { "no name" = "b" }', "lane.a.environment.no name"),
        ("[lane.a]\nadopt = true", "lane.a.adopt"),
        ('[lane.a]\nadopt = true\nlist = ["x"]', "lane.a.adopt"),
        ("[lane.a.ports]\nWEB = 0", "lane.a.ports.WEB"),
        ("[lane.a.ports]\nweb = 70000", "lane.a.ports.web"),
        ("[lane.a.ports]\nweb = 9222\n[lane.b.ports]\nweb = 9222", "lane.b.ports.web"),
        ("[lane.a]\nstarts = []", "lane.a.starts"),
        ("[lane.a]\ntries = 0", "lane.a.tries"),
        ("[lane.a]\nhealth_seconds = 0", "lane.a.health_seconds"),
    ],
)
def test_what_cannot_work_is_refused_by_its_path(text: str, path: str) -> None:
    with pytest.raises(BadRequest) as refused:
        lanes(text)
    assert refused.value.details["field"] == path


def test_lanes_of_one_project_are_its_targets_and_are_refused_beside_several(tmp_path: Path) -> None:
    place = Place(repository=tmp_path / "shop", folder=tmp_path / "state")
    settings = parse('[lane.desk]\nlist = ["ls"]', place, {}, str(tmp_path / "workloop.toml"))
    assert settings.targets[0].config.lanes["desk"].listing == ("ls",)
    values = tomllib.loads(f'[lane.desk]\n[target.shop]\nwork_dir = "{tmp_path}"')
    with pytest.raises(BadRequest, match="lane: is refused"):
        parse_targets(values, tmp_path / "loop.toml", {})
