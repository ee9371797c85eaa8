"""Reported failures of systems like this one, and the repair bench's rules: each with its tests or with the reason."""

from requirements.bench import BENCH
from requirements.claims import CLAIMS
from requirements.done import DONE
from requirements.handing_on import HANDING_ON
from requirements.limits import LIMITS
from requirements.loops import LOOPS
from requirements.repair_inputs import REPAIR_INPUTS
from requirements.repair_rules import REPAIR_RULES
from requirements.row import Requirement
from requirements.schedule import SCHEDULE
from requirements.secrets import SECRETS
from requirements.spending import SPENDING
from requirements.storage import STORAGE
from requirements.surfaces import SURFACES
from requirements.trees import TREES

__all__ = ["REQUIREMENTS", "Requirement"]

REQUIREMENTS = (
    *CLAIMS,
    *STORAGE,
    *LOOPS,
    *LIMITS,
    *DONE,
    *SCHEDULE,
    *SURFACES,
    *HANDING_ON,
    *SECRETS,
    *SPENDING,
    *TREES,
    *BENCH,
    *REPAIR_RULES,
    *REPAIR_INPUTS,
)
