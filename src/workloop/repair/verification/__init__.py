"""How the host itself judges a repair of a harness: it looks at the commit, then runs it twice over, behind walls."""

from workloop.repair.verification.ground import Bounds, Ground, Probe
from workloop.repair.verification.guard import GuardRules, Refused, refusals_of
from workloop.repair.verification.hosted import hosted
from workloop.repair.verification.regression import regression_verdict
from workloop.repair.verification.reproducer import confirmation_of, digest_of, reproducer_verdict

__all__ = [
    "Bounds",
    "Ground",
    "GuardRules",
    "Probe",
    "Refused",
    "confirmation_of",
    "digest_of",
    "hosted",
    "refusals_of",
    "regression_verdict",
    "reproducer_verdict",
]
