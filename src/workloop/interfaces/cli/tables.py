"""How each answer reads for people; nothing in it could steer a terminal."""

from workloop.domain.session import printable
from workloop.interfaces.cli import check_tables, costtables
from workloop.interfaces.cli.layout import Facts, block, columns, one_line, pairs, short
from workloop.interfaces.cli.runtime_tables import RUNTIME_WRITERS

WORDS_SHOWN = 200


def text_of(action: str, facts: Facts) -> str:
    """Write one answer."""
    writer = WRITERS.get(action, general)
    return printable("\n".join(writer(facts)))


def general(facts: Facts) -> list[str]:
    """Write any answer."""
    return pairs(facts) or ["done"]


def listing(facts: Facts) -> list[str]:
    """Write a list of items."""
    rows = facts["items"]
    if not rows:
        return ["no items"]
    lines = columns(("key", "role", "state", "priority", "attempts", "title"), rows)
    if facts.get("more"):
        further = f"{facts['further']} more" if "further" in facts else "more"
        lines += ["", f"{further}: workloop list --after {facts['after']}, or a larger --limit; --state narrows it"]
        lines += pairs(facts, ("counts",))
    return lines


def status(facts: Facts) -> list[str]:
    """Write how a campaign stands: problems first; follow-ups are no work of their own."""
    lines = [f"campaign {facts['campaign']} is {facts['state']}" + because(facts.get("pause_reason"))]
    for question in facts["questions"]:
        lines += block(f"question on {question['key']}: ", question["asks"])
        lines.append(f"  answer it: workloop answer {question['key']} TEXT")
    lines += [f"failed: {row['key']}: {one_line(row['why'])}" for row in facts["failed"]]
    lines += [f"stuck: {row['key']} waits for {row['behind']}" for row in facts["stuck"]]
    waiting, work = facts["waiting"], facts["work"]
    lines += pairs(
        {
            "work": {"in all": sum(work.values()), **work},
            "follow_ups": facts["follow_ups"],
            "claimable": facts["claimable"],
            "waiting": {"blocked": waiting["blocked"], "delayed": waiting["delayed"]},
            "slots": f"{facts['slots_free']} of {facts['slots']} free",
            "lanes": facts["lanes"],
            "to_land": facts.get("to_land"),
            "next_wake": facts["next_wake"],
        }
    )
    if facts["claims"]:
        lines += ["", *columns(("key", "role", "holder", "sandbox", "lease_until", "live"), facts["claims"])]
    return lines


def because(reason: object) -> str:
    """Add a reason when there is one."""
    return f": {one_line(reason)}" if reason else ""


def why(facts: Facts) -> list[str]:
    """Write why an item stands where it stands."""
    lines = [f"{facts['key']} is {facts['state']}" + (", claimable now" if facts["claimable"] else "")]
    for reason in facts["reasons"]:
        lines += [*block("- ", reason["message"]), f"  do: {one_line(reason['unblock'])}"]
    return lines


def looped(facts: Facts) -> list[str]:
    """Write why an item stands where it stands, and what the loop last did about it."""
    loop: Facts = facts.get("loop", {})
    lines = why(facts)
    if loop.get("unknown"):
        lines.append(f"what the loop did about it cannot be read: {one_line(loop['unknown'])}")
    if loop.get("gone"):
        lines.append(one_line(loop["gone"]))
    if loop.get("decision"):
        lines.append(f"loop: {decided(loop['decision'])}")
        lines += again(loop["decision"])
    if loop.get("session"):
        lines += session_lines(loop["session"], gone=bool(loop.get("gone")))
    return lines


def decided(facts: Facts) -> str:
    """Write a decision of the loop in one line."""
    often = f", {facts['times']} times since {facts['since']}" if facts["times"] > 1 else ""
    words = one_line(facts["message"] or facts["code"])
    return f"{facts['verb']} at {facts['last_at']}{often}: {words}"


def again(facts: Facts) -> list[str]:
    """Write what a person may do about what waits, and when it is tried again."""
    lines = [f"  do: {one_line(facts['unblock'])}"] if facts["unblock"] else []
    return lines + ([f"  again: {facts['wakes_at']}"] if facts["verb"] == "wait" and facts["wakes_at"] else [])


def session_lines(facts: Facts, *, gone: bool) -> list[str]:
    """Write in short how a session went; without its loop none runs."""
    going = "was left open" if gone else "runs"
    end = f"ended as {facts['class'] or 'unknown'}" if facts["ended_at"] else going
    lines = [f"session {facts['session']} on {facts['harness']} began {facts['began_at']}, {end}"]
    lines += [f"  {name}: {one_line(facts[name])}" for name in ("detail", "last_words") if facts.get(name)]
    return lines


