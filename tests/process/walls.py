"""Where the tests behind walls may be left out: on machines that cannot build any, and never in CI as root."""

import os

import pytest

from workloop.runner.sandbox.enclosure import Network
from workloop.runner.sandbox.trial import try_bwrap

TRIAL = try_bwrap(Network.LOOPBACK)
MUST_RUN = os.environ.get("CI") == "true" and os.getuid() == 0
NEEDS_WALLS = pytest.mark.skipif(bool(TRIAL.failure) and not MUST_RUN, reason=f"no walls here: {TRIAL.failure}")
