"""How answers about runtimes, and about a campaign that is to get its first, read for people."""

from workloop.interfaces.cli.layout import Facts, columns, one_line, pairs


def runtimes(facts: Facts) -> list[str]:
    """Write the list of all runtimes, the one in force with a mark."""
    if not facts["runtimes"]:
        return ["no runtimes: workloop runtime build REPO SHA"]
    rows = [{**row, "in_force": "yes" if row["current"] else ""} for row in facts["runtimes"]]
    return columns(("id", "commit", "files", "bytes", "in_force"), rows)


def runtime(facts: Facts) -> list[str]:
    """Write one runtime."""
    lines = pairs({**facts, "entries": None})
    return [*lines, "", *columns(("mode", "size", "sha256", "path"), facts["entries"])] if "entries" in facts else lines


def verified(facts: Facts) -> list[str]:
    """Write what became of looking at runtimes again."""
    lines = [f"sound: {row['id']}" if row["sound"] else f"damaged: {one_line(row['why'])}" for row in facts["runtimes"]]
    return lines or ["no runtimes"]


def begun(facts: Facts) -> list[str]:
    """Write what a first campaign consists of, and one step a line of what to do next."""
    return [*pairs({**facts, "next": None}), *(f"next: {step}" for step in facts["next"])]


RUNTIME_WRITERS = {"runtimes": runtimes, "runtime": runtime, "runtime verify": verified, "repair init": begun}
