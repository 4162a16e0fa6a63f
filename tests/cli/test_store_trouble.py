"""What happens when the store cannot be used? Nothing is sent without a journal, and every sentence says what to do."""

import errno
import os
import resource
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from agent.cli.store_words import mending
from agent.store.database import StoreError
from agent.store.sqlite import FILE_NAME
from tests.cli.bench import Bench
from tests.cli.process_rig import ProcessRig, Running

StartRig = Callable[..., ProcessRig]


@pytest.mark.parametrize("content", [b"no database at all " * 500, b"SQLite format 3\0" + b"\xff" * 8_000])
def test_a_damaged_journal(bench: Bench, content: bytes) -> None:
    """A file that is no journal: exit 7, its path, what to do about it, and no connection."""
    device = bench.device()
    bench.project.home.mkdir()
    (bench.project.home / FILE_NAME).write_bytes(content)
    code, record = bench.send("d1", "BEEP")
    assert (code, record["op"], record["outcome"]) == (7, None, "not_sent")
    assert str(bench.project.home / FILE_NAME) in record["message"]
    assert "restore a backup" in record["message"]
    assert device.connections == 0


def test_a_journal_from_the_future(bench: Bench) -> None:
    """A journal of a newer version is left alone: exit 7, and the sentence says to use that version."""
    device = bench.device(timeout="5s")
    bench.send("d1", "SET", "interval", "3")
    with sqlite3.connect(bench.project.home / FILE_NAME) as store:
        store.execute("PRAGMA user_version = 999")
    store.close()
    connections = device.connections
    code, record = bench.send("d1", "BEEP")
    assert (code, record["outcome"], device.connections) == (7, "not_sent", connections)
    assert "written by a newer ackonce" in record["message"]


@pytest.mark.parametrize("how", ["emptied", "deleted"])
def test_a_journal_that_is_gone(bench: Bench, how: str) -> None:
    """Beside a log of what was sent, an empty journal is no new one: keys would be forgotten, so nothing is sent."""
    device = bench.device(timeout="5s")
    assert bench.send("d1", "BEEP", "--key", "k")[0] == 0
    journal = bench.project.home / FILE_NAME
    for each in bench.project.home.glob(f"{FILE_NAME}-*"):
        each.unlink()
    journal.write_bytes(b"") if how == "emptied" else journal.unlink()
    code, record = bench.send("d1", "BEEP", "--key", "k")
    assert (code, record["outcome"], device.executed) == (7, "not_sent", ["BEEP"])
    assert "Restore a backup" in record["message"]
    assert bench.type("doctor").code == 7
    (bench.project.home / "log.jsonl").unlink()
    assert bench.send("d1", "BEEP")[0] == 8  # a new store, to which the device belongs to somebody else


def test_pipes_where_files_should_be(bench: Bench) -> None:
    """A pipe in place of the log holds nothing up; one in place of the journal is named."""
    device = bench.device(timeout="5s")
    bench.project.home.mkdir()
    os.mkfifo(bench.project.home / "log.jsonl")
    assert (bench.send("d1", "BEEP")[0], device.executed) == (0, ["BEEP"])
    journal = bench.project.home / FILE_NAME
    journal.unlink()
    os.mkfifo(journal)
    assert bench.type("doctor").code == 7


@pytest.mark.parametrize(
    "words",
    ["send d1 BEEP --yes", "get d1 offset", "probe d1", "doubt list", "doubt show 01", "doubt check 01"],
)
@pytest.mark.parametrize("where", ["a file", "under a file"])
def test_no_folder_for_the_store(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str, where: str
) -> None:
    """ACKONCE_HOME that cannot be a folder: every command that needs the store ends with 7 and names it."""
    device = bench.device()
    (tmp_path / "file").write_text("")
    home = tmp_path / "file" if where == "a file" else tmp_path / "file" / "home"
    monkeypatch.setenv("ACKONCE_HOME", str(home))
    ended = bench.type(*words.split())
    assert (ended.code, ended.out, device.connections) == (7, "", 0)
    assert str(home) in ended.err
    assert "\nSet ACKONCE_HOME to a folder that you may write, or mend its permissions.\n" in ended.err


