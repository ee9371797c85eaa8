"""What is logged holds no secret, and what is not logged is not touched."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloop.domain.redaction import MARK, TEXT_CHARACTERS_MAX, VALUES_MAX, Redactor, secrets_in

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123456789\nabcdefghijkl==\n-----END RSA PRIVATE KEY-----"
MULTI = "first line of a secret\nsecond line of a secret\nab"


def test_n02_a_secret_is_taken_out_of_names_and_values_however_deep() -> None:
    """An event's facts are tables in tables."""
    redactor = Redactor(["hunter2-hunter2"])
    facts = {"detail": "said hunter2-hunter2", "tail": [{"hunter2-hunter2": ("x", "hunter2-hunter2")}], "pid": 4}
    told = redactor.facts(facts)
    assert "hunter2" not in json.dumps(told)
    assert told["pid"] == 4


@pytest.mark.parametrize(
    "shown",
    [
        MULTI,
        f"export KEY={MULTI}; run",
        json.dumps({"key": MULTI}),
        MULTI.replace("\n", "\r\n"),
        "log: second line of a secret (cut)",
        "\x1b[31mfirst line \x1b[0mof a secret",
    ],
)
def test_n02_a_secret_of_several_lines_is_found_whole_encoded_and_line_by_line(shown: str) -> None:
    """A log is written line by line."""
    told = Redactor([MULTI]).text(shown)
    assert "line of a secret" not in told
    assert MARK in told


@pytest.mark.parametrize(
    "secret",
    [
        KEY,
        "sk-ant-api03-abcdefghijklmnopqrstuvwxyz",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.abcdefghijk",
    ],
)
def test_n02_a_text_that_looks_like_a_key_is_taken_out_though_nobody_named_it(secret: str) -> None:
    """An agent may print what we never knew."""
    told = Redactor().text(f"before {secret} after")
    assert secret not in told
    assert (told.startswith("before "), told.endswith(" after")) == (True, True)


def test_n02_what_follows_bearer_or_stands_before_a_host_is_taken_out() -> None:
    """Headers and addresses carry credentials."""
    told = Redactor().text("Authorization: Bearer abc.def-ghi123 from https://me:pass@host/x")
    assert told == f"Authorization: Bearer {MARK} from https://{MARK}@host/x"


def test_n03_ordinary_words_and_code_stay_as_they_are() -> None:
    """Over-eager redaction makes a log useless."""
    text = "token = read_token(path)  # risk-based sk-x, 0123456789abcdef0123456789abcdef01234567\nPASSWORD: required"
    assert Redactor(["", "abc", "  "]).text(text) == text


def test_a_secret_at_the_cut_leaves_no_half_of_itself() -> None:
    """The bound must not do what the redaction prevents."""
    secret = "0123456789" * 4
    told = Redactor([secret]).text("x" * (TEXT_CHARACTERS_MAX - 15) + secret + "y" * 1000)
    assert "0123456" not in told
    assert len(told) < TEXT_CHARACTERS_MAX + 20


def test_what_is_known_is_bounded_and_the_oldest_is_let_go() -> None:
    """Every session has a token of its own, for weeks."""
    redactor = Redactor(f"token-number-{number}" for number in range(VALUES_MAX + 1))
    assert len(redactor.values) == VALUES_MAX
    assert redactor.text(f"token-number-{VALUES_MAX}") == MARK
    redactor.learn(["the-newest-secret"])
    assert redactor.text("the-newest-secret") == MARK


def test_secrets_of_an_environment_are_found_by_their_names() -> None:
    """The operator names variables, not values."""
    found = secrets_in({"ANTHROPIC_API_KEY": "one", "GH_TOKEN": "two", "PATH": "three"})
    assert found == ("one", "two")


@given(st.text(min_size=6).filter(lambda text: len(text.strip()) >= 6), st.text(), st.text())
def test_no_known_secret_survives_whatever_stands_around_it(secret: str, before: str, after: str) -> None:
    """Neighbours change nothing."""
    redactor = Redactor([secret])
    told = redactor.text(before + secret + after)
    assert all(value not in told for value in redactor.values if value not in MARK and MARK not in value)
