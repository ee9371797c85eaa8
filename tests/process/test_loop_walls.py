"""A whole run of the loop behind walls: the work is done, what is hidden stays hidden, and the record says so."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from walls import NEEDS_WALLS

from loop_bench import LoopBench, check, commit, complete, honest, rule, verdict, write

pytestmark = NEEDS_WALLS
KINDS = {"open": 'kind = "bwrap"', "cut": 'kind = "bwrap"\nnetwork = "loopback"\nchecks_network = "none"'}
PROGRAM = """
import json, os, pathlib, subprocess, sys
said = pathlib.Path(os.environ["WORKLOOP_RESULT"])
pathlib.Path("thing.txt").write_text("fixed\\n")
subprocess.run(["git", "commit", "-qam", "mended"], check=True)
said.write_text(json.dumps({"final_text": "mended by a program"}))
"""


@pytest.fixture(params=list(KINDS))
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LoopBench]:
    """Return a bench whose sessions and checks run behind walls, with the network open and cut."""
    made = LoopBench(tmp_path, sandbox=KINDS[request.param])
    yield made
    made.close()


def test_work_is_built_verified_and_recorded_behind_walls(bench: LoopBench) -> None:
    bench.rules(rule("one", *honest()), rule("one~v1", *verdict(), role="verify"))
    bench.open().add("one", verification="both")
    bench.run("--once")
    assert bench.state("one") == "succeeded"
    name = "bwrap:loopback" if "loopback" in bench.sandbox else "bwrap:open"
    assert [claim["sandbox"] for claim in bench.show("one")["claims"]] == [name]
    receipt = next(piece for piece in bench.show("one~v1")["evidence"] if piece["kind"] == "check")
    assert receipt["sandbox"] == ("bwrap:none" if "loopback" in bench.sandbox else "bwrap:open")


def test_rejected_work_is_repaired_from_the_rejected_commit(bench: LoopBench) -> None:
    lie = (write(text="broken still\n"), commit(), complete())
    bench.rules(rule("one", *lie), rule("one~r1", *honest(), role="repair"))
    bench.open().add("one")
    bench.run("--once")
    assert bench.state("one") == "succeeded"
    assert {claim["sandbox"] for claim in bench.show("one~r1")["claims"]} <= {"bwrap:open", "bwrap:loopback"}


def test_what_is_not_committed_when_a_session_dies_is_saved(bench: LoopBench) -> None:
    dies = ({"say": "I begin"}, write("half.txt", "half\n"), {"die": "KILL"})
    bench.rules(rule("one", *dies, attempt=1), rule("one", *honest(), attempt=2))
    bench.open().add("one")
    _, _, loop = bench.run("--once")
    saved = loop.named("salvaged")[0]["ref"]
    assert bench.repository.git("show", f"{saved}:half.txt") == "half"
    assert bench.state("one") == "succeeded"


def test_sessions_and_checks_see_neither_state_nor_keys_nor_the_operators_tree(bench: LoopBench) -> None:
    key = bench.folder / "keys" / "agent.key"
    key.parent.mkdir()
    key.write_text("a secret of the operator's")
    bench.open()
    place = bench.settings.place
    hidden = (place.store, place.config, key, bench.repository.path / "thing.txt")
    assert all(path.exists() for path in hidden)
    looks = " ; ".join(f"test ! -e {path} || echo {path} >> seen.txt" for path in (*hidden, Path.home() / ".ssh"))
    bench.rules(rule("one", {"run": f"{looks} ; touch seen.txt"}, *honest()))
    bench.add("one", checks=[check(f"{looks} ; test ! -s seen.txt && grep -q fixed thing.txt")])
    bench.run("--once")
    assert bench.state("one") == "succeeded"


def test_a_program_of_the_operators_is_handed_in_behind_walls(bench: LoopBench) -> None:
    program = bench.folder / "agent.py"
    program.write_text(PROGRAM)
    bench.harness = "mine"
    bench.harnesses = f'[harness.mine]\nkind = "command"\ncommand = ["{sys.executable}", "{program}"]'
    bench.rules()
    bench.open().add("one")
    bench.run("--once")
    assert bench.state("one") == "succeeded"
    said = next((bench.settings.folder / "sessions").glob("*/said/result.json"))
    assert json.loads(said.read_text()) == {"final_text": "mended by a program"}
