"""Does the store open what it should, refuse what it must, and lose nothing that it called durable?"""

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.store import sqlite as store
from agent.store.database import StoreError
from agent.store.schema import MIGRATIONS, VERSION
from agent.store.sqlite import FILE_NAME, SqliteDatabase, open_database
from tests.agent.store_desk import names, put

NOBODY = 65534


# --- opening --------------------------------------------------------------------------------------------------


def test_a_new_store(tmp_path: Path) -> None:
    """A store is made where there is none, folders included, private, with an agent id that stays."""
    home = tmp_path / "state" / "ackonce"
    first = open_database(home)
    agent = first.read("SELECT value FROM meta WHERE name = 'agent'")
    assert 0 <= int(agent[0][0]) < 2**64
    assert first.read("PRAGMA user_version") == [(VERSION,)]
    assert home.stat().st_mode & 0o077 == 0
    first.close()
    second = open_database(home)
    assert second.read("SELECT value FROM meta WHERE name = 'agent'") == agent
    second.close()


def test_every_commit_is_flushed(database: SqliteDatabase) -> None:
    """The write-ahead log is flushed at every commit (2: FULL), and references are checked."""
    assert database.read("PRAGMA journal_mode") == [("wal",)]
    assert database.read("PRAGMA synchronous") == [(2,)]
    assert database.read("PRAGMA foreign_keys") == [(1,)]


def test_an_empty_file_is_a_store_of_version_0(tmp_path: Path) -> None:
    """What a crash left before the first table is filled like a new store."""
    (tmp_path / FILE_NAME).touch()
    opened = open_database(tmp_path)
    assert opened.read("PRAGMA user_version") == [(VERSION,)]
    opened.close()


def test_an_older_store_is_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of an older version gets the migrations that it lacks, and keeps its rows and its agent id."""
    old = open_database(tmp_path)
    old.commit_now(put("kept"))
    agent = old.read("SELECT value FROM meta WHERE name = 'agent'")
    old.close()
    monkeypatch.setattr(
        store, "MIGRATIONS", (*MIGRATIONS, ("CREATE TABLE later (a)", "CREATE TABLE last (a)"))
    )
    monkeypatch.setattr(store, "VERSION", VERSION + 1)
    new = open_database(tmp_path)
    assert new.read("SELECT * FROM later UNION ALL SELECT * FROM last") == []
    assert new.read("SELECT value FROM meta WHERE name = 'agent'") == agent
    assert names(new) == {"kept"}
    new.close()


@pytest.mark.parametrize("version", range(1, VERSION))
def test_every_older_version_becomes_the_same_store(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever version a store began with, it ends with the tables and indices of a new one, and with its rows."""
    with monkeypatch.context() as patch:
        patch.setattr(store, "MIGRATIONS", MIGRATIONS[:version])
        patch.setattr(store, "VERSION", version)
        old = open_database(tmp_path / "old")
        old.commit_now(put("kept"))
        old.close()
    old, new = open_database(tmp_path / "old"), open_database(tmp_path / "new")
    schema = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
    assert old.read(schema) == new.read(schema)
    assert names(old) == {"kept"}
    old.close()
    new.close()


