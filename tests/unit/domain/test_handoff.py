"""Hand-offs: what is one, what is refused, and that each refusal has its own reason."""

import itertools
from dataclasses import replace

import pytest

from workloop.domain.handoff import (
    CHAIN_MAX,
    EXPLAINED,
    MARKER,
    PROMPT_BYTES_MAX,
    Handoff,
    HandoffRefusal,
    HandoffRefused,
    Seam,
    admit_handoff,
    read_handoff,
)

GO = "go on with the parser"
R = HandoffRefusal


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        (f"done so far\n{MARKER}\n{GO}", GO),
        (f"{MARKER}\n{GO}", GO),
        (f"{MARKER}\n\n  {GO}\n\n", GO),
        (f"done\r\n{MARKER}\r\n{GO}\r\nand then\r\n", f"{GO}\nand then"),
        (f"done\n{MARKER} \t \n{GO}", GO),
        (f"{MARKER}\nold\n{MARKER}\n{GO}", GO),
        (f"```\n{MARKER}\n```\n{MARKER}\n{GO}", GO),
        (f"```\ncode\n```\n{MARKER}\n{GO}", GO),
        (f"~~~~\n```\n~~~~\n{MARKER}\n{GO}", GO),
        (f"````\n```\n````\n{MARKER}\n{GO}", GO),
        (f"a ``` b\n{MARKER}\n{GO}", GO),
        (f"```inline``` text\n{MARKER}\n{GO}", GO),
        (f"    ```\n{MARKER}\n{GO}", GO),
        (f"{MARKER}\nrun this:\n```\nmake\n```\n", "run this:\n```\nmake\n```"),
        (f"{MARKER}\n{GO}\n    {MARKER}", f"{GO}\n    {MARKER}"),
        (f"{MARKER}\n{GO}\n```\n{MARKER}\n```", f"{GO}\n```\n{MARKER}\n```"),
    ],
)
def test_l01_the_last_marker_line_outside_code_begins_the_prompt(text: str, prompt: str) -> None:
    assert read_handoff(text) == Handoff(prompt=prompt)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "all done",
        f"  {MARKER}\n{GO}",
        f"\t{MARKER}\n{GO}",
        f"> {MARKER}\n{GO}",
        f"the marker {MARKER} is written so\n{GO}",
        f"{MARKER}x\n{GO}",
        f"{MARKER[:-1]}\n{GO}",
        f"{MARKER.lower()}\n{GO}",
        f"```\n{MARKER}\n{GO}\n```",
        f"~~~\n{MARKER}\n{GO}\n~~~",
        f"```text\n{MARKER}\n{GO}\n```",
        f"   ```\n{MARKER}\n{GO}\n```",
        f"```\n{MARKER}\n{GO}",
        f"```\n~~~\n{MARKER}\n{GO}\n```",
        f"````\n```\n{MARKER}\n{GO}\n````",
        f"```\n``` not an end\n{MARKER}\n{GO}\n```",
        f"text\u2028{MARKER}\u2028{GO}",
        f"text\x0b{MARKER}\x0b{GO}",
    ],
)
def test_l01_a_marker_that_is_indented_quoted_inside_a_line_or_in_code_is_none(text: str) -> None:
    assert read_handoff(text) is None


@pytest.mark.parametrize("rest", ["", "\n", "\n \t\n\r\n"])
def test_l01_an_empty_hand_off_is_refused(rest: str) -> None:
    found = read_handoff(f"done\n{MARKER}{rest}")
    assert isinstance(found, HandoffRefused)
    assert found.reason is R.EMPTY


@pytest.mark.parametrize(("letter", "bytes_each"), [("x", 1), ("é", 2), ("🙂", 4)])
def test_l01_a_prompt_of_4096_bytes_passes_and_one_byte_more_is_refused_never_cut(letter: str, bytes_each: int) -> None:
    fits = letter * (PROMPT_BYTES_MAX // bytes_each)
    assert read_handoff(f"{MARKER}\n{fits}") == Handoff(prompt=fits)
    found = read_handoff(f"{MARKER}\n{fits}x")
    assert isinstance(found, HandoffRefused)
    assert found.reason is R.TOO_LONG
    assert "4097" in found.detail


GOOD = Seam(trusted=True, clean=True, dead=False, held=True, chain=0)
BROKEN = {
    R.UNTRUSTED: {"trusted": False},
    R.DEAD: {"dead": True},
    R.NOT_CLEAN: {"clean": False},
    R.CLAIM_GONE: {"held": False},
    R.STOPPING: {"stopping": True},
    R.CHAIN_SPENT: {"chain": CHAIN_MAX},
    R.ITERATIONS_SPENT: {"iterations_left": 0},
    R.BUDGET_SPENT: {"budget_left": False},
}
ASKED = Handoff(prompt=GO)


@pytest.mark.parametrize("reason", list(BROKEN))
def test_l01_every_guard_refuses_by_its_own_name(reason: HandoffRefusal) -> None:
    found = admit_handoff(ASKED, replace(GOOD, **BROKEN[reason]))
    assert isinstance(found, HandoffRefused)
    assert (found.reason, found.detail) == (reason, EXPLAINED[reason])


def test_l01_a_hand_off_is_followed_only_when_every_guard_agrees() -> None:
    assert admit_handoff(ASKED, GOOD) is ASKED
    for size in range(1, len(BROKEN) + 1):
        for reasons in itertools.combinations(BROKEN, size):
            seam = GOOD
            for reason in reasons:
                seam = replace(seam, **BROKEN[reason])
            assert isinstance(admit_handoff(ASKED, seam), HandoffRefused)


def test_l01_three_hand_offs_in_a_row_pass_and_the_fourth_does_not() -> None:
    followed = [admit_handoff(ASKED, replace(GOOD, chain=chain)) is ASKED for chain in range(5)]
    assert followed == [True, True, True, False, False]
    assert admit_handoff(ASKED, replace(GOOD, iterations_left=1)) is ASKED


def test_every_refusal_says_why_in_words() -> None:
    assert set(EXPLAINED) == set(R)
    assert len(set(EXPLAINED.values())) == len(EXPLAINED)
