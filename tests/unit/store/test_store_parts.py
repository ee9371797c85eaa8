"""The parts of a store that need no store: places, queries, migrations, settings."""

from pathlib import Path

import pytest

from workloop.domain.campaign import CampaignSettings
from workloop.domain.errors import IntegrityFault, StoreUnavailable
from workloop.store.migrate import Migration, load_migrations, pending_migrations
from workloop.store.settings_text import settings_from_text, settings_text
from workloop.store.sql import load_queries
from workloop.store.sqlite.place import filesystem_type, require_place
from workloop.store.system import SystemClock, SystemIds
from workloop.testing.clocks import SeededIds
from workloop.testing.store_contract.campaigns import FULL_SETTINGS

MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
tmpfs /home/ann/fast tmpfs rw 0 0
share /mnt/my\\040share virtiofs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/w.db", "ext4"),
        ("/home/ann/w.db", "nfs4"),
        ("/home/ann/fast/w.db", "tmpfs"),
        ("/mnt/my share/w.db", "virtiofs"),
        ("/homework/w.db", "ext4"),
    ],
)
def test_the_deepest_mount_holds_a_path(path: str, kind: str) -> None:
    """Case B25."""
    assert filesystem_type(Path(path), MOUNTS) == kind


def test_a_network_mount_is_refused(tmp_path: Path) -> None:
    """Case B25: shared memory across hosts corrupts."""
    with pytest.raises(StoreUnavailable) as caught:
        require_place(tmp_path / "w.db", lambda path: False, f"server:/x {tmp_path} nfs rw 0 0\n")
    assert (caught.value.code, caught.value.retryable) == ("STORE_ON_NETWORK_MOUNT", False)


def test_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    """Design 8: symlinks are not followed into or out of the state dir."""
    (tmp_path / "w.db").symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(StoreUnavailable) as caught:
        require_place(tmp_path / "w.db", lambda path: False, "")
    assert caught.value.code == "STORE_IS_SYMLINK"


def test_a_work_dir_is_refused_even_through_a_linked_folder(tmp_path: Path) -> None:
    """Design 8: the state dir lies outside work dirs."""
    (tmp_path / "work").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "work")
    with pytest.raises(StoreUnavailable) as caught:
        require_place(tmp_path / "state" / "w.db", lambda path: path.is_relative_to(tmp_path / "work"), "")
    assert caught.value.code == "STORE_IN_WORK_DIR"


def test_queries_are_loaded_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("-- name: one\n-- Give one.\nSELECT 1;\n\n-- name: two\n-- Give two.\nSELECT\n2;\n")
    assert load_queries(tmp_path) == {"one": "SELECT 1;", "two": "SELECT\n2;"}


@pytest.mark.parametrize(
    "text",
    [
        "-- name: one\nSELECT 1;\n",
        "-- name: one\n-- Give one.\n",
        "-- name: one\n-- Give one.\nSELECT 1;\n-- name: one\n-- Give two.\nSELECT 2;\n",
    ],
)
def test_a_malformed_block_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.sql").write_text(text)
    with pytest.raises(ValueError, match=r"a\.sql"):
        load_queries(tmp_path)


def test_migrations_must_be_numbered_without_gaps(tmp_path: Path) -> None:
    (tmp_path / "0002_later.sql").write_text("-- phase: before-code\nSELECT 1;\n")
    with pytest.raises(ValueError, match="0001"):
        load_migrations(tmp_path)


def test_only_what_is_missing_is_pending() -> None:
    known = [Migration(number=number, name="x", text=f"-- {number}") for number in (1, 2, 3)]
    assert pending_migrations(known, {1: known[0].checksum}) == known[1:]
    assert pending_migrations(known, {step.number: step.checksum for step in known}) == []
    with pytest.raises(IntegrityFault, match="STORE_NEWER"):
        pending_migrations(known[:1], {1: known[0].checksum, 2: "x"})
    with pytest.raises(IntegrityFault, match="STORE_FOREIGN"):
        pending_migrations(known, {1: "x"})


@pytest.mark.parametrize("settings", [CampaignSettings(), FULL_SETTINGS])
def test_settings_survive_being_written(settings: CampaignSettings) -> None:
    assert settings_from_text(settings_text(settings)) == settings


def test_seeded_ids_repeat_and_system_ids_do_not() -> None:
    first, second = SeededIds(3), SeededIds(3)
    drawn = [first.bits(22) for _ in range(50)]
    assert drawn == [second.bits(22) for _ in range(50)]
    assert len(set(drawn)) > 45
    assert all(0 <= number < 2**22 for number in drawn)
    assert SystemIds().bits(64) != SystemIds().bits(64)


def test_the_system_clock_counts_microseconds() -> None:
    assert 10**15 < SystemClock().now() < 10**16
