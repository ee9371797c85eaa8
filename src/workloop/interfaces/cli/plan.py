"""Which commands there are, and what each takes and runs, loaded only for the one that is called."""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place
from workloop.interfaces.cli.verbs import VERBS, verb_options
from workloop.service.actions import ACTIONS

OWN = {
    "init": "make this repository's campaign: store, settings, private folder",
    "doctor": "look for what would hold a loop back, and say what to do about it",
    "add": "add one item by its title, or many from a file",
    "import": "bring another tracker's backlog into the queue, once",
    "why": "why an item stands where it stands, or a target, or the loop itself",
    "sessions": "the agent sessions that the loop ran, newest first",
    "logs": "what one session said and did, from its kept output",
    "rates": "how often sessions die or do nothing, out of how many",
    "cost": "what sessions cost, by what, and which part of it brought nothing",
    "simulate": "what the open items may cost, by what finished ones did",
    "gc": "remove folders of the loop that hold nothing, and say why that is safe",
    "salvage list": "what was saved of unfinished work, and the trees that hold what could not be",
    "salvage show": "one salvage: why it was made, what it changes, how to take it up",
    "verify": "judge a candidate on this host, or claim its verifier for a session",
    "check prove": "show that an item's checks can fail, before a session is spent on it",
    "bench gates": "let lying workers try the gates of this installation, and honest ones pass them",
    "repair": "repair the harness itself from what its sessions showed, verified twice and on a ledger",
    "repair init": "a first campaign of the bench in a new folder: a harness, its runtime, and what judges it",
    "repair remaining": "the campaign of what a run of the bench left, for a next run to take up",
    "ledger verify": "whether a ledger says what was written, and which line is the first that does not",
    "ledger show": "the records of a ledger in their order, as far as they can be believed",
    "ledger report": "what a run of the bench came to, by its ledger: tasks, repairs, verdicts, money",
    "runtime build": "build the runtime of a harness from one commit, and print its id",
    "runtime list": "the runtimes on this host, and which one is in force",
    "runtime show": "one runtime: its commit, its files, how tasks did under it",
    "runtime verify": "read every file of the runtimes again; of a damaged one the first path is named",
    "runtime rollback": "put the runtime before the present one into force, or an earlier one",
    "run": "keep agent sessions working through the campaign",
    "stop": "let a running loop end: after its sessions, or at once",
    "pause": "hand out nothing, or hold one target of the loop back",
    "resume": "hand out work again; or let a target, a mended agent or a halted loop go on",
    "mcp": "serve the actions to an agent over MCP on stdin and stdout",
    "campaign apply": "make the settings file's campaign table hold for items added from now on",
    "completion": "print the completion script of bash, zsh or fish",
    "demo": "watch a small campaign run in a throw-away repository",
}
"""Commands that are more than one action."""

GROUPS = {
    "bench": "what this installation is worth, measured",
    "check": "the checks of an item",
    "campaign": "the campaign's own settings",
    "lane": "the exclusive lanes of a claim",
    "ledger": "what a run of the bench wrote down",
    "repair": "runs of the repair bench",
    "runtime": "builds of a harness that never change",
    "salvage": "unfinished work that was saved",
}
ORDER = (
    "init", "doctor", "add", "import", "list", "show", "why", "status", "run", "stop", "sessions", "logs", "rates",
    "cost", "simulate",
    "claim", "heartbeat", "attach", "complete", "verify", "retry", "defer", "release", "supersede", "promote", "answer",
    "cancel", "pause", "resume", "lane acquire", "lane record", "lane clean", "lane release", "campaign apply",
    "salvage list", "salvage show", "gc",
    "repair", "repair init", "repair remaining", "ledger verify", "ledger show", "ledger report",
    "runtime build", "runtime list", "runtime show", "runtime verify", "runtime rollback",
    "check prove", "bench gates", "mcp", "completion", "demo",
)  # fmt: skip


class Plan(NamedTuple):
    """One command: its options, what goes by place, and what runs it; `run` returns the exit code."""

    options: tuple[Option, ...]
    places: tuple[Place, ...]
    run: Callable[[Invocation, Given], int]


