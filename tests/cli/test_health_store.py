"""What `doctor` finds out about a store, without changing it."""

import os
import sqlite3
from pathlib import Path

import pytest

from agent.cli.health import Finding, State
from agent.cli.health_store import store
from agent.processes import Holder, this_process
from agent.service import Service
from agent.settings import Settings
from agent.store.schema import VERSION
from tests.cli.access import forbid
from tests.cli.bench import Bench


@pytest.fixture
def home(quick_home: Path) -> Path:
    """A folder with a store that nothing was done in."""
    Service(Settings(quick_home, quick_home, None, None, None, "ana")).close()
    return quick_home


def _store(folder: Path) -> dict[str, Finding]:
    return {finding.check: finding for finding in store(folder)}


def _sql(folder: Path, statement: str, *params: object) -> None:
    database = sqlite3.connect(folder / "journal.db", isolation_level=None)
    database.execute(statement, params)
    database.close()


def _lease(folder: Path, holder: Holder) -> None:
    _sql(
        folder,
        "INSERT INTO device (id, holder, token, held_since, expires_utc) VALUES (1, ?, 1, '', ?)",
        holder.to_json(),
        "2999-01-01T00:00:00.000Z",
    )
    _sql(folder, "INSERT INTO address (url, unit, device) VALUES ('tcp://h:1', 1, 1)")


def test_a_lease_in_use(home: Path) -> None:
    """A device that a living process holds is told with the holder's name, and is nothing to worry about."""
    _lease(home, this_process("b"))
    leases = _store(home)["leases"]
    assert (leases.state, leases.says) == (
        State.OK,
        f"held: tcp://h:1 by agent b, process {os.getpid()} on {this_process().host}",
    )


def test_a_lease_of_a_dead_process(home: Path) -> None:
    """A device whose holder is gone is free, but what that process left behind wants a look."""
    me = this_process("b")
    _lease(home, Holder(me.agent, me.host, me.pid, "another start", me.boot, "x"))
    leases = _store(home)["leases"]
    assert leases.state is State.WARN
    assert leases.says.startswith("left by a process that is gone, so free: tcp://h:1 by agent b")
    assert leases.next == "See what it left behind: ackonce doubt list"


def test_a_doubt(bench: Bench) -> None:
    """A doubt is a warning that leads to the inbox, not a failure."""
    bench.device("cmd *: drop_ack; nop *: drop_request; hello 3-99: drop_request", timeout="0.05s")
    assert bench.send("d1", "BEEP")[0] == 5
    doubts = _store(bench.project.home)["doubts"]
    assert (doubts.state, doubts.next) == (State.WARN, "ackonce doubt list")
    assert doubts.says.startswith("in doubt: 1, cut off: 0, under way: 0")


def test_open_operations(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operation without a word is cut off where nobody holds its device, else under way and no worry."""
    bench.device(timeout="5s")
    bench.send("d1", "BEEP")
    _sql(bench.project.home, "UPDATE operation SET outcome = NULL")
    cut_off = _store(bench.project.home)["doubts"]
    assert (cut_off.state, cut_off.says.split(";")[0]) == (
        State.WARN,
        "in doubt: 0, cut off: 1, under way: 0",
    )
    monkeypatch.setattr("agent.leases.Leases.holder_of", lambda *_: this_process())
    under_way = _store(bench.project.home)["doubts"]
    assert (under_way.state, under_way.says) == (State.OK, "in doubt: 0, cut off: 0, under way: 1")


def test_a_store_in_use(home: Path) -> None:
    """While another process has the store open, what it has committed is seen."""
    service = Service(Settings(home, home, None, None, None, "ana"))
    _lease(home, this_process("b"))
    try:
        assert _store(home)["leases"].says.startswith("held: tcp://h:1 by ")
    finally:
        service.close()


@pytest.mark.parametrize(
    ("pragma", "state", "says"),
    [
        (f"user_version = {VERSION + 1}", State.FAIL, "was written by a newer ackonce"),
        ("user_version = 0", State.OK, f"the next command brings it to schema {VERSION}"),
        ("journal_mode = DELETE", State.WARN, "not in WAL mode"),
    ],
)
def test_kinds_of_journals(home: Path, pragma: str, state: State, says: str) -> None:
    """A newer journal fails, an older one will be brought up to date, one without WAL is a warning."""
    _sql(home, f"PRAGMA {pragma}")
    journal = _store(home)["journal"]
    assert journal.state is state
    assert says in journal.says


def test_a_damaged_journal(home: Path) -> None:
    """Damage inside the file is found, and the advice is to restore, never to delete."""
    path = home / "journal.db"
    page = path.read_bytes()
    path.write_bytes(page[:4096] + b"\xff" * (len(page) - 4096))
    [journal] = store(home)
    assert journal.state is State.FAIL
    assert "Put it aside and restore a backup" in (journal.next or "")


def test_a_damaged_page(home: Path) -> None:
    """Damage is found wherever it is, also in a part that no look reads."""
    database = sqlite3.connect(home / "journal.db")
    [page] = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'evidence'").fetchone()
    [size] = database.execute("PRAGMA page_size").fetchone()
    database.close()
    with (home / "journal.db").open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    [journal] = store(home)
    assert (journal.state, "is damaged" in journal.says) == (State.FAIL, True)


def test_operations_that_make_no_sense(bench: Bench) -> None:
    """A journal whose operations cannot be understood is a failure, and no internal error."""
    bench.device(timeout="5s")
    bench.send("d1", "BEEP")
    _sql(bench.project.home, "UPDATE operation SET outcome = NULL, terms = '{}'")
    assert store(bench.project.home)[-1].state is State.FAIL


@pytest.mark.parametrize("name", ["journal.db", "journal.db-wal"])
def test_a_journal_of_somebody_else(home: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the store that may not be written, as after a run with sudo, fails by its name."""
    (home / name).touch()
    forbid(monkeypatch, home / name)
    [journal] = store(home)
    assert (journal.state, journal.next) == (State.FAIL, f"Was it made with sudo? ls -l {home}")
    assert str(home / name) in journal.says
