"""By which output one knows that no test was reached, because the runner or a test's module could not be loaded."""

import re
from typing import Final

LAST_LINES: Final = 2
UNITTEST_UNLOADED: Final = re.compile(r"^ERROR: \S+ \(unittest\.loader\._FailedTest\b", re.MULTILINE)
"""CPython's unittest/loader.py puts a test of this class where a module or a name in it could not be loaded."""
UNITTEST_FAILED: Final = re.compile(r"^FAILED \(.*\bfailures=\d", re.MULTILINE)
"""CPython's unittest/main.py counts assertions that did not hold apart from errors."""
UNLOADED: Final = re.compile(
    "|".join(
        (
            # CPython's runpy.py, for `-m`: the module, its package or its __main__ is not there; exit code 1.
            r"\S*python[\d.]*: (?:No module named |Error while finding module specification for ).+",
            # dash, bash, busybox and zsh: a program is not there, in a line that then ends with a code of its own.
            r"(?:\S*/)?(?:ba|da|z|k|a)?sh: (?:(?:line )?\d+: )?\S+: (?:command )?not found",
            r"\S+: line \d+: \S+: command not found",
            r"\S+\.sh: \d+: \S+: not found",
            # GNU make: the shell of a recipe ended with 126 or 127; make itself ends with 2.
            r"g?make(?:\[\d+\])?: \*\*\* \[.*\] Error 12[67]",
        )
    )
)


def not_loaded(output: str) -> bool:
    """Tell whether the end of an output shows that no assertion can have been reached.

    What a shell or the interpreter says must be among the last lines, for a test may print such a line, too.
    """
    if UNITTEST_UNLOADED.search(output):
        return not UNITTEST_FAILED.search(output)
    last = [line.strip() for line in output.splitlines() if line.strip()][-LAST_LINES:]
    return any(UNLOADED.fullmatch(line) for line in last)
