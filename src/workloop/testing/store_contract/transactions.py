"""What any store promises of transactions, time and the feed."""

import threading
from collections.abc import Iterator
from contextlib import suppress

from workloop.domain.campaign import CampaignSettings
from workloop.domain.errors import StoreUnavailable, WorkloopError
from workloop.domain.ids import EventId
from workloop.domain.item import State
from workloop.store.port import Store, Writing
from workloop.testing.clocks import FakeClock
from workloop.testing.store_contract.rows import (
    CONTRACT,
    MakeStore,
    Stage,
    event_of,
    expect,
    expect_same,
    moved,
    new_item,
    stage,
)

BOUND_SECONDS = 5.0


class Interrupted(Exception):
    """Stands for any failure inside a transaction."""


def interrupt(txn: Writing, number: int) -> None:
    """Write something and fail."""
    txn.items_insert([new_item(number)], [CONTRACT], [])
    raise Interrupted


def rolled_back(stage_: Stage, number: int) -> bool:
    """Tell whether an interrupted transaction raised its error."""
    passed_on = True
    with suppress(Interrupted), stage_.store.write() as txn:
        interrupt(txn, number)
        passed_on = False
    return passed_on


def a_write_is_seen_by_later_transactions(make_store: MakeStore) -> None:
    """write, read: what was committed is there."""
    on = stage(make_store)
    on.add(new_item(1))
    expect_same(on.item(1), new_item(1))


def an_exception_rolls_everything_back(make_store: MakeStore) -> None:
    """write: leaving by an exception keeps no row of any table and passes the exception on."""
    on = stage(make_store)
    expect(rolled_back(on, 7), "the exception passes through")
    with on.store.read() as view:
        expect_same(view.item_get(new_item(7).id), None)
        expect_same(view.item_by_key(on.campaign.id, new_item(7).key), None)
        expect_same(view.contract_get(new_item(7).id, 1), None)


def a_rolled_back_store_goes_on(make_store: MakeStore) -> None:
    """write: the next transaction after a failed one works, with the same ids."""
    on = stage(make_store)
    expect(rolled_back(on, 7), "the exception passes through")
    on.add(new_item(7))
    expect_same(on.item(7), new_item(7))


def a_write_sees_its_own_changes(make_store: MakeStore) -> None:
    """write: reads of the same transaction see what it wrote."""
    on = stage(make_store)
    with on.store.write() as txn:
        txn.items_insert([new_item(1)], [CONTRACT], [])
        expect_same(txn.item_get(new_item(1).id), new_item(1))
        expect_same(len(txn.items_ready(on.campaign.id, follow_ups_only=False, skip=0, limit=9)), 1)


def a_read_keeps_its_view(make_store: MakeStore) -> None:
    """read: a commit by another thread does not change a view that was begun before."""
    on = stage(make_store)
    on.add(new_item(1))
    with on.store.read() as view:
        before = view.item_get(new_item(1).id)
        writer = threading.Thread(target=on.claim, args=(1, "builder"))
        writer.start()
        writer.join(BOUND_SECONDS)
        expect(not writer.is_alive(), "a reader does not stop a writer")
        expect_same(view.item_get(new_item(1).id), before)
        expect_same(view.event_newest(), 1)
    expect_same(on.item(1).state, State.IN_PROGRESS)


def writers_take_turns(make_store: MakeStore) -> None:
    """write: a read-then-write in one transaction loses no update, whatever the number of threads."""
    on = stage(make_store)
    on.add(new_item(1))
    start = threading.Barrier(4)

    def bump() -> None:
        start.wait(BOUND_SECONDS)
        for _ in range(10):
            with on.store.write() as txn:
                before = txn.item_get(new_item(1).id)
                if before is None:
                    raise Interrupted
                after = moved(before, State.PENDING, infra=before.infra + 1)
                expect(txn.item_update(before, after), "nobody came between")

    threads = [threading.Thread(target=bump) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_SECONDS * 4)
    expect_same(on.item(1).infra, 40)


def now_is_the_clock(make_store: MakeStore) -> None:
    """now: read when the transaction begins, and the same throughout."""
    on = stage(make_store)
    on.clock.advance(5)
    with on.store.write() as txn:
        expect_same(txn.now, on.clock.now())
        begun = txn.now
        on.clock.advance(5)
        expect_same(txn.now, begun)
    with on.store.read() as view:
        expect_same(view.now, on.clock.now())


def now_never_goes_back_before_an_event(make_store: MakeStore) -> None:
    """now: a clock that was set back does not date new events before old ones."""
    on = stage(make_store)
    on.add(new_item(1))
    written = on.clock.now()
    on.clock.advance(-3600)
    with on.store.write() as txn:
        expect_same(txn.now, written)
    with on.store.read() as view:
        expect_same(view.now, written)


