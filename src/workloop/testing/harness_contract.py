"""What every harness adapter must keep to, as checks that anybody can run on their own."""

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from workloop.domain.session import SessionClass, SessionEvent, Text, kind_of, printable
from workloop.runner.framing import LineSplitter, OverlongLine
from workloop.runner.harness.port import LaunchRequest
from workloop.testing.harness_case import ARRIVAL_US, CREDENTIAL, PROMPT, ContractBroken, HarnessCase, require
from workloop.testing.harness_cuts import CUT_CHECKS

__all__ = ["HARNESS_CONTRACT", "ContractBroken", "HarnessCase"]

KILLED = 9
NONSENSE = (
    b"",
    b"\x00",
    b"\xff\xfe\xfd",
    b"[]",
    b"{}",
    b"null",
    b'{"type":',
    b'{"type":"result"}',
    b'{"type":"text","text":7}',
    b'{"type":["text"]}',
    b'{"id":[7],"result":{}}',
    b'{"id":{"a":1},"method":["text"]}',
    b'{"type":"assistant","message":"no"}',
    b'{"type":"user","message":{"content":[{"type":"tool_result","content":[7]}]}}',
    b'{"type":"usage","input":-1e309}',
    b'{"type":"limit","reset_at":"soon"}',
    b"[" * 20_000,
    b"x" * 100_000,
)


def replay(case: HarnessCase, chunk: int) -> tuple[list[SessionEvent], SessionClass, str]:
    """Read the recorded session in pieces of so many bytes and end it well."""
    reader, splitter = case.harness.reader(case.request()), LineSplitter()
    events: list[SessionEvent] = []
    pieces = [case.stream[start : start + chunk] for start in range(0, len(case.stream), chunk)]
    for line in [line for piece in pieces for line in splitter.feed(piece)] + splitter.finish():
        fed = (
            reader.overlong(line.size, ARRIVAL_US) if isinstance(line, OverlongLine) else reader.feed(line, ARRIVAL_US)
        )
        events += fed
    ending = reader.finish(0, None, "")
    return [*events, *ending.events], ending.conclusion.session_class, ending.conclusion.final_text


def files_below(folder: Path) -> dict[Path, str]:
    """Return the text of every file below a folder."""
    return {path: path.read_text(errors="replace") for path in sorted(folder.rglob("*")) if path.is_file()}


def check_launch_is_complete(case: HarnessCase) -> None:
    """A launch names a program, runs in the work dir, and keeps the allowed environment."""
    request = case.request()
    launch = case.harness.launch(request)
    require(launch.argv and all(launch.argv[:1]), "argv names no program")
    require(launch.cwd == request.cwd, "cwd is not the work dir")
    kept = {name: launch.env.get(name) for name in request.environment}
    require(kept == dict(request.environment), "the allowed environment was changed")
    loaded = set(os.environ) - set(case.environment)
    require(not [name for name in launch.env if name in loaded and launch.env[name] == os.environ[name]], "env leaked")


def check_prompt_reaches_the_agent(case: HarnessCase) -> None:
    """The prompt is an argument, in a file of the session, or what an agent that listens is told."""
    request = case.request()
    launch, told = case.harness.launch(request), told_by(case, request)
    texts = [*launch.argv, *files_below(request.session_dir).values(), told.decode()]
    require(any(PROMPT in text for text in texts), "the prompt is nowhere")


def check_token_stays_in_private_files(case: HarnessCase) -> None:
    """The token is in no argument and no variable, only in files that nobody else can read."""
    request = case.request()
    launch = case.harness.launch(request)
    variables = [value for name, value in launch.env.items() if name != case.token_variable]
    require(not any(CREDENTIAL in text for text in (*launch.argv, *variables)), "the token can be seen by others")
    holders = [path for path, text in files_below(request.session_dir).items() if CREDENTIAL in text]
    require(holders, "the token is nowhere")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in files_below(request.session_dir)}
    require(modes == {0o600}, f"files of the session have modes {sorted(map(oct, modes))}")


def check_launch_writes_only_into_the_session_dir(case: HarnessCase) -> None:
    """The work dir is the agent's; nothing of ours appears there."""
    request = case.request()
    case.harness.launch(request)
    require(not files_below(request.cwd), "the launch wrote into the work dir")


def check_launch_can_be_repeated(case: HarnessCase) -> None:
    """A second launch in the same session dir gives the same command."""
    request = case.request()
    require(case.harness.launch(request) == case.harness.launch(request), "two launches differ")


