"""Which of the operator's private files no session and no check sees, wherever they lie."""

from pathlib import Path

from workloop.config import DriverConfig, HarnessConfig, HarnessKind
from workloop.config.meter import Metering
from workloop.wiring.sandbox import secrets_of


def test_a_provider_s_key_is_hidden_whether_a_variable_names_it_or_the_meter() -> None:
    told = HarnessConfig(kind=HarnessKind.CODEX, variables={"KEY": "@/srv/told", "MODE": "fast"})
    metered = HarnessConfig(kind=HarnessKind.CLAUDE, meter=Metering(key="@/srv/metered"))
    login = HarnessConfig(kind=HarnessKind.CLAUDE, meter=Metering(login=True))
    config = DriverConfig(harnesses={"told": told, "metered": metered, "login": login})
    assert secrets_of(config) == (Path("/srv/told"), Path("/srv/metered"))
