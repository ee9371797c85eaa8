"""What an observation points at has to be evidence of its run that says so, or nothing is done about it."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from repair_stage import Stage, stopped
from workloop.repair.ledger.records import StopReason
from workloop.repair.observations.finding import EvidenceRef, ObservationSource
from workloop.repair.observations.reading import read_events
from workloop.repair.port import PhaseContext, WorkerResult
from workloop.testing.scripted_driver import commit_of, finding, worked

LINES = (b'{"n":1}\n', b'{"n":2}\n', b'{"n":3}\n')
WHOLE = hashlib.sha256(b"".join(LINES)).hexdigest()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    tmp_path.chmod(0o700)
    return Stage(folder=tmp_path)


def at(*places: int, stream: str = WHOLE) -> EvidenceRef:
    """Return what points at some lines, as they are."""
    held = b"".join(LINES[place - 1] for place in places)
    return EvidenceRef(session_id="s1", places=places, digest=hashlib.sha256(held).hexdigest(), stream=stream)


def pointing(
    *references: EvidenceRef, leaves: bool = True, source: ObservationSource = ObservationSource.EVENTS
) -> Callable[..., WorkerResult]:
    """Return an entry of a script whose worker finds something that points somewhere."""

    def work(context: PhaseContext, *_: object) -> WorkerResult:
        """Leave the events, or nothing."""
        if leaves:
            (context.evidence_dir / "s1.jsonl").write_bytes(b"".join(LINES))
        found = replace(finding(source=source), evidence=references)
        base = context.harness.commit if context.repair else "b" * 40
        return worked(candidate=commit_of(50 + context.repair), base=base, observations=(found,))

    return work


@pytest.mark.parametrize("source", list(ObservationSource))
def test_an_observation_with_its_lines_in_evidence_is_looked_into(stage: Stage, source: ObservationSource) -> None:
    seen = stage.see({"run_task": [pointing(at(1, 3), at(2), source=source)]})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert len(seen.of("activation")) == 1


def test_evidence_of_an_earlier_phase_of_the_run_counts_as_well(stage: Stage) -> None:
    seen = stage.see({"run_task": [pointing(at(1))], "run_repair": [pointing(at(2), leaves=False)]})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert len(seen.of("observation")) == 2


FOREIGN = """{"v": 1, "seq": 1, "session": "s1", "at_us": 0, "type": "tool_call", "call": "c", "tool": "edit"}
{"v": 1, "seq": 2, "session": "s1", "at_us": 9, "type": "tool_result", "call": "c", "class": "tool_fault"}
"""


def as_it_is(reference: EvidenceRef) -> EvidenceRef:
    """Return what was found."""
    return reference


def of_another_session(reference: EvidenceRef) -> EvidenceRef:
    """Return what was found, of a session that has not been."""
    return replace(reference, session_id="s2")


def of_other_lines(reference: EvidenceRef) -> EvidenceRef:
    """Return what was found, with another place."""
    return replace(reference, places=(1,))


@pytest.mark.parametrize("changed", [as_it_is, of_another_session, of_other_lines])
def test_events_that_a_driver_s_own_converter_wrote_count_however_they_are_spelled(
    stage: Stage, changed: Callable[[EvidenceRef], EvidenceRef]
) -> None:
    """Their digests are those of the lines as Workloop would write them."""

    def work(context: PhaseContext, *_: object) -> WorkerResult:
        """Leave the events, and what they say."""
        place = context.evidence_dir / "converted.jsonl"
        place.write_text(FOREIGN)
        found = read_events(place, "s1").observations()
        assert found
        (reference,) = found[0].evidence
        assert reference.stream != hashlib.sha256(FOREIGN.encode()).hexdigest()
        return worked(candidate=commit_of(50), observations=(replace(found[0], evidence=(changed(reference),)),))

    seen = stage.see({"run_task": [work]})
    stopped(seen, StopReason.QUEUE_COMPLETE if changed is as_it_is else StopReason.DRIVER_ERROR)
    assert len(seen.of("activation")) == (changed is as_it_is)


WRONG: dict[str, tuple[EvidenceRef, ...]] = {
    "no evidence of the run": (at(1, stream="e" * 64),),
    "other lines": (replace(at(1, 3), digest=at(1, 2).digest),),
    "lines beyond the end": (replace(at(3), places=(3, 4)),),
    "one that holds and one that does not": (at(2), replace(at(3), digest="e" * 64)),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", ["run_task", "run_repair"])
def test_an_observation_that_points_at_nothing_of_the_kind_is_refused(stage: Stage, name: str, wrong: str) -> None:
    entry = pointing(*WRONG[wrong])
    seen = stage.see({"run_task": [pointing(at(1)) if name == "run_repair" else entry], "run_repair": [entry]})
    stopped(seen, StopReason.DRIVER_ERROR)
    assert "points at" in str(seen.of("phase_end")[-1]["detail"])
    assert len(seen.of("observation")) == (name == "run_repair")


def test_an_observation_of_a_session_that_left_nothing_is_refused(stage: Stage) -> None:
    stopped(stage.see({"run_task": [pointing(at(1), leaves=False)]}), StopReason.DRIVER_ERROR)
