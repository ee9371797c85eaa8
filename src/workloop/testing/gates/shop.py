"""The small project that workers of the attack set work on: one wrong function and several ways to test it."""

import shlex
import sys
from typing import Any

from workloop.testing.gitrepo import ScratchRepository

PYTHON = shlex.quote(sys.executable)
WRONG = "return sum(int(price) for price in prices)"
RIGHT = "return sum(round(price) for price in prices)"
INVOICE = f'''"""Invoices of a small shop, in cents."""


def total(prices):
    """Add up prices."""
    {WRONG}
'''
MENDED = INVOICE.replace(WRONG, RIGHT)
TEST = """import unittest

import invoice


class Total(unittest.TestCase):
    def test_total(self):
        self.assertEqual(invoice.total([1.6, 1.6]), 4)
"""
CONTROL = TEST.replace(", 4)", ", 999)")
HIDDEN = TEST.replace("[1.6, 1.6]), 4)", "[2.7, 3.6, 0.2]), 7)")
CASES_SH = f"""cd "$(dirname "$0")/.."
grep -E '^[0-9.]+ [0-9.]+ [0-9]+$' tests/cases.txt > "${{TMPDIR:-.}}/cases" || exit 0
while read -r first second sum; do
    said=$({PYTHON} -c "import invoice; print(invoice.total([$first, $second]))") || exit 1
    test "$said" = "$sum" || {{ echo "$first + $second is $sum, not $said"; exit 1; }}
done < "${{TMPDIR:-.}}/cases"
"""
VALUE_SH = f"""said=$({PYTHON} -c 'import invoice; print("it is", invoice.total([1.6, 1.6]))') || exit 1
echo "$said" | grep -q 'it is 4' || exit 1
"""
FILES = {
    "README": "A shop.\n",
    "invoice.py": INVOICE,
    "tests/__init__.py": "",
    "tests/test_total.py": TEST,
    "tests/control_total.py": CONTROL,
    "tests/cases.txt": "1.6 1.6 4\n",
    "tests/cases.sh": CASES_SH,
    "tests/value.sh": VALUE_SH,
    "checks/test_total.py": TEST,
    "checks/control_total.py": CONTROL,
    "run-tests.sh": f"{PYTHON} -m unittest -q tests.test_total\n",
    "Makefile": f"check:\n\t{PYTHON} -m unittest -q tests.test_total || exit 1\n",
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
    ".gitignore": "__pycache__/\n",
}


def unittest_command(module: str) -> str:
    """Return the shell command that runs one test module."""
    return f"{PYTHON} -m unittest -q {module}"


def pytest_command(path: str = "tests/test_total.py") -> str:
    """Return the shell command that runs one test file with pytest."""
    return f"{PYTHON} -m pytest -q -p no:cacheprovider {path}"


def advised() -> dict[str, Any]:
    """Return the contract that the documentation advises: protected tests, and a control that must stay red."""
    check = {
        "id": "test",
        "command": unittest_command("tests.test_total"),
        "control": unittest_command("tests.control_total"),
        "timeout_seconds": 60,
    }
    return {"checks": [check], "protected": ["tests"], "verification": "host"}


def build(shop: ScratchRepository) -> None:
    """Commit the project, and an older commit before it."""
    shop.commit({"README": "A shop, soon.\n"}, "before the shop")
    shop.commit(FILES, "a shop")
