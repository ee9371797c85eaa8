"""How verified work is delivered from one project: which remote, how pull requests are made, how long it is watched."""

import re
from dataclasses import dataclass, field

from workloop.domain.reader import Json, Reader, bad

WATCH_SECONDS_MAX = 90 * 86_400.0
EVERY_SECONDS_MAX = 7 * 86_400.0
FIELDS = "number,url,state,headRefOid,baseRefName,mergeable,mergeStateStatus,isDraft,mergeCommit,statusCheckRollup"
LIST = ("gh", "pr", "list", "--head", "{branch}", "--base", "{base}", "--state", "all", "--json", FIELDS)
CREATE = ("gh", "pr", "create", "--head", "{branch}", "--base", "{base}", "--title", "{title}", "--body", "{body}")
MERGE = ("gh", "pr", "merge", "{number}", "--merge", "--match-head-commit", "{sha}")
IN_BRACES = re.compile(r"\{(\w+)\}")
LOOKED_FOR = ("branch", "base", "sha")
OFFERED = (*LOOKED_FOR, "title", "body")
FILLED = {"find": LOOKED_FOR, "open": OFFERED, "merge": (*OFFERED, "number")}
"""What is filled into each command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestConfig:
    """The commands by which pull requests are found, opened and merged; words in braces are filled in."""

    find: tuple[str, ...] = LIST
    open: tuple[str, ...] = CREATE
    merge: tuple[str, ...] = MERGE
    auto_merge: bool = False
    allow_unchecked: bool = False
    poll_seconds: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingConfig:
    """What landing needs beyond the campaign's word for it.

    A result that landed is watched for so long: its guards run again on the integration branch when that moved, and no
    oftener than `watch_every_seconds`. 0 watches nothing. `environment` names the variables that git and the commands
    for pull requests may see. With `salvage`, unfinished work is sent to the remote, too, beside its branches.
    """

    remote: str = "origin"
    environment: tuple[str, ...] = ()
    watch_seconds: float = 86_400.0
    watch_every_seconds: float = 900.0
    salvage: bool = False
    pull_requests: PullRequestConfig = field(default_factory=PullRequestConfig)


def read_landing(value: Json, path: str = "landing") -> LandingConfig:
    """Read how one project's work is delivered."""
    if value is None:
        return LandingConfig()
    reader, usual = Reader(value, path), LandingConfig()
    config = LandingConfig(
        remote=reader.text("remote", default=usual.remote),
        environment=reader.texts("environment"),
        watch_seconds=reader.number(
            "watch_seconds", default=usual.watch_seconds, lowest=0.0, highest=WATCH_SECONDS_MAX
        ),
        watch_every_seconds=reader.number(
            "watch_every_seconds", default=usual.watch_every_seconds, lowest=0.0, highest=EVERY_SECONDS_MAX
        ),
        salvage=reader.flag("salvage"),
        pull_requests=read_pull_requests(reader.take("pull_requests"), reader.at("pull_requests")),
    )
    reader.done()
    if config.remote.startswith("-"):
        raise bad(reader.at("remote"), "looks like an option", hint="name a remote, or give its address")
    return config


def read_pull_requests(value: Json, path: str) -> PullRequestConfig:
    """Read by which commands pull requests are made."""
    if value is None:
        return PullRequestConfig()
    reader, usual = Reader(value, path), PullRequestConfig()
    config = PullRequestConfig(
        find=reader.texts("find") or usual.find,
        open=reader.texts("open") or usual.open,
        merge=reader.texts("merge") or usual.merge,
        auto_merge=reader.flag("auto_merge"),
        allow_unchecked=reader.flag("allow_unchecked"),
        poll_seconds=reader.number("poll_seconds", default=usual.poll_seconds, lowest=0.05, highest=3600.0),
    )
    reader.done()
    check_commands(config, reader)
    return config


def check_commands(config: PullRequestConfig, reader: Reader) -> None:
    """Refuse words in braces that nothing fills, and a command that is never run."""
    for key, words in (("find", config.find), ("open", config.open), ("merge", config.merge)):
        for number, word in enumerate(words):
            unknown = [name for name in IN_BRACES.findall(word) if name not in FILLED[key]]
            if unknown:
                known = ", ".join(f"{{{name}}}" for name in FILLED[key])
                hint = f"known here: {known}; what needs other braces belongs into a script"
                raise bad(f"{reader.at(key)}[{number}]", f"nothing fills {{{unknown[0]}}}", hint=hint)
    if reader.values.get("merge") is not None and not config.auto_merge:
        raise bad(reader.at("merge"), "does nothing without auto_merge = true", hint="set auto_merge, or leave it out")
