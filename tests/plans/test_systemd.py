"""Does systemd start a job when it is due? Held against systemd's own reading where this machine has it."""

import random
import re
import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agent.plans.jobs import OnMissed
from agent.plans.schedule import next_due
from agent.plans.systemd import on_calendar, units
from devices.problems import UsageProblem
from tests.plans.test_jobs import JOB

PROGRAM = ("/opt/ackonce/bin/ackonce",)
ANALYZE = shutil.which("systemd-analyze")


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("30 2 * * 1-5", ["Mon,Tue,Wed,Thu,Fri *-*-* 02:30:00 UTC"]),
        ("*/15 0-2 * * *", ["*-*-* 00,01,02:00,15,30,45:00 UTC"]),
        ("* * * * *", ["*-*-* *:*:00 UTC"]),
        ("0 0 * * 0", ["Sun *-*-* 00:00:00 UTC"]),
        ("0 0 * * 7", ["Sun *-*-* 00:00:00 UTC"]),
        ("0 0 * * 5-7", ["Sun,Fri,Sat *-*-* 00:00:00 UTC"]),
        ("0 0 * * 0-7", ["*-*-* 00:00:00 UTC"]),
        ("0 0 1,15 jan,JUL *", ["*-01,07-01,15 00:00:00 UTC"]),
        ("0 0 13 * 5", ["*-*-13 00:00:00 UTC", "Fri *-*-* 00:00:00 UTC"]),
        ("0 0 */2 * 5", ["Fri *-*-01,03,05,07,09,11,13,15,17,19,21,23,25,27,29,31 00:00:00 UTC"]),
        ("0 0 1-31 * 5", ["*-*-* 00:00:00 UTC"]),
        ("0 0 13 * 0-6", ["*-*-* 00:00:00 UTC"]),
    ],
)
def test_a_schedule(cron: str, expected: list[str]) -> None:
    """Days of the week have their names, and either of two restricted days is enough, as in cron."""
    assert on_calendar(cron, "UTC") == expected


@pytest.mark.parametrize("cron", ["0 0 L * *", "0 0 LW * *", "0 0 1,L * *", "0 0 * * 5L", "0 0 * * 1#2,3"])
def test_what_cannot_be_expressed(cron: str) -> None:
    """It is refused, and said."""
    with pytest.raises(UsageProblem, match=re.escape(f"'{cron}' cannot be exported")):
        on_calendar(cron, "UTC")


@pytest.mark.skipif(ANALYZE is None, reason="this machine has no systemd-analyze")
def test_systemd_reads_it_as_cron_means_it() -> None:
    """The next times that systemd finds are the next times of the schedule."""
    rng = random.Random(7)
    for _ in range(8):
        minute, hour = rng.choice(["0", "*/20", "5-10"]), rng.choice(["*", "2", "1-3"])
        days = rng.choice(["* * *", "13 * *", "* 2,6 *", "* * 1-5", "* * 0", "*/2 * 5", "1-31 * 3", "31 * *"])
        cron = f"{minute} {hour} {days}"
        [calendar] = on_calendar(cron, "UTC")
        words = [str(ANALYZE), "calendar", "--base-time=2026-11-29 22:00:20 UTC", "--iterations=5", calendar]
        told = subprocess.run(words, capture_output=True, text=True, env={"TZ": "UTC"}, check=True).stdout
        found = re.findall(r"(?:elapse|#\d): \w+ ([\d-]+ [\d:]+) UTC", told)
        due = next_due(cron, "UTC", datetime(2026, 11, 29, 22, 0, 20, tzinfo=UTC), 5)
        assert found == [f"{each:%Y-%m-%d %H:%M:%S}" for each in due], cron


def test_the_units() -> None:
    """The service runs what is due of this job by absolute paths, and a doubt shows as a failure."""
    files = units(JOB, PROGRAM, {"ACKONCE_HOME": "/var/lib/ackonce"})
    service, timer = files["ackonce-night.service"], files["ackonce-night.timer"]
    assert "ExecStart=/opt/ackonce/bin/ackonce serve --once --job night\n" in service
    assert "Environment=ACKONCE_HOME=/var/lib/ackonce\n" in service
    assert "WorkingDirectory=/srv\n" in service
    assert "\nSuccessExitStatus=0\n" in service
    assert "OnCalendar=*-*-* *:00:00 UTC\n" in timer
    assert "AccuracySec=1s\n" in timer


@pytest.mark.parametrize(("missed", "persistent"), [(OnMissed.SKIP, "false"), (OnMissed.ONCE, "true")])
def test_missed_times(missed: OnMissed, persistent: str) -> None:
    """A missed time makes systemd start it only where the job is to catch up."""
    timer = units(replace(JOB, missed=missed), PROGRAM, {})["ackonce-night.timer"]
    assert f"Persistent={persistent}\n" in timer


def test_paths_that_systemd_would_expand() -> None:
    """Blanks, quotes, dollars and percents in paths stay what they are."""
    job = replace(JOB, project="/srv/50% of $HOME")
    service = units(job, ['/opt/my "own"/$bin\\x'], {"ACKONCE_HOME": "/a b"})["ackonce-night.service"]
    assert "WorkingDirectory=/srv/50%% of $HOME\n" in service
    assert 'ExecStart="/opt/my \\"own\\"/$$bin\\\\x" serve' in service
    assert 'Environment="ACKONCE_HOME=/a b"\n' in service
    with pytest.raises(UsageProblem, match="cannot stand in a unit file"):
        units(replace(JOB, project="/srv/a\nExecStart=b"), PROGRAM, {})
