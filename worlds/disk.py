"""Where do the processes of a world keep their store, and what of it survives what?

A real SQLite database in memory, with the product's own tables and the product's own transactions. A process that ends
loses nothing that it had committed. A power cut loses also what was committed without a flush since the last flush.
A backup is a copy of everything as it was; restoring it forgets what came after.
"""

import sqlite3
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from agent.store.schema import MIGRATIONS, VERSION
from agent.store.sqlite import SqliteDatabase

_NOWHERE = Path("world")


class Disk:
    """One store. `loose` counts the writes without a flush, of which a power cut may take the last ones."""

    def __init__(self, agent_id: int, connection: sqlite3.Connection | None = None) -> None:
        """A new store of the agent with this number; in memory, where no connection to an empty one is given."""
        self._db = connection or sqlite3.connect(":memory:", isolation_level=None)
        if connection is None:
            self._db.deserialize(_empty())
        self._db.execute("PRAGMA foreign_keys=ON")
        self._db.execute("UPDATE meta SET value = ? WHERE name = 'agent'", (str(agent_id),))
        self._opened: list[SqliteDatabase] = []
        self._flushed: bytes | None = None
        self._flushes = 0
        self.loose = 0

    def open(self) -> SqliteDatabase:
        """The store as one process opens it."""
        database = SqliteDatabase(self._db, _NOWHERE)
        self._opened.append(database)
        return database

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What is in the store, asked past all processes."""
        return self._db.execute(sql, params).fetchall()

    def before_loose_write(self) -> None:
        """A write without a flush follows; a power cut before the next flush will take it."""
        flushes = self._all_flushes()
        if self._flushed is None or flushes != self._flushes:
            self._flushed, self._flushes = self._db.serialize(), flushes
        self.loose += 1

    def power_cut(self) -> bool:
        """What was not flushed is gone; returns whether there was any."""
        if self._flushed is None or self._all_flushes() != self._flushes:
            return False
        self._load(self._flushed)
        return True

    def backup(self) -> bytes:
        """Everything as it is now."""
        return self._db.serialize()

    def restore(self, copy: bytes) -> None:
        """Everything as it was."""
        self._load(copy)
        self._flushed = None

    def bury(self, holder: str, buried: str) -> None:
        """A process is gone: whoever looks at its lease sees that, as the system would tell."""
        self._db.execute("UPDATE device SET holder = ? WHERE holder = ?", (buried, holder))

    def close(self) -> None:
        """The world is over."""
        self._db.close()

    def _load(self, image: bytes) -> None:
        self._db.deserialize(image)
        self._db.execute("PRAGMA foreign_keys=ON")

    def _all_flushes(self) -> int:
        return sum(database.flushes for database in self._opened)


@cache
def _empty() -> bytes:
    """A store without a device, as the product's migrations make it."""
    with sqlite3.connect(":memory:", isolation_level=None) as connection:
        make_tables(connection)
        return connection.serialize()


def make_tables(connection: sqlite3.Connection) -> None:
    """The tables of a new store, by the product's own migrations."""
    for migration in MIGRATIONS:
        for statement in migration:
            connection.execute(statement)
    connection.execute("INSERT INTO meta (name, value) VALUES ('agent', '0')")
    connection.execute(f"PRAGMA user_version = {VERSION}")
