"""Is a damaged store ever anything but a store, an older state of it, or a clear StoreError?

What SQLite can find out, it says: a page that is none, a file that ends too early. What it cannot: a byte that changed
within a text, and the tail of a write-ahead log, which looks like a tail that was never durable. So such a store may be
an older one, but never a mixture, and never one that lost rows from its main file.
"""

import itertools
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.store.database import StoreError
from agent.store.schema import VERSION
from agent.store.sqlite import FILE_NAME, SqliteDatabase, open_database
from simulator.loop import run
from tests.agent.desk import Desk, Network, machine
from tests.fuzz.damage import Edit, damaged, edits
from tests.fuzz.seeded import fuzz

WAL = f"{FILE_NAME}-wal"
URL = "tcp://device:1"
COMMANDS = 6
PAGE = 4096
"""Bytes of a page of the file."""
_NUMBERS = itertools.count()

Picture = tuple[tuple[str, str | None], ...]
"""Every operation and its outcome, oldest first."""


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two copies of a store: `killed`, as a killed process leaves it, and `closed`. The last operation is in doubt."""
    folder = tmp_path_factory.mktemp("stores")

    async def main() -> None:
        desk = Desk(folder / "desk", Network({URL: machine(f"cmd {COMMANDS}: reboot_after")}, []))
        for number in range(COMMANDS):
            await desk.send("ADJUST offset +1", key=f"k{number}")
        assert desk.service.doubts()
        shutil.copytree(folder / "desk", folder / "killed")
        desk.service.close()
        shutil.copytree(folder / "desk", folder / "closed")

    run(main)
    return folder


def picture(database: SqliteDatabase) -> Picture:
    """What is in the store. Raises StoreError."""
    return tuple(database.read("SELECT op, outcome FROM operation ORDER BY created_utc, op"))


def seen(home: Path) -> Picture | None:
    """What a new process sees, None where it is told that the store cannot be used."""
    try:
        database = open_database(home)
        try:
            found = picture(database)
            database.commit_now(lambda cursor: cursor.execute("UPDATE meta SET value = value"))
        finally:
            database.close()
    except StoreError as problem:
        told = str(problem)
    else:
        return found
    assert str(home / FILE_NAME) in told
    return None


def fresh(stores: Path, name: str) -> Path:
    """A copy of one of the stores."""
    home = stores / f"copy-{next(_NUMBERS)}"
    shutil.copytree(stores / name, home)
    return home


def spoil(stores: Path, name: str, file: str, how: Callable[[bytes], bytes]) -> Picture | None:
    """What is seen of a store of which one file was changed."""
    home = fresh(stores, name)
    path = home / file
    path.write_bytes(how(path.read_bytes()))
    try:
        return seen(home)
    finally:
        shutil.rmtree(home)


def whole(stores: Path) -> Picture:
    """What is in a store that nobody changed."""
    home = fresh(stores, "closed")
    found = seen(home)
    assert found is not None
    assert len(found) == COMMANDS
    return found


def block(start: int, size: int, filler: bytes) -> Callable[[bytes], bytes]:
    """One block is filled with something else; `start` counts blocks and is taken modulo the length."""

    def fill(data: bytes) -> bytes:
        at = start % max(1, len(data) // size) * size
        end = min(at + size, len(data))
        return data[:at] + (filler * size)[: end - at] + data[end:]

    return fill


sizes = st.sampled_from((512, 4096))
fillers = st.one_of(
    st.just(b"\0"), st.text(alphabet=st.characters(max_codepoint=127), min_size=1).map(str.encode)
)


@fuzz(40)
@given(start=st.integers(0, 10_000), size=sizes, filler=fillers)
def test_a_spoilt_block_of_the_file(start: int, size: int, filler: bytes, stores: Path) -> None:
    """A block that a bad disk gave back as something else: said, or no operation is missing."""
    found = spoil(stores, "closed", FILE_NAME, block(start, size, filler))
    assert found is None or len(found) == len(whole(stores))


@fuzz(40)
@given(share=st.floats(0.0, 1.0))
def test_a_file_that_ends_too_early(share: float, stores: Path) -> None:
    """Cut off behind its second byte and a page before its end or earlier, the file is refused."""
    assert (
        spoil(stores, "closed", FILE_NAME, lambda data: data[: 2 + int(share * (len(data) - PAGE - 2))])
        is None
    )


@pytest.mark.parametrize("gone", [1, 512, PAGE // 2])
def test_a_file_that_ends_within_its_last_page(gone: int, stores: Path) -> None:
    """The same holds for its last page."""
    assert spoil(stores, "closed", FILE_NAME, lambda data: data[:-gone]) is None


def test_a_schema_that_is_no_text(stores: Path) -> None:
    """Bytes that are no text where the names of tables stand: said, or no operation is missing."""
    for name in (b"operation_unsettled", b"operation", b"CREATE"):
        found = spoil(stores, "closed", FILE_NAME, partial(_unreadable, name=name))
        assert found in (None, whole(stores))


def _unreadable(data: bytes, name: bytes) -> bytes:
    return data.replace(name, b"\xff" * len(name))


@fuzz(30)
@given(content=st.binary(min_size=2, max_size=9000))
def test_a_file_that_is_something_else(content: bytes, stores: Path) -> None:
    """Any other bytes in its place are refused, and stay as they are (one byte is as good as none for SQLite)."""
    home = fresh(stores, "closed")
    path = home / FILE_NAME
    path.write_bytes(content)
    assert seen(home) is None
    assert path.read_bytes() == content
    shutil.rmtree(home)


@fuzz(60)
@given(how=edits, start=st.integers(0, 10_000), torn=st.floats(0.0, 1.0) | st.none())
def test_a_spoilt_write_ahead_log(how: Sequence[Edit], start: int, torn: float | None, stores: Path) -> None:
    """Torn, or with other bytes in it: an older state of the store, in which nothing is mixed up, or a StoreError."""

    def change(data: bytes) -> bytes:
        if torn is not None:
            return data[: int(torn * len(data))]
        at = start * 512 % len(data)
        return data[:at] + damaged(data[at : at + 512], how) + data[at + 512 :]

    found, full = spoil(stores, "killed", WAL, change), whole(stores)
    if found is not None:
        assert [op for op, _ in found] == [op for op, _ in full[: len(found)]]
        assert found[:-1] == full[: len(found)][:-1], "only the newest operation may be without its word"


@pytest.mark.parametrize("version", [VERSION + 1, VERSION + 100, 2**31 - 1])
@pytest.mark.parametrize("name", ["killed", "closed"])
def test_a_store_from_the_future(name: str, version: int, stores: Path) -> None:
    """A schema that we do not know is not touched, and the message says which version knows it."""
    home = fresh(stores, name)
    database = open_database(home)
    database._db.execute(f"PRAGMA user_version = {version}")
    database.close()
    before = (home / FILE_NAME).read_bytes()
    with pytest.raises(StoreError, match=f"newer ackonce .schema {version}, this one knows {VERSION}"):
        open_database(home)
    assert (home / FILE_NAME).read_bytes() == before


def test_what_a_killed_process_leaves_is_whole(stores: Path) -> None:
    """With its write-ahead log the store is whole, also where the index of that log is gone."""
    for gone in ((), (f"{FILE_NAME}-shm",)):
        home = fresh(stores, "killed")
        for name in gone:
            (home / name).unlink()
        assert seen(home) == whole(stores)


def test_a_store_without_its_wal(stores: Path) -> None:
    """Somebody copied or kept only the main file: it is refused, and not begun anew as an empty store."""
    home = fresh(stores, "killed")
    (home / WAL).unlink()
    assert seen(home) is None


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE operation SET terms = '{'",
        "UPDATE operation SET terms = '{}'",
        "UPDATE operation SET terms = replace(terms, 'resend', 'resdnd')",
        "UPDATE operation SET terms = replace(terms, 'attempts_max', 'attempts_man')",
        "UPDATE operation SET outcome = 'in_dou'",
        "UPDATE evidence SET fields = ''",
        "UPDATE evidence SET fields = '[]'",
        "UPDATE evidence SET kind = 'Conndcted'",
        "UPDATE evidence SET fields = replace(fields, 'attempt', 'attemps')",
    ],
)
def test_rows_that_mean_nothing(sql: str, stores: Path) -> None:
    """A text that a bad disk changed is told as damage of the store, not as a bug of ours."""
    home = fresh(stores, "closed")
    database = open_database(home)
    database.commit_now(lambda cursor: cursor.execute(sql))
    database.close()

    async def main() -> None:
        service = Desk(home, Network({}, [])).service
        try:
            for (op,) in service.database.read("SELECT op FROM operation"):
                [entry] = service.journal.find(op)
                service.journal.load(entry.operation)
                service.journal.story(op)
        finally:
            service.close()

    with pytest.raises(StoreError, match=FILE_NAME):
        run(main)
