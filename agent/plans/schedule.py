"""When is a job due? Pure: cron text, a zone and UTC moments go in, UTC moments come out.

The five fields are cron's: minute, hour, day of month, month, day of week, where 0 and 7 are both Sunday. Where day of
month and day of week are both restricted, either is enough. When the clocks change, Debian's cron is followed:

* A schedule of fixed times (neither minute nor hour begins with `*`) misses nothing and repeats nothing. A local time
  that the clock jumps over is due at the first moment after the jump, one that comes twice is due the first time.
* A schedule that repeats (minute or hour begins with `*`) goes by the clock as it is shown: what is jumped over is not
  due, what comes twice is due twice. So `*/15 * * * *` is due every quarter of an hour that really passes.

cronsim says which local times match; what they are in UTC is found here, because cronsim walks through a zone in steps
of an hour and loses times where the clocks change by half of one (Australia/Lord_Howe).
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from devices.problems import UsageProblem, did_you_mean

FOLD_MAX = timedelta(hours=3)
"""No zone sets its clocks back further (Antarctica/Troll does by two hours)."""
HORIZON = timedelta(days=50 * 366)
"""A schedule without a time in so many years has none."""
COMMON_MAX = 1000
"""Of two schedules that do not meet in so many times, nobody says that they do."""
_SECOND = timedelta(seconds=1)
CRON_MAX = 200
"""Characters of a cron text; what is longer is none."""

_FIELDS = (
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of month", "1 to 31, L for the last day, LW for the last working day"),
    ("month", "1 to 12 or JAN to DEC"),
    (
        "day of week",
        "0 to 7 or SUN to SAT, 0 and 7 are Sunday; 5L for the last Friday, 1#2 for the second Monday",
    ),
)
_FORMS = "also * for all, lists as 1,15, ranges upwards as 1-5, steps as */2"


def check(cron: str, tz: str) -> None:
    """Insist on a schedule that comes. Raises UsageProblem: the field, and what it may say; the zone's likely name."""
    zone_of(tz)
    _check_fields(cron)
    if not next_due(cron, tz, datetime(2000, 1, 1, tzinfo=UTC), 1):
        raise UsageProblem(f"'{cron}' never comes", "No month has such a day")


def zone_of(tz: str) -> ZoneInfo:
    """The zone of a name such as Europe/Lisbon. Raises UsageProblem."""
    try:
        return ZoneInfo(tz)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        hint = did_you_mean(tz, available_timezones())
        raise UsageProblem(
            f"no such time zone: '{tz}'", hint or "Known are the names of the tz database: Europe/Lisbon, UTC"
        ) from None


def next_due(cron: str, tz: str, after_utc: datetime, count: int) -> list[datetime]:
    """The first `count` due times after a moment, in UTC, oldest first; fewer where there are no more."""
    return due_between(cron, tz, after_utc, after_utc + HORIZON, count)


def due_between(cron: str, tz: str, after_utc: datetime, until_utc: datetime, limit: int) -> list[datetime]:
    """The first due times later than `after_utc` and not later than `until_utc`, in UTC, oldest first.

    Args:
        cron: five fields that `check` lets pass.
        tz: the name of the zone by whose clocks they are meant.
        after_utc: aware.
        until_utc: aware.
        limit: how many at most.
    """
    return _due(cron, tz, after_utc, until_utc, limit, newest_first=False)


def latest_due(cron: str, tz: str, after_utc: datetime, until_utc: datetime) -> datetime | None:
    """The last of the due times of `due_between`; None where there is none."""
    return next(iter(_due(cron, tz, after_utc, until_utc, 1, newest_first=True)), None)


def first_common(one: tuple[str, str], other: tuple[str, str], after_utc: datetime) -> datetime | None:
    """The first moment after another at which two schedules are both due, in UTC.

    Args:
        one: cron and zone, as `due_between` takes them.
        other: likewise.
        after_utc: aware.

    Returns:
        None where there is none among their next `COMMON_MAX` times.
    """
    asked, others = one, other
    due = next(iter(next_due(*one, after_utc, 1)), None)
    for _ in range(COMMON_MAX):
        if due is None:
            return None
        asked, others = others, asked
        not_before = next(iter(next_due(*asked, due - _SECOND, 1)), None)
        if not_before == due:
            return due
        due = not_before
    return None


