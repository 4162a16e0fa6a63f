"""Which records does the log hold, and which come?

Rule 1. Reading never fails over a line. What is not a record (a torn end, a foreign line, another schema) is
        skipped and counted in `skipped`.
Rule 2. A record glued to the torn end of another is found: no JSON text can hold the first bytes of a record
        inside its strings, so the last such place begins one.
Rule 3. The file before the last rotation belongs to the log and is read first. No file is an empty log.
Rule 4. Memory stays bounded, whatever the file holds.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Final

from logs.events import LEVELS, Event, Level, from_json, timestamp
from logs.place import previous_path, stands_at

LINE_MAX: Final = 64 * 1024
"""Bytes kept of a line whose end has not come; a record is far shorter."""

_RECORD_START: Final = b'{"schema":'
_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*([smhd])", re.ASCII)
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class Records(Iterator[Event]):
    """The wanted records in the order of the file; `skipped` counts the lines so far that were none."""

    def __init__(self, lines: Iterator[bytes], wanted: "_Wanted") -> None:
        self.skipped = 0
        self._events = self._select(lines, wanted)

    def __next__(self) -> Event:
        return next(self._events)

    def _select(self, lines: Iterator[bytes], wanted: "_Wanted") -> Iterator[Event]:
        for line in lines:
            event = self._parse(line)
            if event is not None and wanted.fits(event):
                yield event

    def _parse(self, line: bytes) -> Event | None:
        start = max(line.rfind(_RECORD_START), 0)
        self.skipped += start > 0
        try:
            return from_json(line[start:].decode("utf-8"))
        except ValueError:
            self.skipped += start == 0
            return None


def read(
    path: Path,
    *,
    device: str | None = None,
    seq: int | None = None,
    op: str | None = None,
    setting: str | None = None,
    since: datetime | None = None,
    level: Level | None = None,
) -> Records:
    """Iterate over the records that the log at `path` holds now, oldest first.

    A filter that is None lets everything pass; `since` is aware (see `parse_since`), `level` the least
    urgent level wanted.

    Raises:
        OSError: while iterating, if the file exists and cannot be read.
    """
    return Records(_lines(path, wait=lambda: False), _Wanted(device, seq, op, setting, _ts(since), level))


def follow(
    path: Path,
    *,
    wait: Callable[[], bool],
    device: str | None = None,
    seq: int | None = None,
    op: str | None = None,
    setting: str | None = None,
    since: datetime | None = None,
    level: Level | None = None,
) -> Records:
    """Iterate over the records of the log as `read` does, and then over those that come.

    `wait` is called whenever all is read; it returns True to look again, False to end. The file may be
    rotated meanwhile, or not exist yet.

    Raises:
        OSError: while iterating, if the file exists and cannot be read.
    """
    return Records(_lines(path, wait), _Wanted(device, seq, op, setting, _ts(since), level))


def parse_since(text: str, now: datetime) -> datetime:
    """Return the time meant by `text`: an age (`90s`, `10m`, `2h`, `1.5d` before `now`) or ISO 8601.

    An ISO time without zone is UTC, as the log prints it.

    Raises:
        ValueError: the text is neither, or lies outside the calendar.
    """
    age = _DURATION.fullmatch(text.strip())
    try:
        if age is not None:
            return now - timedelta(**{_UNITS[age[2]]: float(age[1])})
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        hint = "write an age such as 10m or 2h, or a time such as 2026-11-29T22:48Z"
        raise ValueError(f"not a time: {text!r}; {hint}") from error


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a record has to be; None asks for nothing. `since` has the form of `Event.ts`."""

    device: str | None
    seq: int | None
    op: str | None
    setting: str | None
    since: str | None
    level: Level | None

    def fits(self, event: Event) -> bool:
        return (
            self.device in (None, event.device)
            and self.seq in (None, event.seq)
            and self.op in (None, event.op)
            and self.setting in (None, event.setting)
            and (self.since is None or self.since <= event.ts)
            and (self.level is None or LEVELS.index(self.level) <= LEVELS.index(event.level))
        )


class _Source:
    """Lines of one open file; a tail whose end has not been written yet is held back."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self._tail = b""

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that are whole by now."""
        while piece := self.file.readline(LINE_MAX):
            self._tail = (self._tail + piece)[-LINE_MAX:]
            if piece.endswith(b"\n"):
                line, self._tail = self._tail, b""
                yield line

    def ending(self) -> Iterator[bytes]:
        """Yield all that is left, a torn tail included, and close the file."""
        with self.file:
            yield from self.lines()
            if self._tail:
                yield self._tail


def _ts(since: datetime | None) -> str | None:
    return None if since is None else timestamp(since)


def _lines(path: Path, wait: Callable[[], bool]) -> Iterator[bytes]:
    with ExitStack() as opened:
        # In this order: a rotation between the two shows as one file met twice, never as a file missed.
        current = _open(path, opened)
        previous = _open(previous_path(path), opened)
        if previous is not None and not (current and stands_at(previous_path(path), current.file.fileno())):
            yield from previous.ending()
        while True:
            current = current or _open(path, opened)
            if current is not None:
                yield from current.lines()
                if not stands_at(path, current.file.fileno()):
                    yield from current.ending()
                    current = None
                    continue
            if not wait():
                break
        if current is not None:
            yield from current.ending()


def _open(path: Path, opened: ExitStack) -> _Source | None:
    try:
        return _Source(opened.enter_context(path.open("rb")))
    except FileNotFoundError:
        return None
