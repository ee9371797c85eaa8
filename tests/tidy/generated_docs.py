"""The parts of the documentation that are written by the code itself: run this file to bring the pages up to date.

A part stands between `<!-- generated: name -->` and `<!-- end -->`; a test compares what stands there with what
the code says today.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from error_makers import HELPERS, KNOWN_OTHERWISE
from settings_meanings import MEANING

import workloop
from workloop.config import (
    DiskConfig,
    DriverConfig,
    HarnessConfig,
    HarnessKind,
    PhaseConfig,
    SandboxConfig,
    TargetConfig,
    TrackerConfig,
    read_driver,
    read_harness,
)
from workloop.config.budgets import Budgets, read_budgets
from workloop.config.disk import read_disk
from workloop.config.harnesses import NAMED_PROGRAMS
from workloop.config.landing import LandingConfig, PullRequestConfig
from workloop.config.lanes import LaneConfig
from workloop.config.meter import MeterConfig, Metering, read_meter, read_metering
from workloop.config.phases import read_phase
from workloop.config.sandbox import read_sandbox
from workloop.config.targets import read_target
from workloop.domain.budget import ScopeKind
from workloop.domain.errors import WorkloopError
from workloop.domain.grants import ALLOWED, Grant
from workloop.domain.item import OPEN, TERMINAL, State
from workloop.domain.settings import read_settings
from workloop.domain.transitions import TRANSITIONS, Move
from workloop.driver.attempt.outcomes import OUTCOMES
from workloop.interfaces.cli.exits import BY_KIND, MEANINGS, UNEXPECTED
from workloop.runner.harness.port import Capabilities, Harness
from workloop.service.actions import ACTIONS
from workloop.service.arguments import ARGUMENTS
from workloop.wiring.harnesses import make_harness

ROOT = Path(__file__).parents[2]
HERE = Path()
SRC = ROOT / "src" / "workloop"
PART = re.compile(r"<!-- generated: (?P<name>[a-z-]+) -->\n(?P<text>.*?)<!-- end -->", re.DOTALL)
CODE = re.compile(r"[A-Z][A-Z0-9_]{3,}$")
PROBE, CANDIDATE = "probe.py", "candidate.py"
EVERYWHERE = (Move.SUPERSEDE, Move.CANCEL)
ABLE = {
    "reports_cost": "tells what a session cost",
    "reports_reset": "tells when a usage limit ends",
    "resumes": "goes on with an earlier conversation",
    "turn_cap": "`turns_max`: ends after so many turns",
    "cost_cap": "`cost_usd_max`: ends at a cost",
    "per_run_mcp": "`mcp_config`: takes MCP servers of one session",
    "permission_policy": "has rules on what a session may do, so that a verifier writes no files",
    "observes_claims": "shows what the queue was asked, so that sessions may claim for themselves",
    "final_text": "tells its last message, so that a hand-off can be read",
    "hands_in_head": "does not settle by itself: its new commit is handed in",
    "modelless": "asks no model, so that whatever it says has cost nothing",
}
"""What each capability means to an operator."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table."""
    lines = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in (head, ["---"] * len(head), *rows)]
    return "".join(f"| {line} |\n" for line in lines)


def quoted(names: Sequence[str]) -> str:
    """Write names as code."""
    return ", ".join(f"`{name}`" for name in names) or "-"


def diagram() -> str:
    """Draw the state machine; what every open state allows is drawn once."""
    lines = ["stateDiagram-v2"]
    for (before, move), after in TRANSITIONS.items():
        if move not in EVERYWHERE:
            lines.append(f"    {before} --> {after}: {move}")
    lines += [f"    {state} --> [*]" for state in State if state in TERMINAL]
    lines.append("    note right of pending: every open state also goes to superseded and cancelled")
    return "```mermaid\n" + "\n".join(lines) + "\n```\n"


def transitions() -> str:
    """List the state machine, one row for each pair of states with its moves."""
    rows = [
        (f"`{before}`", f"`{move}`", f"`{after}`")
        for (before, move), after in TRANSITIONS.items()
        if move not in EVERYWHERE
    ]
    for move in EVERYWHERE:
        (after,) = {TRANSITIONS[state, move] for state in OPEN}
        rows.append(("any open state", f"`{move}`", f"`{after}`"))
    return table(("from", "move", "to"), rows)


def actions() -> str:
    """List the actions with who may call them."""
    rows = [
        (
            f"`{action.name}`",
            action.help,
            quoted([f"{name}*" if name in action.required else name for name in action.takes]).replace("*`", "`*"),
            ", ".join(grant for grant in Grant if action.name in ALLOWED[grant]),
        )
        for action in ACTIONS.values()
    ]
    return table(("action", "what it does", "arguments (* required)", "grants"), rows)


