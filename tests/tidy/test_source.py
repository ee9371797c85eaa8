"""Every file keeps the house rules, and every rule can fail."""

from collections import Counter
from pathlib import Path

import pytest
from module_graph import Imports, cycle, read_imports, read_tree, unused
from source_rules import WIDE_HANDLERS, findings_in_tests, source_findings, texts

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
SOURCES = sorted(path.relative_to(SRC) for path in SRC.rglob("*.py"))
TESTS = sorted(path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("*.py"))
PAGES = sorted(path.relative_to(ROOT) for folder in (ROOT, *(ROOT / "docs").rglob("")) for path in folder.glob("*.md"))
BENCHES = sorted(path.relative_to(ROOT) for path in (ROOT / "bench").rglob("*.py"))
BUNDLED = "workloop.repair.bundled"
FOR_DRIVERS = {  # what docs/harness-files.md and docs/repair.md offer to programs, and what a session starts
    "workloop.wiring.repairing",
    *(f"{BUNDLED}.{name}" for name in ("announcing", "capabilities", "laying", "mapping", "toolserver")),
}
STARTS = frozenset({"workloop.__main__", *FOR_DRIVERS})


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_source_keeps_the_rules(path: Path) -> None:
    assert source_findings(path.as_posix(), (SRC / path).read_text("utf-8")) == []


@pytest.mark.parametrize("path", TESTS, ids=str)
def test_tests_keep_the_rules(path: Path) -> None:
    assert findings_in_tests(path.as_posix(), (ROOT / "tests" / path).read_text("utf-8")) == []


@pytest.mark.parametrize("path", [*PAGES, *BENCHES], ids=str)
def test_pages_and_benchmarks_hold_no_banned_text(path: Path) -> None:
    assert list(texts((ROOT / path).read_text("utf-8"))) == []


def test_no_two_files_of_the_tests_share_a_name() -> None:
    """Outside of a package pytest imports a file by its bare name: of two with one name the second is an error."""
    assert twins([path for path in TESTS if not (ROOT / "tests" / path.parent / "__init__.py").exists()]) == []
    assert twins([Path("unit/test_one.py"), Path("process/test_one.py"), Path("unit/test_two.py")]) == ["test_one.py"]


def twins(paths: list[Path]) -> list[str]:
    """Return the names that more than one file has; each folder may have a conftest of its own."""
    count = Counter(path.name for path in paths)
    return [name for name, times in count.items() if times > 1 and name != "conftest.py"]


def test_no_module_is_forgotten() -> None:
    assert unused(read_tree(SRC), {**read_tree(ROOT / "tests"), **read_tree(ROOT / "bench")}, STARTS) == []


def test_no_modules_import_each_other_while_they_load() -> None:
    assert cycle(read_tree(SRC)) == []


def test_every_listed_wide_handler_is_still_there() -> None:
    without = [path for path in WIDE_HANDLERS if "Exception" not in (SRC / path).read_text("utf-8")]
    assert without == []


DOC = '"""A module."""\n'
LONG = "".join(f"    x = {number}\n" for number in range(60))
PLANTED = {
    "file-length": DOC + "x = 1\n" * 400,
    "function-length": f'{DOC}def f():\n    """Do it."""\n{LONG}',
    "parameters": f'{DOC}class C:\n    """One."""\n\n    def f(self, a, b, c, d, *, e, f, **g):\n        """I."""\n',
    "module-docstring": '"""One thing. And another."""\n',
    "docstring": f"{DOC}def f():\n    return 1\n",
    "wide-handler": f"{DOC}try:\n    x = 1\nexcept (ValueError, Exception):\n    x = 2\n",
    "sleep": f"{DOC}import time\n\ntime.sleep(1)\n",
}


@pytest.mark.parametrize("rule", PLANTED)
def test_each_rule_finds_its_planted_violation(rule: str) -> None:
    found = source_findings("workloop/x.py", PLANTED[rule]) + findings_in_tests("x.py", PLANTED[rule])
    assert {finding.rule for finding in found} == {rule}


@pytest.mark.parametrize(
    "call", ["datetime.now()", "datetime.datetime.now()", "time.time()", "time.time_ns()", "uuid.uuid4()", "print(1)"]
)
def test_a_banned_call_is_found_with_its_replacement(call: str) -> None:
    (found,) = source_findings("workloop/x.py", f"{DOC}x = {call}\n")
    assert found.rule == "banned-call"
    assert "use " in found.message


def test_the_clock_and_the_renderer_may_do_what_others_may_not() -> None:
    assert source_findings("workloop/store/system.py", f"{DOC}x = time.time_ns()\n") == []
    assert source_findings("workloop/interfaces/cli/render.py", f"{DOC}print(1)\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "# no" + "qa: E501",
        "# type: " + "ignore[arg-type]",
        "# pyright: " + "ignore",
        "# pragma: no " + "cover",
        "TO" + "DO",
        "FIX" + "ME",
        "XX" + "X",
        "/wo" + "rk/main",
        "/ro" + "ot/.cache",
        "/tm" + "p/x",
        "see issue " + "#12",
        "../shared" + "/notes",
        "the session that wr" + "ote this",
    ],
)
def test_a_banned_text_is_found(text: str) -> None:
    assert [finding.rule for finding in texts(f"a = 1  {text}\n")] == ["banned-text"]


@pytest.mark.parametrize("text", ["refs/workloop/x", "https://host/work", "a/tm" + "p/b", "~/work", "work/verify"])
def test_an_innocent_text_is_left_alone(text: str) -> None:
    assert list(texts(text)) == []


@pytest.mark.parametrize("handler", ["except:", "except BaseException:", "except Exception as e:"])
def test_a_handler_of_everything_is_found_unless_its_place_is_listed(handler: str) -> None:
    text = f"{DOC}try:\n    x = 1\n{handler}\n    x = 2\n"
    assert [finding.rule for finding in source_findings("workloop/x.py", text)] == ["wide-handler"]
    assert source_findings(next(iter(WIDE_HANDLERS)), text) == []


def test_a_sleep_that_looks_again_until_a_bound_is_no_wait() -> None:
    assert findings_in_tests("x.py", f"{DOC}import time\n\nwhile not done():\n    time.sleep(0.01)\n") == []


def modules(**sources: str) -> dict[str, Imports]:
    """Read sources by their names within one package."""
    return {f"workloop.{name.replace('__', '.')}": read_imports(text) for name, text in sources.items()}


def test_a_cycle_at_load_time_is_found_and_a_late_import_is_none() -> None:
    early = modules(a="from workloop.b import x", b="import workloop.a")
    late = modules(a="from workloop import b", b="def f():\n    import workloop.a")
    typed = modules(a="from workloop import b", b="if TYPE_CHECKING:\n    import workloop.a")
    assert set(cycle(early)) == {"workloop.a", "workloop.b"}
    assert cycle(late) == cycle(typed) == []


def test_a_module_that_nothing_imports_is_found() -> None:
    tree = modules(a="", b="from workloop import a", c="x = 'workloop.b'", testing__d="")
    assert unused(tree, {}, frozenset({"workloop.c"})) == ["workloop.testing.d"]
    assert unused(tree, {}, frozenset()) == ["workloop.c", "workloop.testing.d"]
    assert unused(tree, modules(t="import workloop.testing.d"), frozenset({"workloop.c"})) == []
