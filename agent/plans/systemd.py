"""How does systemd start a job at its times? A service and a timer as texts; pure.

The timer only wakes `ackonce serve --once`: which due time it is, whether it was claimed before and whether it was
missed is decided there, by the store. So a timer that fires twice, or a second one on another machine of the store,
runs nothing twice. Times that OnCalendar cannot express are refused rather than approximated.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from agent.plans.jobs import Job, OnMissed
from devices.problems import UsageProblem

_DAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_MINUTES, _HOURS, _MONTH_DAYS, _MONTHS, _WEEK_DAYS = (
    range(60),
    range(24),
    range(1, 32),
    range(1, 13),
    range(7),
)


def units(job: Job, program: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """The texts of the unit files of a job, by file name.

    Args:
        job: with absolute paths.
        program: how ackonce is started, the first word an absolute path.
        environ: variables that the service needs, such as ACKONCE_HOME.

    Raises:
        UsageProblem: systemd cannot express the schedule.
    """
    name = f"ackonce-{job.name}"
    persistent = "true" if job.missed is OnMissed.ONCE else "false"
    command = " ".join(
        _quoted(word, dollar="$$") for word in (*program, "serve", "--once", "--job", job.name)
    )
    variables = "".join(f"Environment={_quoted(f'{key}={value}')}\n" for key, value in environ.items())
    service = f"""\
[Unit]
Description=ackonce job {job.name}

[Service]
Type=oneshot
WorkingDirectory={_plain(job.project)}
{variables}ExecStart={command}
# Only 0 is success. 5 is a step in doubt that waits for a person: it must show in `systemctl --failed`.
SuccessExitStatus=0
"""
    calendar = "".join(f"OnCalendar={each}\n" for each in on_calendar(job.cron, job.tz))
    timer = f"""\
[Unit]
Description=ackonce job {job.name}: {job.cron} ({job.tz})

[Timer]
# Where the clocks change, systemd skips a time that they jump over. ackonce then tells it as missed.
{calendar}AccuracySec=1s
Persistent={persistent}

[Install]
WantedBy=timers.target
"""
    return {f"{name}.service": service, f"{name}.timer": timer}


def on_calendar(cron: str, tz: str) -> list[str]:
    """The OnCalendar texts that together mean a schedule (systemd.time(7)). Raises UsageProblem."""
    from cronsim import CronSim

    parsed = CronSim(cron, datetime(2000, 1, 1))  # noqa: DTZ001 - only parsed
    minutes = _numbers(cron, parsed.minutes, _MINUTES, "{:02}")
    hours = _numbers(cron, parsed.hours, _HOURS, "{:02}")
    months = _numbers(cron, parsed.months, _MONTHS, "{:02}")
    days = _numbers(cron, parsed.days, _MONTH_DAYS, "{:02}")
    week = _weekdays(cron, parsed.weekdays)
    time = f"{hours}:{minutes}:00 {tz}"
    if parsed.day_and:
        dates = [f"{week} *-{months}-{days}".strip()]
    elif days == "*" or not week:
        dates = [f"*-{months}-*"]
    else:
        dates = [f"*-{months}-{days}", f"{week} *-{months}-*"]
    return [f"{date} {time}" for date in dates]


def _numbers(cron: str, found: Iterable[object], every: range, form: str) -> str:
    """A field as OnCalendar has it."""
    numbers = sorted(number for number in found if isinstance(number, int) and number in every)
    if len(numbers) != len(set(found)):
        raise _not_expressible(cron, "L and LW")
    return "*" if len(numbers) == len(every) else ",".join(form.format(number) for number in numbers)


def _weekdays(cron: str, found: Iterable[object]) -> str:
    """The days of the week as OnCalendar has them; empty for all."""
    days = {day % 7 for day in found if isinstance(day, int)}
    if not all(isinstance(day, int) for day in found):
        raise _not_expressible(cron, "days of the week with L and #")
    return "" if len(days) == len(_WEEK_DAYS) else ",".join(_DAYS[day] for day in sorted(days))


def _not_expressible(cron: str, what: str) -> UsageProblem:
    return UsageProblem(
        f"'{cron}' cannot be exported: this export has no form for {what}",
        "Let `ackonce serve` run the job, or name the days by numbers",
    )


def _quoted(word: str, *, dollar: str = "$") -> str:
    """A word of a line that systemd splits and expands."""
    text = _plain(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", dollar)
    return f'"{text}"' if text != word or not word or any(c in " \t'" for c in word) else text


def _plain(text: str) -> str:
    """A text in which systemd expands nothing. Raises UsageProblem where no line can hold it."""
    if not text.isprintable():
        raise UsageProblem(f"{text!r} cannot stand in a unit file", "Rename the folder")
    return text.replace("%", "%%")