def why_loop(facts: Facts) -> list[str]:
    """Write why a target or the loop does what it does, when it looks again, and what would change that."""
    name = f"target {facts['target']}" if "target" in facts else "the loop"
    lines = [f"{name}: {facts['state']}"]
    for reason in facts["reasons"]:
        lines.append(f"- {one_line(reason['message'])}")
        lines += [f"  do: {one_line(reason['unblock'])}"] if reason["unblock"] else []
    lines += pairs(facts, ("wakes_at", "fruitless", "not_before", "served_at"))
    if facts.get("targets"):
        lines += ["", *columns(("target", "state", "code", "message"), facts["targets"])]
    return lines


def sessions(facts: Facts) -> list[str]:
    """Write a list of sessions."""
    if not facts["sessions"]:
        return ["no sessions"]
    going = "left open" if facts["loop_gone"] else "runs"
    rows = [{**row, "class": row["class"] or going, "words": said(row)} for row in facts["sessions"]]
    cells = (
        "session",
        "began_at",
        "seconds",
        "target",
        "item",
        "phase",
        "harness",
        "class",
        "settled",
        "tokens",
        "words",
    )
    return [*columns(cells, rows), *(["", "more: a larger --limit"] if facts["more"] else [])]


def said(row: Facts) -> str:
    """Return what tells most about a session in one line."""
    return one_line(row["detail"] or row["last_words"] or "")[:WORDS_SHOWN]


def session(facts: Facts) -> list[str]:
    """Write one session whole, its last words left to its events."""
    return [*pairs({name: value for name, value in facts.items() if name != "last_words"}), ""]


def session_event(facts: Facts) -> list[str]:
    """Write one event of a session."""
    first, *rest = str(facts["what"]).splitlines() or [""]
    return [f"{facts['kind']}: {first}".rstrip(": "), *(f"  {line}" for line in rest)]


def rates(facts: Facts) -> list[str]:
    """Write how often sessions die, out of how many."""
    if not facts["rates"]:
        return ["no sessions that count"]
    rows = [{**row, "dead": share(row, "dead"), "no_op": share(row, "no_op")} for row in facts["rates"]]
    lines = columns(("harness", "version", "phase", "sessions", "dead", "quiet", "no_op"), rows)
    return [*lines, *(f"suspect: {one_line(found['harness'])}: {found['why']}" for found in facts["suspect"])]


def cost(facts: Facts) -> list[str]:
    """Write what sessions cost."""
    rows = costtables.cost_rows(facts)
    return [*columns(costtables.COSTS, rows), *costtables.cost_words(facts)] if rows else ["no session yet"]


def simulate(facts: Facts) -> list[str]:
    """Write what the open items may cost."""
    rows, sessions = costtables.forecast_rows(facts), costtables.session_rows(facts)
    lines = [*columns(costtables.FORECAST, rows), ""] if rows else []
    lines += [*columns(costtables.SESSIONS, sessions), ""] if sessions else []
    return [*lines, facts["note"]]


def share(row: Facts, name: str) -> str:
    """Write a count with what it is out of, and the share."""
    return f"{row[name]} of {row['sessions']} ({row[name] / row['sessions']:.0%})"


def claim(facts: Facts) -> list[str]:
    """Write what was claimed, or why nothing was."""
    item = facts["item"]
    if item is None:
        return [facts["message"], *pairs(facts, ("reasons", "next_wake"))]
    again = " again" if facts.get("replayed") else ""
    return [
        f"claimed{again} {item['key']} ({item['role']}), attempt {item['attempt']}",
        *pairs(facts, ("token", "lease_until", "beat_seconds", "contract_hash")),
        "",
        *contract(facts["contract"]),
    ]


def contract(values: Facts) -> list[str]:
    """Write a contract."""
    title, objective = str(values.get("title", "")), str(values.get("objective", ""))
    lines = [one_line(title), *(objective.splitlines() if objective != title else ())]
    lines += [f"- {check['kind']} {check['id']}: {short(check['command'])}" for check in values.get("checks", ())]
    rest = {name: value for name, value in values.items() if name not in ("title", "objective", "checks")}
    return [*lines, *pairs(rest)]


SECTIONS = {
    "delivery": ("fact", "known", "at", "by", "ref", "reason"),
    "follow_ups": ("key", "role", "state", "attempts", "title"),
    "needs": ("key", "until", "met"),
    "claims": ("attempt", "holder", "sandbox", "claimed_at", "ended_at", "end"),
    "evidence": ("attempt", "origin", "kind", "slot", "result", "ref"),
    "verdicts": ("round", "outcome", "executor", "failed_checks", "reproduction"),
    "questions": ("name", "kind", "asks", "answer"),
    "facts": ("kind", "at", "ref"),
    "events": ("n", "at", "action", "by", "changes"),
}


