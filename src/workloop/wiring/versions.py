"""How an agent program's version is asked for, and what a loop makes of one that nobody tested."""

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from workloop.config import DriverConfig
from workloop.domain.errors import BadRequest, Fault
from workloop.domain.versions import VersionPolicy
from workloop.runner.command import Command, run_command
from workloop.runner.harness.port import Harness
from workloop.runner.versions import VersionVerdict, judge_version
from workloop.wiring.planning import visible_to

VERSION_SECONDS = 20.0


def version_of(name: str, harness: Harness, argv: tuple[str, ...], visible: Mapping[str, str]) -> VersionVerdict | None:
    """Run what prints a program's version, within bounds; None when it does not run."""
    with tempfile.TemporaryDirectory(prefix="workloop-version-") as made:
        folder = Path(made)
        order = Command(
            command=argv,
            folder=folder,
            cwd=folder,
            log_path=folder / "version.log",
            timeout_seconds=VERSION_SECONDS,
            env=visible,
        )
        end = run_command(order)
    if end.exit_code != 0:
        return None
    return judge_version(name, end.output_tail, harness.tested_versions)


def vet_versions(
    config: DriverConfig,
    names: Iterable[str],
    harnesses: Mapping[str, Harness],
    environment: Mapping[str, str],
    tell: Callable[[str, Mapping[str, Any]], None],
) -> None:
    """Tell of the named agents in untested versions, or raise BadRequest where the policy refuses them.

    A program that is missing or does not run is left to its first session, which says so better.
    """
    policy = config.untested_versions
    for name in names if policy is not VersionPolicy.ALLOW else ():
        harness = harnesses.get(name)
        if harness is None or not harness.tested_versions:
            continue
        visible = visible_to(config, name, environment)
        try:
            verdict = version_of(name, harness, harness.version_command(visible), visible)
        except Fault as missing:
            tell("version", {"harness": name, "remark": missing.message})
            continue
        if verdict is not None and not verdict.allows(policy):
            known = " or ".join(harness.tested_versions)
            hint = f'install {known}, or set loop.untested_versions = "allow"'
            raise BadRequest("VERSION_UNTESTED", verdict.sentence, hint=hint, field=f"harness.{name}")
        if verdict is not None and verdict.warns(policy):
            tell("version", {"harness": name, "remark": verdict.sentence})
