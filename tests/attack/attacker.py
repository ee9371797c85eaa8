"""An agent that attacks everything around it, tells what each attack brought, and then hands in an honest change."""

import json
import sys
from pathlib import Path

import git_attacks
import machine_attacks
from means import ATTACKS, git, results

__all__ = ["ATTACKS", "git_attacks", "machine_attacks"]


def main() -> None:
    facts = json.loads(Path(sys.argv[1]).read_text())
    Path("results.json").write_text(json.dumps(dict(results(facts)), indent=1, default=str))
    Path("thing.txt").write_text("fixed\n")
    plain = ("-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "-c", "filter.evil.clean=cat")
    git(*plain, "add", "results.json", "thing.txt", "store-link")
    git(*plain, "commit", "-q", "-m", "work")


if __name__ == "__main__":
    main()
