"""How a campaign's settings are written as one JSON text."""

import json
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from workloop.domain.campaign import CampaignSettings, Ceilings, Independence, Landing
from workloop.domain.contract import contract_values, from_canonical

JSON_OPTIONS: dict[str, Any] = {"sort_keys": True, "separators": (",", ":"), "ensure_ascii": False}


def settings_text(settings: CampaignSettings) -> str:
    """Write settings as canonical JSON."""
    values: dict[str, Any] = {
        "slots": settings.slots,
        "candidates_max": settings.candidates_max,
        "rank_step_us": settings.rank_step_us,
        "independence": settings.independence.value,
        "landing": settings.landing.value,
        "lanes": settings.lanes,
        "boundaries": dict(settings.boundaries),
        "grantable": settings.grantable,
        "ceilings": asdict(settings.ceilings),
        "defaults": contract_values(settings.defaults),
    }
    return json.dumps(values, **JSON_OPTIONS)


@lru_cache(maxsize=8)
def settings_from_text(text: str) -> CampaignSettings:
    """Read back what settings_text wrote; every transaction needs it, and it seldom changes."""
    values: dict[str, Any] = json.loads(text)
    return CampaignSettings(
        slots=values["slots"],
        candidates_max=values["candidates_max"],
        rank_step_us=values["rank_step_us"],
        independence=Independence(values["independence"]),
        landing=Landing(values["landing"]),
        lanes=tuple(values["lanes"]),
        boundaries=values["boundaries"],
        grantable=tuple(values["grantable"]),
        ceilings=Ceilings(**values["ceilings"]),
        defaults=from_canonical(json.dumps(values["defaults"], **JSON_OPTIONS)),
    )
