"""A folder of Backlog.md tasks, mirrored into a real store: what enters, what is kept back, what is left alone."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from queue_bench import Bench, open_bench
from workloop.domain.errors import NotFound
from workloop.trackers.backlog_md import FILE_BYTES_MAX, BacklogMd
from workloop.trackers.mirror import Mirror

TASK = """\
---
id: {id}
title: '{title}'
status: {status}
assignee: []
created_date: '2026-01-01 23:37'
labels:
  - cli
dependencies: [{needs}]
priority: {priority}
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
{text}
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [ ] #1 it adds up
- [x] #2 it is fast
<!-- AC:END -->

## Implementation Notes

nothing of this is an objective
"""


class Tracker:
    """A folder of tasks, and its mirror in a queue."""

    def __init__(self, bench: Bench, folder: Path, *, trusted: bool) -> None:
        self.bench = bench
        self.tasks = folder / "backlog" / "tasks"
        self.tasks.mkdir(parents=True)
        self.problems: list[str] = []
        tracker = BacklogMd(folder / "backlog")
        self.mirror = Mirror(bench.queue, tracker, trusted=trusted, tell=self.problems.append)

    def write(self, identity: str, **facts: str) -> Path:
        """Write one task."""
        usual = {"title": f"task {identity}", "status": "To Do", "needs": "", "priority": "medium", "text": "do it"}
        path = self.tasks / f"{identity} - some-title.md"
        path.write_text(TASK.format(id=identity.upper(), **{**usual, **facts}))
        return path

    def states(self) -> dict[str, str]:
        """Bring the queue into step and return each item's state."""
        self.mirror.refresh()
        keys = self.bench.keys()
        return {key: self.bench.state(key) for key in keys}


NewTracker = Callable[..., Tracker]


@pytest.fixture(params=["memory", "sqlite"])
def new_tracker(request: pytest.FixtureRequest, tmp_path: Path) -> NewTracker:
    """Return a maker of empty trackers on one of the stores."""

    def make(*, trusted: bool = True) -> Tracker:
        return Tracker(open_bench(request.param, tmp_path), tmp_path, trusted=trusted)

    return make


def test_tasks_enter_by_key_with_their_criteria_order_and_source(new_tracker: NewTracker) -> None:
    tracker = new_tracker()
    tracker.write("back-2", needs="back-1", priority="high")
    tracker.write("back-1")
    assert tracker.states() == {"back-1": "pending", "back-2": "pending"}
    shown = tracker.bench.do("show", key="back-2")
    assert shown["contract"]["objective"] == "do it\n\nAcceptance criteria:\n- it adds up\n- it is fast"
    assert shown["contract"]["source_refs"] == ["backlog.md: tasks/back-2 - some-title.md"]
    assert tracker.bench.item("back-2").priority == 50
    assert tracker.bench.claim()["item"]["key"] == "back-1"
    assert tracker.problems == []
    assert not tracker.bench.broken()


def test_strangers_tasks_only_propose(new_tracker: NewTracker) -> None:
    tracker = new_tracker(trusted=False)
    tracker.write("back-1")
    assert tracker.states() == {"back-1": "proposed"}


def test_nothing_changes_while_the_folder_does_not(new_tracker: NewTracker) -> None:
    tracker = new_tracker()
    tracker.write("back-1")
    tracker.states()
    before = tracker.bench.snapshot()
    again = Mirror(tracker.bench.queue, tracker.mirror.tracker, trusted=True)
    again.refresh()
    assert tracker.bench.snapshot() == before


def test_a_task_in_somebodys_hands_is_parked_and_goes_on_when_it_is_open_again(new_tracker: NewTracker) -> None:
    tracker = new_tracker()
    tracker.write("back-1")
    tracker.states()
    tracker.write("back-1", status="In Progress")
    assert tracker.states() == {"back-1": "deferred"}
    assert tracker.bench.do("claim", holder="builder")["item"] is None
    tracker.write("back-1")
    assert tracker.states() == {"back-1": "pending"}
    assert not tracker.bench.broken()


@pytest.mark.parametrize("status", ["In Progress", "Waiting For Godot"])
def test_a_task_that_others_have_begun_is_not_taken_over_and_what_needs_it_waits(
    new_tracker: NewTracker, status: str
) -> None:
    tracker = new_tracker()
    tracker.write("back-1", status=status)
    tracker.write("back-2", needs="back-1")
    assert tracker.states() == {}
    tracker.write("back-1", status="Done")
    assert tracker.states() == {"back-2": "pending"}


