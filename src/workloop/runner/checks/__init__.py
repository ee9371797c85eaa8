"""Where the host runs a contract's checks itself; `rounds` is the way in."""

from workloop.runner.checks.plan import CheckPlan, CheckReport
from workloop.runner.checks.rounds import run_checks
from workloop.runner.checks.tree import judging

__all__ = ["CheckPlan", "CheckReport", "judging", "run_checks"]
