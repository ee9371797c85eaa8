"""How what is known of checks and gates reads for people."""

from workloop.interfaces.cli.layout import Facts, columns, pairs

TAIL_LINES = 4


def gates(facts: Facts) -> list[str]:
    """Write what the gates let through, and what they kept out that they should not."""
    lines = [f"{row['case']}: wrong: {', '.join(row['gates'])}" for row in facts["cases"] if not row["as_it_should"]]
    lines += [f"{row['case']}: not tried: {row['why']}" for row in facts["left_out"]]
    for kind, wrong in (("lies", "false_passes"), ("honest", "false_refusals")):
        lines.append(f"{wrong.replace('_', ' ')}: {len(facts[wrong])} of {facts[kind]}")
    return [*lines, f"sandbox: {facts['sandbox']}"]


def tails(row: Facts) -> list[str]:
    """Write the last lines that a check printed, on the base and on the spoilt one."""
    found: list[str] = []
    for name, where in (("output", "base"), ("spoilt_output", "spoilt base")):
        last = [line.rstrip() for line in (row[name] or "").splitlines() if line.strip()][-TAIL_LINES:]
        found += ["", f"{row['check']} on the {where}:", *(f"  {line}" for line in last)] if last else []
    return found


def proofs(facts: Facts) -> list[str]:
    """Write which checks were seen to fail, and what keeps the others from judging."""
    lines = columns(("check", "kind", "on_base", "control", "spoilt", "seen_red", "problem"), facts["checks"])
    if not facts["checks"]:
        lines = ["no checks"]
    lines += [line for row in facts["checks"] for line in tails(row)]
    if "results" in facts:
        lines += ["", *(f"not looked at, for it changes {path}" for path in facts["violations"])]
        lines += columns(("check", "outcome", "green", "reason"), facts["results"]) if facts["results"] else []
    return [*lines, *pairs({"base": facts["base"], "sandbox": facts["sandbox"]})]