def _due(
    cron: str, tz: str, after_utc: datetime, until_utc: datetime, limit: int, *, newest_first: bool
) -> list[datetime]:
    from cronsim import CronSim

    if until_utc <= after_utc:
        return []
    zone, fixed = zone_of(tz), not any(field.startswith("*") for field in cron.split()[:2])
    earliest = _shown(after_utc, zone) - _disorder(after_utc, zone)
    latest = _shown(until_utc, zone) + _disorder(until_utc, zone)
    # cronsim leaves the moment at which it begins out.
    begin, end = (latest + _SECOND, earliest) if newest_first else (earliest, latest)
    far_enough = abs(end - begin)
    found: set[datetime] = set()
    for local in CronSim(cron, begin, reverse=newest_first):
        way = abs(local - begin)
        if way > far_enough:
            break
        moments = [each for each in _moments(local, zone, fixed=fixed) if after_utc < each <= until_utc]
        missing = len(found) < limit
        found.update(moments)
        if missing and len(found) >= limit:
            far_enough = min(far_enough, way + _disorder(moments[0], zone))
    return sorted(found, reverse=newest_first)[:limit]


def _disorder(utc: datetime, zone: ZoneInfo) -> timedelta:
    """How far local times may be out of order around a moment: not at all but where the clocks change."""
    around = ((utc + way).astimezone(zone).utcoffset() for way in (-FOLD_MAX, FOLD_MAX))
    return FOLD_MAX if len(set(around)) > 1 else timedelta()


def _moments(local: datetime, zone: ZoneInfo, *, fixed: bool) -> Sequence[datetime]:
    """The UTC moments at which a local time is due."""
    first = local.replace(tzinfo=zone).astimezone(UTC)
    second = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if first == second:
        return (first,)
    if first < second:
        return (first,) if fixed else (first, second)
    return (_jump(local, zone, second, first),) if fixed else ()


def _jump(local: datetime, zone: ZoneInfo, before: datetime, behind: datetime) -> datetime:
    """The first moment at which the clock shows a time later than one that it jumps over, between two moments."""
    while behind - before > _SECOND:
        middle = before + (behind - before) // 2
        if _shown(middle, zone) < local:
            before = middle
        else:
            behind = middle
    return behind.replace(microsecond=0)


def _shown(utc: datetime, zone: ZoneInfo) -> datetime:
    """What the clock on the wall shows, without its zone."""
    return utc.astimezone(zone).replace(tzinfo=None, fold=0)


def _check_fields(cron: str) -> None:
    """Raises UsageProblem for the first field that is wrong."""
    from cronsim import CronSim, CronSimError

    fields = cron.split()
    if len(cron) > CRON_MAX:
        raise UsageProblem(f"a schedule of {len(cron)} characters is none", f"At most {CRON_MAX}")
    if len(fields) != len(_FIELDS):
        names = ", ".join(name for name, _ in _FIELDS)
        raise UsageProblem(
            f"a schedule has five fields ({names}); '{cron}' has {len(fields)}", 'As in "30 2 * * 1-5"'
        )
    for place, (field, (name, allowed)) in enumerate(zip(fields, _FIELDS, strict=True)):
        alone = ["*"] * len(_FIELDS)
        alone[place] = field
        try:
            CronSim(" ".join(alone), datetime(2000, 1, 1))  # noqa: DTZ001 - a local time
        except CronSimError:
            raise UsageProblem(f"'{field}' is no {name}", f"Allowed: {allowed}; {_FORMS}") from None
    try:
        CronSim(cron, datetime(2000, 1, 1))  # noqa: DTZ001
    except CronSimError:
        raise UsageProblem(f"'{cron}' never comes", "No such month has such a day") from None
