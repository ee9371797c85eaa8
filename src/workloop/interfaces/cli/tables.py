"""How answers read for people: plain text, columns that fit the terminal, nothing that could steer it."""

import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from workloop.domain.session import printable

Facts = Mapping[str, Any]
LAST_COLUMN_MIN = 20


def text_of(action: str, facts: Facts) -> str:
    """Write one answer."""
    writer = WRITERS.get(action, general)
    return printable("\n".join(writer(facts)))


def one_line(value: object) -> str:
    """Write a value so that it stays in its cell."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(printable(str(value)).split())


def width_of(text: str) -> int:
    """Return how many columns a terminal needs for a text."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) != 0 for character in text)


def cut(text: str, columns: int) -> str:
    """Shorten a text to so many columns."""
    if width_of(text) <= columns:
        return text
    while text and width_of(text) > columns - 1:
        text = text[:-1]
    return text + "…"


def columns(names: Sequence[str], rows: Iterable[Facts]) -> list[str]:
    """Lay rows out in columns; on a terminal the last one takes what is left of it, elsewhere all it needs."""
    cells = [[name.upper().replace("_", " ") for name in names]]
    cells += [[one_line(row.get(name)) for name in names] for row in rows]
    widths = [max(width_of(line[number]) for line in cells) for number in range(len(names))]
    whole = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else sys.maxsize
    left = whole - sum(widths[:-1]) - 2 * (len(names) - 1)
    lines: list[str] = []
    for line in cells:
        padded = [cell + " " * (widths[number] - width_of(cell)) for number, cell in enumerate(line[:-1])]
        lines.append("  ".join([*padded, cut(line[-1], max(LAST_COLUMN_MIN, left))]).rstrip())
    return lines


def pairs(facts: Facts, names: Iterable[str] = ()) -> list[str]:
    """Write facts one a line, their names aligned; what is empty is left out."""
    chosen = [name for name in (names or facts) if facts.get(name) not in (None, "", [], {})]
    widest = max((len(name) for name in chosen), default=0)
    return [f"{name.replace('_', ' ') + ':':<{widest + 1}} {short(facts[name])}" for name in chosen]


def short(value: object) -> str:
    """Write a value on one line, lists and objects flat."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return ", ".join(f"{name} {short(inner)}" for name, inner in members.items())
    if isinstance(value, list):
        return ", ".join(short(inner) for inner in cast("list[object]", value))
    return one_line(value)


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
        lines.append(f"question on {question['key']}: {one_line(question['asks'])}")
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
        lines += [f"- {one_line(reason['message'])}", f"  do: {one_line(reason['unblock'])}"]
    return lines


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
        "sandbox: none: sessions and checks run as you, with your rights, and every claim and receipt says so",
        f"next: {facts['next']}",
    ]


WRITERS = {
    "list": listing,
    "status": status,
    "why": why,
    "claim": claim,
    "verify": claim,
    "show": show,
    "add_items": added,
    "init": init,
}
