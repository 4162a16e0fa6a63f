"""Is the maintenance window open at a moment, until when, and when does it open next?

Pure functions of a UTC moment. A window has one opening a day, from the first moment at which the clock on the wall
shows `start` to the first at which it shows `end`: on the same day, or on the next where `end` is not later in the
day. So where the clocks are set back it opens once and not a second time an hour later; where they are set forward, a
time that the clock jumps over is the moment of the jump, and a window that lies within the jump stays shut that day.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

DAYS_SHUT_MAX = 8
"""No zone jumps over the same time of day on so many days in a row."""


@dataclass(frozen=True, slots=True)
class Window:
    """A time of each day, by the clocks of a zone. `tz` is a name such as Europe/Lisbon, None for the machine's."""

    start: time
    end: time
    tz: str | None = None

    def __str__(self) -> str:
        """As people say it: `22:00 to 04:30 (Europe/Lisbon)`."""
        return f"{self.start:%H:%M} to {self.end:%H:%M} ({self.tz or 'local time'})"


def is_open(window: Window, utc: datetime) -> bool:
    """Whether the window is open at a moment. `utc` is aware."""
    return closes(window, utc) is not None


def closes(window: Window, utc: datetime) -> datetime | None:
    """The moment, in UTC, at which the window that is open now is shut; None where it is not open."""
    return next((shut for opened, shut in _openings(window, utc) if opened <= utc < shut), None)


def opens_next(window: Window, utc: datetime) -> datetime:
    """The first moment after `utc`, in UTC, at which the window opens."""
    return next(opened for opened, shut in _openings(window, utc) if opened > utc and opened < shut)


def _openings(window: Window, utc: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The openings around a moment, oldest first; one that lies within a jump of the clocks has no length."""
    zone = ZoneInfo(window.tz) if window.tz is not None else None
    today = _wall(utc, zone).date()
    overnight = timedelta(days=1 if window.end <= window.start else 0)
    for days in range(-2, DAYS_SHUT_MAX + 1):
        day = today + timedelta(days=days)
        yield _first(day, window.start, zone), _first(day + overnight, window.end, zone)


def _wall(utc: datetime, zone: tzinfo | None) -> datetime:
    """What the clock on the wall shows, without its zone; a zone of None is the machine's."""
    return utc.astimezone(zone).replace(tzinfo=None, fold=0)


def _first(day: date, at: time, zone: tzinfo | None) -> datetime:
    """The first moment, in UTC, at which the clock shows a time or, where it jumps over it, a later one."""
    shown = datetime.combine(day, at, zone)
    moment = shown.astimezone(UTC)
    if _wall(moment, zone) == shown.replace(tzinfo=None):
        return moment
    # The clock jumps over it: the jump lies between what the offsets before and after it make of the time.
    before, moment = sorted((moment, shown.replace(fold=1).astimezone(UTC)))
    while moment - before > timedelta(seconds=1):
        middle = before + (moment - before) // 2
        if _wall(middle, zone) < shown.replace(tzinfo=None):
            before = middle
        else:
            moment = middle
    return moment.replace(microsecond=0)