def help_of(name: str) -> str:
    """Return a command's one line."""
    return OWN[name] if name in OWN else ACTIONS[VERBS[name].action].help


def plan_of(name: str) -> Plan:
    """Return what a command takes and runs."""
    if name not in OWN:
        return plan_of_verb(name)
    module = looking(name) or steering(name) or mending(name) or working(name)
    return Plan(module.options(), module.PLACES, module.run)


def looking(name: str) -> ModuleType | None:
    """Return the module of a command that looks at the loop and changes nothing."""
    match name:
        case "doctor":
            from workloop.interfaces.cli.commands import doctor as module
        case "why":
            from workloop.interfaces.cli.commands import why as module
        case "sessions":
            from workloop.interfaces.cli.commands import sessions as module
        case "logs":
            from workloop.interfaces.cli.commands import logs as module
        case "rates":
            from workloop.interfaces.cli.commands import rates as module
        case "cost":
            from workloop.interfaces.cli.commands import cost as module
        case "simulate":
            from workloop.interfaces.cli.commands import simulate as module
        case "salvage list":
            from workloop.interfaces.cli.commands import salvages as module
        case "salvage show":
            from workloop.interfaces.cli.commands import salvage_show as module
        case _:
            return None
    return module


def steering(name: str) -> ModuleType | None:
    """Return the module of a command that gives the loop an order."""
    match name:
        case "stop":
            from workloop.interfaces.cli.commands import stop as module
        case "pause":
            from workloop.interfaces.cli.commands import pause as module
        case "resume":
            from workloop.interfaces.cli.commands import resume as module
        case _:
            return None
    return module


def mending(name: str) -> ModuleType | None:
    """Return the module of a command of the repair bench."""
    match name:
        case "repair":
            from workloop.interfaces.cli.commands import repair as module
        case "repair init":
            from workloop.interfaces.cli.commands import repair_init as module
        case "repair remaining":
            from workloop.interfaces.cli.commands import repair_remaining as module
        case "ledger verify":
            from workloop.interfaces.cli.commands import ledger_verify as module
        case "ledger show":
            from workloop.interfaces.cli.commands import ledger_show as module
        case "ledger report":
            from workloop.interfaces.cli.commands import ledger_report as module
        case "runtime build":
            from workloop.interfaces.cli.commands import runtime_build as module
        case "runtime list":
            from workloop.interfaces.cli.commands import runtime_list as module
        case "runtime show":
            from workloop.interfaces.cli.commands import runtime_show as module
        case "runtime verify":
            from workloop.interfaces.cli.commands import runtime_verify as module
        case "runtime rollback":
            from workloop.interfaces.cli.commands import runtime_rollback as module
        case _:
            return None
    return module


def working(name: str) -> ModuleType:
    """Return the module of a command that does something."""
    match name:
        case "init":
            from workloop.interfaces.cli.commands import init as module
        case "add":
            from workloop.interfaces.cli.commands import add as module
        case "import":
            from workloop.interfaces.cli.commands import importing as module
        case "gc":
            from workloop.interfaces.cli.commands import gc as module
        case "verify":
            from workloop.interfaces.cli.commands import verify as module
        case "check prove":
            from workloop.interfaces.cli.commands import check_prove as module
        case "bench gates":
            from workloop.interfaces.cli.commands import bench_gates as module
        case "run":
            from workloop.interfaces.cli.commands import run as module
        case "mcp":
            from workloop.interfaces.cli.commands import mcp as module
        case "campaign apply":
            from workloop.interfaces.cli.commands import campaign as module
        case "completion":
            from workloop.interfaces.cli.commands import completion as module
        case _:
            from workloop.interfaces.cli.commands import demo as module
    return module


def plan_of_verb(name: str) -> Plan:
    """Return what a command that is an action takes and runs."""
    from workloop.interfaces.cli.acting import run_verb

    verb = VERBS[name]

    def run(invocation: Invocation, given: Given) -> int:
        """Run the action."""
        return run_verb(invocation, verb, given)

    return Plan(verb_options(verb), verb.places, run)
