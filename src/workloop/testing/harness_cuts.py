"""What every adapter must make of a session that is cut off, cut into pieces, talked into, or never answered."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from workloop.domain.session import Finished, SessionClass, SessionEvent, Text, Tokens, Usage
from workloop.runner.framing import LineSplitter
from workloop.runner.harness.port import Ending
from workloop.testing.harness_case import ARRIVAL_US, HarnessCase, require

CUTS_MAX = 120
KILLED = 9


class Exit(NamedTuple):
    """How the process ended."""

    code: int | None
    signal: int | None


EXITS = (Exit(0, None), Exit(1, None), Exit(None, KILLED))
NOISE = (b"warning: something is odd", b"{}", b"null", b'{"type":"a_kind_of_tomorrow","data":[1]}', b'{"id":7')


class Reading(NamedTuple):
    """What an adapter made of some lines and an exit, and all that it wanted the session to be told."""

    events: list[SessionEvent]
    ending: Ending
    told: bytes

    @property
    def over(self) -> bool:
        """Say whether the harness said that the session ended well."""
        return any(isinstance(event, Finished) and not event.failed for event in self.events)

    @property
    def tokens(self) -> Tokens:
        """Return all tokens counted."""
        every = (*self.events, *self.ending.events)
        return sum((event.tokens for event in every if isinstance(event, Usage)), Tokens())


def read(case: HarnessCase, lines: Sequence[bytes], end: Exit) -> Reading:
    """Read lines as the runner does, asking after each what to tell the session."""
    reader = case.harness.reader(case.request())
    events, told = list[SessionEvent](), reader.replies()
    for line in lines:
        events += reader.feed(line, ARRIVAL_US)
        told += reader.replies()
    return Reading(events, reader.finish(end.code, end.signal, ""), told)


def is_clean(reading: Reading) -> bool:
    """Say whether the adapter found nothing wrong with the session."""
    return reading.ending.conclusion.session_class is SessionClass.CLEAN


def spread(number: int) -> list[int]:
    """Return every position of a short recording, and evenly chosen ones of a long, the last ones always among them."""
    step = -(-number // CUTS_MAX)
    return sorted({*range(0, number, step), *range(max(0, number - 10), number)})


def cut_off(case: HarnessCase) -> Iterator[list[bytes]]:
    """Yield the beginnings of the recording: cut after a line, and in the middle of the next."""
    lines = case.stream.splitlines()
    for number in spread(len(lines) + 1):
        yield lines[:number]
        if number < len(lines):
            yield [*lines[:number], lines[number][: len(lines[number]) // 2]]


def check_bytes_cut_anywhere_are_the_same_lines(case: HarnessCase) -> None:
    """Two pieces, whatever byte they part at, are the same lines as one."""
    for line, following in pairwise([*case.stream.splitlines(), b""]):
        data = line + b"\n" + following + b"\n"
        for cut in range(0, len(line) + 2, 1 + len(line) // 4_096):
            splitter = LineSplitter()
            lines = [*splitter.feed(data[:cut]), *splitter.feed(data[cut:])]
            require(lines == [line, following], f"cut at byte {cut}, a line reads differently")


def check_session_cut_off_is_no_success(case: HarnessCase) -> None:
    """A session that is cut off is clean by its own end, or, where there is none, by its exit status: nothing else."""
    ends = read(case, case.stream.splitlines(), EXITS[0]).over
    for lines in cut_off(case):
        for end in EXITS:
            found = read(case, lines, end)
            earned = found.over if ends else end.code == 0
            clean = found.ending.conclusion.session_class is SessionClass.CLEAN
            require(earned or not clean, f"clean after {len(lines)} lines and {end}")
            require(
                earned or not found.ending.conclusion.final_text, f"a final text after {len(lines)} lines and {end}"
            )


def check_tokens_are_counted_once(case: HarnessCase) -> None:
    """The more was read the more was spent, and never more than the whole session."""
    spent = [read(case, lines, EXITS[2]).tokens for lines in cut_off(case)]
    whole = read(case, case.stream.splitlines(), EXITS[0]).tokens
    for earlier, later in pairwise([*spent, whole]):
        require(earlier.beyond(later) == Tokens(), f"tokens shrink from {earlier} to {later}")


def check_cut_sessions_read_the_same_twice(case: HarnessCase) -> None:
    """Nothing but the lines and the exit decides."""
    for lines in cut_off(case):
        require(
            read(case, lines, EXITS[1]) == read(case, lines, EXITS[1]), f"{len(lines)} lines read differently twice"
        )


def check_noise_between_lines_changes_nothing(case: HarnessCase) -> None:
    """A line that no rule knows takes nothing from the session; where every line is text, it is text."""
    lines = case.stream.splitlines()
    whole = read(case, lines, EXITS[0]).ending.conclusion
    for noise in NOISE:
        for number in spread(len(lines)):
            found = read(case, [*lines[:number], noise, *lines[number:]], EXITS[0])
            require(
                found.ending.conclusion.session_class is SessionClass.CLEAN, f"{noise!r} before line {number} matters"
            )
            said = any(isinstance(event, Text) and event.text == noise.decode() for event in found.events)
            require(said or found.ending.conclusion == whole, f"{noise!r} before line {number} changes the end")


def check_lines_in_the_middle_of_others_lose_nothing(case: HarnessCase) -> None:
    """What the program writes into the middle of its own lines costs neither the result nor the count."""
    lines = case.stream.splitlines()
    whole = read(case, lines, EXITS[0])
    for report in case.interjections:
        for number in spread(len(lines)):
            for at in range(0, len(lines[number]), 1 + len(lines[number]) // 20):
                before, after = lines[number][:at], lines[number][at:]
                for parts in ([before + report + after], [before + report, after]):
                    found = read(case, [*lines[:number], *parts, *lines[number + 1 :]], EXITS[0])
                    same = (found.ending.conclusion, found.tokens) == (whole.ending.conclusion, whole.tokens)
                    require(same, f"an interjection at byte {at} of line {number} changes the end")


def check_replies_are_given_once(case: HarnessCase) -> None:
    """What to tell is told once, the same each time, to those that listen only, and asking costs nothing."""
    listens = case.harness.launch(case.request()).interactive
    reader = case.harness.reader(case.request())
    told, events = [reader.replies()], list[SessionEvent]()
    for line in case.stream.splitlines():
        require(not reader.replies(), "the same is told twice")
        events += reader.feed(line, ARRIVAL_US)
        told.append(reader.replies())
    for reply in told:
        require(not reply or reply.endswith(b"\n"), "a reply is no whole line")
    ending = reader.finish(0, None, "")
    plain = read(case, case.stream.splitlines(), EXITS[0])
    require((events, ending, b"".join(told)) == plain, "asking twice changes the session")
    require(bool(plain.told) == listens, f"interactive is {listens}, but {len(plain.told)} bytes are told")


def check_silence_is_harmless(case: HarnessCase) -> None:
    """A reader that is asked before anything was said, or of which nobody asks anything, judges all the same."""
    for end in EXITS:
        asked = read(case, [], end)
        unasked = case.harness.reader(case.request()).finish(end.code, end.signal, "")
        require(asked.ending == unasked, f"asking changes what silence and {end} mean")
        require(end.code == 0 or not is_clean(asked), f"silence and {end} are clean")


CUT_CHECKS: tuple[Callable[[HarnessCase], None], ...] = (
    check_bytes_cut_anywhere_are_the_same_lines,
    check_session_cut_off_is_no_success,
    check_tokens_are_counted_once,
    check_cut_sessions_read_the_same_twice,
    check_noise_between_lines_changes_nothing,
    check_lines_in_the_middle_of_others_lose_nothing,
    check_replies_are_given_once,
    check_silence_is_harmless,
)
