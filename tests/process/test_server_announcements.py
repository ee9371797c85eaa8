"""What a harness's servers announce once they run, compared with what it declares: real servers behind real walls."""

import socket
from pathlib import Path

import pytest
from server_stage import READY, TALK, ReadyClock, ServerStage
from walls import NEEDS_WALLS

from workloop.domain.errors import BadRequest, Conflict, Fault, Refusal
from workloop.repair.bundled.announcing import with_servers
from workloop.repair.bundled.listening import ServerLimits
from workloop.repair.port import Verdict, VerdictKind
from workloop.runner.processtable import folder_of, snapshot
from workloop.runner.sandbox.enclosure import BARE, Enclosure, Network, SandboxKind, find_enclosure

pytestmark = NEEDS_WALLS
HONEST = TALK + "begin()\nannounce('note_add')\nsys.stdin.read()\n"
BY_LIBRARY = """from mcp.server.mcpserver import MCPServer
server = MCPServer("notes")
@server.tool()
def note_add(text: str) -> str:
    return text
server.run("stdio")
"""


@pytest.fixture
def stage(tmp_path: Path) -> ServerStage:
    return ServerStage(tmp_path)


def refusal(stage: ServerStage, commit: str, *, bare: bool = False) -> BadRequest:
    """Return how the servers of a commit are refused; nothing of them is left."""
    with pytest.raises(BadRequest) as caught:
        stage.ask(commit, BARE if bare else None, unwalled=bare)
    assert caught.value.code == "HARNESS_REFUSED"
    assert stage.left() == []
    assert at_work(stage) == []
    return caught.value


def at_work(stage: ServerStage) -> list[int]:
    """Return the processes that work somewhere below the stage."""
    places = {pid: folder_of(pid) for pid in snapshot()}
    return [pid for pid, place in places.items() if place is not None and place.is_relative_to(stage.folder)]


def test_servers_that_announce_what_is_declared_are_taken_and_leave_nothing(stage: ServerStage) -> None:
    stage.ask(stage.commit(HONEST, own_tool=True))
    assert stage.told() == {"harness": ["echo_it"], "notes": ["note_add"]}
    assert stage.left() == []
    assert at_work(stage) == []


def test_a_server_made_with_the_official_library_is_understood(stage: ServerStage) -> None:
    stage.ask(stage.commit(BY_LIBRARY))
    assert stage.told() == {"notes": ["note_add"]}


def test_a_harness_without_servers_has_nothing_to_be_asked(stage: ServerStage) -> None:
    stage.ask(stage.harness.head)
    assert list(stage.evidence.iterdir()) == []


@pytest.mark.parametrize(
    ("announces", "problem"),
    [
        ("announce('note_add', 'note_wipe')", "announces 'note_wipe', which its manifest does not declare"),
        ("announce()", "declares 'note_add', which the server does not announce"),
        ("announce('note_add', 'note_add')", "announces a tool twice"),
        ("announce('note_add', nextCursor='2')", "goes on after the first page"),
        ("announce(*[f'a{n}' for n in range(129)])", "one too many"),
        ("say({'id': asked()['id'], 'result': {'tools': 'note_add'}})", "does not say which tools it has"),
    ],
)
def test_a_server_that_announces_other_tools_is_refused(stage: ServerStage, announces: str, problem: str) -> None:
    found = refusal(stage, stage.commit(TALK + f"begin()\n{announces}\nsys.stdin.read()\n"))
    assert found.details["rule"] == "announced-declared"
    assert problem in found.message


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("raise SystemExit('no luck')", "ended with 1 before it said its tools: no luck"),
        ("print('Welcome to notes', flush=True); sys.stdin.read()", "is not JSON"),
        ('begin(); print(\'{"id": 2, "id": 2, "result": {}}\', flush=True); sys.stdin.read()', "stands twice"),
        ("say({'id': 9, 'result': {}}); sys.stdin.read()", "answers what it was not asked"),
        ("say({'id': asked()['id'], 'error': {'code': 1, 'message': 'not today'}})", "error: 'not today'"),
        ("say({'id': asked()['id'], 'result': {}})", "which version of the protocol"),
        ("say({'id': [1], 'method': 'ping'}); sys.stdin.read()", "without a plain id"),
        ("sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush(); sys.stdin.read()", "not UTF-8"),
    ],
)
def test_a_server_that_does_not_answer_as_one_is_refused(stage: ServerStage, program: str, problem: str) -> None:
    found = refusal(stage, stage.commit(TALK + program + "\n"))
    assert problem in found.message, found.message
    assert found.details["rule"] in ("server-answers", "well-formed")


def test_a_server_that_hangs_is_ended_at_its_time_with_all_that_it_started(stage: ServerStage) -> None:
    stage.monotonic = ReadyClock(stage.folder)
    detached = "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
    deaf = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    busy = "begin()\nprint('busy', file=sys.stderr, flush=True)\n" + READY + "asked()\nasked()\n"
    found = refusal(stage, stage.commit(TALK + deaf + detached + busy))
    assert "took more than 60 seconds: busy" in found.message


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("while True: sys.stdout.write('x' * 65536)", "wrote more than 300000 bytes"),
        ("while True: sys.stderr.write('x' * 65536)", "wrote more than 300000 bytes"),
        ("while True: say({'method': 'notifications/message'})", "wrote more than 300000 bytes"),
        ("while True: say({'id': 'x' * 200, 'method': 'ping'})", "does not read what it is told"),
    ],
)
def test_a_server_that_floods_is_ended_at_its_bound(stage: ServerStage, program: str, problem: str) -> None:
    stage.limits = ServerLimits(seconds=60.0, output_bytes_max=300_000)
    assert problem in refusal(stage, stage.commit(TALK + program + "\n")).message


