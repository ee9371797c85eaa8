"""An agent of a real loop attacks everything around it from behind the walls: nothing of it arrives outside."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from attacker import ATTACKS

import workloop
from loop_bench import LoopBench, check
from workloop.runner.sandbox.enclosure import Network
from workloop.runner.sandbox.mounts import FREE
from workloop.runner.sandbox.trial import try_bwrap

TRIAL = try_bwrap(Network.OPEN)
MUST_RUN = os.environ.get("CI") == "true" and os.getuid() == 0
pytestmark = pytest.mark.skipif(bool(TRIAL.failure) and not MUST_RUN, reason=f"no walls here: {TRIAL.failure}")
NETWORKS = ("open", "loopback")
KEY = "key-of-the-provider-that-only-the-loop-may-know"
SLEEP = "86421"
SHARED = "workloop-attack-shared"
# What works inside, because what is written there is the session's own; the host's side is looked at below.
WORKS_INSIDE = {
    "lead_the_host_to_the_settings_by_a_link",
    "commit_a_link_to_the_store",
    "plant_hooks",
    "plant_settings",
    "plant_a_repository_with_a_program",
    "move_the_integration_branch",
    "move_another_items_branch",
    "poison_what_all_programs_share",
    "poison_the_memory_that_all_share",
    "stay_behind",
}
# With an open network, what the machine's own programs listen to is reached; the documentation says so.
ONLY_CUT = {"send_away_by_loopback", "send_away_by_an_abstract_socket"}


@dataclass
class Field:
    """What was attacked, what each attack said, and how everything was before."""

    bench: LoopBench
    network: str
    facts: dict[str, Any]
    before: dict[str, str]
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)
    heard: list[bytes] = field(default_factory=list)
    events: str = ""

    @property
    def folder(self) -> Path:
        return self.bench.folder

    @property
    def shop(self) -> Path:
        return self.bench.repository.path


def hear(listener: socket.socket, heard: list[bytes]) -> None:
    """Keep what anybody sends to a place where nobody should."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            heard.append(connection.recv(100))


def prepare(bench: LoopBench) -> dict[str, Any]:
    """Lay out everything that is worth an attack; returns where it is."""
    shop, git = bench.repository, bench.repository.git
    elder = shop.head
    git("repack", "-q", "-a", "-d")
    shop.commit({"thing.txt": "still broken\n"})
    other = bench.folder / "trees" / "other"
    git("worktree", "add", "--quiet", "-b", "workloop/itm_other/other", str(other))
    (shop.path / ".env").write_text(KEY)
    home = bench.folder / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text(KEY)
    bench.environment |= {"HOME": str(home), "PROVIDER_KEY": KEY}
    return {
        "elder": elder,
        "loose": git("rev-parse", "HEAD:thing.txt"),
        "other": str(other),
        "home": str(home),
        "shop": str(shop.path),
        "marks": str(bench.folder / "marks"),
        "branch": "workloop/itm_other/other",
        "state": str(bench.folder / "state"),
        "package": str(Path(workloop.__file__).parents[1]),
        "key": KEY,
        "sleep": SLEEP,
        "shared": SHARED,
        "free": str(FREE[0]),
        "abstract": f"attack-{os.getpid()}",
        "socket": str(bench.folder / "door.sock"),
        "pid_max": Path("/proc/sys/kernel/ns_last_pid").read_text().strip(),
    }


def rules(bench: LoopBench) -> dict[str, str]:
    """Return everything that must be as it was."""
    common = bench.repository.path / ".git"
    hooks = sorted(str(path.relative_to(common)) for path in (common / "hooks").rglob("*"))
    return {
        "refs": bench.repository.git("for-each-ref", "refs/heads/main", "refs/heads/workloop/itm_other"),
        "config": (common / "config").read_text(),
        "hooks": " ".join(hooks),
        "settings": bench.settings.place.config.read_text(),
        "other": (bench.folder / "trees" / "other" / "thing.txt").read_text(),
        "own": (bench.repository.path / "thing.txt").read_text(),
    }


