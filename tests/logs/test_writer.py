"""The writer: whole lines, batches, bounded memory, and never an error for the caller."""

import fcntl
import os
import random
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import Mock, patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logs.events import Event, Level
from logs.place import previous_path
from logs.reader import read
from logs.writer import LogWriter
from tests.logs.samples import sample


def lines(path: Path) -> int:
    """How many lines the file holds by now."""
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def test_information_waits_for_flush(tmp_path: Path) -> None:
    """Records wait in a batch until they are flushed, in order."""
    writer, written = LogWriter(tmp_path / "log"), [sample() for _ in range(255)]
    for event in written:
        writer.write(event)
    assert lines(tmp_path / "log") == 0
    writer.flush()
    assert list(read(tmp_path / "log")) == written
    writer.close()


@pytest.mark.parametrize("level", ["WARN", "ERROR"])
def test_urgent_is_written_at_once(tmp_path: Path, level: Level) -> None:
    """A warning or an error takes everything before it along to the file at once."""
    writer = LogWriter(tmp_path / "log")
    writer.write(sample(level="DEBUG"))
    writer.write(sample(level="INFO"))
    assert lines(tmp_path / "log") == 0
    writer.write(sample(level=level))
    assert lines(tmp_path / "log") == 3
    writer.close()


def test_full_batch_is_written(tmp_path: Path) -> None:
    """The 256th record writes the batch, in one system call."""
    writer = LogWriter(tmp_path / "log")
    with patch("logs.writer.os.write", wraps=os.write) as write:
        for _ in range(256):
            writer.write(sample())
    assert lines(tmp_path / "log") == 256
    assert write.call_count == 1
    writer.close()


def test_close_writes_the_rest(tmp_path: Path) -> None:
    """Closing leaves nothing behind."""
    writer = LogWriter(tmp_path / "log")
    writer.write(sample())
    writer.close()
    assert lines(tmp_path / "log") == 1
    assert (writer.problem, writer.lost) == (None, 0)


def test_file_is_private_and_appended(tmp_path: Path) -> None:
    """The file is for its owner only, and a later writer goes on behind the earlier one."""
    old_mask = os.umask(0)
    try:
        for _ in range(2):
            writer = LogWriter(tmp_path / "log")
            writer.write(sample())
            writer.close()
    finally:
        os.umask(old_mask)
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600
    assert lines(tmp_path / "log") == 2


def test_unused_writer_makes_no_file(tmp_path: Path) -> None:
    """A command that logs nothing leaves no trace."""
    LogWriter(tmp_path / "log").close()
    assert not (tmp_path / "log").exists()


def test_echo_comes_at_once(tmp_path: Path) -> None:
    """Every event is shown when it happens, whether or not it is in the file yet."""
    seen: list[Event] = []
    writer = LogWriter(tmp_path / "log", echo=seen.append)
    first, second = sample(level="DEBUG"), sample()
    writer.write(first)
    assert seen == [first]
    writer.write(second)
    assert seen == [first, second]
    writer.close()


def test_broken_terminal_ends_the_echo_only(tmp_path: Path) -> None:
    """A closed terminal costs the echo, not the record nor the operation."""
    calls = []

    def echo(event: Event) -> None:
        calls.append(event)
        raise BrokenPipeError(32, "Broken pipe")

    writer = LogWriter(tmp_path / "log", echo=echo)
    writer.write(sample())
    writer.write(sample())
    writer.close()
    assert len(calls) == 1
    assert lines(tmp_path / "log") == 2
    assert writer.problem == "Log lines are no longer shown: Broken pipe."


def test_first_problem_stays_named(tmp_path: Path) -> None:
    """The sentence is about what went wrong first; a later problem does not hide it."""
    writer = LogWriter(
        tmp_path / "missing" / "log", echo=Mock(side_effect=BrokenPipeError(32, "Broken pipe"))
    )
    writer.write(sample(level="ERROR"))
    writer.close()
    assert writer.problem == "Log lines are no longer shown: Broken pipe."


def test_short_write_ends_the_flush(tmp_path: Path) -> None:
    """A file that takes less than it was given is a problem, and is not tried again and again."""
    writer = LogWriter(tmp_path / "log")
    with patch("logs.writer.os.write", side_effect=[0]):
        writer.write(sample(level="WARN"))
    assert writer.problem == f"The log {tmp_path / 'log'} cannot be written: No space left on device."
    writer.close()


def test_full_disk() -> None:
    """A full disk never raises; the first problem is said once and what is lost is counted."""
    writer = LogWriter(Path("/dev/full"))
    for _ in range(3):
        writer.write(sample(level="ERROR"))
    assert writer.problem == "The log /dev/full cannot be written: No space left on device."
    assert writer.lost == 0
    writer.close()
    assert writer.lost == 3


