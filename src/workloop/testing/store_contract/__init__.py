"""What any store must promise, as functions over `make_store(clock)` that others can run."""

from workloop.testing.store_contract import campaigns, items, lists, records, transactions
from workloop.testing.store_contract.rows import MakeStore

PROMISES = transactions.PROMISES + campaigns.PROMISES + items.PROMISES + lists.PROMISES + records.PROMISES

__all__ = ["PROMISES", "MakeStore"]