@pytest.fixture(scope="module", params=NETWORKS)
def attacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    folder = tmp_path_factory.mktemp(request.param)
    bench = LoopBench(folder, harness="mine")
    bench.sandbox = f'kind = "bwrap"\nnetwork = "{request.param}"\nreadable = ["{Path(__file__).parent}"]'
    briefing = folder / "facts.json"
    program = Path(__file__).with_name("attacker.py")
    command = json.dumps([sys.executable, str(program), str(briefing)])
    bench.harnesses = f'[harness.mine]\nkind = "command"\ncommand = {command}'
    facts = prepare(bench)
    bench.rules()
    bench.open()
    place = bench.settings.place
    facts |= {"folder": str(place.folder), "store": str(place.store), "config": str(place.config)}
    ask(bench)
    bench.add("one", checks=[check()])
    listeners = [socket.create_server(("127.0.0.1", 0)), *(socket.socket(socket.AF_UNIX) for _ in range(2))]
    listeners[1].bind("\0" + facts["abstract"])
    listeners[2].bind(facts["socket"])
    facts["port"] = listeners[0].getsockname()[1]
    made = Field(bench, request.param, facts, rules(bench))
    for listener in listeners:
        listener.listen()
        threading.Thread(target=hear, args=(listener, made.heard), daemon=True).start()
    briefing.write_text(json.dumps(facts))
    _, made.report, loop = bench.run("--once")
    made.events = json.dumps(loop.events)
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
    candidate = bench.show("one").get("candidate")
    assert candidate, json.dumps(bench.show("one"), default=str)
    made.results = json.loads(bench.repository.git("show", f"{candidate}:results.json"))
    yield made
    bench.close()


def ask(bench: LoopBench) -> None:
    """Leave a question that only a person may answer."""
    bench.add("asks")
    claimed = bench.client.call("claim", {"holder": "a-person", "key": "asks"})
    given = {"boundary": "choose-colour", "asks": "Which?", "resume_when": "it is chosen"}
    bench.client.call("defer", {"token": claimed["token"], **given})


@pytest.mark.parametrize("name", sorted(set(ATTACKS) - WORKS_INSIDE))
def test_the_attack_is_held(attacked: Field, name: str) -> None:
    result = attacked.results[name]
    if name in ONLY_CUT and attacked.network == "open":
        assert "got" in result, "the documentation says that it can"
    else:
        assert "held" in result, result


@pytest.mark.parametrize("name", sorted(WORKS_INSIDE))
def test_what_works_inside_was_truly_tried(attacked: Field, name: str) -> None:
    assert "got" in attacked.results[name], attacked.results[name]


def test_the_honest_part_of_the_work_is_done_all_the_same(attacked: Field) -> None:
    assert attacked.bench.state("one") == "succeeded"
    assert {claim["sandbox"] for claim in attacked.bench.show("one")["claims"]} == {f"bwrap:{attacked.network}"}


def test_the_loop_lived_to_its_own_end(attacked: Field) -> None:
    assert attacked.report["reason"], attacked.report
    assert "stop" not in str(attacked.report["reason"]).lower()


def test_the_question_still_waits_for_a_person(attacked: Field) -> None:
    assert attacked.bench.state("asks") == "deferred"


def test_everything_outside_is_as_it_was(attacked: Field) -> None:
    assert rules(attacked.bench) == attacked.before


def test_no_planted_program_ran_on_the_host(attacked: Field) -> None:
    for tree in (attacked.folder / "state").glob("**/worktrees/*/"):
        subprocess.run(["git", "-C", str(tree), "log", "-1"], check=False, capture_output=True)
    attacked.bench.repository.git("status")
    assert list((attacked.folder / "marks").iterdir()) == []


def test_every_object_is_what_its_name_says(attacked: Field) -> None:
    said = attacked.bench.repository.git("fsck", "--full", "--no-dangling")
    assert "missing" not in said
    assert "mismatch" not in said


def test_nothing_was_heard_outside_that_the_network_does_not_allow(attacked: Field) -> None:
    if attacked.network == "open":
        assert len(attacked.heard) == len(ONLY_CUT)
    else:
        assert attacked.heard == []


def test_nothing_stays_behind(attacked: Field) -> None:
    running = subprocess.run(("ps", "-eo", "args"), capture_output=True, text=True, check=True).stdout
    assert f"sleep {SLEEP}" not in running


def test_what_all_programs_share_is_untouched(attacked: Field) -> None:
    for place in ("tmp", "var/tmp", "dev/shm"):
        assert not (Path("/") / place / SHARED).exists()


def test_no_secret_is_told_by_the_host_that_followed_a_link(attacked: Field) -> None:
    told = attacked.events + json.dumps(attacked.bench.show("one"), default=str)
    assert KEY not in told
    assert "integration_branch" not in told, "the settings"