def test_a_task_done_or_gone_elsewhere_is_cancelled_here(new_tracker: NewTracker) -> None:
    tracker = new_tracker()
    gone = tracker.write("back-1")
    tracker.write("back-2")
    tracker.states()
    gone.unlink()
    tracker.write("back-2", status="Done")
    assert tracker.states() == {"back-1": "cancelled", "back-2": "cancelled"}


def test_a_task_that_says_something_else_replaces_its_item_and_its_needs_follow(new_tracker: NewTracker) -> None:
    tracker = new_tracker()
    tracker.write("back-1")
    tracker.write("back-2", needs="back-1")
    tracker.states()
    tracker.write("back-1", text="do it otherwise")
    states = tracker.states()
    newer = next(key for key in states if key.startswith("back-1@"))
    assert states == {"back-1": "superseded", newer: "pending", "back-2": "pending"}
    assert tracker.bench.claim()["item"]["key"] == newer
    assert not tracker.bench.broken()


def test_work_that_has_begun_here_is_left_alone(new_tracker: NewTracker) -> None:
    tracker = new_tracker()
    path = tracker.write("back-1")
    tracker.states()
    taken = tracker.bench.claim()
    tracker.write("back-1", text="do it otherwise")
    assert tracker.states() == {"back-1": "in_progress"}
    tracker.write("back-1", status="In Progress")
    assert tracker.states() == {"back-1": "in_progress"}
    path.unlink()
    assert tracker.states() == {"back-1": "in_progress"}
    assert tracker.bench.finish(taken)["state"] == "candidate"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no facts at all", "has no facts between two lines of ---"),
        ("---\nid: back-9\nstatus: To Do\n---\n", "has no title"),
        ("---\nid: [a]\ntitle: x\nstatus: To Do\n---\n", "has no id"),
        ("---\nid: back-9\ntitle: x\nstatus: To Do\ndependencies: back-1\n---\n", "no list of ids"),
        ("---\na: &a [x]\nb: *a\n---\n", "anchor"),
        ("---\n- 1\n---\n", "no mapping"),
        ("x" * (FILE_BYTES_MAX + 1), "is larger than"),
    ],
)
def test_a_task_that_cannot_be_read_is_told_once_and_nothing_is_cancelled_for_it(
    new_tracker: NewTracker, text: str, says: str
) -> None:
    tracker = new_tracker()
    gone = tracker.write("back-1")
    tracker.states()
    gone.unlink()
    bad = tracker.tasks / "bad.md"
    bad.write_text(text)
    tracker.write("back-2")
    assert tracker.states() == {"back-1": "pending", "back-2": "pending"}
    os.utime(bad, ns=(1, 1))
    tracker.states()
    assert len(tracker.problems) == 1
    assert tracker.problems[0].startswith("bad.md: ")
    assert says in tracker.problems[0]
    bad.unlink()
    assert tracker.states() == {"back-1": "cancelled", "back-2": "pending"}


def test_needs_that_are_nowhere_or_go_in_a_circle_are_told(new_tracker: NewTracker) -> None:
    tracker = new_tracker()
    tracker.write("back-1", needs="task-7")
    assert tracker.states() == {}
    assert "needs task-7, which is not there" in tracker.problems[0]
    tracker.write("back-1", needs="back-2")
    tracker.write("back-2", needs="back-1")
    assert tracker.states() == {}
    assert "back-1" in tracker.problems[1]


def test_files_outside_the_folder_are_not_followed_into_it(new_tracker: NewTracker, tmp_path: Path) -> None:
    tracker = new_tracker()
    outside = tmp_path / "outside.md"
    outside.write_text(TASK.format(id="BACK-1", title="t", status="To Do", needs="", priority="low", text="x"))
    (tracker.tasks / "back-1.md").symlink_to(outside)
    assert tracker.states() == {}


def test_a_folder_without_tasks_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no Backlog"):
        BacklogMd(tmp_path).read()


@pytest.mark.anyio
async def test_the_mirror_is_a_poller(new_tracker: NewTracker) -> None:
    tracker = new_tracker()
    tracker.write("back-1")
    seen = await tracker.mirror.poll()
    assert seen.claimable
    assert not seen.paused
