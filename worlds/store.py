"""What stands between a process of a world and its store?

Each write is a moment at which the process may end: before it, in its middle (the transaction is undone), or right
after it. Once it is dead it neither reads nor writes.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from agent.store.database import Cursor, Row
from worlds.disk import Disk

T = TypeVar("T")


class Crash(BaseException):
    """The process is gone."""


class Moment(StrEnum):
    """Where in a write a process ends."""

    BEFORE = "before"
    HALF = "half"
    AFTER = "after"


class Mortal(Protocol):
    """A process that may end."""

    dead: bool

    def at_write(self) -> Moment | None:
        """A write begins; says where in it the process is to end. Raises Crash where it does not even begin."""

    def die(self) -> None:
        """The process ends now."""

    async def after_commit(self) -> None:
        """A write is durable, and nothing has come of it yet."""


class ProcessStore:
    """The store as one process has it open."""

    place = "the world's store"

    def __init__(self, process: Mortal, disk: Disk) -> None:
        self._process = process
        self._disk = disk
        self._db = disk.open()

    def read(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        if self._process.dead:
            raise Crash
        return self._db.read(sql, params)

    def commit_now(self, write: Callable[[Cursor], T]) -> T:
        """Run one write in its own durable transaction."""
        moment = self._begin(lambda: self._db.commit_now(_torn(write)))
        result = self._db.commit_now(write)
        self._ends(moment)
        return result

    def commit_loosely(self, write: Callable[[Cursor], T]) -> T:
        """As `commit_now`, without a flush."""
        moment = self._begin(lambda: self._db.commit_loosely(_torn(write)))
        self._disk.before_loose_write()
        result = self._db.commit_loosely(write)
        self._ends(moment)
        return result

    async def commit(self, write: Callable[[Cursor], T]) -> T:
        """As `commit_now`, sharing the flush."""
        moment = self._begin(lambda: self._db.commit_now(_torn(write)))
        result = await self._db.commit(write)
        self._ends(moment)
        await self._process.after_commit()
        return result

    def close(self) -> None:
        """The process has ended; others go on with the store."""

    def _begin(self, torn: Callable[[], object]) -> Moment | None:
        moment = self._process.at_write()
        if moment is Moment.HALF:
            self._process.die()
            torn()
        return moment

    def _ends(self, moment: Moment | None) -> None:
        if moment is not None:
            self._process.die()
            raise Crash


def _torn(work: Callable[[Cursor], object]) -> Callable[[Cursor], object]:
    """A write whose process ends before its transaction is committed."""

    def write(cursor: Cursor) -> None:
        work(cursor)
        raise Crash

    return write
