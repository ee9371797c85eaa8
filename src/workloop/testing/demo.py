"""A small real project driven to its end by the real loop with the scripted agent: every turn a person should see."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workloop.client import LocalClient
from workloop.config import Settings, parse, place_of
from workloop.domain.reader import Json
from workloop.domain.settings import read_settings
from workloop.driver.report import LoopOptions
from workloop.interfaces.serving import make_endpoint
from workloop.service.call import Queue
from workloop.service.campaigns import create_campaign
from workloop.store.system import SystemIds
from workloop.wiring import open_store, operator, run_loop

BOUNDARY = "choose-currency"
ANSWER = "EUR, and no other for now"

INVOICE = '''"""Invoices of a small shop."""

CURRENCY = None


def total(prices):
    """Add up prices, in cents."""
    return sum(int(price) for price in prices)


def discount(amount, percent):
    """Return what is left of an amount after a discount."""
    return amount


def label(amount):
    """Write an amount with its currency."""
    return f"{amount} {CURRENCY}"


def report(amounts):
    """Write one line per amount, and their sum."""
    return "\\n".join(str(amount) for amount in amounts)
'''

TESTS = {
    "total": "self.assertEqual(invoice.total([1.6, 1.6]), 4)",
    "discount": "self.assertEqual(invoice.discount(200, 25), 150)",
    "label": "self.assertEqual(invoice.label(5), '5 EUR')",
    "report": "self.assertEqual(invoice.report([1, 2]), '1\\n2\\nsum 3')",
}

FIXES = {
    "total": ("return sum(int(price) for price in prices)", "return sum(round(price) for price in prices)"),
    "discount": ("return amount\n", "return amount - amount * percent // 100\n"),
    "label": ("CURRENCY = None", 'CURRENCY = "EUR"'),
    "report": (
        'return "\\n".join(str(amount) for amount in amounts)',
        'return "\\n".join([*(str(amount) for amount in amounts), f"sum {sum(amounts)}"])',
    ),
}

TITLES = {
    "total": "Fix the rounding bug in invoice totals",
    "discount": "Apply the discount to the amount",
    "label": "Write amounts with their currency",
    "report": "End the report with the sum",
}


def main(folder: Path | None = None) -> int:
    """Build the project, run the loop over it twice, and return 0 only when the store says that all went as told."""
    with tempfile.TemporaryDirectory(prefix="workloop-demo-") as made:
        return play((folder or Path(made)).resolve())


def play(folder: Path) -> int:
    """Drive the demonstration inside a folder."""
    repository = build_project(folder / "shop")
    settings = write_settings(folder, repository)
    store = open_store(settings.place, create=True)
    try:
        create_campaign(store, settings.campaign, read_settings(settings.campaign_table))
        client = LocalClient(Queue(store=store, ids=SystemIds(), slug=settings.campaign), operator())
        client.call("add_items", {"items": items()})
        say(f"A project with four items, in {repository}:")
        for key, title in TITLES.items():
            say(f"  {key:<9} {title}")
        say("\nThe loop starts; the agent is a script that does one honest job, lies once, asks once and dies once.\n")
        run_loop(settings, LoopOptions(once=True), make_endpoint, narrate)
        question = client.call("why", {"key": "label"})["reasons"][0]
        say(f"\nA person is asked: {question['message']}\nand answers: {ANSWER}\n")
        client.call("answer", {"key": "label", "text": ANSWER})
        run_loop(settings, LoopOptions(once=True), make_endpoint, narrate)
        return judge(client, repository)
    finally:
        store.close()


def build_project(path: Path) -> Path:
    """Make a git repository with a module whose four functions are wrong and the tests that show it."""
    (path / "tests").mkdir(parents=True)
    (path / "invoice.py").write_text(INVOICE, encoding="utf-8")
    (path / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    (path / "tests" / "__init__.py").touch()
    for name, assertion in TESTS.items():
        text = f"import unittest\n\nimport invoice\n\n\nclass Check(unittest.TestCase):\n    def test_{name}(self):\n"
        (path / "tests" / f"test_{name}.py").write_text(f"{text}        {assertion}\n", encoding="utf-8")
    identity = ("-c", "user.name=Demo", "-c", "user.email=demo@localhost")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), (*identity, "commit", "-q", "-m", "A shop")):
        subprocess.run(["git", "-C", str(path), *arguments], check=True, env=git_environment())
    return path


def git_environment() -> dict[str, str]:
    """Return an environment in which no configuration of the user's can change the demonstration."""
    return {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def write_settings(folder: Path, repository: Path) -> Settings:
    """Write the script and the settings of the demonstration."""
    script = folder / "script.json"
    script.write_text(json.dumps(rules()), encoding="utf-8")
    text = f"""
        [campaign]
        name = "demo"
        [campaign.boundaries]
        {BOUNDARY} = "Which currency do we sell in?"
        [campaign.defaults]
        boundaries = ["{BOUNDARY}"]
        [loop]
        harness = "scripted"
        integration_branch = "main"
        fruitless_waits = [0, 0]
        [harness.scripted]
        script = {json.dumps(str(script))}
    """
    environment = {"WORKLOOP_STATE": str(folder / "state")}
    return parse(text, place_of(repository, environment), environment, "the demonstration")


def check_command(name: str) -> str:
    """Return the shell command that runs one test of the project."""
    return f"{shlex.quote(sys.executable)} -B -m unittest -q tests.test_{name}"


def items() -> list[Json]:
    """Return the backlog: each item proves itself by its own test, which no worker may change."""
    return [
        {
            "key": name,
            "title": title,
            "checks": [{"id": "test", "command": check_command(name), "timeout_seconds": 60}],
            "protected": ["tests"],
            "priority": 10 * (number + 1),
        }
        for number, (name, title) in enumerate(TITLES.items())
    ]


def rules() -> list[dict[str, Any]]:
    """Return what the scripted agent does for whom: the first rule that matches."""
    return [
        rule("discount", "work", [write_note(), commit("Say that it is done"), complete()]),
        rule("label", "work", [defer()], attempt=1),
        rule("report", "work", [{"say": "I begin, and am killed"}, edit("report"), {"die": "kill"}], attempt=1),
        *(rule(f"{name}*", role, honest(name)) for name in TITLES for role in ("work", "repair")),
        rule("*", "verify", [{"say": "I look for myself"}, show_diff(), verdict()]),
    ]


def rule(key: str, role: str, steps: list[dict[str, Any]], attempt: int | None = None) -> dict[str, Any]:
    """Return one rule of the script."""
    return {"match": {"key": key, "role": role, "attempt": attempt}, "do": steps}


def honest(name: str) -> list[dict[str, Any]]:
    """Return the steps of a worker who does the job: edit, test, commit, complete."""
    return [edit(name), {"run": check_command(name), "expect": 0}, commit(TITLES[name]), complete()]


def edit(name: str) -> dict[str, Any]:
    """Return the step that mends one function."""
    old, new = FIXES[name]
    program = (
        "import pathlib, sys; p = pathlib.Path('invoice.py'); t = p.read_text(); "
        f"p.write_text(t.replace({old!r}, {new!r}))"
    )
    return {"run": f"{shlex.quote(sys.executable)} -c {shlex.quote(program)}", "expect": 0}


def write_note() -> dict[str, Any]:
    """Return the step of a worker who only says that the work is done."""
    return {"write": {"path": "DONE.txt", "text": "The discount works now.\n"}}


def commit(message: str) -> dict[str, Any]:
    """Return the step that commits everything."""
    return {"commit": message}


def complete() -> dict[str, Any]:
    """Return the step that claims the work to be done."""
    outcome = {"kind": "commit", "ref": "{sha}"}
    return {"call": {"action": "complete", "arguments": {"contract_hash": "{contract_hash}", "outcome": outcome}}}


def defer() -> dict[str, Any]:
    """Return the step that asks a person."""
    arguments = {"boundary": BOUNDARY, "asks": "Which currency do we sell in?", "resume_when": "it is decided"}
    return {"call": {"action": "defer", "arguments": arguments}}


def show_diff() -> dict[str, Any]:
    """Return the step of a verifier who looks at the change."""
    return {"run": "git show --stat HEAD", "expect": 0}


def verdict() -> dict[str, Any]:
    """Return the step that passes a candidate."""
    evidence = [{"kind": "commit", "ref": "{candidate_sha}"}]
    arguments = {"contract_hash": "{contract_hash}", "verdict": "passed", "evidence": evidence}
    return {"call": {"action": "complete", "arguments": arguments}}


def narrate(kind: str, facts: Mapping[str, Any]) -> None:
    """Tell one event of the loop in a line."""
    key = facts.get("key", "")
    match kind:
        case "claimed":
            say(f"{key:<12} claimed as {facts['role']}, attempt {facts['attempt']}")
        case "checked":
            failed = f" ({', '.join(facts['failed'])})" if facts["failed"] else ""
            say(f"{key:<12} the host ran the checks itself: {facts['word']}{failed}")
        case "ended":
            say(f"{key:<12} the session ended: {facts['class']}")
        case "salvaged":
            say(f"{key:<12} unfinished work saved to {facts['ref']}")
        case "refused" | "fault" | "kept":
            say(f"{key:<12} {kind}: {facts['error']}")
        case _:
            return


def judge(client: LocalClient, repository: Path) -> int:
    """Print the table and compare what the store says with what was promised."""
    shown = {key: client.call("show", {"key": key}) for key in TITLES}
    say(f"\n{'item':<10}{'state':<11}{'attempts':<10}{'rejected':<10}{'verified by':<14}commit")
    for key, item in shown.items():
        verifiers = [verdict["executor"][:8] for verdict in item["verdicts"] if verdict["outcome"] == "passed"]
        say(
            f"{key:<10}{item['state']:<11}{len(item['claims']):<10}{item['rejections']:<10}"
            f"{', '.join(verifiers) or '-':<14}{(item['candidate'] or '-')[:12]}"
        )
    problems = [*promises(shown), *branches(shown, repository)]
    for problem in problems:
        say(f"not as promised: {problem}")
    say("\nEverything went as promised." if not problems else "\nThe store does not say what was promised.")
    return 1 if problems else 0


def promises(shown: Mapping[str, dict[str, Any]]) -> list[str]:
    """Return what the store says otherwise than the demonstration promises."""
    wrong = [f"{key} is {item['state']}" for key, item in shown.items() if item["state"] != "succeeded"]
    ends = {key: [claim["end"] for claim in item["claims"]] for key, item in shown.items()}
    outcomes = [verdict["outcome"] for verdict in shown["discount"]["verdicts"]]
    liar = [verdict["executor"] for verdict in shown["discount"]["verdicts"] if verdict["outcome"] == "rejected"]
    expected = [
        (ends["total"] == ["complete"], f"total was to be done in one attempt, not {ends['total']}"),
        (outcomes == ["rejected", "passed"], f"discount was to be rejected and repaired, not {outcomes}"),
        (liar == ["host"], f"the lie was to be caught by the host, not by {liar}"),
        (ends["label"] == ["defer", "complete"], f"label was to be deferred and resumed, not {ends['label']}"),
        (ends["report"] == ["retry", "complete"], f"report was to be killed and finished, not {ends['report']}"),
    ]
    return wrong + [message for kept, message in expected if not kept]


def branches(shown: Mapping[str, dict[str, Any]], repository: Path) -> list[str]:
    """Return the items whose verified commit is on no branch of the project."""
    missing: list[str] = []
    for key, item in shown.items():
        command = ["git", "-C", str(repository), "branch", "--contains", item["candidate"] or "none"]
        found = subprocess.run(command, capture_output=True, text=True, check=False, env=git_environment())
        if found.returncode != 0 or "workloop/" not in found.stdout:
            missing.append(f"{key}: its commit is on no workloop branch")
    return missing


def say(line: str) -> None:
    """Write one line for people."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
