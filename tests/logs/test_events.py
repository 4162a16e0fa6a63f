"""The record: the human line letter by letter, and the JSON line."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args

import pytest
from hypothesis import given, settings

from logs.events import Event, EventName, dated, from_json, human, timestamp
from logs.text import bytes_text
from tests.logs.samples import TS, events, sample

ALL: dict[str, Any] = {
    "seq": 1042,
    "cmd": "ADJUST",
    "attempt": 2,
    "op": "01J",
    "device": "pump-7",
    "elapsed_s": 1.5,
}

LINES: list[tuple[Event, str]] = [
    (sample("sent", **ALL), "[INFO] seq=1042 cmd=ADJUST attempt=2 sent"),
    (sample("timeout", "WARN", **ALL), "[WARN] seq=1042 attempt=2 timeout"),
    (sample("ack", **ALL), "[INFO] seq=1042 attempt=2 ack"),
    (sample("ack", **ALL, text="15"), "[INFO] seq=1042 attempt=2 ack"),
    (sample("duplicate_ack", **ALL), "[INFO] seq=1042 attempt=2 ack (device: duplicate, ignored)"),
    (sample("late_ack", **ALL), "[INFO] seq=1042 late ack of attempt 2, ignored"),
    (sample("settled", **ALL, text="never ran"), "[INFO] seq=1042 settled: never ran"),
    (sample("settled", **ALL, text="applied"), "[INFO] seq=1042 settled: applied"),
    (
        sample("verify", **ALL, text="15 = expected, not re-sent"),
        "[INFO] seq=1042 verify 15 = expected, not re-sent",
    ),
    (sample("in_doubt", "WARN", **ALL, text="no answer"), "[WARN] seq=1042 in doubt: no answer"),
    (
        sample("resolved", **ALL, text="ana: applied (seen on site)"),
        "[INFO] seq=1042 resolved by ana: applied (seen on site)",
    ),
    (sample("refused", "WARN", **ALL, text="too hot"), "[WARN] seq=1042 attempt=2 refused: too hot"),
    (sample("busy", **ALL), "[INFO] seq=1042 attempt=2 busy"),
    (sample("lost", "WARN", **ALL), "[WARN] seq=1042 attempt=2 connection lost"),
    (sample("unsent", "WARN", **ALL, text="cut"), "[WARN] seq=1042 attempt=2 did not leave: cut"),
    (
        sample("not_sent", "WARN", cmd="ADJUST", text="connection refused"),
        "[WARN] cmd=ADJUST not sent: connection refused",
    ),
    (sample("not_sent", "WARN", **ALL, text="x"), "[WARN] seq=1042 cmd=ADJUST not sent: x"),
    (sample("ignored", "DEBUG", **ALL, text="late: OK"), "[DEBUG] ignored late: OK"),
    (sample("connected", "DEBUG", **ALL, text="to SN-77"), "[DEBUG] to SN-77"),
    (sample("session", "DEBUG", **ALL, text="opened 131073"), "[DEBUG] opened 131073"),
    (sample("boot", "WARN", **ALL, text="the device booted"), "[WARN] the device booted"),
    (sample("notice", **ALL, text="# door open, seq=1042 ack"), "[INFO] notice: # door open, seq=1042 ack"),
    (
        sample("waiting", "WARN", **ALL, text="3.0 s: an answer is still owed"),
        "[WARN] waiting 3.0 s: an answer is still owed",
    ),
    (sample("note", "ERROR", seq=7, text="disk full"), "[ERROR] seq=7 disk full"),
    # What is not known is absent, and nothing stands in its place.
    (sample("sent", cmd="SET"), "[INFO] cmd=SET sent"),
    (sample("late_ack"), "[INFO] late ack, ignored"),
    (sample("settled"), "[INFO] settled"),
    (sample("refused", "WARN", attempt=1), "[WARN] attempt=1 refused"),
    (sample("boot"), "[INFO] boot"),
    (sample("notice"), "[INFO] notice"),
    (sample("waiting"), "[INFO] waiting"),
    (sample("sent", seq=0, attempt=0), "[INFO] seq=0 attempt=0 sent"),
    # Text from outside is shown, never interpreted.
    (sample("refused", text="\x1b[31m{0}\n[INFO] ack"), r"[INFO] refused: \x1b[31m{0}\n[INFO] ack"),
    (sample("sent", cmd="A\nB"), r"[INFO] cmd=A\nB sent"),
]


@pytest.mark.parametrize(("event", "line"), LINES, ids=[line for _, line in LINES])
def test_human_line(event: Event, line: str) -> None:
    """The line for people is exactly the line of the contract."""
    assert human(event) == line


def test_no_name_breaks_a_line() -> None:
    """Names from files are as clean in a record as texts of devices."""
    event = sample(device="a\nb", setting="c\nd", cmd="e\nf")
    assert (event.device, event.setting, event.cmd) == (r"a\nb", r"c\nd", r"e\nf")


def test_every_event_has_its_line() -> None:
    """No event is without an exact line in the table above."""
    assert {event.event for event, _ in LINES} == set(get_args(EventName))


def test_bytes_stand_behind_a_bar() -> None:
    """What was written or heard is shown only where it is asked for and known."""
    event = sample("sent", seq=7, bytes="SET x\n")
    assert human(event, with_bytes=True) == r"[INFO] seq=7 sent | SET x\n"
    assert human(sample("sent", seq=7), with_bytes=True) == "[INFO] seq=7 sent"


def test_the_longest_frame_is_kept_whole() -> None:
    """The bytes of one exchange fit into a record, whatever they are."""
    shown = bytes_text(b"\xff" * 519)
    assert sample("sent", bytes=shown).bytes == shown


def test_dated_line() -> None:
    """The dated line has time and device in front, as far as known."""
    assert dated(sample("ack", device="pump-7", seq=1)) == f"{TS} pump-7 [INFO] seq=1 ack"
    assert dated(sample("note", text="hello")) == f"{TS} [INFO] hello"


def test_json_line() -> None:
    """The JSON line has every field, in one order, null where unknown."""
    event = Event(ts=TS, level="WARN", event="timeout", seq=1042, attempt=1, elapsed_s=0.5, text="é\x1b")
    assert event.to_json() == (
        '{"schema":1,"ts":"2026-11-29T22:48:03.120Z","level":"WARN","op":null,"run":null,"device":null,'
        '"agent":null,"policy":null,"session":null,"seq":1042,"cmd":null,"setting":null,"attempt":1,"event":"timeout",'
        '"text":"\\u00e9\\\\x1b","elapsed_s":0.5,"bytes":null,"route":null}'
    )


@settings(derandomize=True, max_examples=60)
@given(events)
def test_round_trip(event: Event) -> None:
    """Every record is read back as it was, and both its lines are single printable lines."""
    line = event.to_json()
    assert from_json(line) == event
    assert line.isprintable()
    assert human(event, with_bytes=True).isprintable()


GOOD: dict[str, Any] = json.loads(sample("sent", seq=1).to_json())


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"schema": None},
        {"ts": None},
        {"ts": "2026-11-29T22:48:03Z"},
        {"ts": "2026-11-29T22:48:03.120+01:00"},
        {"ts": "2026-11-29T22:48:03.120"},
        {"ts": "2026-13-29T22:48:03.120Z"},
        {"ts": "yesterdayZ"},
        {"level": "info"},
        {"level": None},
        {"event": "exploded"},
        {"event": ["sent"]},
        {"seq": "1"},
        {"seq": True},
        {"attempt": 1.0},
        {"elapsed_s": "1"},
        {"device": 7},
    ],
    ids=str,
)
def test_bad_record(change: dict[str, Any]) -> None:
    """A record with a wrong word, type, time or schema is no record."""
    with pytest.raises(ValueError, match=r"not|of its type"):
        from_json(json.dumps(GOOD | change))


@pytest.mark.parametrize("line", ["", "{", "[]", "null", '"sent"', "[" * 100_000, "1" * 5_000], ids=len)
def test_no_record(line: str) -> None:
    """What is not a JSON object is a ValueError, however odd."""
    with pytest.raises(ValueError, match=r"."):
        from_json(line)


def test_unknown_keys_are_passed_over() -> None:
    """A key of a later version does not hide the record from this one; a key of an older one is unknown."""
    record = GOOD | {"colour": "red"}
    del record["route"], record["setting"]
    assert from_json(json.dumps(record)) == from_json(json.dumps(GOOD))


def test_timestamp() -> None:
    """A time of any zone is recorded in UTC with milliseconds; one without zone is refused."""
    moment = datetime(2026, 11, 29, 23, 48, 3, 120_999, timezone(timedelta(hours=1)))
    assert timestamp(moment) == TS
    assert timestamp(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01T00:00:00.000Z"
    with pytest.raises(ValueError, match="without zone"):
        timestamp(datetime(2026, 1, 1))  # noqa: DTZ001  # the refused case


def test_nothing_heavy_is_imported() -> None:
    """The log costs the start of the command line nothing that it could do without."""
    code = "import sys, logs.events, logs.reader, logs.writer; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"asyncio", "logging", "pydantic", "rich", "socket", "sqlite3", "typer"}
    assert not heavy & set(ran.stdout.split())
