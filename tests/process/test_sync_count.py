"""What one claim and its completion cost the disk, counted in the kernel's own calls and therefore exact."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CYCLES = 60
COUNT = f"""
from bench.syncs import counted
ours, rich = counted("ours", {CYCLES}), counted("rich", {CYCLES})
print(ours.syncs, ours.bytes / rich.bytes, rich.syncs)
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_claim_and_its_completion_sync_twice_and_write_little() -> None:
    """Each of the two transactions is one sync; nothing else waits for the disk, and the rows ride along."""
    done = subprocess.run([sys.executable, "-c", COUNT], cwd=ROOT, capture_output=True, text=True, check=True)
    syncs, share, bare_syncs = map(float, done.stdout.split())
    assert bare_syncs >= 2
    assert syncs <= 2.05
    assert share <= 2.0
