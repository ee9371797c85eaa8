"""What a changed harness file may grant: no more than before, and whatever is not known to be less is more."""

import pytest

from workloop.repair.verification.capabilities import widenings

BASE = """
name = "one"
[settings]
network = false
sandbox = true
turns_max = 20
deny = ["rm", "curl"]
readonly = ["docs"]
[tools.build]
command = ["make"]
timeout_seconds = 60
[tools.lint]
command = ["lint"]
[[mcp]]
name = "files"
allowed_tools = ["read", "list"]
"""


def wider(old: str, new: str, base: str = BASE) -> tuple[str, ...]:
    assert old in base
    return widenings(base.encode(), base.replace(old, new).encode())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("network = false", "network = true"),
        ("sandbox = true", "sandbox = false"),
        ("sandbox = true\n", ""),
        ("sandbox = true", "sandbox = 1"),
        ("turns_max = 20", "turns_max = 21"),
        ("turns_max = 20", "turns_max = 0"),
        ("turns_max = 20\n", ""),
        ("turns_max = 20", "turns_max = true"),
        ('deny = ["rm", "curl"]', 'deny = ["rm"]'),
        ('deny = ["rm", "curl"]\n', ""),
        ('readonly = ["docs"]', "readonly = []"),
        ('command = ["make"]', 'command = ["sh", "-c", "make"]'),
        ('command = ["lint"]', "command = []"),
        ("[tools.lint]", "[tools.more]\ncommand = ['x']\n[tools.lint]"),
        ("[settings]", "[settings]\nextra = 'x'"),
        ("[settings]", "[agent]\ncode = 'agent'\n[settings]"),
        ('["read", "list"]', '["read", "list", "write"]'),
        ('name = "files"', 'name = "other"'),
    ],
)
def test_a_repair_that_may_do_more_is_seen(old: str, new: str) -> None:
    assert wider(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "one"', 'name = "two"\ndescription = "better"'),
        ("turns_max = 20", "turns_max = 19"),
        ("timeout_seconds = 60", "timeout_seconds = 30"),
        ('deny = ["rm", "curl"]', 'deny = ["curl", "rm", "wget"]'),
        ('[tools.lint]\ncommand = ["lint"]\n', ""),
        ("[settings]", "# a remark\n[settings]"),
    ],
)
def test_a_repair_that_may_do_no_more_is_let_through(old: str, new: str) -> None:
    assert wider(old, new) == ()


def test_a_file_that_came_or_went_grants_what_nobody_can_say() -> None:
    assert widenings(None, BASE.encode())
    assert widenings(BASE.encode(), None)
    assert widenings(None, None) == ()


def test_a_file_that_cannot_be_read_is_no_harness() -> None:
    for broken in (b"name = ", b"\xff", b"name = 'a'\nname = 'b'"):
        with pytest.raises(ValueError, match=r".+"):
            widenings(BASE.encode(), broken)
