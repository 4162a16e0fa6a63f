"""How does the store survive a power cut? SQLite in WAL mode with `synchronous=FULL`, one flush per batch of writes.

A write that raises `Refused` is undone alone and leaves the others of its batch as they are. Every other error undoes
the whole batch and reaches everybody in it: what SQLite says as StoreError, a bug as itself.
"""

import asyncio
import fcntl
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from agent.store.database import Cursor, Refused, Row, StoreError
from agent.store.schema import MIGRATIONS, VERSION
from logs.place import LOG_FILE

T = TypeVar("T")
FILE_NAME = "journal.db"
LOG_LOOK_BYTES = 256 * 1024
"""How far into a log is looked for the record of a copy."""
ROOM_BYTES = 200_000
"""With less room left no store can be made."""
BUSY_S = 5.0
"""How long to wait for another process's write."""
_TROUBLE = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises; the second where the text of its message, or of a row, is damaged."""
_RESTORE = (
    ". Put it aside and restore a backup; commands that were in doubt are then known only to that backup"
)


class SqliteDatabase:
    """One connection to the store's file."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._db = connection
        self.place = str(path)
        self._waiting: list[tuple[Callable[[Cursor], Any], asyncio.Future[Any]]] = []
        self.flushes = 0

    def read(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query. Raises StoreError."""
        try:
            return self._db.execute(sql, params).fetchall()
        except _TROUBLE as problem:
            raise self._error("read", problem) from problem

    def commit_now(self, write: Callable[[Cursor], T]) -> T:
        """Run one write in its own durable transaction. Raises StoreError, or Refused from the write."""
        [outcome] = self._transaction([write])
        if isinstance(outcome, Refused):
            raise outcome
        result: T = outcome
        return result

    def commit_loosely(self, write: Callable[[Cursor], T]) -> T:
        """As `commit_now`, but not flushed: a killed process loses nothing, a power cut may."""
        try:
            self._db.execute("PRAGMA synchronous=NORMAL")
            [outcome] = self._transaction([write], flushed=False)
        finally:
            self._db.execute("PRAGMA synchronous=FULL")
        if isinstance(outcome, Refused):
            raise outcome
        result: T = outcome
        return result

    async def commit(self, write: Callable[[Cursor], T]) -> T:
        """As `commit_now`, in one transaction with all writes of this turn of the event loop."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._flush)
        self._waiting.append((write, done))
        return await done

    def close(self) -> None:
        """Close the file; what was committed stays."""
        self._db.close()

    def _flush(self) -> None:
        batch, self._waiting = self._waiting, []
        try:
            outcomes = self._transaction([write for write, _ in batch])
        except Exception as problem:  # noqa: BLE001 - handed to everybody who waits, swallowed by nobody
            outcomes = [problem for _ in batch]
        for (_, done), outcome in zip(batch, outcomes, strict=True):
            if done.cancelled():
                continue
            if isinstance(outcome, Exception):
                done.set_exception(outcome)
            else:
                done.set_result(outcome)

    def _transaction(self, writes: Sequence[Callable[[Cursor], Any]], *, flushed: bool = True) -> list[Any]:
        outcomes: list[Any] = []
        try:
            cursor = self._db.execute("BEGIN IMMEDIATE")
            for write in writes:
                cursor.execute("SAVEPOINT one_write")
                try:
                    outcomes.append(write(cursor))
                except Refused as refusal:
                    cursor.execute("ROLLBACK TO one_write")
                    outcomes.append(refusal)
                cursor.execute("RELEASE one_write")
            self._db.execute("COMMIT")
        except _TROUBLE as problem:
            self._roll_back()
            raise self._error("written", problem) from problem
        except BaseException:
            self._roll_back()
            raise
        self.flushes += flushed
        return outcomes

    def _roll_back(self) -> None:
        # SQLite has done so itself after a full disk, an I/O error or a close.
        with suppress(sqlite3.Error):
            self._db.execute("ROLLBACK")

    def _error(self, what: str, problem: Exception) -> StoreError:
        return StoreError(f"the journal {self.place} cannot be {what}: {problem}")


def open_database(home: Path) -> SqliteDatabase:
    """Open the store in `home`, made or migrated as needed. Raises StoreError."""
    path = home / FILE_NAME
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=True)
    except (OSError, sqlite3.Error) as trouble:
        raise StoreError(f"the journal {path} cannot be opened: {trouble}") from trouble
    try:
        _insist_on_a_whole_file(path)
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        if not _is_current(connection, path):
            with _alone(home):
                _migrate(connection, path)
        elif not knows_anything(connection):
            _insist_on_no_past(home)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as trouble:
        connection.close()
        garbled = isinstance(trouble, UnicodeDecodeError)
        damaged = garbled or "not a database" in str(trouble) or "malformed" in str(trouble)
        why = "its schema is no text" if garbled else trouble
        hint = _RESTORE if damaged else _without_room(home)
        raise StoreError(f"the journal {path} cannot be opened: {why}{hint}") from trouble
    except OSError as trouble:
        connection.close()
        raise StoreError(f"the journal {path} cannot be made durable: {trouble}") from trouble
    except StoreError:
        connection.close()
        raise
    return SqliteDatabase(connection, path)


