"""A stand-in for `gh`: pull requests as a JSON file beside a bare repository, told in gh's own words."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PLACE = Path(os.environ["FORGE"])
BARE = os.environ["FORGE_BARE"]


def git(*arguments: str) -> str:
    """Ask the bare repository."""
    argv = ["git", "-C", BARE, "-c", "user.name=Forge", "-c", "user.email=forge@example.org", *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def head(branch: str) -> str:
    """Return where a branch is."""
    return git("rev-parse", f"refs/heads/{branch}")


def option(name: str) -> str:
    """Return the value of an option."""
    return sys.argv[sys.argv.index(name) + 1]


def main() -> int:
    """Do what the words say, while nobody else changes what the forge knows."""
    with PLACE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return answered()


def answered() -> int:
    """Do what the words say, unless the forge is to fail."""
    forge: dict[str, Any] = json.loads(PLACE.read_text()) if PLACE.exists() else {}
    forge.setdefault("pulls", [])
    forge.setdefault("calls", []).append(sys.argv[2])
    code = forge.get("fails", {}).get(sys.argv[2], 0)
    if code:
        sys.stderr.write("the forge is on fire\n")
    else:
        code = {"list": listed, "create": created, "merge": merged}[sys.argv[2]](forge)
    PLACE.write_text(json.dumps(forge))
    return code


def listed(forge: dict[str, Any]) -> int:
    """Tell of a branch's pull requests."""
    sys.stderr.write("A new release of gh is available\n")
    found = [pull for pull in forge["pulls"] if pull["headRefName"] == option("--head")]
    for pull in found:
        if pull["state"] == "OPEN" and "fixedHead" not in pull:
            pull["headRefOid"] = head(pull["headRefName"])
    fields = option("--json").split(",")
    sys.stdout.write(forge.get("raw") or json.dumps([{name: pull.get(name) for name in fields} for pull in found]))
    return 0


def created(forge: dict[str, Any]) -> int:
    """Open a pull request."""
    number = len(forge["pulls"]) + 1
    url = f"https://forge.example/pull/{number}"
    pull: dict[str, Any] = {
        "number": number,
        "url": url,
        "state": "OPEN",
        "headRefName": option("--head"),
        "headRefOid": head(option("--head")),
        "baseRefName": option("--base"),
        "title": option("--title"),
        "body": option("--body"),
        "mergeable": "UNKNOWN",
        "mergeStateStatus": "UNKNOWN",
        "isDraft": False,
        "mergeCommit": None,
        "statusCheckRollup": [],
        **forge.get("opened", {}),
    }
    forge["pulls"].append(pull)
    sys.stdout.write(url + "\n")
    return 0


def merged(forge: dict[str, Any]) -> int:
    """Merge, or only promise to, as with auto-merge."""
    pull = next(pull for pull in forge["pulls"] if pull["number"] == int(sys.argv[3]))
    if option("--match-head-commit") != head(pull["headRefName"]):
        sys.stderr.write("head moved\n")
        return 1
    if forge.get("promises"):
        return 0
    tip, mine = head("main"), head(pull["headRefName"])
    tree = git("merge-tree", "--write-tree", tip, mine)
    parents = ["-p", tip] if forge.get("squashes") else ["-p", tip, "-p", mine]
    sha = git("commit-tree", tree, *parents, "-m", pull["title"])
    git("update-ref", "refs/heads/main", sha)
    pull.update(state="MERGED", mergeCommit={"oid": sha}, headRefOid=mine)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
