"""What a caller asks for when it adds an item: strictly read, nothing guessed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from workloop.domain.checks import Check, CheckKind
from workloop.domain.clock import Instant
from workloop.domain.contract import SLOT_KINDS, EvidenceSlot, OutcomeKind
from workloop.domain.ids import own_key, slug, spelling
from workloop.domain.item import Verification
from workloop.domain.lease import LEASE_SECONDS_MAX
from workloop.domain.rank import PRIORITY_HIGHEST_NUMBER, PRIORITY_LOWEST_NUMBER
from workloop.domain.reader import TEXT_CHARACTERS_MAX, Json, Reader, bad, one_of, read_instant, storable

CHECK_TIMEOUT_SECONDS_MAX = 24 * 3600.0
CHECK_RUNS_MAX = 10
UNTIL = ("candidate", "verified", "landed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A dependency by key; an empty `until` leaves the choice to the campaign."""

    key: str
    until: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewItem:
    """One item as asked for; None means that the campaign's default holds."""

    key: str
    raw_key: str
    title: str
    objective: str
    family: str | None = None
    subject: str | None = None
    priority: int | None = None
    source_refs: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    lane: str | None = None
    checks: tuple[Check, ...] = ()
    evidence: tuple[EvidenceSlot, ...] = ()
    outcomes: tuple[OutcomeKind, ...] = ()
    authority_allow: tuple[str, ...] = ()
    authority_deny: tuple[str, ...] = ()
    boundaries: tuple[str, ...] | None = None
    versions: dict[str, str] = field(default_factory=dict[str, str])
    protected: tuple[str, ...] = ()
    verification: Verification | None = None
    waived: tuple[str, ...] = ()
    lease_seconds: int | None = None
    attempts_max: int | None = None
    expiries_max: int | None = None
    rounds_max: int | None = None
    depends_on: tuple[Need, ...] = ()
    not_before: Instant | None = None


def read_new_item(value: Json, path: str) -> NewItem:
    """Read one item; raises BadRequest naming the field that is wrong or unknown."""
    reader = Reader(value, path)
    title = reader.text("title", longest=300)
    raw_key = reader.text("key") or reader.text("canonical_key") or slug(title, 60)
    if not title and not raw_key:
        raise bad(reader.at("title"), "is required", hint="give the item a title, a key, or both")
    if "\n" in title:
        raise bad(reader.at("title"), "has more than one line", hint="put the details into objective")
    written = reader.values
    reader.taken |= NAMES
    reader.done()
    present = {name: read(reader) for name, read in FIELDS.items() if name in written}
    if "checks" in written or "guards" in written:
        present["checks"] = read_checks(reader)
    if "waive" in written:
        present["waived"] = read_waivers(reader)
    item = NewItem(
        key=own_key(raw_key),
        raw_key=raw_key,
        title=title or raw_key,
        objective=reader.text("objective", default=title),
        **present,
    )
    if (item.family is None) != (item.subject is None):
        raise bad(reader.at("family"), "family and subject go together", hint="give both or neither")
    return item


def optional_whole(reader: Reader, name: str, lowest: int, highest: int, code: str = "BAD_REQUEST") -> int | None:
    """Read a whole number that may be absent."""
    if reader.values.get(name) is None:
        reader.take(name)
        return None
    return reader.whole(name, default=lowest, lowest=lowest, highest=highest, code=code)


def read_outcomes(reader: Reader) -> tuple[OutcomeKind, ...]:
    """Read what may be handed in."""
    return tuple(one_of(reader, "outcomes", OutcomeKind, text) for text in reader.texts("outcomes"))


def read_verification(reader: Reader) -> Verification | None:
    """Read who must confirm the result."""
    text = reader.text("verification")
    return one_of(reader, "verification", Verification, text) if text else None


def read_checks(reader: Reader) -> tuple[Check, ...]:
    """Read `checks` (which prove) and `guards` (which hold before and after)."""
    checks: list[Check] = []
    for name, kind, letter in (("checks", CheckKind.PROVES, "check"), ("guards", CheckKind.GUARDS, "guard")):
        for number, (path, value) in enumerate(entries(reader, name), start=1):
            checks.append(read_one_check(value, path, kind, f"{letter}-{number}"))
    seen: set[str] = set()
    for check in checks:
        if check.id in seen:
            raise bad(reader.at("checks"), f"id {check.id!r} is used twice", hint="give each check its own id")
        seen.add(check.id)
    return tuple(checks)


def entries(reader: Reader, name: str) -> Sequence[tuple[str, Json]]:
    """Return a list's entries; one text alone counts as a list of one."""
    value = reader.values.get(name)
    if isinstance(value, str):
        reader.take(name)
        return [(f"{reader.at(name)}[0]", value)]
    return list(reader.entries(name))


