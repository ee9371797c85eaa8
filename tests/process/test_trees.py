"""Which of the loop's trees go by themselves, and what a disk without room means for the next session."""

from dataclasses import replace
from pathlib import Path

import pytest

from loop_bench import LoopBench, honest, rule
from workloop.config import DiskConfig
from workloop.domain.clock import SECOND_US, Instant
from workloop.driver.gitshop import GitShop
from workloop.driver.workshop import WorkOrder, WorkTree
from workloop.runner.registry import read_record, write_record
from workloop.runner.repository import open_repository
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

DAY_US = 86_400 * SECOND_US


@pytest.fixture
def shop(tmp_path: Path) -> GitShop:
    """A workshop that keeps trees for a day."""
    scratch = scratch_repository(tmp_path / "repo", {"a.txt": "one\n"})
    repository = open_repository(scratch.path, tmp_path / "state")
    return GitShop(repository, disk=DiskConfig(trees_days=1.0, free_bytes_min=1))


def made(shop: GitShop, root: str, created: int = 0) -> WorkTree:
    return shop.make(WorkOrder(root_id=root, attempt=1, title="thing", created=Instant(created)))


def test_f07_only_trees_that_nobody_works_in_and_that_are_too_old_go(shop: GitShop) -> None:
    """F07: a tree that is kept for its session goes when it is too old; one that is in use never does."""
    used, waits, young = made(shop, "used"), made(shop, "waits"), made(shop, "young", DAY_US)
    holds = made(shop, "holds")
    (holds.path / ".env").write_text("only here\n")
    for tree in (waits, young, holds):
        shop.put_away(tree, "limited", keep=True)
    assert shop.collect(Instant(DAY_US - 1)) == ()
    assert [done.path for done in shop.collect(Instant(DAY_US))] == [waits.path]
    assert [tree.path.is_dir() for tree in (used, waits, young, holds)] == [True, False, True, True]
    assert not waits.path.with_name(waits.path.name + ".kept").exists()
    shop.put_away(used, "done", keep=True)
    assert [done.path for done in shop.collect(Instant(DAY_US))] == [used.path]


def test_f09_what_is_being_made_or_checked_is_not_collected(shop: GitShop) -> None:
    """F09: the loop clears up while its other threads check commits and are half-way through making trees."""
    strict = replace(shop, disk=DiskConfig(trees_days=0.0, trees_max=0))
    checkout = strict.checkout(None, "check", Instant(0))
    begun = made(strict, "begun")
    record = read_record(begun.path)
    assert record is not None
    write_record(replace(record, ready=False))
    strict.in_use.clear()
    assert strict.collect(Instant(DAY_US)) == ()
    assert [(tree.path / "a.txt").is_file() for tree in (checkout, begun)] == [True, True]


def test_a_disk_without_room_is_named_with_the_figure_and_the_setting(shop: GitShop) -> None:
    assert shop.room() == ""
    narrow = replace(shop, disk=DiskConfig(free_bytes_min=2**50))
    assert "less than disk.free_bytes_min, 1125899906842624" in narrow.room()
    small = replace(shop, disk=DiskConfig(free_bytes_min=0, trees_bytes_max=20_000), sized=[])
    assert small.room() == ""
    tree = made(small, "big")
    (tree.path / "new.bin").write_bytes(b"x" * 40_000)
    assert small.room() == ""  # looked at a moment ago
    small.sized.clear()
    assert "more than disk.trees_bytes_max, 20000" in small.room()
    small.put_away(tree, "done")
    assert small.room() == ""


def test_no_session_begins_on_a_disk_without_room_and_why_says_so(tmp_path: Path) -> None:
    """F07: the next session is what fills the disk, so it does not begin; nothing is claimed and nobody is blamed."""
    bench = LoopBench(tmp_path)
    bench.loop = bench.loop + "\n[disk]\nfree_bytes_min = 1125899906842624\n"
    bench.open()
    try:
        bench.rules(rule("*", *honest()))
        bench.add("a")
        _, report, loop = bench.run("--once")
        assert (report["sessions"], bench.state("a")) == (0, "pending"), loop.events
        assert "disk.free_bytes_min" in str(report)
        reason = bench.client.call("why", {"key": "a"})
        assert reason["claimable"]
    finally:
        bench.close()


def test_salvage_of_a_tree_that_lost_its_disk_is_told_and_stops_nothing(shop: GitShop) -> None:
    """F29: whatever the operating system says, the tree stays and is told."""
    tree = made(shop, "gone")
    ScratchRepository(path=tree.path).git("checkout", "--quiet", "--detach")
    (tree.path / ".git").unlink()
    done = shop.put_away(tree, "killed")
    assert "is not the worktree it was" in done.stays
    assert (tree.path / "a.txt").is_file()
