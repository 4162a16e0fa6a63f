"""The maintenance window: open, shut and next open, by the clocks of any zone, over both changes of the clocks."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.plans.window import Window, closes, is_open, opens_next


def window(text: str, tz: str | None = "UTC") -> Window:
    """A window from `22:00-04:30`."""
    start, end = (time.fromisoformat(part) for part in text.split("-"))
    return Window(start, end, tz)


def at(text: str, tz: str = "UTC", *, fold: int = 0) -> datetime:
    """A moment in UTC, from what the clock of a zone shows; `fold` 1: the second time it shows it."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(tz), fold=fold).astimezone(UTC)


@pytest.mark.parametrize(
    ("shown", "opened"), [("01:59:59", False), ("02:00", True), ("04:29:59", True), ("04:30", False)]
)
def test_open_from_the_first_moment_to_before_the_last(shown: str, opened: bool) -> None:
    """The window is open at its beginning and shut at its end."""
    assert is_open(window("02:00-04:30"), at(f"2026-11-29T{shown}")) is opened


@pytest.mark.parametrize(
    ("shown", "opened"),
    [("29T21:59", False), ("29T22:00", True), ("30T00:00", True), ("30T04:29", True), ("30T04:30", False)],
)
def test_a_window_over_midnight(shown: str, opened: bool) -> None:
    """A window whose end is not later in the day ends on the next day."""
    night = window("22:00-04:30")
    assert is_open(night, at(f"2026-11-{shown}")) is opened
    assert closes(night, at(f"2026-11-{shown}")) == (at("2026-11-30T04:30") if opened else None)


@pytest.mark.parametrize("tz", ["Pacific/Auckland", "America/Los_Angeles", "Asia/Kolkata"])
def test_zones_count_by_their_own_clocks(tz: str) -> None:
    """East or west of UTC, only the clock of the window's zone matters."""
    early = window("02:00-04:30", tz)
    assert is_open(early, at("2026-06-10T03:00", tz))
    assert not is_open(early, at("2026-06-10T03:00", "UTC"))
    assert closes(early, at("2026-06-10T03:00", tz)) == at("2026-06-10T04:30", tz)
    assert opens_next(early, at("2026-06-10T03:00", tz)) == at("2026-06-11T02:00", tz)


def test_the_next_opening_is_later_than_now() -> None:
    """While the window is open, the next opening is tomorrow's; before it, today's."""
    early = window("02:00-04:30")
    assert opens_next(early, at("2026-11-29T01:59:59")) == at("2026-11-29T02:00")
    assert opens_next(early, at("2026-11-29T02:00")) == at("2026-11-30T02:00")
    assert opens_next(early, at("2026-11-29T23:00")) == at("2026-11-30T02:00")


# Lisbon sets its clocks forward on 29 March 2026, 01:00 to 02:00, and back on 25 October, 02:00 to 01:00.
LISBON = "Europe/Lisbon"


def test_a_beginning_that_the_clock_jumps_over() -> None:
    """Where the clock jumps over the beginning, the window opens with the jump."""
    early = window("01:30-04:00", LISBON)
    jump = at("2026-03-29T01:00")
    assert not is_open(early, jump - timedelta(seconds=1))
    assert is_open(early, jump)
    assert opens_next(early, jump - timedelta(hours=3)) == jump
    assert closes(early, jump) == at("2026-03-29T04:00", LISBON)
    assert opens_next(window("01:10-04:00", LISBON), jump - timedelta(hours=3)) == jump


def test_an_end_that_the_clock_jumps_over() -> None:
    """Where the clock jumps over the end, the window is shut with the jump."""
    early = window("00:30-01:30", LISBON)
    jump = at("2026-03-29T01:00")
    assert closes(early, jump - timedelta(minutes=5)) == jump
    assert not is_open(early, jump)


def test_a_window_within_the_jump_stays_shut_that_day() -> None:
    """A window that lies within the hour that does not exist does not open that day."""
    early = window("01:10-01:50", LISBON)
    jump = at("2026-03-29T01:00")
    assert not any(is_open(early, jump + timedelta(minutes=minute)) for minute in range(-60, 120))
    assert opens_next(early, jump - timedelta(hours=1)) == at("2026-03-30T01:10", LISBON)


def test_an_hour_that_comes_twice_opens_once() -> None:
    """Times that exist twice count once, the first time: the window does not open again an hour later."""
    early = window("01:15-01:45", LISBON)
    first, second = (at("2026-10-25T01:30", LISBON, fold=fold) for fold in (0, 1))
    assert second - first == timedelta(hours=1)
    assert is_open(early, first)
    assert not is_open(early, second)
    assert opens_next(early, first) == at("2026-10-26T01:15", LISBON)


def test_a_window_over_the_hour_that_comes_twice_stays_open() -> None:
    """A window from the first of two equal times on is not interrupted when the clocks are set back."""
    early = window("01:30-04:00", LISBON)
    opened = at("2026-10-25T01:30", LISBON)
    assert all(is_open(early, opened + timedelta(minutes=minute)) for minute in range(210))
    assert closes(early, opened) == opened + timedelta(minutes=210)


def test_the_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a zone the machine's own counts, over its changes of the clocks too."""
    import time as system_time

    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
    system_time.tzset()
    try:
        here = window("02:15-04:00", None)
        assert is_open(here, at("2026-06-10T03:00", "America/New_York"))
        assert opens_next(here, at("2026-03-08T00:00", "America/New_York")) == at("2026-03-08T07:00")
        assert str(here) == "02:15 to 04:00 (local time)"
    finally:
        monkeypatch.undo()
        system_time.tzset()


TIMES = st.times(timezones=st.none()).map(lambda each: each.replace(second=0, microsecond=0))
MOMENTS = st.integers(0, 3650 * 86400).map(
    lambda second: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
)
ZONES = st.sampled_from(["UTC", LISBON, "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia"])


@given(start=TIMES, end=TIMES, tz=ZONES, now=MOMENTS)
def test_what_the_three_say_fits_together(start: time, end: time, tz: str, now: datetime) -> None:
    """An open window has its end ahead and is open until then; it opens at the next opening, not before."""
    if start == end:
        return
    each = Window(start, end, tz)
    shut, opened = closes(each, now), opens_next(each, now)
    assert (shut is not None) is is_open(each, now)
    assert opened > now
    assert is_open(each, opened)
    if shut is not None:
        assert shut > now
        assert is_open(each, shut - timedelta(microseconds=1))
        assert shut <= opened
    else:
        assert not is_open(each, now + (opened - now) / 2)
