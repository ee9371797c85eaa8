"""What a runner or a shell prints when nothing could be loaded is told from the output of a test that failed."""

import pytest

from workloop.domain.checks import CheckOutcome, outcome_of_end

RUNNERS = {
    "-m": "/usr/bin/python3: No module named pytest\n",
    "-m, its package": "python3.12: Error while finding module specification for 'a.b' "
    "(ModuleNotFoundError: No module named 'a')\n",
    "-m, no __main__": "python: No module named shop.__main__; 'shop' is a package and cannot be directly executed\n",
    "-m, then a word": "python3: No module named pytest\nthe tests failed\n",
    "unittest": "E\n======\nERROR: test_typo (unittest.loader._FailedTest.test_typo)\n------\n"
    "ImportError: Failed to import test module: test_typo\n\nRan 1 test in 0.000s\n\nFAILED (errors=1)\n",
    "unittest before 3.11": "ERROR: test_typo (unittest.loader._FailedTest)\n\nFAILED (errors=1)\n",
    "dash": "sh: 1: pytest: not found\n",
    "bash": "bash: line 1: pytest: command not found\n",
    "bash -c": "/bin/bash: pytest: command not found\n",
    "a script": "./run.sh: line 3: pytest: command not found\n",
    "a script of dash": "run.sh: 3: pytest: not found\n",
    "make": "make: pytest: No such file or directory\nmake: *** [Makefile:2: check] Error 127\n",
}
TESTS = {
    "nothing": "",
    "an assertion": "AssertionError: 3 != 4\n\nRan 1 test in 0.000s\n\nFAILED (failures=1)\n",
    "an import in a test": "ERROR: test_total (tests.test_total.Total.test_total)\n"
    "ModuleNotFoundError: No module named 'shop.new'\n\nFAILED (errors=1)\n",
    "an assertion beside a module": "ERROR: test_new (unittest.loader._FailedTest.test_new)\n"
    "FAIL: test_total (tests.test_total.Total)\n\nFAILED (failures=1, errors=1)\n",
    "a test about such a line": "E  assert out == 'ok'\npython3: No module named x\n=== summary\nFAILED a\n1 failed\n",
    "a product's word": "invoice 7: not found\n",
    "make": "FAILED (failures=1)\nmake: *** [Makefile:2: check] Error 1\n",
}


@pytest.mark.parametrize("name", RUNNERS)
def test_what_could_not_be_loaded_is_absent_whatever_the_code_is_called(name: str) -> None:
    """Decision: no assertion was reached, so it is not red; what passed has passed."""
    assert outcome_of_end(1, RUNNERS[name], (1,)) is CheckOutcome.ABSENT
    assert outcome_of_end(2, RUNNERS[name], (2,)) is CheckOutcome.ABSENT
    assert outcome_of_end(0, RUNNERS[name], (1,)) is CheckOutcome.PASSED
    assert outcome_of_end(3, RUNNERS[name], (1,)) is CheckOutcome.ERROR


@pytest.mark.parametrize("name", TESTS)
def test_failed_test_stays_red_whatever_it_prints(name: str) -> None:
    assert outcome_of_end(1, TESTS[name], (1,)) is CheckOutcome.FAILED
