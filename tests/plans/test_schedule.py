"""When is a job due? Held against a walk over every minute, by the clocks of zones that change them."""

import random
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from agent.plans.schedule import check, due_between, first_common, latest_due, next_due
from devices.problems import UsageProblem

LISBON, NEW_YORK, LORD_HOWE = "Europe/Lisbon", "America/New_York", "Australia/Lord_Howe"
# (zone, the day before the clocks go forward, the day before they go back, the local times jumped over and doubled)
CHANGES = {
    LISBON: (datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)),
    NEW_YORK: (datetime(2026, 3, 7, 18, tzinfo=UTC), datetime(2026, 10, 31, 18, tzinfo=UTC)),
    LORD_HOWE: (datetime(2026, 10, 3, 2, tzinfo=UTC), datetime(2026, 4, 4, 2, tzinfo=UTC)),
}
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def local(moments: list[datetime], zone: str) -> list[str]:
    """Moments as the clock of a zone shows them."""
    return [each.astimezone(ZoneInfo(zone)).strftime("%d %H:%M") for each in moments]


@pytest.mark.parametrize(
    ("zone", "cron", "expected"),
    [
        (LISBON, "30 1 * * *", ["29 02:00", "30 01:30"]),
        (LISBON, "0,59 1-2 * * *", ["29 02:00", "29 02:59", "30 01:00", "30 01:59", "30 02:00", "30 02:59"]),
        (NEW_YORK, "30 2 * * *", ["08 03:00", "09 02:30"]),
        (LORD_HOWE, "15 2 * * *", ["04 02:30", "05 02:15"]),
        (LORD_HOWE, "0,15,45 2 * * *", ["04 02:30", "04 02:45", "05 02:00", "05 02:15", "05 02:45"]),
    ],
)
def test_a_time_that_is_jumped_over(zone: str, cron: str, expected: list[str]) -> None:
    """A fixed time that the clock jumps over is due once, at the first moment after the jump."""
    start = CHANGES[zone][0]
    assert local(due_between(cron, zone, start, start + 2 * DAY, 10), zone) == expected


@pytest.mark.parametrize(
    ("zone", "cron", "utc"),
    [
        (LISBON, "30 1 * * *", ["25 00:30", "26 01:30"]),
        (NEW_YORK, "30 1 * * *", ["01 05:30", "02 06:30"]),
        (LORD_HOWE, "45 1 * * *", ["04 14:45", "05 15:15"]),
    ],
)
def test_a_time_that_comes_twice(zone: str, cron: str, utc: list[str]) -> None:
    """A fixed time that comes twice is due the first time, and not again an hour (or half of one) later."""
    start = CHANGES[zone][1]
    due = due_between(cron, zone, start, start + 2 * DAY, 10)
    assert local(due, "UTC") == utc
    first = due[0]
    assert due_between(cron, zone, first, first + timedelta(hours=3), 10) == []


@pytest.mark.parametrize("zone", CHANGES)
@pytest.mark.parametrize("forward", [True, False])
def test_a_schedule_that_repeats(zone: str, forward: bool) -> None:
    """`*/15` is due every quarter of an hour that really passes, on both days."""
    start = CHANGES[zone][0 if forward else 1]
    due = due_between("*/15 * * * *", zone, start, start + DAY, 1000)
    assert len(due) == 96
    assert {later - sooner for sooner, later in pairwise(due)} == {timedelta(minutes=15)}


def test_a_repeating_schedule_of_one_hour() -> None:
    """Where its hour comes twice it is due in both; where the clock jumps over its hour, not at all."""
    forward, back = CHANGES[LISBON]
    assert len(due_between("*/15 1 * * *", LISBON, back, back + DAY, 100)) == 8
    assert due_between("*/15 1 * * *", LISBON, forward, forward + DAY, 100) == []