@pytest.mark.parametrize(
    ("problem", "advice"),
    [
        (OSError(errno.EACCES, "Permission denied"), "Set ACKONCE_HOME to a folder that you may write"),
        (OSError(errno.EROFS, "Read-only file system"), "Set ACKONCE_HOME to a folder that you may write"),
        (OSError(errno.ENOSPC, "No space left on device"), "Make room there"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "Make room there"),
        (OSError(errno.EIO, "Input/output error"), "Make room or mend it there"),
    ],
    ids=str,
)
@pytest.mark.parametrize("words", ["send d1 SET interval 3", "get d1 offset", "doubt list"])
def test_what_is_to_be_done(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, words: str, problem: OSError, advice: str
) -> None:
    """Rights and room want different things done, and every command says which."""
    device = bench.device()

    def refuse(*_: object, **__: object) -> NoReturn:
        raise problem

    monkeypatch.setattr(Path, "touch", refuse)
    ended = bench.type(*words.split())
    assert (ended.code, device.connections) == (7, 0)
    assert f"\n{advice}" in ended.err


def test_a_journal_that_may_not_be_written() -> None:
    """What SQLite calls the error decides too; of a damaged journal its own sentence says what to do."""
    assert mending(_as_stored("PRAGMA query_only = ON; CREATE TABLE x (y)")) == (
        "Set ACKONCE_HOME to a folder that you may write, or mend its permissions."
    )
    assert mending(StoreError("written by a newer ackonce. Use that version")) is None


def _as_stored(script: str) -> StoreError:
    """What SQLite raises over a script, as the store hands it on."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(script)
    except sqlite3.Error as trouble:
        problem = StoreError("the journal cannot be written")
        problem.__cause__ = trouble
        return problem
    finally:
        connection.close()
    raise AssertionError("nothing went wrong")


def test_a_folder_that_is_not_there_yet(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Missing parents of ACKONCE_HOME are made, and nobody else may look inside."""
    bench.device(timeout="5s")
    home = tmp_path / "a" / "b" / "c"
    monkeypatch.setenv("ACKONCE_HOME", str(home))
    assert bench.send("d1", "SET", "interval", "3")[0] == 0
    assert home.stat().st_mode & 0o077 == 0


def test_full_from_the_start(start_rig: StartRig) -> None:
    """A disk that is full already: exit 7, the device saw no command, and the sentence says what to do."""
    rig = start_rig(timeout="10s")
    assert rig.run("send", "d1", "SET", "interval", "3").code == 0
    ended = rig.run("send", "d1", "BEEP", "--yes", "--json", preexec_fn=no_larger_than(0))
    [record] = ended.records
    assert (ended.code, record["op"], record["outcome"]) == (7, None, "not_sent")
    assert "journal" in record["message"]
    assert "Make room" in ended.err
    assert "BEEP" not in rig.device.executed
    assert rig.run("send", "d1", "BEEP", "--yes").code == 0
    assert rig.device.executed["BEEP"] == 1


def test_full_when_the_intent_should_be_written(start_rig: StartRig) -> None:
    """A disk that fills up while the device is being reached: no copy leaves, and no operation is on record."""
    rig = start_rig("hello 3: delay 2", timeout="10s")
    assert rig.run("send", "d1", "SET", "interval", "3").code == 0
    sender = rig.start("send", "d1", "BEEP", "--yes", "--json")
    rig.device.wait_for("at hello 3")
    fill_the_disk_of(sender)
    ended = sender.end()
    [record] = ended.records
    assert (ended.code, record["op"], record["outcome"], record["attempts"]) == (7, None, "not_sent", 0)
    assert "Make room" in ended.err
    assert rig.run("doubt", "list", "--json").lines == []
    assert rig.device.executed == {"SET interval 3": 1}


def test_full_between_the_copies(start_rig: StartRig) -> None:
    """A disk that fills up after a copy has left: a true word, and the next run settles what really happened."""
    rig = start_rig("cmd 1: drop_ack", timeout="2s")
    sender = rig.start("send", "d1", "BEEP", "--yes", "--json")
    rig.device.wait_for("command: BEEP")
    fill_the_disk_of(sender)
    ended = sender.end()
    [record] = ended.records
    assert (ended.code, record["outcome"], record["attempts"]) == (5, "in_doubt", 1)
    assert "journal" in record["message"]

    assert rig.run("send", "d1", "SET", "interval", "3").code == 0
    assert rig.run("doubt", "list", "--json").lines == []
    assert rig.run("doubt", "show", record["op"]).lines[0].endswith("applied")
    assert rig.device.executed["BEEP"] == 1


def fill_the_disk_of(running: Running) -> None:
    """From now on no file of a running process grows, as on a full disk."""
    if sys.platform != "linux":
        pytest.skip("only Linux limits other processes")
    resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (0, 0))


def no_larger_than(size: int) -> Callable[[], None]:
    """What a child does before it runs: no file of it grows beyond `size` bytes, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