def arguments() -> str:
    """List the arguments."""
    rows = [
        (f"`{entry.name}`", entry.shape.value, entry.help + (f": {', '.join(entry.choices)}" if entry.choices else ""))
        for entry in ARGUMENTS.values()
    ]
    return table(("argument", "JSON", "meaning"), rows)


def exit_codes() -> str:
    """List the exit codes."""
    return table(("code", "meaning"), [(str(code), meaning) for code, meaning in MEANINGS.items()])


def kinds() -> dict[str, type[WorkloopError]]:
    """Return the classes of errors by name, wherever they are defined."""
    for module in walk_packages(workloop.__path__, "workloop."):
        if ".testing" not in module.name and not module.name.endswith("__main__"):
            import_module(module.name)
    found, waiting = dict[str, type[WorkloopError]](), [WorkloopError]
    while waiting:
        known = waiting.pop()
        found[known.__name__] = known
        waiting += known.__subclasses__()
    return found


def codes(names: Collection[str]) -> dict[str, str]:
    """Return every code that the source gives to a class or helper of these names, with the last such name."""
    return {code: givers[-1] for code, givers in codes_by_class(names).items()}


def codes_by_class(names: Collection[str]) -> dict[str, list[str]]:
    """Return every code that the source gives to classes or helpers of these names, with all of those names."""
    found: dict[str, list[str]] = {}
    for path in sorted(SRC.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for code, name in codes_in(function, names, path.name):
                    found.setdefault(code, []).append(name)
    return found


def codes_in(function: ast.AST, names: Collection[str], file: str) -> Iterator[tuple[str, str]]:
    """Yield the codes in a function; one that was chosen before is found by its variable."""
    chosen = {
        target.id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Name(id="Problem"), args=[first, *_]) if file == CANDIDATE:
                name, given = "EvidenceRejected", [first]
            case ast.Call(func=ast.Name(id=called), args=args, keywords=words):
                name = HELPERS.get(called, called)
                given = [
                    *(args if called in HELPERS else args[:1]),
                    *(word.value for word in words if word.arg == "code"),
                ]
            case ast.Return(value=ast.Tuple(elts=[first, *_])) if file == PROBE:
                name, given = "EvidenceRejected", [first]
            case _:
                continue
        for value in given if name in names else ():
            meant = chosen.get(value.id, value) if isinstance(value, ast.Name) else value
            yield from ((text, name) for text in constants(meant))


def constants(value: ast.expr) -> Iterator[str]:
    """Yield the texts in an expression that look like a code."""
    for node in ast.walk(value):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.match(node.value):
            yield node.value


def errors() -> str:
    """List the error codes by kind."""
    classes = kinds()
    found = {**codes(classes.keys()), **KNOWN_OTHERWISE}
    rows = [
        (f"`{code}`", classes[name].kind, str(BY_KIND.get(classes[name].kind, UNEXPECTED)))
        for code, name in sorted(found.items(), key=lambda pair: (classes[pair[1]].kind, pair[0]))
    ]
    return table(("code", "kind", "exit code"), rows)


def reasons() -> str:
    """List the codes of what `why` says."""
    return quoted(sorted(codes({"reason"}))) + ".\n"


class Asked(Mapping[str, Any]):
    """An empty table that remembers which keys its reader looked for; tables inside it remember too."""

    def __init__(self, **inner: Any) -> None:
        self.inner = inner
        self.keys_asked: list[str] = []

    def __getitem__(self, key: str) -> Any:
        if not isinstance(self.inner.get(key), Asked):
            self.keys_asked.append(key)
        return self.inner[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.inner)

    def __len__(self) -> int:
        return len(self.inner)

    def __bool__(self) -> bool:
        return True


def settings_keys() -> list[str]:
    """Return every key of the settings file that its readers look for."""
    ceilings, defaults, loop, harness = Asked(), Asked(), Asked(), Asked()
    campaign, phase = Asked(ceilings=ceilings, defaults=defaults), Asked(name="review")
    tracker = Asked(kind="backlog.md")
    lane, pulls, scope = Asked(), Asked(), Asked()
    landing = Asked(pull_requests=pulls)
    target = Asked(work_dir=".", tracker=tracker, lane=Asked(browser=lane), landing=landing)
    sandbox, disk, meter, metering = Asked(), Asked(), Asked(), Asked(key="@/key")
    read_meter(meter)
    read_metering(metering, "meter")
    budget = Asked(**{kind.value: Asked() for kind in ScopeKind} | {"target": scope, "reserve": Asked()})
    read_budgets(budget)
    read_sandbox(sandbox, HERE)
    read_disk(disk)
    read_settings(campaign)
    read_driver(loop, HERE, {})
    read_harness(harness, "harness", "claude", HERE)
    read_phase(phase, "phase", HERE)
    read_target(target, "target", HERE)
    tables = {
        "campaign": campaign,
        "campaign.ceilings": ceilings,
        "campaign.defaults": defaults,
        "loop": loop,
        "sandbox": sandbox,
        "disk": disk,
        "meter": meter,
        "budget": budget,
        "budget.<scope>": scope,
        "harness.<name>": harness,
        "harness.<name>.meter": metering,
        "phase": phase,
        "target.<name>": target,
        "landing": landing,
        "landing.pull_requests": pulls,
        "lane.<name>": lane,
        "tracker": tracker,
    }
    return [
        "campaign.name",
        *(f"{name}.{key}" for name, asked in tables.items() for key in dict.fromkeys(asked.keys_asked)),
    ]


def settings() -> str:
    """List the keys of the settings file with their defaults and meanings."""
    rows = [(f"`{key}`", MEANING[key].default or default_of(key), MEANING[key].text) for key in settings_keys()]
    return table(("key", "default", "meaning"), rows)


def default_of(key: str) -> str:
    """Return a key's default as the typed settings have it."""
    campaign, loop = read_settings({}), read_driver({}, HERE, {})
    holders = {
        "campaign": (campaign,),
        "campaign.ceilings": (campaign.ceilings,),
        "campaign.defaults": (campaign.defaults,),
        "loop": (loop, loop.bounds, loop.retention),
        "sandbox": (SandboxConfig(),),
        "disk": (DiskConfig(),),
        "meter": (MeterConfig(),),
        "harness.<name>.meter": (Metering(),),
        "budget": (Budgets(),),
        "budget.<scope>": (),
        "harness.<name>": (read_harness({}, "harness", "claude", HERE),),
        "phase": (PhaseConfig(name=""),),
        "target.<name>": (TargetConfig(work_dir=Path()),),
        "landing": (LandingConfig(),),
        "landing.pull_requests": (PullRequestConfig(),),
        "lane.<name>": (LaneConfig(name=""),),
        "tracker": (TrackerConfig(path=Path()),),
    }
    place, _, name = key.rpartition(".")
    value = next((getattr(holder, name) for holder in holders[place] if hasattr(holder, name)), None)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and value:
        return f'"{value}"'
    if isinstance(value, tuple) and value:
        return f"[{', '.join(f'{part:g}' for part in value)}]"
    return (
        "none" if value is None or value in ("", (), {}) else f"{value:g}" if isinstance(value, float) else str(value)
    )


def classes() -> str:
    """List what the end of a session means."""
    rows = [
        (f"`{end}`", f"`{row.counter}`", f"`{row.item}`", f"`{row.gate}`", f"`{row.loop}`", row.next_action)
        for end, row in OUTCOMES.items()
    ]
    return table(("end", "counted as", "item", "account", "loop", "what the next attempt, or a person, is told"), rows)


def usual_harness(kind: HarnessKind) -> Harness:
    """Return the adapter of a kind as a block without wishes of its own sets it."""
    command = ("agent",) if kind in NAMED_PROGRAMS else ()
    script = Path("script.json") if kind is HarnessKind.SCRIPTED else None
    block = HarnessConfig(kind=kind, command=command, script=script)
    return make_harness(DriverConfig(harness=kind, harnesses={kind: block}), kind, HERE)


def capabilities() -> str:
    """List what each kind of harness can do."""
    able = {kind: usual_harness(kind).capabilities for kind in HarnessKind}
    rows = [
        (ABLE[field.name], *("yes" if getattr(can, field.name) else "-" for can in able.values()))
        for field in fields(Capabilities)
    ]
    return table(("", *(f"`{kind}`" for kind in able)), rows)


def tested_versions() -> str:
    """List the versions from whose recordings each kind's rules were read."""
    found = {kind: usual_harness(kind).tested_versions for kind in HarnessKind}
    rows = [(f"`{kind}`", ", ".join(versions) or "none is judged") for kind, versions in found.items()]
    return table(("kind", "tested versions"), rows)


PARTS: Mapping[str, Callable[[], str]] = {
    "transitions-diagram": diagram,
    "transitions": transitions,
    "actions": actions,
    "arguments": arguments,
    "errors": errors,
    "reasons": reasons,
    "exit-codes": exit_codes,
    "settings": settings,
    "session-classes": classes,
    "capabilities": capabilities,
    "tested-versions": tested_versions,
}


def refreshed(page: str) -> str:
    """Return a page with its generated parts as the code says today."""
    return PART.sub(lambda part: f"<!-- generated: {part['name']} -->\n{PARTS[part['name']]()}<!-- end -->", page)


def pages() -> list[Path]:
    """Return the pages that have generated parts."""
    return [path for path in sorted((ROOT / "docs").rglob("*.md")) if PART.search(path.read_text("utf-8"))]


def main() -> None:
    """Bring every page up to date."""
    for path in pages():
        path.write_text(refreshed(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
