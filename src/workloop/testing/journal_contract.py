"""What any journal must promise, as functions over `open_journal()`, which opens the same journal once more."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from workloop.domain.budget import Payer, ScopeKind
from workloop.domain.charge import Charge, ChargeState
from workloop.domain.charge import Source as ChargeSource
from workloop.domain.clock import Instant
from workloop.domain.gate import Cause, Gate, GateKey, GateState, Source
from workloop.domain.journal import (
    DECISIONS_KEPT,
    FINAL_TEXT_CHARACTERS_MAX,
    LOOP,
    RUNS_KEPT,
    Decision,
    SessionRow,
    Subject,
    SubjectKind,
    TargetRow,
    Verb,
)
from workloop.domain.progress import Pace, Weight
from workloop.domain.session import CUT_MARK, SessionClass, Tokens
from workloop.domain.spend import Amount
from workloop.domain.units import Unit
from workloop.store.journal.port import Journal
from workloop.testing.clocks import BEGINNING
from workloop.testing.store_contract.rows import expect, expect_same

OpenJournal: TypeAlias = Callable[[], Journal]

TARGET = Subject(kind=SubjectKind.TARGET, name="app")
IDLE = Decision(subject=LOOP, verb=Verb.WAIT, code="IDLE", message="0 claimable", unblock="add an item")
STARTED = Decision(subject=TARGET, verb=Verb.START, code="READY", item="key-1", session="s-1")


def at(seconds: int) -> Instant:
    """Return an instant some seconds after the beginning."""
    return Instant(BEGINNING + seconds * 1_000_000)


def a_decision_is_kept_whole(open_journal: OpenJournal) -> None:
    """decide: every field comes back, also to who opens the journal later."""
    given = replace(
        STARTED, message="it is ready", unblock="nothing", wakes_at=at(60), subject=replace(TARGET, target="x")
    )
    expect_same(open_journal().decide([given], at(0)), 1)
    row = open_journal().decision_last(given.subject)
    expect(row is not None and row.decision == given and row.times == 1, f"found {row}")
    expect(row is not None and row.first_at == row.last_at == at(0), "with its instant")


def the_same_decision_is_counted(open_journal: OpenJournal) -> None:
    """decide: one that says the same is only counted, and its newest words and instants are kept."""
    journal = open_journal()
    for second in range(5):
        journal.decide([replace(IDLE, message=f"looked {second} times", wakes_at=at(second + 60))], at(second))
    rows = journal.decisions(LOOP, 10)
    expect_same([(row.times, row.first_at, row.last_at) for row in rows], [(5, at(0), at(4))])
    expect_same((rows[0].decision.message, rows[0].decision.wakes_at), ("looked 4 times", at(64)))


def another_decision_is_a_new_row(open_journal: OpenJournal) -> None:
    """decide: a change of verb, code, remedy, item or session begins a new row, and so does going back."""
    journal = open_journal()
    others = [
        replace(IDLE, verb=Verb.STOP),
        replace(IDLE, code="LIMITED"),
        replace(IDLE, unblock="log in"),
        replace(IDLE, item="key-1"),
        replace(IDLE, session="s-1"),
        IDLE,
    ]
    for second, decision in enumerate([IDLE, *others]):
        expect_same(journal.decide([decision], at(second)), 1)
    expect_same([row.decision for row in journal.decisions(LOOP, 10)], [*others[::-1], IDLE])


def subjects_are_apart(open_journal: OpenJournal) -> None:
    """decide: what is said of one subject does not end the row of another, a key of two targets included."""
    journal = open_journal()
    one, two = (Subject(kind=SubjectKind.ITEM, name="key-1", target=target) for target in ("app", "lib"))
    for second in range(2):
        journal.decide([replace(IDLE, subject=subject) for subject in (LOOP, TARGET, one, two)], at(second))
    expect_same(len(journal.decisions(None, 10)), 4)
    expect_same([row.times for row in journal.decisions(None, 10)], [2, 2, 2, 2])
    expect_same([row.decision.subject for row in journal.decisions(replace(one, target=""), 10)], [two, one])
    expect_same([row.decision.subject for row in journal.decisions(two, 10)], [two])


def an_item_finds_what_was_started_for_it(open_journal: OpenJournal) -> None:
    """decisions_on_item: the decisions about any subject that named the item, newest first."""
    journal = open_journal()
    journal.decide([STARTED], at(0))
    journal.decide([replace(STARTED, item="key-2", session="s-2")], at(1))
    journal.decide([replace(STARTED, session="s-3")], at(2))
    expect_same([row.decision.session for row in journal.decisions_on_item("key-1", 10)], ["s-3", "s-1"])
    expect_same(journal.decisions_on_item("", 10), [])


def decisions_are_bounded(open_journal: OpenJournal) -> None:
    """run_begin: the newest decisions stay, and the last about a target however old it is."""
    journal = open_journal()
    journal.decide([replace(IDLE, subject=TARGET)], at(0))
    many = DECISIONS_KEPT + 300
    journal.decide([replace(IDLE, code=f"CODE_{number}") for number in range(many)], at(1))
    journal.run_begin(pid=1, host="here", version="1", at=at(2))
    expect_same(len(journal.decisions(LOOP, many)), DECISIONS_KEPT)
    expect(journal.decision_last(TARGET) is not None, "the last about a target stays")


def words_are_bounded_and_printable(open_journal: OpenJournal) -> None:
    """decide, session_put: what agents say is stripped of control characters and cut."""
    journal = open_journal()
    journal.decide([replace(IDLE, message="\x1b[31m" + "x" * 5_000)], at(0))
    row = journal.decision_last(LOOP)
    expect(row is not None and row.decision.message.startswith("xxx"), "no escape sequence is kept")
    expect(row is not None and len(row.decision.message) < 1_100, "a message is cut")
    text = "a" * FINAL_TEXT_CHARACTERS_MAX + "\x07\ud800the end"
    journal.session_put(replace(SESSION, final_text=text, detail="d" * 9_000, model="\x1b]0;t\x07m"))
    kept = journal.session_get(SESSION.session_id)
    expect(kept is not None and kept.final_text.startswith(CUT_MARK), "of a last message the end is kept")
    expect(kept is not None and kept.final_text.endswith("the end"), "of a last message the end is kept")
    expect(kept is not None and kept.model == "m" and kept.detail.endswith(CUT_MARK), "every text is cleaned")


GATE = Gate(
    key=GateKey(harness="claude-work", account="work", tier="large"),
    state=GateState.LIMITED,
    cause=Cause.LIMIT,
    until=at(3_600),
    source=Source.STATED,
    since=at(1),
    try_at=at(1_800),
    probes=3,
    last_probe=at(900),
    openings=2,
    silent=1,
    transients=2,
    guesses=1,
    remedy="wait",
    detail="resets 3pm",
    question="limits",
)


def a_gate_is_kept_whole(open_journal: OpenJournal) -> None:
    """gates_put: every field comes back, a gate is written over, and keys keep apart."""
    plain = Gate(key=GateKey(harness="codex"))
    small = replace(GATE, key=replace(GATE.key, tier="small"))
    open_journal().gates_put([plain, small, GATE])
    expect_same(open_journal().gates(), [GATE, small, plain])
    open_journal().gates_put([replace(GATE, state=GateState.OPEN)])
    expect_same([gate.state for gate in open_journal().gates()], [GateState.OPEN, GateState.LIMITED, GateState.OPEN])


def a_target_is_kept_whole(open_journal: OpenJournal) -> None:
    """target_put: every field comes back and a target is written over."""
    row = TargetRow(
        name="app",
        pace=Pace(fruitless=4, not_before=at(900)),
        paused=True,
        pause_reason="5 deaths in a row",
        paused_until=at(9_000),
        served_at=at(5),
        question="fleet",
    )
    open_journal().target_put(row)
    open_journal().target_put(TargetRow(name="aa"))
    expect_same(open_journal().targets(), [TargetRow(name="aa"), row])
    open_journal().target_put(replace(row, paused=False))
    expect_same([target.paused for target in open_journal().targets()], [False, False])


SESSION = SessionRow(
    session_id="s-1",
    target="app",
    harness="claude-work",
    began_at=at(1),
    run=1,
    item_key="key-1",
    item_id="0123456789abc",
    fence=2,
    role="work",
    phase="implement",
    account="work",
    tier="large",
    cwd="/srv/app",
    base_sha="a" * 40,
    log_path="/state/s-1/stream.jsonl.gz",
)


def a_session_is_known_from_its_start(open_journal: OpenJournal) -> None:
    """session_put: what is needed to go on with it is there before it ends, and its end is written over it (L05)."""
    open_journal().session_put(SESSION)
    open_journal().session_put(replace(SESSION, resume_id="r-1", model="m", version="2.1"))
    row = open_journal().session_get("s-1")
    expect(row is not None and (row.resume_id, row.model, row.version) == ("r-1", "m", "2.1"), f"found {row}")
    expect_same([row.session_id for row in open_journal().sessions_open()], ["s-1"])
    done = replace(
        SESSION,
        probe=True,
        resumes="s-0",
        ended_at=at(9),
        session_class=SessionClass.LIMITED,
        settled="infra",
        acted=True,
        produced=True,
        guessed=True,
        exit_code=1,
        signal=9,
        tokens=Tokens(input=1, output=2, cache_read=3, cache_write=4),
        usage_reported=True,
        cost_micros=5,
        reset_at=at(3_600),
        final_text="I could not go on because the API is gone",
        detail="limited",
    )
    open_journal().session_put(done)
    expect_same(open_journal().session_get("s-1"), done)
    expect_same(open_journal().sessions_open(), [])
    expect_same(open_journal().session_get("s-2"), None)


def sessions_are_listed(open_journal: OpenJournal) -> None:
    """sessions: newest first, of one target, one item, or both, and by the beginning of an id."""
    journal = open_journal()
    for number, (target, key) in enumerate([("app", "k1"), ("lib", "k1"), ("app", "k2"), ("app", "k1")]):
        journal.session_put(replace(SESSION, session_id=f"s{number}", target=target, item_key=key))
    journal.session_put(replace(SESSION, session_id="s0", target="app", item_key="k1", ended_at=at(3)))

    def listed(target: str = "", item_key: str = "", limit: int = 10) -> list[str]:
        return [row.session_id for row in journal.sessions(target=target, item_key=item_key, limit=limit)]

    expect_same(listed(), ["s3", "s2", "s1", "s0"])
    expect_same(listed(limit=2), ["s3", "s2"])
    expect_same(listed("app"), ["s3", "s2", "s0"])
    expect_same(listed("", "k1"), ["s3", "s1", "s0"])
    expect_same(listed("app", "k1"), ["s3", "s0"])
    expect_same([row.session_id for row in journal.sessions_like("s", 2)], ["s3", "s2"])
    expect_same([row.session_id for row in journal.sessions_like("s1", 9)], ["s1"])
    expect_same(journal.sessions_like("_", 9), [])
    expect_same([row.session_id for row in journal.sessions_open()], ["s1", "s2", "s3"])


def a_run_ends_once(open_journal: OpenJournal) -> None:
    """run_begin, run_end: runs are numbered, and the first end stands."""
    first = open_journal().run_begin(pid=7, host="here", version="1.0", at=at(0))
    second = open_journal().run_begin(pid=8, host="here", version="1.0", at=at(5))
    open_journal().run_end(second, reason="stopped", detail="STOP was there", at=at(6))
    open_journal().run_end(second, reason="fault", detail="", at=at(7))
    runs = open_journal().runs(10)
    expect_same((runs[0].number, runs[0].pid, runs[0].reason, runs[0].ended_at), (second, 8, "stopped", at(6)))
    expect_same((runs[1].number, runs[1].began_at, runs[1].ended_at), (first, at(0), None))
    expect_same(len(open_journal().runs(1)), 1)


def runs_are_bounded(open_journal: OpenJournal) -> None:
    """run_begin: the newest runs stay."""
    journal = open_journal()
    for number in range(RUNS_KEPT + 3):
        journal.run_begin(pid=number, host="here", version="1", at=at(number))
    expect_same(len(journal.runs(RUNS_KEPT + 10)), RUNS_KEPT)


CHARGE = Charge(
    session_id="s-1",
    began_at=at(10),
    run=1,
    payer=Payer(target="app", campaign="main", harness="claude-work", root="key-1"),
    item_key="key-1~v1",
    role="verify",
    phase="review",
    account="work",
    model="m",
    reserved={Unit.COST: 5_000_000, Unit.TOKENS: 70},
)
SPENT = Amount(Tokens(input=1, output=2, cache_read=3, cache_write=4), 5, 6, 1)


def a_charge_is_kept_whole(open_journal: OpenJournal) -> None:
    """charge_put: what is set aside is there before anything is spent, and what came of it is written over it."""
    open_journal().charge_put(CHARGE)
    expect_same(open_journal().charges_open(), [CHARGE])
    expect_same(open_journal().charge_get("s-1"), CHARGE)
    done = replace(
        CHARGE,
        probe=True,
        state=ChargeState.UNKNOWN,
        spent=SPENT,
        priced=True,
        source=ChargeSource.STREAM,
        ended_at=at(20),
        brought=Weight.FRUITLESS,
    )
    open_journal().charge_put(done)
    expect_same(open_journal().charge_get("s-1"), done)
    expect_same(open_journal().charges_open(), [])
    expect_same(open_journal().charge_get("s-2"), None)
    open_journal().charge_put(replace(done, model="\x1b[31mm"))
    expect_same(open_journal().charge_get("s-1"), done)


def charges_are_listed_and_never_dropped(open_journal: OpenJournal) -> None:
    """charges: newest first since an instant, and a new run drops none of them."""
    journal = open_journal()
    for number in range(5):
        settled = ChargeState.RESERVED if number % 2 else ChargeState.SETTLED
        journal.charge_put(replace(CHARGE, session_id=f"s-{number}", began_at=at(number), state=settled))
    journal.charge_put(replace(CHARGE, session_id="s-1", began_at=at(1), state=ChargeState.SETTLED))
    for number in range(RUNS_KEPT + 1):
        journal.run_begin(pid=number, host="here", version="1", at=at(number))
    expect_same([row.session_id for row in journal.charges(since=at(0), limit=9)], [f"s-{n}" for n in (4, 3, 2, 1, 0)])
    expect_same([row.session_id for row in journal.charges(since=at(2), limit=2)], ["s-4", "s-3"])
    expect_same([row.session_id for row in journal.charges_open()], ["s-3"])


def charges_are_added_up(open_journal: OpenJournal) -> None:
    """charge_totals: by the names of each scope, since an instant and from a run on; what is set aside is not in it."""
    journal = open_journal()
    other = replace(CHARGE.payer, target="lib", root="")
    for number, (state, payer) in enumerate(
        [
            (ChargeState.SETTLED, CHARGE.payer),
            (ChargeState.UNKNOWN, CHARGE.payer),
            (ChargeState.SETTLED, other),
            (ChargeState.RESERVED, other),
        ]
    ):
        journal.charge_put(
            replace(
                CHARGE,
                session_id=f"s-{number}",
                began_at=at(number),
                run=number,
                payer=payer,
                state=state,
                spent=SPENT,
            )
        )

    def totals(kind: ScopeKind, since: int = 0, run: int = 0) -> dict[str, Amount]:
        return journal.charge_totals(kind, since=at(since), run=run)

    both, three = SPENT + SPENT, SPENT + SPENT + SPENT
    expect_same(totals(ScopeKind.RUN), {"": three})
    expect_same(totals(ScopeKind.DAY), {"": three})
    expect_same(totals(ScopeKind.HARNESS), {"claude-work": three})
    expect_same(totals(ScopeKind.TARGET), {"app": both, "lib": SPENT})
    expect_same(totals(ScopeKind.CAMPAIGN), {"app/main": both, "lib/main": SPENT})
    expect_same(totals(ScopeKind.ITEM), {"app/key-1": both, "": SPENT})
    expect_same(totals(ScopeKind.TARGET, since=1), {"app": SPENT, "lib": SPENT})
    expect_same(totals(ScopeKind.TARGET, run=2), {"lib": SPENT})
    expect_same(totals(ScopeKind.TARGET, run=9), {})


PROMISES = (
    a_decision_is_kept_whole,
    the_same_decision_is_counted,
    another_decision_is_a_new_row,
    subjects_are_apart,
    an_item_finds_what_was_started_for_it,
    decisions_are_bounded,
    words_are_bounded_and_printable,
    a_gate_is_kept_whole,
    a_target_is_kept_whole,
    a_session_is_known_from_its_start,
    sessions_are_listed,
    a_run_ends_once,
    runs_are_bounded,
    a_charge_is_kept_whole,
    charges_are_listed_and_never_dropped,
    charges_are_added_up,
)