def show(facts: Facts) -> list[str]:
    """Write one item whole."""
    plain = [name for name in facts if name not in SECTIONS and name != "contract"]
    lines = [*pairs(facts, plain), "", *contract(facts["contract"])]
    for name, cells in SECTIONS.items():
        rows = [{cell: short(row.get(cell)) for cell in cells} for row in facts.get(name) or ()]
        if rows:
            lines += ["", f"{name.replace('_', ' ')}:", *columns(cells, rows)]
    return lines


def added(facts: Facts) -> list[str]:
    """Write what became of added items."""
    lines = [f"{one_line(row['key'])} {row['result']}, {row['state']}" for row in facts.get("items", ())]
    if len(lines) != 1:
        lines.append(f"{facts['added']} added, {facts['unchanged']} unchanged")
    return lines


def init(facts: Facts) -> list[str]:
    """Write what init made."""
    made = ", ".join(facts["made"])
    return [
        f"made: {made}" if made else "everything was there already",
        *pairs(facts, ("repository", "integration_branch", "campaign", "config", "store")),
        *walls(facts),
        f"next: {facts['next']}",
    ]


def walls(facts: Facts) -> list[str]:
    """Write what sessions and checks run in."""
    if facts["sandbox"] != "none":
        return [f"sandbox: {facts['sandbox']}: sessions and checks see their work and little else"]
    why = one_line(facts.get("sandbox_why", ""))
    lines = [f"sandbox: none: sessions and checks run as you, and every claim and receipt says so ({why})"]
    return [*lines, *([f"      do: {one_line(facts['sandbox_remedy'])}"] if "sandbox_remedy" in facts else [])]


def doctor(facts: Facts) -> list[str]:
    """Write what the doctor found, each with its remedy below it."""
    lines: list[str] = []
    for row in facts["findings"]:
        lines.append(f"{row['level']}  {one_line(row['check'])}: {one_line(row['detail'])}")
        lines += [f"      do: {one_line(row['remedy'])}"] if row["remedy"] else []
    skipped = f"{facts['skip']} SKIP, " if facts["skip"] else ""
    return [*lines, f"{skipped}{facts['pass']} PASS, {facts['warn']} WARN, {facts['fail']} FAIL"]


def size(count: int) -> str:
    """Write a number of bytes."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GiB"


def collected(facts: Facts) -> list[str]:
    """Write what went of the loop's folders, and why the rest stays."""
    done = "would be free" if facts["dry_run"] else "are free now"
    if "outputs" in facts:
        lines = [f"{size(row['bytes']):>8}  {row['path']}" for row in facts["outputs"]]
        return [*lines, f"{size(facts['bytes'])} {done}"]
    rows = [
        {**row, "room": size(row["bytes"]), "what": "removed" if row["removed"] else "goes" if row["goes"] else "stays"}
        for row in facts["folders"]
    ]
    lines = columns(("what", "room", "key", "attempt", "created", "reason"), rows) if rows else ["no folders"]
    return [*lines, f"{size(facts['bytes'])} {done}"]


def salvages(facts: Facts) -> list[str]:
    """Write what was saved, and the trees that hold what could not be saved."""
    lines = (
        columns(("key", "attempt", "saved_at", "ref"), facts["salvages"]) if facts["salvages"] else ["nothing saved"]
    )
    for row in facts["trees"]:
        lines += ["", f"{row['path']} stays: {one_line(row['reason'])}"]
    return lines


def salvage(facts: Facts) -> list[str]:
    """Write one salvage in full."""
    lines = pairs(facts, ("key", "attempt", "saved_at", "ref", "sha", "stood_on"))
    lines += ["", *(one_line(line) for line in facts["said"].splitlines()), ""]
    lines += [f"{row['change']}  {one_line(row['path'])}" for row in facts["files"]]
    return [*lines, "", f"add its changes to the present tree, all or none: {facts['take']}"]


WRITERS = {
    "check prove": check_tables.proofs,
    "bench gates": check_tables.gates,
    "gc": collected,
    "salvages": salvages,
    "salvage": salvage,
    "list": listing,
    "status": status,
    "why": looped,
    "why_loop": why_loop,
    "sessions": sessions,
    "session": session,
    "event": session_event,
    "rates": rates,
    "cost": cost,
    "simulate": simulate,
    "claim": claim,
    "verify": claim,
    "show": show,
    "add_items": added,
    "init": init,
    "doctor": doctor,
    **RUNTIME_WRITERS,
}
