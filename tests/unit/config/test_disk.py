"""What a settings file may say of the disk."""

import pytest

from workloop.config.disk import DiskConfig, read_disk
from workloop.domain.errors import BadRequest
from workloop.domain.reader import Json


def test_without_a_table_a_gibibyte_stays_free() -> None:
    assert read_disk(None) == DiskConfig()
    assert DiskConfig().free_bytes_min == 1024**3


def test_every_key_is_read() -> None:
    table: dict[str, Json] = {
        "free_bytes_min": 5,
        "trees_bytes_max": 6,
        "trees_days": 1.5,
        "trees_max": 7,
        "outputs": ["target/", "web/dist"],
    }
    found = DiskConfig(free_bytes_min=5, trees_bytes_max=6, trees_days=1.5, trees_max=7, outputs=("target", "web/dist"))
    assert read_disk(table) == found


@pytest.mark.parametrize("text", ["/abs", "../up", "a/../b", ".", ".git", "sub/.git", "*.o", "a//b", "", "/"])
def test_an_output_that_is_no_plain_folder_below_the_repository_is_refused(text: str) -> None:
    """F06: nothing that a settings file says makes the loop delete outside of a tree, or the repository itself."""
    with pytest.raises(BadRequest) as refused:
        read_disk({"outputs": ["build", text]})
    assert "disk.outputs[1]" in refused.value.message


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(BadRequest):
        read_disk({"free_bytes": 1})