def the_secret_stays(make_store: MakeStore) -> None:
    """secret: 32 bytes, the same in every transaction."""
    on = stage(make_store)
    with on.store.read() as view:
        first = view.secret()
    with on.store.write() as txn:
        expect_same(txn.secret(), first)
    expect_same(len(first), 32)


def two_stores_differ_in_their_secret(make_store: MakeStore) -> None:
    """secret: a token of one store means nothing in another."""
    secrets: list[bytes] = []
    for _ in range(2):
        with make_store(FakeClock()).read() as view:
            secrets.append(view.secret())
    expect(secrets[0] != secrets[1], "secrets differ")


def the_feed_begins_with_the_newest_event(make_store: MakeStore) -> None:
    """changes: the first yield comes at once, so that nothing before it can be missed."""
    on = stage(make_store)
    on.add(new_item(1), new_item(2))
    feed = on.store.changes(lambda seconds: False)
    expect_same(next(feed), 2)


class Listener:
    """A thread that drains a store's feed."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.stop = threading.Event()
        self.heard = threading.Condition()
        self.newest = EventId(-1)
        self.yields = 0
        self.failure: WorkloopError | None = None
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self) -> None:
        """Note every yield until stopped."""
        feed: Iterator[EventId] = self.store.changes(self.stop.wait)
        try:
            for newest in feed:
                with self.heard:
                    self.newest, self.yields = newest, self.yields + 1
                    self.heard.notify_all()
        except WorkloopError as error:
            self.failure = error

    def wait_for(self, newest: int) -> bool:
        """Wait, within a bound, until the feed has announced an event."""
        with self.heard:
            return self.heard.wait_for(lambda: self.newest >= newest, BOUND_SECONDS)

    def end(self) -> bool:
        """Stop listening; tells whether the thread ended within a bound."""
        self.stop.set()
        self.thread.join(BOUND_SECONDS)
        return not self.thread.is_alive()


def the_feed_announces_a_commit(make_store: MakeStore) -> None:
    """changes: a waiting listener hears of each commit."""
    on = stage(make_store)
    listener = Listener(on.store)
    expect(listener.wait_for(0), "the feed began")
    on.add(new_item(1))
    expect(listener.wait_for(1), "the first commit was announced")
    on.add(new_item(2), new_item(3))
    expect(listener.wait_for(3), "the second commit was announced")
    expect(listener.end(), "the feed ended")


def the_feed_announces_changes_without_events(make_store: MakeStore) -> None:
    """changes: what writes no event, such as a new campaign, is announced as well."""
    on = stage(make_store)
    listener = Listener(on.store)
    expect(listener.wait_for(0), "the feed began")
    with listener.heard:
        before = listener.yields
    with on.store.write() as txn:
        txn.campaign_insert("second", CampaignSettings())
    with listener.heard:
        expect(listener.heard.wait_for(lambda: listener.yields > before, BOUND_SECONDS), "it was announced")
    expect(listener.end(), "the feed ended")


def the_feed_ends_when_stopped(make_store: MakeStore) -> None:
    """changes: a quiet feed ends when told to."""
    on = stage(make_store)
    listener = Listener(on.store)
    expect(listener.wait_for(0), "the feed began")
    expect(listener.end(), "the feed ended")
    expect_same(listener.failure, None)


def a_closed_store_refuses(make_store: MakeStore) -> None:
    """close: later transactions are refused, closing twice is not."""
    on = stage(make_store)
    on.store.close()
    on.store.close()
    for begin in (on.store.read, on.store.write):
        refused = False
        try:
            with begin():
                pass
        except StoreUnavailable as error:
            refused = error.code == "STORE_CLOSED"
        expect(refused, "a closed store refuses")


def an_event_of_a_rolled_back_change_never_was(make_store: MakeStore) -> None:
    """events_append: rolling back an event leaves the numbering dense."""
    on = stage(make_store)
    on.add(new_item(1))
    before = on.item(1)

    def append_and_fail() -> None:
        with on.store.write() as txn:
            txn.events_append([event_of(before, moved(before, State.PENDING), txn.now, "nothing")])
            interrupt(txn, 2)

    with suppress(Interrupted):
        append_and_fail()
    on.claim(1, "builder")
    with on.store.read() as view:
        expect_same([event.action for event in view.events_of(before.id)], ["add_items", "claim"])


PROMISES = (
    a_write_is_seen_by_later_transactions,
    an_exception_rolls_everything_back,
    a_rolled_back_store_goes_on,
    a_write_sees_its_own_changes,
    a_read_keeps_its_view,
    writers_take_turns,
    now_is_the_clock,
    now_never_goes_back_before_an_event,
    the_secret_stays,
    two_stores_differ_in_their_secret,
    the_feed_begins_with_the_newest_event,
    the_feed_announces_a_commit,
    the_feed_announces_changes_without_events,
    the_feed_ends_when_stopped,
    a_closed_store_refuses,
    an_event_of_a_rolled_back_change_never_was,
)