def _without_room(home: Path) -> str:
    """SQLite calls a disk that is full while it makes its files an I/O error."""
    with suppress(OSError):
        if shutil.disk_usage(home).free < ROOM_BYTES:
            return ". The disk is full: make room"
    return ""


def forgotten(home: Path) -> str | None:
    """What is wrong with a journal that knows nothing beside a log of what was sent: keys and doubts are missing."""
    log = home / LOG_FILE
    if not log.is_file():
        return None
    with log.open("rb") as file:
        if b'"sent"' not in file.read(LOG_LOOK_BYTES):
            return None
    return (
        f"the journal {home / FILE_NAME} is empty or gone, and {log} shows that commands were sent from here. "
        "Restore a backup (with its -wal file); or, to begin anew without its keys and doubts, move the log away too"
    )


def knows_anything(connection: sqlite3.Connection) -> bool:
    """Whether any operation stands in a journal of the current schema."""
    return connection.execute("SELECT 1 FROM operation LIMIT 1").fetchone() is not None


def _insist_on_no_past(home: Path) -> None:
    problem = forgotten(home)
    if problem is not None:
        raise StoreError(problem)


def ends_too_early(path: Path) -> str | None:
    """What is wrong with a file that is shorter than its header says: SQLite would read the missing rows as empty.

    Only where no -wal file may hold the rest (SQLite file format 1.3).
    """
    if not path.is_file() or path.with_name(path.name + "-wal").exists():
        return None
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or header[24:28] != header[92:96]:
        return None
    page = int.from_bytes(header[16:18], "big")
    size = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    return f"the journal {path} ends too early" if path.stat().st_size < size else None


def _insist_on_a_whole_file(path: Path) -> None:
    problem = ends_too_early(path)
    if problem is not None:
        raise StoreError(problem + _RESTORE)


def _is_current(connection: sqlite3.Connection, path: Path) -> bool:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise StoreError(
            f"the journal {path} was written by a newer ackonce (schema {version}, this one knows {VERSION}); "
            "use that version"
        )
    return version == VERSION


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Keep other processes out while the file is made, and make its name as durable as its content.

    SQLite alone cannot do the first: two processes that switch one file to WAL wait for each other until both give up.
    """
    folder = os.open(home, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
        os.fsync(folder)
    finally:
        os.close(folder)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    if _is_current(connection, path):
        return  # another process was first
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == 0:
        _insist_on_no_past(path.parent)
    connection.execute("BEGIN IMMEDIATE")
    try:
        for migration in MIGRATIONS[version:]:
            for statement in migration:
                connection.execute(statement)
        connection.execute(
            "INSERT INTO meta (name, value) VALUES ('agent', ?) ON CONFLICT (name) DO NOTHING",
            (str(secrets.randbits(64)),),
        )
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
        # So that a file without its -wal never looks like one that was never used.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
