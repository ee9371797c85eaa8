"""Where the host runs a contract's checks itself; `rounds` is the way in."""

from workloop.runner.checks.plan import CheckPlan, CheckReport
from workloop.runner.checks.rounds import run_checks

__all__ = ["CheckPlan", "CheckReport", "run_checks"]
