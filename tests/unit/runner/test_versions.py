"""An untested version of an agent program is judged, and the policy decides."""

import pytest

from workloop.domain.versions import VersionPolicy
from workloop.runner.versions import VersionStanding, judge_version, version_in

TESTED = ("2.1.197", "2.1.332")


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("2.1.332 (Claude Code)\n", "2.1.332"),
        ("codex-cli 0.171.0", "0.171.0"),
        ("codex-cli 0.172.0-alpha.3\n", "0.172.0-alpha.3"),
        ("v1.18.33", "1.18.33"),
        ("GitHub Copilot CLI 1.0.102.", "1.0.102"),
        ("node-20 tool, no number", ""),
        ("", ""),
        ("1234567890.1", ""),
    ],
)
def test_version_is_found_in_what_a_program_prints(printed: str, version: str) -> None:
    assert version_in(printed) == version


@pytest.mark.parametrize(
    ("printed", "standing", "refused", "told"),
    [
        ("2.1.332 (Claude Code)", VersionStanding.TESTED, False, False),
        ("2.1.400", VersionStanding.NEAR, False, True),
        ("2.1.332-beta.1", VersionStanding.NEAR, False, True),
        ("2.2.0", VersionStanding.UNTESTED, True, True),
        ("3.1.332", VersionStanding.UNTESTED, True, True),
        ("2.10.332", VersionStanding.UNTESTED, True, True),
        ("no idea", VersionStanding.UNKNOWN, True, True),
    ],
)
def test_version_stands_to_the_tested_ones(
    printed: str, standing: VersionStanding, refused: object, told: object
) -> None:
    verdict = judge_version("claude", printed, TESTED)
    assert verdict.standing is standing
    assert verdict.allows(VersionPolicy.REFUSE) is not refused
    assert verdict.allows(VersionPolicy.WARN)
    assert verdict.allows(VersionPolicy.ALLOW)
    assert verdict.warns(VersionPolicy.WARN) is told
    assert verdict.warns(VersionPolicy.ALLOW) is False
    assert verdict.version in verdict.sentence


def test_program_of_the_operator_s_own_is_never_judged() -> None:
    verdict = judge_version("command", "", ())
    assert verdict.standing is VersionStanding.UNJUDGED
    assert verdict.allows(VersionPolicy.REFUSE)
    assert not verdict.warns(VersionPolicy.WARN)
