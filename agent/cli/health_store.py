"""What state is the store in: readable, current, who holds devices, what is open or in doubt?

It is opened for reading only, and never made: looking must not change what it looks at.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from agent.cli.health import Finding, State, size_text
from agent.clock import Clock
from agent.journal import Journal
from agent.leases import Leases
from agent.processes import Holder, this_process
from agent.registry import Registry
from agent.store.database import StoreError
from agent.store.schema import VERSION
from agent.store.sqlite import FILE_NAME, SqliteDatabase, ends_too_early, forgotten, knows_anything

_UNREADABLE = (sqlite3.Error, StoreError, OSError, KeyError, TypeError, ValueError)
"""What reading a journal may meet: a file that is none, or operations that this version cannot make sense of."""


def store(folder: Path) -> list[Finding]:
    """The findings about the store in a folder: the journal, and where it can be read, leases and doubts."""
    path = folder / FILE_NAME
    problem = forgotten(folder)
    if problem is not None and (not path.exists() or path.stat().st_size == 0):
        return [Finding("journal", State.FAIL, problem)]
    if not path.exists():
        return [Finding("journal", State.OK, f"no store yet: {path}")]
    if not path.is_file():
        return [Finding("journal", State.FAIL, f"{path} is no file: nothing can be sent", "Move it away")]
    for each in (path, *(path.with_name(path.name + tail) for tail in ("-wal", "-shm"))):
        if each.exists() and not os.access(each, os.R_OK | os.W_OK):
            says = f"{each} cannot be written: nothing can be sent"
            return [Finding("journal", State.FAIL, says, f"Was it made with sudo? ls -l {folder}")]
    try:
        with closing(_opened(path)) as connection:
            return list(_looked_into(connection, path))
    except _UNREADABLE as problem:
        says = f"{path} cannot be read ({type(problem).__name__}: {problem})"
        advice = "Put it aside and restore a backup; doubts since then are known to nobody else"
        return [Finding("journal", State.FAIL, says, advice)]


def _opened(path: Path) -> sqlite3.Connection:
    """Read-only. Where nobody has the store open, SQLite is kept from making its side files, which would stay."""
    how = "mode=ro" if path.with_name(path.name + "-wal").exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None)


def _looked_into(connection: sqlite3.Connection, path: Path) -> Iterator[Finding]:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        says = f"{path} was written by a newer ackonce (schema {version}, this one knows {VERSION})"
        yield Finding("journal", State.FAIL, says, "Use that version here too")
        return
    empty = version == 0 or (version == VERSION and not knows_anything(connection))
    problem = (forgotten(path.parent) if empty else None) or ends_too_early(path)
    if problem is not None:
        yield Finding("journal", State.FAIL, problem)
        return
    damage = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if damage != "ok":
        says = f"{path} is damaged: {damage}"
        yield Finding("journal", State.FAIL, says, "Put it aside and restore a backup")
        return
    says = f"{path}, {size_text(path.stat().st_size)}, schema {version}"
    if version < VERSION:
        yield Finding("journal", State.OK, f"{says}; the next command brings it to schema {VERSION}")
        return
    if not _in_wal_mode(path):
        says = f"{says}, not in WAL mode: processes have to wait for each other"
        yield Finding("journal", State.WARN, says, f"sqlite3 {path} 'PRAGMA journal_mode=WAL'")
    else:
        yield Finding("journal", State.OK, f"{says}, WAL")
    database = SqliteDatabase(connection, path)
    leases = Leases(database, this_process(), Clock())
    yield _leases(database, leases, Registry(database, leases))
    yield _doubts(Journal(database, leases, Clock()), leases)


def _in_wal_mode(path: Path) -> bool:
    """What the file itself says (SQLite file format 1.3.3): a connection that may not write knows no mode."""
    with path.open("rb") as file:
        return file.read(20)[18:] == b"\x02\x02"


def _leases(database: SqliteDatabase, leases: Leases, registry: Registry) -> Finding:
    """Who holds devices; a holder that is gone died at work."""
    held: list[str] = []
    left: list[str] = []
    for device, text in database.read("SELECT id, holder FROM device WHERE expires_utc IS NOT NULL"):
        address = registry.address_of(device)
        name = address[0] if address is not None else f"device {device}"
        holder = leases.holder_of(device)
        (held if holder is not None else left).append(f"{name} by {Holder.from_json(text)}")
    says = "; ".join(
        [
            *([f"held: {', '.join(held)}"] if held else []),
            *([f"left by a process that is gone, so free: {', '.join(left)}"] if left else []),
        ]
    )
    if left:
        return Finding("leases", State.WARN, says, "See what it left behind: ackonce doubt list")
    return Finding("leases", State.OK, says or "no device is held")


def _doubts(journal: Journal, leases: Leases) -> Finding:
    """What is open or in doubt: the next command settles what it can, the rest is for a person."""
    entries = journal.doubts()
    under_way = [each for each in entries if each.open and leases.holder_of(each.device) is not None]
    cut_off = [each for each in entries if each.open and each not in under_way]
    doubts = len(entries) - len(under_way) - len(cut_off)
    says = f"in doubt: {doubts}, cut off: {len(cut_off)}, under way: {len(under_way)}"
    if doubts or cut_off:
        return Finding("doubts", State.WARN, f"{says}; their devices take no changes", "ackonce doubt list")
    return Finding("doubts", State.OK, says)