def test_a_server_may_ask_and_notify_while_it_starts(stage: ServerStage) -> None:
    chatty = (
        "say({'method': 'notifications/message', 'params': {}})\nbegin()\nfirst = asked()\n"
        "say({'id': 'a', 'method': 'ping'})\nassert asked()['result'] == {}\n"
        "say({'id': 2, 'method': 'roots/list'})\nassert asked()['error']['code'] == -32601\nprint(flush=True)\n"
        "say({'id': first['id'], 'result': {'tools': [{'name': 'note_add'}]}})\nsys.stdin.read()\n"
    )
    stage.ask(stage.commit(TALK + chatty))
    assert stage.told() == {"notes": ["note_add"]}


def test_a_server_reaches_no_network_no_repository_and_no_secret(stage: ServerStage) -> None:
    """What it could reach it would announce as a tool; all around them may be read here."""
    stage.readable = (stage.folder,)
    beside = stage.folder / "evidence-1" / "beside"
    beside.parent.mkdir()
    beside.touch()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        curious = f"""
import socket, pathlib
found = ["note_add"]
try:
    socket.create_connection(("127.0.0.1", {listener.getsockname()[1]}), 5)
    found.append("network")
except OSError:
    pass
for name, place in (("repository", {str(stage.harness.path / "notes.mcpb")!r}), ("evidence", {str(beside)!r})):
    if os.path.exists(place):
        found.append(name)
try:
    pathlib.Path(__file__).with_name("new").write_text("brought")
    found.append("own_files")
except OSError:
    pass
pathlib.Path("scratch.txt").write_text("mine")
found += ["secret"] if "SOME_TOKEN" in os.environ else []
found += [] if os.environ["NOTES"] == "7" else ["variables"]
"""
        commit = stage.commit(TALK + curious + "begin()\nannounce(*found)\nsys.stdin.read()\n")
        stage.ask(commit)
        assert stage.told() == {"notes": ["note_add"]}
        assert "'evidence'" in refusal(stage, commit, bare=True).message


def test_a_verdict_passes_only_with_servers_that_keep_their_word(stage: ServerStage) -> None:
    honest, lying = stage.commit(HONEST), stage.commit(TALK + "begin()\nannounce('note_wipe')\n")
    good, bad, failed = (
        Verdict(kind=VerdictKind.REGRESSION, commit=commit, passed=passed, why=why)
        for commit, passed, why in ((honest, True, ""), (lying, True, ""), (lying, False, "the probes failed"))
    )
    assert stage.judged(good) == good
    found = stage.judged(bad)
    assert (found.passed, found.commit) == (False, lying)
    assert "announces 'note_wipe'" in found.why
    assert stage.judged(failed) == failed
    stage.stop.set()
    assert "phase was over" in stage.judged(good).why
    with pytest.raises(Refusal, match="VERIFICATION_UNWALLED"):
        with_servers(good, stage.ground(BARE), stage.bounds(), stage.spec(honest))


def test_servers_do_not_start_without_walls_or_with_a_network(stage: ServerStage) -> None:
    left = stage.folder / "started"
    commit = stage.commit(f"open({str(left)!r}, 'w')\n")
    for walls in (BARE, find_enclosure("bwrap", Network.OPEN)):
        with pytest.raises(Refusal, match="VERIFICATION_UNWALLED"):
            stage.ask(commit, walls)
    assert not left.exists()


def test_walls_that_fall_are_no_fault_of_the_harness(stage: ServerStage) -> None:
    falls = Enclosure(kind=SandboxKind.BWRAP, network=Network.NONE, program=Path("/bin/false"))
    with pytest.raises(Fault, match="SANDBOX_FAILED"):
        stage.ask(stage.commit(HONEST), falls)


def test_an_aborted_phase_ends_the_server_and_says_so(stage: ServerStage) -> None:
    stage.stop.set()
    with pytest.raises(Conflict, match="PHASE_OVER"):
        stage.ask(stage.commit(TALK + "asked()\nasked()\n"))
    assert (stage.left(), at_work(stage)) == ([], [])


def test_a_program_that_is_not_there_is_told(stage: ServerStage) -> None:
    stage.path = str(stage.folder)
    assert "cannot be started: no executable: python3" in refusal(stage, stage.commit(HONEST)).message


def test_without_walls_a_server_that_goes_silent_is_ended_too(stage: ServerStage) -> None:
    """At the operator's word; there the end of the output is seen at once."""
    left = "subprocess.Popen(['sleep', '600'], start_new_session=True)\n" + READY + "os._exit(3)"
    for program, problem in (
        ("os.close(1); os.close(2); time.sleep(600)", "closed its output before it said its tools"),
        ("os._exit(3)", "ended with 3 before it said its tools"),
        (left, "took more than 60 seconds"),
    ):
        stage.monotonic = ReadyClock(stage.folder)
        found = refusal(stage, stage.commit(TALK + program + "\n"), bare=True)
        assert problem in found.message