def test_a_failed_migration_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A migration that fails half way leaves the store at its old version, whole."""
    open_database(tmp_path).close()
    with monkeypatch.context() as patch:
        patch.setattr(
            store, "MIGRATIONS", (*MIGRATIONS, ("CREATE TABLE later (a)", "CREATE TABLE device (a)"))
        )
        patch.setattr(store, "VERSION", VERSION + 1)
        with pytest.raises(StoreError, match="table device already exists"):
            open_database(tmp_path)
    same = open_database(tmp_path)
    assert same.read("SELECT 1 FROM sqlite_master WHERE name = 'later'") == []
    same.close()


def test_a_store_from_the_future_is_left_alone(tmp_path: Path) -> None:
    """A newer schema is not touched; the error names both versions."""
    open_database(tmp_path).close()
    with sqlite3.connect(tmp_path / FILE_NAME) as raw:
        raw.execute(f"PRAGMA user_version = {VERSION + 1}")
    raw.close()
    before = (tmp_path / FILE_NAME).read_bytes()
    with pytest.raises(
        StoreError, match=rf"newer ackonce \(schema {VERSION + 1}, this one knows {VERSION}\)"
    ):
        open_database(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == before


def _not_a_database(home: Path) -> None:
    (home / FILE_NAME).write_bytes(b"These are notes, and they are long enough to hold a header." * 20)


def _torn_first_page(home: Path) -> None:
    open_database(home).close()
    with (home / FILE_NAME).open("r+b") as file:
        file.seek(100)
        file.write(bytes(3996))


def _truncated(home: Path) -> None:
    open_database(home).close()
    os.truncate(home / FILE_NAME, 2048)


def _a_directory(home: Path) -> None:
    (home / FILE_NAME).mkdir()


@pytest.mark.parametrize(
    ("spoil", "advice"),
    [
        (_not_a_database, "restore a backup"),
        (_torn_first_page, "restore a backup"),
        (_truncated, "restore a backup"),
        (_a_directory, "unable to open"),
    ],
)
def test_what_is_no_store(tmp_path: Path, spoil: Callable[[Path], None], advice: str) -> None:
    """What cannot be read as a store is refused by path, with advice, and is not overwritten."""
    spoil(tmp_path)
    file = tmp_path / FILE_NAME
    before = file.read_bytes() if file.is_file() else None
    with pytest.raises(StoreError, match=advice) as caught:
        open_database(tmp_path).read("SELECT value FROM meta")
    assert str(file) in str(caught.value)
    assert (file.read_bytes() if file.is_file() else None) == before


def test_a_torn_page_is_an_error_not_an_empty_answer(tmp_path: Path) -> None:
    """Rows on a damaged page are never silently missing."""
    filled = open_database(tmp_path)
    rows = [(f"name {n}", "x" * 100) for n in range(300)]
    filled.commit_now(lambda cursor: cursor.executemany("INSERT INTO meta VALUES (?, ?)", rows))
    filled.close()
    size = (tmp_path / FILE_NAME).stat().st_size
    with (tmp_path / FILE_NAME).open("r+b") as file:
        file.seek(size // 2 // 4096 * 4096)
        file.write(b"\xff" * (size - size // 2))
    with pytest.raises(StoreError, match="malformed"):
        names(open_database(tmp_path))


@pytest.mark.parametrize("home", ["a file/ackonce", "a file", "/proc/self"])
def test_a_home_that_cannot_be(tmp_path: Path, home: str) -> None:
    """A file where the folder should be, or a folder that takes no files, is a StoreError that names the path."""
    (tmp_path / "a file").touch()
    with pytest.raises(StoreError, match="cannot be opened") as caught:
        open_database(tmp_path / home)
    assert str(tmp_path / home / FILE_NAME) in str(caught.value)


@contextmanager
def read_only(home: Path) -> Iterator[None]:
    """Take every right to write from this process; root becomes nobody for a while."""
    rights = dict.fromkeys(home.iterdir(), 0o444) | {home: 0o555}
    for path, mode in rights.items():
        path.chmod(mode)
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for path in rights:
            path.chmod(0o700)


def test_a_read_only_store_refuses_to_write() -> None:
    """Where nothing can be written, it says so at the latest before anything could be sent."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        open_database(home).close()
        with read_only(home), pytest.raises(StoreError, match="journal"):
            open_database(home).commit_now(put("x"))


# --- full disk, kills, other processes ----------------------------------------------------------------------------