def minutes_due(cron: str, zone: str, after: datetime, until: datetime) -> Iterator[datetime]:
    """The rule in its plainest form: walk over every minute and look at the clock on the wall."""
    spec, tz = CronSim(cron, datetime(2000, 1, 1, tzinfo=UTC)), ZoneInfo(zone)
    fixed = not any(field.startswith("*") for field in cron.split()[:2])

    def fits(shown: datetime) -> bool:
        return (
            shown.minute in spec.minutes
            and shown.hour in spec.hours
            and shown.month in spec.months
            and spec.match_day(shown.date())
        )

    seen: set[datetime] = set()
    before: datetime | None = None
    moment = after - timedelta(hours=4)
    while moment <= until:
        shown = moment.astimezone(tz).replace(tzinfo=None, fold=0)
        jumped = [] if before is None else [before + n * MINUTE for n in range(1, (shown - before) // MINUTE)]
        due = fits(shown) and not (fixed and shown in seen)
        due = due or (fixed and any(map(fits, jumped)))
        seen.add(shown)
        before = shown
        if due and moment > after:
            yield moment
        moment += MINUTE


def random_cron(rng: random.Random) -> str:
    """A schedule with a few times around the small hours."""
    minute = rng.choice(["*", "*/15", "*/7", "0", "30", "15,45", "0-59/10", "59"])
    hour = rng.choice(["*", "*/2", "1", "2", "0-4", "1,2,3", "23"])
    return f"{minute} {hour} {rng.choice(['*', '*', '1-31/2'])} * {rng.choice(['*', '0', '7', '1-5', 'SUN'])}"


@pytest.mark.parametrize("zone", [*CHANGES, "UTC", "Antarctica/Troll", "Africa/Cairo", "Asia/Kathmandu"])
def test_against_every_minute(zone: str) -> None:
    """Whatever the schedule and wherever one begins to look, the due times are those of a walk over every minute."""
    rng = random.Random(zone)
    for start in CHANGES.get(
        zone, (datetime(2026, 4, 23, 12, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC))
    ):
        for _ in range(6):
            cron = random_cron(rng)
            after = start + MINUTE * rng.randrange(20 * 60)
            until = after + MINUTE * rng.randrange(1, 20 * 60)
            expected = list(minutes_due(cron, zone, after, until))
            limit = rng.choice([1, 3, 5000])
            assert due_between(cron, zone, after, until, limit) == expected[:limit], (cron, after, until)
            assert latest_due(cron, zone, after, until) == (expected[-1] if expected else None), (
                cron,
                after,
                until,
            )


@pytest.mark.parametrize("cron", ["*/15 * * * *", "*/15 1-2 * * *", "15,45 1-2 * * *"])
@pytest.mark.parametrize("zone", CHANGES)
def test_looks_that_follow_each_other(zone: str, cron: str) -> None:
    """Every few minutes a look: together they find what one look over the whole day finds, and no more."""
    for start in CHANGES[zone]:
        whole = due_between(cron, zone, start, start + DAY, 1000)
        looks = [start + n * 7 * MINUTE for n in range(DAY // (7 * MINUTE) + 1)] + [start + DAY]
        found = [due_between(cron, zone, *look, 10) for look in pairwise(looks)]
        assert [each for look in found for each in look] == whole
        assert [latest_due(cron, zone, *look) for look in pairwise(looks)] == [
            look[-1] if look else None for look in found
        ]
        for look in looks:
            after = [each for each in whole if each > look]
            assert next_due(cron, zone, look, 2)[: len(after)] == after[:2]


@pytest.mark.parametrize("sunday", ["0", "7", "SUN", "sun"])
def test_sunday(sunday: str) -> None:
    """0, 7 and SUN are all Sunday, and 1 is Monday."""
    start = datetime(2026, 11, 28, tzinfo=UTC)
    assert next_due(f"0 2 * * {sunday}", "UTC", start, 1) == [datetime(2026, 11, 29, 2, tzinfo=UTC)]
    assert next_due("0 2 * * 1", "UTC", start, 1) == [datetime(2026, 11, 30, 2, tzinfo=UTC)]


def test_both_days() -> None:
    """Where day of month and day of week are both restricted, either is enough."""
    due = next_due("0 2 13 * 5", "UTC", datetime(2026, 11, 1, tzinfo=UTC), 3)
    assert [each.day for each in due] == [6, 13, 20]


def test_the_edges() -> None:
    """The earlier edge is open and the later one shut, so that nothing is due twice in looks that follow each other."""
    noon = datetime(2026, 6, 1, 12, tzinfo=UTC)
    assert due_between("0 * * * *", "UTC", noon, noon + timedelta(hours=1), 5) == [noon + timedelta(hours=1)]
    assert due_between("0 * * * *", "UTC", noon, noon, 5) == []
    assert due_between("0 * * * *", "UTC", noon + DAY, noon, 5) == []
    assert next_due("0 0 29 2 *", "UTC", noon, 1) == [datetime(2028, 2, 29, tzinfo=UTC)]


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("61 * * * *", "'61' is no minute. Allowed: 0 to 59"),
        ("0 24 * * *", "'24' is no hour. Allowed: 0 to 23"),
        ("0 0 0 * *", "'0' is no day of month. Allowed: 1 to 31"),
        ("0 0 * 13 *", "'13' is no month. Allowed: 1 to 12 or JAN to DEC"),
        ("0 0 * * 8", "'8' is no day of week. Allowed: 0 to 7 or SUN to SAT, 0 and 7 are Sunday"),
        ("0 0 * * FRI-SUN", "'FRI-SUN' is no day of week"),
        ("*/0 * * * *", "'*/0' is no minute"),
        ("30 2", r"five fields \(minute, hour, .*'30 2' has 2"),
        ("@daily", "has 1"),
        ("0 30 2 * * *", "has 6"),
        ("", "has 0"),
        ("0 0 30 2 *", "'0 0 30 2 *' never comes"),
        ("1" * 5000 + " * * * *", "characters"),
    ],
)  # fmt: skip
def test_a_bad_schedule(cron: str, said: str) -> None:
    """What is wrong is said of the field, with what may stand there."""
    with pytest.raises(UsageProblem, match=said if "(" in said else re.escape(said)):
        check(cron, "UTC")


def test_no_schedule_breaks_the_check() -> None:
    """Whatever is typed is a schedule, or a mistake that is explained."""
    rng = random.Random(20)
    for _ in range(2000):
        fields = ["".join(rng.choices("0123456789*/,-#LWSUNfri²", k=rng.randint(1, 6))) for _ in range(5)]
        place = rng.randrange(5)
        cron = " ".join(field if n == place else "*" for n, field in enumerate(fields))
        with suppress(UsageProblem):
            check(cron, "UTC")


@pytest.mark.parametrize(
    "tz", ["", "Europe", "../etc/passwd", "/etc/localtime", "a\0b", "Mars/Olympus", "ü", "x" * 5000]
)
def test_a_zone_that_is_none(tz: str) -> None:
    """No name of a zone is refused, whatever the file system makes of it."""
    with pytest.raises(UsageProblem, match="no such time zone"):
        check("* * * * *", tz)


def test_a_zone_mistyped() -> None:
    """A zone that is nearly right is named."""
    with pytest.raises(UsageProblem, match="Did you mean 'Europe/Lisbon'"):
        check("* * * * *", "Europe/Lisboa")


COMMON_FROM = datetime(2026, 11, 29, 22, 0, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("* * * * *", "UTC"), ("* * * * *", "UTC"), "2026-11-29 22:01"),
        (("* * * * *", "UTC"), ("0 0 1 1 *", "UTC"), "2027-01-01 00:00"),
        (("30 2 * * *", "Europe/Berlin"), ("30 1 * * *", "UTC"), "2026-11-30 01:30"),
        (("0 2 * * 1", "UTC"), ("0 2 1 * *", "UTC"), "2027-02-01 02:00"),
        (("1-59/2 * * * *", "UTC"), ("*/2 * * * *", "UTC"), None),
        (("0 2 * * *", "UTC"), ("0 3 * * *", "UTC"), None),
    ],
)
def test_the_first_common_time(one: tuple[str, str], other: tuple[str, str], expected: str | None) -> None:
    """Two schedules meet where both are due at the same moment, whichever is asked first; or not at all."""
    for pair in ((one, other), (other, one)):
        met = first_common(*pair, COMMON_FROM)
        assert (met.strftime("%Y-%m-%d %H:%M") if met is not None else None) == expected


@pytest.mark.parametrize("seed", range(20))
def test_common_times_of_any_two(seed: int) -> None:
    """It is the first of the times that are in both lists of due times."""
    rng = random.Random(seed)

    def schedule() -> tuple[str, str]:
        minute, hour = rng.choice(("0", "*/7", "3-50/5", "*")), rng.choice(("*", "*/3", "1,4,22"))
        return f"{minute} {hour} * * {rng.choice(('*', '1-5', '0'))}", rng.choice((LISBON, NEW_YORK, "UTC"))

    one, other = schedule(), schedule()
    until = COMMON_FROM + 10 * DAY
    both = set(due_between(*one, COMMON_FROM, until, 10**6)) & set(
        due_between(*other, COMMON_FROM, until, 10**6)
    )
    met = first_common(one, other, COMMON_FROM)
    assert (met if met is not None and met <= until else None) == min(both, default=None)
