"""Do writes of one turn share a flush without ever sharing a fault that is not theirs?"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.store.database import Cursor, Refused, StoreError
from agent.store.sqlite import SqliteDatabase, open_database
from tests.agent.store_desk import names, put, virtual


def test_writes_of_one_turn_share_a_flush(database: SqliteDatabase) -> None:
    """Many writers of one turn of the event loop cost one transaction; each gets its own answer."""

    def answer(n: int) -> Callable[[Cursor], int]:
        def write(cursor: Cursor) -> int:
            put(f"name {n}")(cursor)
            return n

        return write

    async def scenario() -> None:
        before = database.flushes
        assert await asyncio.gather(*(database.commit(answer(n)) for n in range(50))) == list(range(50))
        assert database.flushes == before + 1
        await database.commit(answer(50))
        assert database.flushes == before + 2

    virtual(scenario)
    assert len(names(database)) == 51


def test_when_commit_returns_others_can_read_it(database: SqliteDatabase, tmp_path: Path) -> None:
    """A committed write is in the file, not in this process."""

    async def scenario() -> None:
        await database.commit(put("told"))
        other = open_database(tmp_path)
        assert names(other) == {"told"}
        other.close()

    virtual(scenario)


def test_a_refused_write_changes_nothing_and_hurts_nobody(database: SqliteDatabase) -> None:
    """What a refused write did before it was refused is undone; its neighbours are committed."""

    def refused(cursor: Cursor) -> None:
        put("half done")(cursor)
        raise Refused("no")

    async def scenario() -> None:
        outcomes = await asyncio.gather(
            database.commit(put("before")),
            database.commit(refused),
            database.commit(put("after")),
            return_exceptions=True,
        )
        assert [type(outcome) for outcome in outcomes] == [type(None), Refused, type(None)]

    virtual(scenario)
    with pytest.raises(Refused):
        database.commit_now(refused)
    assert names(database) == {"before", "after"}


def test_an_sql_error_undoes_the_whole_batch(database: SqliteDatabase) -> None:
    """Nobody of a batch that failed is told that it was written, and nothing of it is."""
    database.commit_now(put("taken"))

    async def scenario() -> None:
        outcomes = await asyncio.gather(
            database.commit(put("before")),
            database.commit(put("taken")),
            database.commit(put("after")),
            return_exceptions=True,
        )
        assert [type(outcome) for outcome in outcomes] == [StoreError] * 3

    virtual(scenario)
    assert names(database) == {"taken"}
    database.commit_now(put("later"))


def test_a_bug_in_a_write_is_not_called_a_store_error(database: SqliteDatabase) -> None:
    """Another exception reaches everybody as it is, and nothing of the batch stays."""

    def wrong(cursor: Cursor) -> None:
        put("half done")(cursor)
        raise ZeroDivisionError

    async def scenario() -> None:
        outcomes = await asyncio.gather(
            database.commit(put("before")), database.commit(wrong), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes] == [ZeroDivisionError] * 2

    virtual(scenario)
    assert names(database) == set()


def test_a_cancelled_writer_does_not_stop_the_others(database: SqliteDatabase) -> None:
    """Nobody's flush is lost because somebody else does not wait any more."""

    async def scenario() -> None:
        gone = asyncio.ensure_future(database.commit(put("gone")))
        stays = asyncio.ensure_future(database.commit(put("stays")))
        asyncio.get_running_loop().call_soon(gone.cancel)
        await stays
        with pytest.raises(asyncio.CancelledError):
            await gone

    virtual(scenario)
    assert "stays" in names(database)


def test_a_closed_store_says_so(database: SqliteDatabase) -> None:
    """Reading and writing after the end are store errors like any other."""
    database.close()
    with pytest.raises(StoreError, match="closed"):
        database.commit_now(put("x"))
    with pytest.raises(StoreError, match="closed"):
        names(database)