def test_a_full_disk_refuses_and_loses_nothing(database: SqliteDatabase, tmp_path: Path) -> None:
    """A write that finds no room is refused whole; what was durable before stays, and with room it goes on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    written: list[str] = []

    def fill() -> None:
        for n in range(100):
            database.commit_now(put(f"name {n}", "x" * 30_000))
            written.append(f"name {n}")

    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
        with pytest.raises(StoreError, match="cannot be written"):
            fill()
        with pytest.raises(StoreError, match="cannot be written"):
            database.commit_now(put("still full", "x" * 30_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(written) > 3
    assert names(database) == set(written)
    database.commit_now(put("room again"))
    again = open_database(tmp_path)
    assert again.read("PRAGMA integrity_check") == [("ok",)]
    assert names(again) == {*written, "room again"}
    again.close()


WORKER = """
import sys
from pathlib import Path
from agent.store.sqlite import open_database
database = open_database(Path(sys.argv[1]))
for n in range(int(sys.argv[3])):
    name = f"{sys.argv[2]} {n}"
    database.commit_now(lambda c: c.execute("INSERT INTO meta VALUES (?, ?)", (name, "x")))
    print(name, flush=True)
    if len(sys.argv) > 4:
        sys.stdin.readline()
"""


def worker(home: Path, name: str, writes: int, *more: str) -> "subprocess.Popen[str]":
    """A process that writes to the store and prints what it was told is durable."""
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(home), name, str(writes), *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_kill_loses_nothing_that_was_durable(tmp_path: Path) -> None:
    """The write-ahead log that a killed process leaves behind is read by the next one."""
    with worker(tmp_path, "killed", 2, "wait") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "killed 0\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (tmp_path / f"{FILE_NAME}-wal").stat().st_size > 0
    opened = open_database(tmp_path)
    assert names(opened) == {"killed 0"}
    opened.close()


def test_two_processes_write_to_one_store(database: SqliteDatabase, tmp_path: Path) -> None:
    """Writers of two processes wait for each other, and every row of both is there."""
    with worker(tmp_path, "child", 30) as process:
        assert process.stdout is not None
        process.stdout.readline()
        for n in range(30):
            database.commit_now(put(f"parent {n}"))
        process.communicate(timeout=20)
        assert process.returncode == 0
    assert names(database) == {f"{who} {n}" for who in ("child", "parent") for n in range(30)}


def test_a_writer_waits_for_its_turn(database: SqliteDatabase, tmp_path: Path) -> None:
    """A store that another connection is writing to is waited for, not called broken."""
    other = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.03, other.execute, ("COMMIT",))
    timer.start()
    database.commit_now(put("waited"))
    timer.join()
    other.close()
    assert names(database) == {"waited"}


def test_a_writer_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that stays locked is a StoreError that says so."""
    monkeypatch.setattr(store, "BUSY_S", 0.01)
    database = open_database(tmp_path)
    other = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="database is locked"):
        database.commit_now(put("x"))
    other.execute("ROLLBACK")
    other.close()
    database.commit_now(put("x"))
    database.close()


def test_many_make_one_new_store(tmp_path: Path) -> None:
    """Whoever opens a store that others are just making gets the same store, with one agent id."""
    for turn in range(10):
        home = tmp_path / str(turn)
        gate = threading.Barrier(6)
        seen: list[object] = []

        def open_it(home: Path = home, gate: threading.Barrier = gate, seen: list[object] = seen) -> None:
            gate.wait()
            try:
                database = open_database(home)
                seen.append(database.read("SELECT value FROM meta")[0][0])
                database.close()
            except StoreError as problem:
                seen.append(problem)

        threads = [threading.Thread(target=open_it) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(seen) == 6
        assert len(set(map(str, seen))) == 1, seen


def test_a_copy_of_the_files_is_a_store(database: SqliteDatabase, tmp_path: Path) -> None:
    """A backup made by copying the files opens with what was committed."""
    database.commit_now(put("kept"))
    shutil.copytree(tmp_path, tmp_path / "backup")
    copy = open_database(tmp_path / "backup")
    assert names(copy) == {"kept"}
    copy.close()
