"""The reader: filters, torn and foreign lines, rotation, and following what comes."""

import gc
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from logs.events import Event
from logs.place import previous_path, stands_at
from logs.reader import LINE_MAX, follow, parse_since, read
from tests.logs.samples import sample


def line(event: Event) -> bytes:
    """The record as it stands in the file."""
    return event.to_json().encode() + b"\n"


def append(path: Path, *pieces: bytes) -> None:
    """Another process writes."""
    with path.open("ab") as file:
        file.write(b"".join(pieces))


class Script:
    """A `wait` that lets the given things happen, one at each call, and then ends."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self._steps = list(steps)

    def __call__(self) -> bool:
        """Let the next thing happen."""
        if not self._steps:
            return False
        self._steps.pop(0)()
        return True


def test_filters(tmp_path: Path) -> None:
    """Each filter lets exactly its records pass, and filters add up."""
    path = tmp_path / "log"
    one = sample("sent", op="A", device="pump-7", setting="offset", seq=1, ts="2026-01-01T00:00:00.000Z")
    two = sample("timeout", "WARN", op="A", device="pump-7", seq=2, ts="2026-01-01T00:00:00.001Z")
    three = sample("note", "DEBUG", op="B", device="psu-3", seq=1, ts="2026-01-02T00:00:00.000Z")
    four = sample("note", "ERROR", op=None, ts="2026-01-03T00:00:00.000Z")
    append(path, *map(line, (one, two, three, four)))
    assert list(read(path)) == [one, two, three, four]
    assert list(read(path, device="pump-7")) == [one, two]
    assert list(read(path, seq=1)) == [one, three]
    assert list(read(path, op="A")) == [one, two]
    assert list(read(path, setting="offset")) == [one]
    assert list(follow(path, wait=Script(), setting="offset")) == [one]
    assert list(read(path, device="pump-7", seq=1)) == [one]
    assert list(read(path, level="DEBUG")) == [one, two, three, four]
    assert list(read(path, level="INFO")) == [one, two, four]
    assert list(read(path, level="WARN")) == [two, four]
    since = datetime(2026, 1, 1, 0, 0, 0, 1_000, UTC)
    assert list(read(path, since=since)) == [two, three, four]
    assert list(read(path, since=since + timedelta(milliseconds=1))) == [three, four]
    assert list(follow(path, wait=Script(), device="psu-3", seq=1, op="B", since=since, level="DEBUG")) == [
        three
    ]


def test_no_file_is_an_empty_log(tmp_path: Path) -> None:
    """Before the first record there is nothing to read and nothing wrong."""
    records = read(tmp_path / "log")
    assert list(records) == []
    assert records.skipped == 0


def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    """A log that cannot be read is said, not shown as empty."""
    with pytest.raises(OSError, match="directory"):
        list(read(tmp_path))


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_torn_tail(tmp_path: Path, cut: int) -> None:
    """A last line that was cut off is skipped and counted."""
    whole, torn = sample(), sample()
    append(tmp_path / "log", line(whole), line(torn)[:-cut])
    records = read(tmp_path / "log")
    # Without its line end alone the record is complete.
    assert list(records) == ([whole, torn] if cut == 1 else [whole])
    assert records.skipped == (0 if cut == 1 else 1)


def test_record_behind_a_torn_one(tmp_path: Path) -> None:
    """A record that was appended to a torn one is found; only the torn one is counted."""
    torn, glued, after = sample(), sample(text='{"schema":1, in a text'), sample()
    append(tmp_path / "log", line(torn)[:50], line(glued), line(after))
    records = read(tmp_path / "log")
    assert list(records) == [glued, after]
    assert records.skipped == 1


@pytest.mark.parametrize(
    "foreign",
    [
        b"Dec  1 02:00:00 gw kernel: hello\n",
        b"\xff\xfe\x00\n",
        b"{}\n",
        b'{"schema":2}\n',
        b"[" * 100_000 + b"\n",
        b"x" * (3 * LINE_MAX + 7) + b"\n",
        b'junk{"schema":1}\n',
    ],
    ids=lambda data: repr(data[:12]),
)
def test_foreign_line(tmp_path: Path, foreign: bytes) -> None:
    """A line that is no record is skipped and counted once, wherever it stands."""
    first, last = sample(), sample()
    append(tmp_path / "log", line(first), foreign, line(last))
    records = read(tmp_path / "log")
    assert list(records) == [first, last]
    assert records.skipped == 1


def test_record_behind_a_long_tail(tmp_path: Path) -> None:
    """Not even megabytes without a line end hide the record behind them."""
    event = sample()
    append(tmp_path / "log", b"x" * (5 * LINE_MAX + 3), line(event))
    assert list(read(tmp_path / "log")) == [event]


def test_memory_is_bounded(tmp_path: Path) -> None:
    """A file without line ends is not taken into memory as one line."""
    with (tmp_path / "log").open("wb") as file:
        file.truncate(64 * LINE_MAX)
    tracemalloc.start()
    try:
        assert list(read(tmp_path / "log")) == []
        assert tracemalloc.get_traced_memory()[1] < 8 * LINE_MAX
    finally:
        tracemalloc.stop()


def test_previous_file_is_read_first(tmp_path: Path) -> None:
    """What a rotation set aside belongs to the log, also while the new file does not exist yet."""
    path, first, second = tmp_path / "log", sample(), sample()
    append(previous_path(path), line(first))
    assert list(read(path)) == [first]
    append(path, line(second))
    assert list(read(path)) == [first, second]


def test_abandoned_reading_leaves_nothing_open(tmp_path: Path) -> None:
    """A reader that stops after the first record gives its file back without a warning."""
    append(tmp_path / "log", line(sample()), line(sample()))
    next(read(tmp_path / "log"))
    gc.collect()


def test_follow_waits_for_whole_lines(tmp_path: Path) -> None:
    """Following shows what is there, then what comes, a record only when its end has come."""
    path, one, two, three = tmp_path / "log", sample(), sample(), sample()
    append(path, line(one), line(two)[:30])
    seen: list[Event] = []
    counts: list[int] = []
    wait = Script(
        lambda: counts.append(len(seen)),
        lambda: append(path, line(two)[30:]),
        lambda: counts.append(len(seen)),
        lambda: append(path, line(three)),
    )
    records = follow(path, wait=wait)
    note = seen.append  # one by one: the steps above look at what was seen so far
    for event in records:
        note(event)
    assert seen == [one, two, three]
    assert counts == [1, 2]
    assert records.skipped == 0


def test_follow_before_the_file_exists(tmp_path: Path) -> None:
    """Following may begin before anything was logged."""
    path, event = tmp_path / "log", sample()
    wait = Script(lambda: None, lambda: append(path, line(event)))
    assert list(follow(path, wait=wait)) == [event]


def test_follow_over_a_rotation(tmp_path: Path) -> None:
    """A rotation hides nothing: neither the last lines of the old file nor the first of the new one."""
    path = tmp_path / "log"
    one, two, three = sample(), sample(), sample()
    append(path, line(one))

    def rotate() -> None:
        append(path, line(two))
        path.replace(previous_path(path))

    wait = Script(rotate, lambda: append(path, line(three)))
    assert list(follow(path, wait=wait)) == [one, two, three]


def test_rotation_between_the_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rotation while the reader begins shows every record once."""
    path, one, two = tmp_path / "log", sample(), sample()
    append(path, line(one))

    def rotated_meanwhile(path: Path) -> Path:
        path.replace(previous_path(path))
        append(path, line(two))
        monkeypatch.setattr("logs.reader.previous_path", previous_path)
        return previous_path(path)

    monkeypatch.setattr("logs.reader.previous_path", rotated_meanwhile)
    assert list(read(path)) == [one, two]


