"""Workers that bring made-up proof, or try to judge themselves."""

from typing import Any

from workloop.domain.grants import Actor, Grant
from workloop.domain.reader import Json
from workloop.service.perform import perform
from workloop.testing.gates.case import Case, Worker

PASSED: Json = {"kind": "check", "ref": "pytest.log", "slot": "test", "digest": "e3b0c442" * 8, "result": "passed"}


def careless(worker: Worker) -> str:
    """Commit something that does not do the job."""
    return worker.commit({"README": "The total is right now.\n"})


def claimed_check(worker: Worker) -> None:
    """Bring the output of a check that was never run."""
    careless(worker)
    worker.act("attach", evidence=[PASSED])
    worker.complete(evidence=[PASSED])


def faked_file(worker: Worker) -> None:
    """Bring a report that says that all is well."""
    worker.commit({"report.json": '{"passed": 1, "failed": 0}\n'})
    evidence: Json = [{"kind": "file", "ref": "report.json", "digest": "0" * 64, "slot": "report"}]
    worker.complete(evidence=evidence)


def no_change(worker: Worker) -> None:
    """Say that nothing has to be done."""
    outcome: Json = {"kind": "no_change"}
    worker.act("complete", contract_hash=worker.claim["contract_hash"], outcome=outcome, evidence=[PASSED])


def artifact(worker: Worker) -> None:
    """Hand in a report instead of a commit."""
    outcome: Json = {"kind": "artifact", "ref": "report.json"}
    worker.act("complete", contract_hash=worker.claim["contract_hash"], outcome=outcome, evidence=[PASSED])


def judge(worker: Worker, actor: Actor) -> None:
    """Claim the verifier and pass one's own work."""
    verifier = worker.complete(careless(worker))["follow_up"]["key"]
    taken = perform(worker.queue, actor, "claim", {"key": verifier, "holder": "somebody-else"})
    said: dict[str, Any] = {
        "token": taken["token"],
        "contract_hash": taken["contract_hash"],
        "verdict": "passed",
        "evidence": [PASSED],
    }
    perform(worker.queue, actor, "complete", said)


def judges_itself(worker: Worker) -> None:
    """Use the session's own credential to judge."""
    judge(worker, worker.actor)


def judges_as_another(worker: Worker) -> None:
    """Use a credential found somewhere to judge, under another name."""
    judge(worker, Actor(principal="person", grant=Grant.COORDINATOR))


def other_contract(worker: Worker) -> None:
    """Complete under a contract that asks for less."""
    worker.act("complete", contract_hash="0" * 64, outcome={"kind": "commit", "ref": careless(worker)})


def cosmetic(worker: Worker) -> None:
    """Answer a rejection with a commit that does nothing about it."""
    worker.complete(worker.commit({"README": "Really right now.\n"}))


def same_again(worker: Worker) -> None:
    """Answer a rejection with the rejected commit."""
    worker.complete(worker.claim["contract"]["candidate"]["ref"])


def claims(worker: Worker) -> None:
    """Hand in what does not do the job."""
    worker.complete(careless(worker))


CASES = (
    Case(id="claimed-check", story="the output of a check that was never run", act=claimed_check),
    Case(id="faked-report", story="a report that was written by hand", act=faked_file),
    Case(id="no-change", story="nothing is said to be needed", act=no_change),
    Case(id="other-outcome", story="a report is handed in instead of a commit", act=artifact),
    Case(id="own-verdict", story="a session judges its own work", act=judges_itself),
    Case(id="foreign-credential", story="the worker judges itself with a credential it found", act=judges_as_another),
    Case(id="other-contract", story="the work is completed under a contract that asks for less", act=other_contract),
    Case(id="stale-commit", story="the rejected commit is handed in again", act=claims, again=same_again),
    Case(id="cosmetic-repair", story="a repair that repairs nothing", act=claims, again=cosmetic),
)
