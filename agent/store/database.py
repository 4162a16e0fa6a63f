"""What does the rest of the agent need of a database? The interface that SQLite implements here, and others may.

Writes are functions over a cursor. `commit` gathers the writes that are ready in the same turn of the event loop into
one transaction, so that many devices share one flush. When it returns, the write is durable.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Row = tuple[Any, ...]


class StoreError(Exception):
    """The store cannot be opened, read or written. The text says what happened and what to do."""


class Refused(Exception):  # noqa: N818 - a rule said no, nothing is broken
    """A write found its condition broken and changed nothing (a lease that is not ours any more, a used key)."""


class Cursor(Protocol):
    """What a write may use."""

    @property
    def rowcount(self) -> int:
        """Rows that the last statement changed."""

    def execute(self, sql: str, params: Sequence[Any] = (), /) -> "Cursor":
        """Run one statement."""

    def executemany(self, sql: str, params: Sequence[Sequence[Any]], /) -> "Cursor":
        """Run one statement for each row of parameters."""

    def fetchone(self) -> Row | None:
        """The next row."""

    def fetchall(self) -> list[Row]:
        """All rows that are left."""


class Database(Protocol):
    """A durable store with atomic writes. `place` is where it is, for messages."""

    place: str

    def read(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query. Raises StoreError."""

    def commit_now(self, write: Callable[[Cursor], T]) -> T:
        """Run one write in its own durable transaction. Raises StoreError, or Refused from the write."""

    def commit_loosely(self, write: Callable[[Cursor], T]) -> T:
        """As `commit_now`, without a flush: it survives this process at once, a power cut with the next flush."""

    async def commit(self, write: Callable[[Cursor], T]) -> T:
        """As `commit_now`, sharing the flush with other writes that are ready at the same time."""

    def close(self) -> None:
        """Give everything back."""
