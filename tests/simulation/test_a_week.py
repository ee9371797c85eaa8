"""A week in which one item was dispatched 81 times, 71 of them called a success, and nothing ever came of it."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from night import Night
from world import play

pytestmark = pytest.mark.timeout(900)
WEEK_SECONDS = 7 * 86_400.0
DISPATCHED_THEN = 81
PLAIN = 3
CHECKS = [{"id": "proof", "command": "test it"}]


class Week(Night):
    """A loop alone for a week, with one item on which every session boasts and settles nothing."""

    shown: dict[str, Any]

    async def run(self) -> None:
        """Let the week pass; nobody answers anything."""
        self.set_up()
        backlog = self.backlogs["main"]
        self.stage.stubborn = {"item-0": "braggart"}
        backlog.people.do("add_items", items=[{"key": "item-0", "title": "item-0", "checks": CHECKS}])
        async with anyio.create_task_group() as group:
            self.start(group, self.hosts["east"])
            await anyio.sleep(WEEK_SECONDS)
            self.drain("east")
        self.shown = backlog.people.do("show", key="item-0")

    def claims(self) -> int:
        """Return how often the item was handed out."""
        return len({record.fence for record in self.records if record.key == "item-0"})


def test_item_on_which_every_session_boasts_is_parked_by_the_fourth_dispatch(tmp_path: Path) -> None:
    week = Week(PLAIN, tmp_path)
    play(PLAIN, week.run)
    assert week.claims() <= 4 < DISPATCHED_THEN
    assert week.shown["state"] == "deferred"
    assert [asked.get("answered_at") for asked in week.shown["questions"]] == [None]
    assert any(" parked " in line for line in week.world.story)
