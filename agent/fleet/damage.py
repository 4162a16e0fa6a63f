"""What is a row of the fleet that means nothing? A damaged store, said in words."""

from collections.abc import Iterator
from contextlib import contextmanager

from agent.store.database import Database, StoreError


@contextmanager
def making_sense(database: Database, what: str) -> Iterator[None]:
    """Read `what` ("its agents"): a row that makes no sense raises StoreError, which says what to do."""
    try:
        yield
    except (ValueError, KeyError, TypeError) as problem:
        raise StoreError(
            f"the journal {database.place} is damaged: {what} make no sense ({type(problem).__name__}: {problem}). "
            "Restore a backup"
        ) from problem
