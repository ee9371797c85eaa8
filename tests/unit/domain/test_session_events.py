"""The event model: every kind has a name, and text is fit for a terminal."""

from typing import get_args

import pytest

from workloop.domain.session import CUT_MARK, EVENT_KINDS, SessionEvent, Tokens, head, printable, tail


def test_every_event_has_its_own_kind() -> None:
    assert set(EVENT_KINDS) == set(get_args(SessionEvent))
    assert len(set(EVENT_KINDS.values())) == len(EVENT_KINDS)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain\n\ttext — ünïcode 日本 🙂", "plain\n\ttext — ünïcode 日本 🙂"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b2Jgone", "gone"),
        ("a\x1b]0;title\x07b\x1b]52;c;QQ==\x1b\\c", "abc"),
        ("\x1bPdevice\x1b\\after", "after"),
        ("over\rwritten", "overwritten"),
        ("line\r\nline", "line\nline"),
        ("bell\x07back\x08space\x00nul\x7fdel", "bellbackspacenuldel"),
        ("user\u202egnp.exe\u2066x\u2069", "usergnp.exex"),
        ("\x1b", ""),
        ("half\x1b[", "half"),
        ("\ud800lone", "lone"),
    ],
)
def test_nothing_that_steers_a_terminal_is_left(raw: str, shown: str) -> None:
    assert printable(raw) == shown
    assert printable(shown) == shown


def test_every_control_character_goes_but_newline_and_tab() -> None:
    controls = "".join(map(chr, [*range(32), *range(127, 160)]))
    assert set(printable(controls)) <= {"\n", "\t"}


def test_long_text_is_cut_where_it_may_be() -> None:
    assert head("abcdef", 3) == "abc" + CUT_MARK
    assert tail("abcdef", 3) == CUT_MARK + "def"
    assert head("abc", 3) == tail("abc", 3) == "abc"


def test_tokens_add_up_and_a_difference_is_never_negative() -> None:
    one, more = Tokens(input=5, output=1), Tokens(input=3, output=4, cache_read=2, cache_write=1)
    assert (one + more).total == 16
    assert more.beyond(one) == Tokens(output=3, cache_read=2, cache_write=1)
