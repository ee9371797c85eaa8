"""How a run of the repair bench gets its time, its name, its version and its signature."""

import time
from pathlib import Path

from workloop import __version__
from workloop.domain.ids import first_id, id_text
from workloop.repair.config import read_bench_config
from workloop.repair.ledger.signing import KeyFile
from workloop.repair.loading import load_driver_file
from workloop.repair.supervisor.bench import Ended, Surroundings, run_bench
from workloop.store.system import SystemClock, SystemIds

NANOSECONDS_MS = 1_000_000


def repair(config: Path, driver: Path, key: Path | None = None) -> Ended:
    """Carry the campaign of a file out with the driver of a file; raises BadRequest or LedgerRefused if it cannot."""
    clock = SystemClock()
    around = Surroundings(
        clock=clock,
        monotonic=lambda: time.monotonic_ns() // NANOSECONDS_MS,
        run_id=id_text(first_id(clock.now(), SystemIds())),
        version=__version__,
        signer=KeyFile(key) if key is not None else None,
    )
    campaign = read_bench_config(config.absolute())
    return run_bench(campaign, load_driver_file(driver.absolute()), around)
