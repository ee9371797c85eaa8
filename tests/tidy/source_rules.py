"""The rules that every source file keeps, as functions from a text to what is wrong with it."""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
PARAMETERS_MAX = 6

Function = ast.FunctionDef | ast.AsyncFunctionDef

CALLS: Mapping[str, str] = {
    "datetime.now": "the Clock that was passed in",
    "datetime.datetime.now": "the Clock that was passed in",
    "datetime.utcnow": "the Clock that was passed in",
    "time.time": "the Clock that was passed in",
    "time.time_ns": "the Clock that was passed in",
    "uuid.uuid4": "the IdSource that was passed in",
    "print": "interfaces/cli/render.py",
}
CALLS_ALLOWED: Mapping[str, frozenset[str]] = {
    "workloop/store/system.py": frozenset({"time.time", "time.time_ns"}),
    "workloop/interfaces/cli/render.py": frozenset({"print"}),
    "workloop/testing/scripted_agent.py": frozenset({"time.time_ns"}),  # a program of its own: it has the real clock
}
TEXTS: Mapping[str, str] = {
    r"#\s*no" + "qa": "correct code",
    r"(type|pyright):\s*" + "ignore": "correct types",
    r"pragma:\s*no " + "cover": "a test",
    r"\b(TO" + "DO|FIX" + r"ME|XX" + r"X)\b": "the thing itself, or a decision record",
    r"(?<![\w.~<>\-])/(work|root)(?![\w\-])": "a path that the caller passes in",
    r"(?<![\w.])/tm" + r"p(?![\w\-])": "tempfile, or a path that the caller passes in",
    r"\bissue " + r"#\d": "the reason itself",
    r"\bshared" + "/": "nothing: the project stands alone",
    r"\bsession that wr" + "ote": "nothing: the text is about the project",
}
WIDE_HANDLERS: Mapping[str, str] = {
    "workloop/runner/meter/book.py": "the caller of a budget that is not ours: logs what it raised, sends nothing more",
    "workloop/runner/meter/server.py": "the top of the meter's thread: keeps what ended it for whoever started it",
    "workloop/interfaces/cli/entry.py": "the top of a command: shows the error and exits with 1",
    "workloop/interfaces/mcp/protocol.py": "the top of a request: the agent gets an error answer, stderr the details",
    "workloop/interfaces/mcp/tool.py": "the top of a tool call: the agent gets an error result",
    "workloop/interfaces/web/api.py": "the top of a request: the caller gets a problem document",
    "workloop/driver/turn/loop.py": "the top of a run: writes down why it ended, and raises it again",
    "workloop/driver/turn/selfclaiming.py": "the caller of a releaser that is not ours: tells what it raised",
    "workloop/driver/turn/site.py": "the caller of a poller that is not ours: keeps what it raised, skips its target",
    "workloop/driver/turn/paying.py": "books a session that could not be run, and raises it again",
    "workloop/driver/turn/watching.py": "the top of a session: writes down that it could not run, and raises it again",
    "workloop/driver/attempt/handling.py": "the top of an attempt: tells it, gives the item back and counts it",
    "workloop/driver/attempt/hostcheck.py": "gives the claim back, then raises again",
    "workloop/runner/workspace.py": "takes back a half-made worktree, then raises again",
    "workloop/repair/loading.py": "the caller of a driver's file that is not ours: refuses it with what it raised",
    "workloop/repair/supervisor/bench.py": "the top of a bench run: writes down why it ended, in its ledger",
    "workloop/store/sqlite/creation.py": "rolls back, then raises again",
    "workloop/store/sqlite/pool.py": "rolls back, then raises again",
}
SLEEPS_ALLOWED: Mapping[str, str] = {
    "process/test_session_run.py": "lets a grace period pass to show that it ends nothing",
    "simulation": "time is virtual there: a wait passes as soon as nothing else is left to do",
}
"""Files, and folders of the first level, with the reason why they may wait for a time."""
SLEEPS = ("time.sleep", "asyncio.sleep", "anyio.sleep", "trio.sleep")


class Finding(NamedTuple):
    """One broken rule."""

    rule: str
    line: int
    message: str


def source_findings(path: str, text: str) -> list[Finding]:
    """Return what is wrong with a product file; `path` begins at the package."""
    tree = ast.parse(text)
    return [
        *size(text),
        *lengths(tree),
        *widths(tree),
        *module_docstring(tree),
        *public_docstrings(tree),
        *calls(path, tree),
        *handlers(path, tree),
        *texts(text),
    ]