def check_capabilities_are_honest(case: HarnessCase) -> None:
    """What is claimed changes the launch, and what is not claimed does not."""
    request, can = case.request(), case.harness.capabilities
    variants: dict[str, tuple[bool, LaunchRequest]] = {
        "resumes": (can.resumes, replace(request, resume_id="3f2d8a52-0000-4000-8000-000000000000")),
        "turn_cap": (can.turn_cap, replace(request, turns_max=3)),
        "cost_cap": (can.cost_cap, replace(request, cost_micros_max=1_500_000)),
        "permission_policy": (can.permission_policy, replace(request, read_only=True)),
    }
    plain = command_of(case, request)
    for name, (claimed, variant) in variants.items():
        changed = command_of(case, variant) != plain
        require(changed == claimed, f"{name} is {claimed} but the launch says otherwise")


def command_of(case: HarnessCase, request: LaunchRequest) -> tuple[object, ...]:
    """Return what decides how the program runs: its command, and what it is told where it listens."""
    launch = case.harness.launch(request)
    return (launch.argv, tuple(sorted(launch.env.items())), told_by(case, request))


def told_by(case: HarnessCase, request: LaunchRequest) -> bytes:
    """Return all that the recorded agent is told."""
    reader = case.harness.reader(request)
    said = reader.replies()
    for line in case.stream.splitlines():
        reader.feed(line, ARRIVAL_US)
        said += reader.replies()
    return said


def check_every_cut_reads_the_same(case: HarnessCase) -> None:
    """How the bytes arrive does not matter."""
    whole = replay(case, len(case.stream) or 1)
    for chunk in (1, 2, 3, 7, 64, 1_000):
        require(replay(case, chunk) == whole, f"pieces of {chunk} bytes read differently")


def check_recorded_session_is_clean(case: HarnessCase) -> None:
    """The session that ended well is clean, has its final text, and no line is unknown."""
    events, session_class, final_text = replay(case, 65_536)
    require(session_class is SessionClass.CLEAN, f"the recorded session is {session_class}")
    require(final_text == case.final_text, f"the final text is {final_text!r}")
    require("unrecognised" not in map(kind_of, events), "a recorded line is unrecognised")


def check_events_are_stamped(case: HarnessCase) -> None:
    """Events carry our session id, dense numbers from 1, and the arrival they were given."""
    events, _class, _text = replay(case, 65_536)
    require([event.seq for event in events] == list(range(1, len(events) + 1)), "numbers have holes")
    require({event.session_id for event in events} == {case.request().session_id}, "a session id is not ours")
    require({event.arrival_us for event in events} == {ARRIVAL_US}, "an arrival is not the one given")


def check_readers_share_nothing(case: HarnessCase) -> None:
    """Two sessions at the same time do not see each other."""
    one, other = case.harness.reader(case.request()), case.harness.reader(case.request())
    for line in case.stream.splitlines():
        one.feed(line, ARRIVAL_US)
    fresh = case.harness.reader(case.request()).finish(0, None, "")
    require(other.finish(0, None, "") == fresh, "a reader knows what another one read")


def check_nonsense_is_survived(case: HarnessCase) -> None:
    """No line whatever raises, and every text is fit for a terminal."""
    for lines in ([line] for line in NONSENSE):
        reader = case.harness.reader(case.request())
        events = [event for line in lines for event in reader.feed(line, ARRIVAL_US)]
        events += reader.overlong(50_000_000, ARRIVAL_US)
        ending = reader.finish(1, None, "\x1b[31mstderr")
        said = [event.text for event in events if isinstance(event, Text)]
        texts = (*said, ending.conclusion.detail, ending.conclusion.final_text)
        require(all(text == printable(text) for text in texts), "a text could steer a terminal")


def check_killed_session_is_no_success(case: HarnessCase) -> None:
    """A session that was killed before its end is crashed and has no final text."""
    reader = case.harness.reader(case.request())
    lines = case.stream.splitlines()
    for line in lines[: len(lines) // 2]:
        reader.feed(line, ARRIVAL_US)
    conclusion = reader.finish(None, KILLED, "").conclusion
    require(conclusion.session_class is SessionClass.CRASHED, f"a killed session is {conclusion.session_class}")
    require(not conclusion.final_text, "a killed session has a final text")


HARNESS_CONTRACT: tuple[Callable[[HarnessCase], None], ...] = (
    check_launch_is_complete,
    check_prompt_reaches_the_agent,
    check_token_stays_in_private_files,
    check_launch_writes_only_into_the_session_dir,
    check_launch_can_be_repeated,
    check_capabilities_are_honest,
    check_every_cut_reads_the_same,
    check_recorded_session_is_clean,
    check_events_are_stamped,
    check_readers_share_nothing,
    check_nonsense_is_survived,
    check_killed_session_is_no_success,
    *CUT_CHECKS,
)