def read_one_check(value: Json, path: str, kind: CheckKind, default_id: str) -> Check:
    """Read one check: a shell command, or an object with command, id, kind, timeout_seconds, cwd, control and runs."""
    if isinstance(value, str):
        shell = value.strip()
        if shell and len(shell) <= TEXT_CHARACTERS_MAX:
            return Check(id=default_id, kind=kind, command=storable(shell, f"{path}.command"))
        value = {"command": value}
    reader = Reader(value, path)
    command = read_command(reader, "command")
    if command is None:
        raise bad(reader.at("command"), "is required", hint="give the shell command that decides")
    text = reader.text("kind")
    check = Check(
        id=reader.text("id", default=default_id, longest=100),
        kind=one_of(reader, "kind", CheckKind, text) if text else kind,
        command=command,
        timeout_seconds=reader.number(
            "timeout_seconds", default=600.0, lowest=0.001, highest=CHECK_TIMEOUT_SECONDS_MAX
        ),
        cwd=reader.text("cwd", default="."),
        red_on_base=reader.flag("red_on_base", default=True),
        red_exit_codes=read_exit_codes(reader),
        control=read_command(reader, "control"),
        runs=reader.whole("runs", default=1, lowest=1, highest=CHECK_RUNS_MAX),
    )
    reader.done()
    if outside(check.cwd):
        raise bad(reader.at("cwd"), "leaves the repository", hint="name a folder inside it")
    return check


def read_command(reader: Reader, name: str) -> str | tuple[str, ...] | None:
    """Read a command: a text for the shell, or a list of arguments."""
    if isinstance(reader.values.get(name), str):
        return reader.text(name, required=True)
    return reader.texts(name) or None


def read_exit_codes(reader: Reader) -> tuple[int, ...]:
    """Read the exit codes that mean a failed assertion."""
    codes: list[int] = []
    for path, value in reader.entries("red_exit_codes"):
        if isinstance(value, bool) or not isinstance(value, int) or value not in range(1, 126):
            raise bad(path, "expected an exit code from 1 to 125")
        codes.append(value)
    return tuple(codes) or (1,)


def outside(path: str) -> bool:
    """Tell whether a relative path leads out of the tree it belongs to."""
    return path.startswith(("/", "~")) or ".." in path.split("/")


def read_protected(reader: Reader) -> tuple[str, ...]:
    """Read the paths a worker may not change."""
    paths = reader.texts("protected")
    for path in paths:
        if outside(path):
            raise bad(reader.at("protected"), f"{path!r} leaves the repository", hint="name a path inside it")
    return paths


def read_slots(reader: Reader) -> tuple[EvidenceSlot, ...]:
    """Read the evidence that a completion must bring: a name, or an object with id, kinds and live."""
    slots: list[EvidenceSlot] = []
    for path, value in reader.entries("evidence"):
        slot = Reader({"id": value} if isinstance(value, str) else value, path)
        kinds = slot.texts("kinds") or SLOT_KINDS
        refused = [kind for kind in kinds if kind not in SLOT_KINDS]
        if refused:
            raise bad(slot.at("kinds"), f"{refused[0]!r} fills no slot", hint=f"use {', '.join(SLOT_KINDS)}")
        name = slot.text("id", required=True, longest=100)
        slots.append(EvidenceSlot(id=name, kinds=tuple(kinds), live=slot.flag("live")))
        slot.done()
    return tuple(slots)


def read_waivers(reader: Reader) -> tuple[str, ...]:
    """Read which default checks or slots do not apply; each waiver says why."""
    waived: list[str] = []
    for path, value in reader.entries("waive"):
        waiver = Reader(value, path)
        waived.append(f"{waiver.text('id', required=True)}: {waiver.text('reason', required=True)}")
        waiver.done()
    return tuple(waived)


def read_needs(reader: Reader) -> tuple[Need, ...]:
    """Read the dependencies: a key, or an object with key and until."""
    needs: list[Need] = []
    for path, value in entries(reader, "depends_on"):
        need = Reader({"key": value} if isinstance(value, str) else value, path)
        until = need.text("until")
        if until and until not in UNTIL:
            raise bad(need.at("until"), f"{until!r} is not one of {', '.join(UNTIL)}")
        needs.append(Need(key=spelling(need.text("key", required=True)), until=until))
        need.done()
    return tuple(needs)


FIELDS: Final[Mapping[str, Callable[[Reader], Any]]] = {
    "family": lambda reader: reader.optional_text("family"),
    "subject": lambda reader: reader.optional_text("subject"),
    "priority": lambda reader: optional_whole(
        reader, "priority", PRIORITY_LOWEST_NUMBER, PRIORITY_HIGHEST_NUMBER, "BAD_PRIORITY"
    ),
    "source_refs": lambda reader: reader.texts("source_refs"),
    "tools": lambda reader: reader.texts("tools"),
    "lane": lambda reader: reader.optional_text("lane"),
    "evidence": read_slots,
    "outcomes": read_outcomes,
    "authority_allow": lambda reader: reader.texts("authority_allow"),
    "authority_deny": lambda reader: reader.texts("authority_deny"),
    "boundaries": lambda reader: reader.texts("boundaries"),
    "versions": lambda reader: reader.table("versions"),
    "protected": read_protected,
    "verification": read_verification,
    "lease_seconds": lambda reader: optional_whole(reader, "lease_seconds", 1, LEASE_SECONDS_MAX),
    "attempts_max": lambda reader: optional_whole(reader, "attempts_max", 1, 100),
    "expiries_max": lambda reader: optional_whole(reader, "expiries_max", 1, 100),
    "rounds_max": lambda reader: optional_whole(reader, "rounds_max", 1, 20),
    "depends_on": read_needs,
    "not_before": lambda reader: read_instant(reader, "not_before"),
}
"""How each field is read when it is there; a list of items has few of them, and the others cost nothing."""
NAMES: Final = frozenset({"key", "canonical_key", "title", "objective", "checks", "guards", "waive", *FIELDS})
