"""How a person lets the host check one candidate without a loop and without a session."""

import threading
import uuid

from workloop.domain.errors import Refusal
from workloop.driver.attempt.concluding import release_infra
from workloop.driver.attempt.holding import Held
from workloop.driver.attempt.judging import HostWord
from workloop.driver.attempt.verifying import candidate_of, check_candidate, host_verdict, keep_receipts
from workloop.driver.project import Project
from workloop.service.perform import perform


def verify_once(project: Project, key: str) -> dict[str, str]:
    """Check a candidate's verifier by key; the receipts stay for whoever gives the verdict when one is still needed.

    The verifier's lease is not renewed meanwhile: checks that outlast it end in LEASE_LOST and change nothing.
    """
    session_id = str(uuid.UUID(int=project.ids.bits(128), version=4))
    arguments = {"key": key, "holder": f"hand@{project.place}/{session_id[:8]}", "executor": f"host:{session_id}"}
    held = Held.from_answer(perform(project.queue, project.host, "verify", arguments), session_id)
    try:
        seen = check_candidate(project, held, candidate_of(held).ref, threading.Event())
        keep_receipts(project, held, seen.results)
        settled = host_verdict(project, held, seen)
    except BaseException:
        give_back(project, held, "the host check was interrupted")
        raise
    if not settled:
        give_back(project, held, "the host's checks passed; a verdict is still needed")
    needs = seen.judgement.word is HostWord.GREEN and not settled
    return {
        "key": held.key,
        "root": held.root,
        "word": seen.judgement.word.value,
        "reproduction": seen.judgement.reproduction,
        "next": f"claim {held.key} and complete it with a verdict" if needs else f"workloop show {held.root}",
    }


def give_back(project: Project, held: Held, reason: str) -> None:
    """Free the verifier for whoever comes next, unless it is settled already."""
    try:
        release_infra(project, held, reason, None)
    except Refusal as refused:
        project.tell("refused", {"key": held.key, "error": str(refused)})
