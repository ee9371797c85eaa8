"""Which of the operator's private files no session and no check sees, wherever they lie."""

from pathlib import Path

from workloop.config import DriverConfig, HarnessConfig, HarnessKind
from workloop.config.meter import Metering
from workloop.domain.poll import Poll
from workloop.driver.report import LoopOptions
from workloop.driver.target import Target
from workloop.wiring import operator
from workloop.wiring.planning import Aim, Plan
from workloop.wiring.sandbox import secrets_of


class Elsewhere:
    """A backlog of somebody else's, in which there is nothing to do."""

    async def poll(self) -> Poll:
        return Poll(version=0, claimable=0)


def test_a_provider_s_key_is_hidden_whether_a_variable_names_it_or_the_meter() -> None:
    told = HarnessConfig(kind=HarnessKind.CODEX, variables={"KEY": "@/srv/told", "MODE": "fast"})
    metered = HarnessConfig(kind=HarnessKind.CLAUDE, meter=Metering(key="@/srv/metered"))
    login = HarnessConfig(kind=HarnessKind.CLAUDE, meter=Metering(login=True))
    config = DriverConfig(harnesses={"told": told, "metered": metered, "login": login})
    assert secrets_of(config) == (Path("/srv/told"), Path("/srv/metered"))


def test_a_loop_hides_the_operators_own_tests_like_its_settings_and_its_state() -> None:
    target = Target("shop", Elsewhere(), Path("/srv/shop"))
    aim = Aim(target=target, folder=Path("/srv/state/shop"), integration_branch="main")
    plan = Plan(
        config=DriverConfig(checks_overlay=Path("/srv/tests")),
        folder=Path("/srv/state"),
        harnesses={},
        aims=(aim,),
        options=LoopOptions(),
        tell=lambda kind, facts: None,
        operator=operator(),
        environment={"HOME": "/home/me"},
        source=Path("/srv/workloop.toml"),
    )
    assert {Path("/srv/tests"), Path("/srv/workloop.toml"), Path("/srv/state")} <= set(plan.hidden(aim))
