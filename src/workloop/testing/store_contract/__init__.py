"""What any store must promise, as functions over `make_store(clock)` that others can run."""

from workloop.testing.store_contract import items, records, transactions
from workloop.testing.store_contract.rows import MakeStore

PROMISES = transactions.PROMISES + items.PROMISES + records.PROMISES

__all__ = ["PROMISES", "MakeStore"]
