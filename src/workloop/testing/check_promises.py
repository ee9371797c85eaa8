"""What must hold of the verdicts of checks: one for each check and commit, and what failed never passes."""

from collections.abc import Iterator, Sequence

from workloop.domain.evidence import CheckVerdict, check_verdicts
from workloop.domain.item import State
from workloop.testing.snapshot import Dossier

Place = tuple[int, str, str]


def place(seen: CheckVerdict) -> Place:
    """Return what there may be one verdict of: a check on a commit since one answer."""
    return seen.answers, seen.ref, seen.check_id


def one_verdict_each(dossier: Dossier, judges: Sequence[Dossier]) -> Iterator[str]:
    """Compare what is kept of a root's checks with every receipt of its verifiers."""
    root, kept = dossier.item, {place(seen): seen for seen in dossier.check_verdicts}
    if len(kept) != len(dossier.check_verdicts):
        yield f"{root.key} has two verdicts of one check on one commit"
    told = [seen for judge in judges for seen in check_verdicts(judge.evidence, root.id, 0)]
    receipts = {(seen.item_id, seen.fence, seen.number): seen.result for seen in told}
    if [seen for seen in kept.values() if receipts.get((seen.item_id, seen.fence, seen.number)) != seen.result]:
        yield f"{root.key} has a verdict of a check without its receipt"
    times = {
        (piece.item_id, piece.fence, piece.number): piece.captured_at for judge in judges for piece in judge.evidence
    }
    for seen in told:
        yield from unheeded(dossier, kept, seen, times[seen.item_id, seen.fence, seen.number])
    newest = max((question.number for question in dossier.questions if question.answered_at is not None), default=0)
    against = [seen for seen in kept.values() if (seen.answers, seen.ref) == (newest, root.candidate_sha)]
    if root.state is State.SUCCEEDED and not all(seen.passed for seen in against):
        yield f"{root.key} succeeded although a check failed on its newest candidate"


def unheeded(dossier: Dossier, kept: dict[Place, CheckVerdict], seen: CheckVerdict, at: int) -> Iterator[str]:
    """Tell when a receipt left no verdict, or failed beside a pass; not where an answer came in the same instant."""
    answered = {question.number: question.answered_at for question in dossier.questions if question.answered_at}
    if at in answered.values():
        return
    before = max((number for number, when in answered.items() if when < at), default=0)
    verdict = kept.get((before, seen.ref, seen.check_id))
    if verdict is None or (verdict.passed and not seen.passed):
        yield f"{seen.check_id} was seen as {seen.result} on {seen.ref} of {dossier.item.key}, and {verdict} is kept"


def rewritten(old: Dossier, new: Dossier) -> Iterator[str]:
    """Tell which verdicts of checks went away, or became something better, between two moments."""
    verdicts = {place(seen): seen for seen in new.check_verdicts}
    for seen in old.check_verdicts:
        now = verdicts.get(place(seen))
        if now != seen and (now is None or now.passed or not seen.passed):
            yield f"what was seen of {seen.check_id} on {seen.ref} of {old.item.key} was rewritten"