def test_recovery_of_the_file(tmp_path: Path) -> None:
    """Records that waited for an unwritable file reach it later, in order, and the problem stays named."""
    path = tmp_path / "later" / "log"
    writer, written = LogWriter(path), [sample(level="WARN") for _ in range(300)]
    for event in written[:299]:
        writer.write(event)
    path.parent.mkdir()
    writer.write(written[299])
    writer.close()
    assert list(read(path)) == written
    assert writer.lost == 0
    assert writer.problem == f"The log {path} cannot be written: No such file or directory."


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the file cannot be written the oldest records go first, and are counted."""
    monkeypatch.setattr("logs.writer.HELD_MAX", 3)
    writer, written = LogWriter(tmp_path / "later" / "log"), [sample() for _ in range(5)]
    for event in written:
        writer.write(event)
    assert writer.lost == 2
    (tmp_path / "later").mkdir()
    writer.close()
    assert list(read(tmp_path / "later" / "log")) == written[2:]


def test_failed_file_is_tried_once_a_batch(tmp_path: Path) -> None:
    """A file that fails is not tried anew for every record."""
    writer = LogWriter(tmp_path / "missing" / "log")
    with patch("logs.writer.os.open", wraps=os.open) as tried:
        for _ in range(3 * 256 + 255):
            writer.write(sample())
    assert tried.call_count == 3
    writer.close()


class ShortOfRoom:
    """An `os.write` with room for only so many bytes at each call; other writers get in between."""

    def __init__(self, rooms: list[int], between: Callable[[], None]) -> None:
        self._rooms = rooms
        self._between = between
        self._write = os.write

    def __call__(self, descriptor: int, data: bytes) -> int:
        """Take what there is room for."""
        if not self._rooms:
            return self._write(descriptor, data)
        room = self._rooms.pop(0)
        if room == 0:
            raise OSError(28, "No space left on device")
        taken = self._write(descriptor, data[:room])
        self._between()
        return taken


@settings(derandomize=True, max_examples=60)
@given(st.lists(st.integers(0, 900), max_size=8), st.randoms(use_true_random=False))
def test_short_writes(rooms: list[int], chance: random.Random) -> None:
    """Whatever a full disk cuts off, in the end no record of any writer is missing or doubled."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        others = []

        def other_writer() -> None:
            if chance.random() < 0.5:
                others.append(sample(device="other"))
                with path.open("ab") as file:
                    file.write(others[-1].to_json().encode() + b"\n")

        writer, written = LogWriter(path), [sample(device="mine") for _ in range(12)]
        with patch("logs.writer.os.write", ShortOfRoom(list(rooms), other_writer)):
            for event in written:
                writer.write(event)
                if chance.random() < 0.5:
                    writer.flush()
            for _ in rooms:
                writer.flush()
        writer.close()
        assert list(read(path, device="mine")) == written
        assert list(read(path, device="other")) == others
        assert writer.lost == 0


def equal_in_size(count: int) -> tuple[list[Event], int]:
    """So many urgent records that differ only in one digit, and the bytes of each line."""
    events = [sample(level="WARN", op=None, text=str(n)) for n in range(count)]
    return events, len(events[0].to_json()) + 1


def test_rotation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file past its size becomes the previous one; every writer goes on in the new file."""
    path = tmp_path / "log"
    written, size = equal_in_size(5)
    monkeypatch.setattr("logs.writer.ROTATE_BYTES", 3 * size)
    one, two = LogWriter(path), LogWriter(path)
    for writer, event in zip((two, one, one, two, one), written, strict=True):
        writer.write(event)
    one.close()
    two.close()
    assert list(read(path)) == written
    assert lines(previous_path(path)) == 3
    assert lines(path) == 2


def test_two_writers_rotate_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that had to wait for another one's rotation neither repeats it nor loses a record."""
    path = tmp_path / "log"
    written, size = equal_in_size(4)
    monkeypatch.setattr("logs.writer.ROTATE_BYTES", 2 * size)
    one, two = LogWriter(path), LogWriter(path)

    def overtaken(descriptor: int, operation: int) -> None:
        with patch("logs.writer.fcntl.flock", really):
            one.write(written[2])
            one.write(written[3])
        really(descriptor, operation)

    really = fcntl.flock
    with patch("logs.writer.fcntl.flock", overtaken):
        two.write(written[0])
        two.write(written[1])
    one.close()
    two.close()
    assert list(read(path)) == written
    assert (lines(previous_path(path)), lines(path)) == (3, 1)
    assert one.problem is two.problem is None


def test_rotation_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that rotated and then idles holds nobody up."""
    monkeypatch.setattr("logs.writer.ROTATE_BYTES", 1)
    writer = LogWriter(tmp_path / "log")
    writer.write(sample(level="WARN"))
    with previous_path(tmp_path / "log").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    writer.close()
