"""Every case of the attack set, lies first."""

from workloop.testing.gates import (
    honest,
    lies_about_commits,
    lies_about_places,
    lies_about_proof,
    lies_about_runners,
    lies_about_tests,
    lies_in_the_code,
)
from workloop.testing.gates.case import Case

LIES: tuple[Case, ...] = (
    *lies_about_tests.CASES,
    *lies_about_runners.CASES,
    *lies_in_the_code.CASES,
    *lies_about_places.CASES,
    *lies_about_commits.CASES,
    *lies_about_proof.CASES,
)
HONEST: tuple[Case, ...] = honest.CASES
CASES: tuple[Case, ...] = (*LIES, *HONEST)