def findings_in_tests(path: str, text: str) -> list[Finding]:
    """Return what is wrong with a file of tests; `path` begins below the folder of tests."""
    tree = ast.parse(text)
    spoken = () if path.startswith("tidy/") else texts(text)
    return [*size(text), *lengths(tree), *module_docstring(tree), *spoken, *sleeps(path, tree)]


def size(text: str) -> Iterator[Finding]:
    """Find a file that is too long."""
    lines = text.count("\n") + (not text.endswith("\n"))
    if text and lines > FILE_LINES_MAX:
        yield Finding("file-length", lines, f"{lines} lines, at most {FILE_LINES_MAX}: split it by what it knows")


def lengths(tree: ast.Module) -> Iterator[Finding]:
    """Find functions that are too long."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                message = f"{node.name} has {lines} lines, at most {FUNCTION_LINES_MAX}: let helpers compute"
                yield Finding("function-length", node.lineno, message)


def widths(tree: ast.Module) -> Iterator[Finding]:
    """Find functions that take too much."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            number = len(parameters(node.args))
            if number > PARAMETERS_MAX:
                message = f"{node.name} takes {number} parameters, at most {PARAMETERS_MAX}: pass a frozen dataclass"
                yield Finding("parameters", node.lineno, message)


def parameters(arguments: ast.arguments) -> list[str]:
    """Return the names of a function's parameters, the receiver left out."""
    given = [*arguments.posonlyargs, *arguments.args]
    rest = [entry for entry in (arguments.vararg, arguments.kwarg) if entry is not None]
    names = [entry.arg for entry in (*given, *arguments.kwonlyargs, *rest)]
    return names[1:] if names and names[0] in ("self", "cls") else names


def module_docstring(tree: ast.Module) -> Iterator[Finding]:
    """Find a module that does not begin with one sentence about the secret it keeps."""
    if not tree.body:
        return
    first = (ast.get_docstring(tree) or "").split("\n\n", maxsplit=1)[0]
    if not first:
        yield Finding("module-docstring", 1, "say in one sentence what this module knows")
    elif not first.endswith(".") or re.search(r"[.!?]\s+[A-Z]", first):
        yield Finding("module-docstring", 1, f"one sentence with a full stop, not {first!r}")


def public_docstrings(tree: ast.Module) -> Iterator[Finding]:
    """Find public classes, functions and methods without a docstring."""
    for node in (tree, *(entry for entry in ast.walk(tree) if isinstance(entry, ast.ClassDef))):
        for entry in node.body:
            named = isinstance(entry, Function | ast.ClassDef)
            if named and not entry.name.startswith("_") and not ast.get_docstring(entry):
                yield Finding("docstring", entry.lineno, f"{entry.name} does not say what it does")


def dotted(node: ast.expr) -> str:
    """Return a called name with its dots, or nothing for other expressions."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            before = dotted(value)
            return f"{before}.{name}" if before else ""
        case _:
            return ""


def calls(path: str, tree: ast.Module) -> Iterator[Finding]:
    """Find calls that time, chance or output must not be reached by."""
    allowed = CALLS_ALLOWED.get(path, frozenset[str]())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in CALLS and name not in allowed:
                yield Finding("banned-call", node.lineno, f"{name}(: use {CALLS[name]}")


def handlers(path: str, tree: ast.Module) -> Iterator[Finding]:
    """Find handlers of everything outside the few places that record it or raise it again."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and catches_everything(node) and path not in WIDE_HANDLERS:
            yield Finding("wide-handler", node.lineno, "catch what you expect; only a listed top catches everything")


def catches_everything(node: ast.ExceptHandler) -> bool:
    """Tell whether a handler takes any exception."""
    caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(entry is None or dotted(entry) in ("Exception", "BaseException") for entry in caught)


def texts(text: str) -> Iterator[Finding]:
    """Find texts that no file of the project holds."""
    for pattern, replacement in TEXTS.items():
        for match in re.finditer(pattern, text):
            line = text.count("\n", 0, match.start()) + 1
            yield Finding("banned-text", line, f"{match.group()!r}: use {replacement}")


def sleeps(path: str, tree: ast.Module) -> Iterator[Finding]:
    """Find tests that wait for a time; looking again and again until a bound is no such wait."""
    if path in SLEEPS_ALLOWED or path.partition("/")[0] in SLEEPS_ALLOWED:
        return
    looking = {id(inner) for loop in ast.walk(tree) if isinstance(loop, ast.While) for inner in ast.walk(loop)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) in SLEEPS and id(node) not in looking:
            yield Finding("sleep", node.lineno, "wait for an event with a bound")