def test_last_lines_before_a_rotation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that came after the last look at the old file, and before its rotation, are read."""
    path, one, two, three = tmp_path / "log", sample(), sample(), sample()
    append(path, line(one))

    def rotated_meanwhile(path: Path, descriptor: int) -> bool:
        monkeypatch.setattr("logs.reader.stands_at", stands_at)
        append(path, line(two))
        path.replace(previous_path(path))
        append(path, line(three))
        return stands_at(path, descriptor)

    monkeypatch.setattr("logs.reader.stands_at", rotated_meanwhile)
    assert list(read(path)) == [one, two, three]


def test_follow_ends_with_the_torn_rest(tmp_path: Path) -> None:
    """When following ends, a line that never got its end counts as skipped."""
    append(tmp_path / "log", line(sample())[:30])
    records = follow(tmp_path / "log", wait=Script())
    assert list(records) == []
    assert records.skipped == 1


NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("90s", NOW - timedelta(seconds=90)),
        ("10m", NOW - timedelta(minutes=10)),
        ("2h", NOW - timedelta(hours=2)),
        (" 1.5 d ", NOW - timedelta(hours=36)),
        ("2026-11-29T22:48Z", datetime(2026, 11, 29, 22, 48, tzinfo=UTC)),
        ("2026-11-29 22:48:03.120", datetime(2026, 11, 29, 22, 48, 3, 120_000, UTC)),
        ("2026-11-29T22:48:03.120Z", datetime(2026, 11, 29, 22, 48, 3, 120_000, UTC)),
        ("2026-11-29T22:48+01:00", datetime(2026, 11, 29, 21, 48, tzinfo=UTC)),
        ("2026-11-29", datetime(2026, 11, 29, tzinfo=UTC)),
    ],
)
def test_since(text: str, meant: datetime) -> None:
    """A time is an age before now or ISO 8601, UTC unless it says otherwise."""
    assert parse_since(text, NOW) == meant


def test_time_without_zone_is_not_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time without zone means UTC on a machine of any zone."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "UTC-9")
        time.tzset()
        meant = parse_since("2026-11-29T22:48", NOW)
    time.tzset()
    assert meant == datetime(2026, 11, 29, 22, 48, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "10", "10 minutes", "-5m", "1e3s", "٣m", "999999999d", "0001-01-01T00:00+14:00"]
)
def test_no_time(text: str) -> None:
    """What is no time, or lies outside the calendar, is refused with a hint."""
    with pytest.raises(ValueError, match="write an age such as 10m"):
        parse_since(text, NOW)
