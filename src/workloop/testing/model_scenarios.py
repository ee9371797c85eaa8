"""Ready parts for the scripted model: how an honest worker, a liar and a verifier behave in a session.

Each reads its brief for `contract_hash: …` (a verifier also for `candidate: …`), works through the CLI's own tools,
and settles over the MCP tool `work_loop` of the server `workloop`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from workloop.testing.model.conversation import JsonObject
from workloop.testing.model.moves import Call, Say, Step

WORK_LOOP = ("workloop", "work_loop")
SHA = "<<result:[0-9a-f]{40}>>"
AUTHOR = "-c user.name=Scripted -c user.email=scripted@example.invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What an honest worker changes: a text within a file, or the whole file when there is no `old`."""

    path: str
    new: str
    old: str = ""


def honest_worker(edit: Edit, test_command: str) -> list[Step]:
    """Read the file, change it, run the tests, commit, and complete with that commit."""
    return [
        Call("Read", {"file_path": edit.path}, say="I look at the file first."),
        change(edit),
        shell(test_command, "run the tests"),
        commit(edit.path, "fix: as the contract asks"),
        complete_commit("changed as asked, tests pass"),
        Say("The item is complete."),
    ]


def lying_worker() -> list[Step]:
    """Commit a file that has nothing to do with the item, and claim with confidence that all is done."""
    return [
        shell("echo 'all tests pass' > NOTES.txt", "take notes"),
        commit("NOTES.txt", "fix: everything works now"),
        complete_commit("the objective is met and every test passes"),
        Say("The item is complete: everything was implemented and verified."),
    ]


def verifier(
    verdict: Literal["passed", "rejected", "inconclusive"],
    *,
    test_command: str = "git show --stat <<brief:candidate>>",
    check_id: str = "",
    failed_checks: Sequence[str] = (),
) -> list[Step]:
    """Run a command in the candidate's checkout and give the verdict; a rejection says how to see it fail."""
    evidence: list[JsonObject] = [{"kind": "note", "ref": f"ran {test_command} on <<brief:candidate>>"}]
    if check_id:
        evidence.append({"kind": "check", "check_id": check_id, "ref": test_command})
    arguments = {
        "action": "complete",
        "contract_hash": "<<brief:contract_hash>>",
        "verdict": verdict,
        "evidence": evidence,
    }
    if verdict == "rejected":
        arguments |= {"failed_checks": list(failed_checks), "reproduction": test_command}
    return [
        shell(test_command, "try the candidate"),
        Call(WORK_LOOP, arguments, say=f"My verdict: {verdict}."),
        Say(f"Verdict given: {verdict}."),
    ]


def idle_worker() -> list[Step]:
    """End the turn without any work and without settling the item."""
    return [Say("I have looked at the item and will get to it.")]


def change(edit: Edit) -> Call:
    """Return the call that makes an edit."""
    if edit.old:
        return Call("Edit", {"file_path": edit.path, "old_string": edit.old, "new_string": edit.new})
    return Call("Write", {"file_path": edit.path, "content": edit.new})


def commit(path: str, title: str) -> Call:
    """Return the call that commits one path and prints the full SHA."""
    return shell(f"git add -- {path} && git {AUTHOR} commit -q -m '{title}' && git rev-parse HEAD", "commit")


def complete_commit(summary: str) -> Call:
    """Return the call that settles the item with the commit last printed."""
    arguments = {
        "action": "complete",
        "contract_hash": "<<brief:contract_hash>>",
        "outcome": {"kind": "commit", "ref": SHA},
        "evidence": [{"kind": "commit", "ref": SHA}],
        "summary": summary,
    }
    return Call(WORK_LOOP, arguments, say="I report the item as complete.")


def shell(command: str, why: str) -> Call:
    """Return a call of the shell."""
    return Call("Bash", {"command": command, "description": why})
