"""Does each due time run at most once, whatever clocks and processes do, and is the truth told of the others?"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent import targets
from agent.links.link import Link
from agent.plans import job_runs, serve
from agent.plans.consent import Consent
from agent.plans.jobs import Jobs, OnMissed
from agent.plans.layout import lay_out
from agent.plans.plan_file import load_plan
from agent.plans.runs import Runs, RunState
from agent.plans.turns import State, Turns, nominal
from agent.stations import Target
from agent.store.database import StoreError
from tests.agent.desk import PROFILE
from tests.plans.desk import Killer, killed
from tests.plans.shift import BEGIN, Shift, on_shift

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LONG = os.environ.get("ACKONCE_FUZZ") == "long"
BEEP = "BEEP"
"""A command that counts every time."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Naps of a minute, and a profile that is read once, so that a day takes seconds."""
    monkeypatch.setattr(serve, "NAP_S", 60.0)
    monkeypatch.setattr(targets, "load_profile", lambda *_: PROFILE)


# --- the ordinary day -------------------------------------------------------------------------------------------------


def test_what_is_due_is_run(quick_home: Path) -> None:
    """A job runs at its times, each run under its nominal time, and what became of it is kept and told."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        service = shift.process()
        shift.add(shift.plan(BEEP), cron="*/10 * * * *", reason="CHG-1")
        task = shift.serving(service)
        await shift.clock.wait_until(BEGIN + timedelta(minutes=25))
        await shift.stop(task)
        due = ["2026-11-29T22:10+00:00", "2026-11-29T22:20+00:00"]
        assert shift.events() == [("done", key) for key in due]
        assert device.ledger.count(BEEP) == 2
        rows = Runs(service).newest(5)
        assert [(row.key, row.job, row.state, row.reason, row.actor) for row in rows] == [
            (key, "job", RunState.DONE, "CHG-1", "ana") for key in reversed(due)
        ]
        last = Turns(service).last("job")
        assert last is not None
        assert (last.key, last.state, last.run) == (due[-1], State.DONE, rows[0].run)
        assert shift.told[0].event == "serving"
        assert "1 job, the next is job at 2026-11-29T22:10+00:00" in shift.told[0].message

    on_shift(quick_home, play)


def test_a_job_that_comes_later(quick_home: Path) -> None:
    """A job that is added while a server runs is noticed before its first time, half a minute later."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        task = shift.serving(shift.process())
        shift.add(shift.plan(BEEP), "yearly", "0 0 1 1 *")
        await shift.clock.wait_until(BEGIN + 5 * MINUTE)
        shift.add(shift.plan(BEEP))
        await shift.clock.wait_until(BEGIN + timedelta(minutes=5, seconds=45))
        await shift.stop(task)
        assert device.ledger.count(BEEP) == 1

    on_shift(quick_home, play)


def test_two_jobs_on_one_device(quick_home: Path) -> None:
    """Two jobs that are due together and share a device take turns, and none of their steps is lost."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        task = shift.serving(shift.process())
        shift.add(shift.plan(BEEP, "SET interval 3", name="one"), "one")
        shift.add(shift.plan(BEEP, "SET interval 4", name="two"), "two")
        await shift.clock.wait_until(BEGIN + MINUTE)
        await shift.stop(task)
        assert shift.events() == [("done", "2026-11-29T22:01+00:00")] * 2
        assert device.ledger.count(BEEP) == 2

    on_shift(quick_home, play)


def test_two_jobs_on_two_devices(quick_home: Path) -> None:
    """Where they share nothing they run side by side: one that waits for its device does not hold the other up."""

    async def play(shift: Shift) -> None:
        gate = hold_connections(shift, "slow")
        slow, quick = shift.site.lsq("slow"), shift.site.lsq("quick")
        task = shift.serving(shift.process())
        shift.add(shift.plan(BEEP, name="one", targets="slow"), "one", "1 * * * *")
        shift.add(shift.plan(BEEP, name="two", targets="quick"), "two", "1 * * * *")
        await shift.clock.wait_until(BEGIN + 2 * MINUTE)
        assert (slow.ledger.count(BEEP), quick.ledger.count(BEEP)) == (0, 1)
        gate.set()
        await shift.clock.sleep(5)
        await shift.stop(task)
        assert slow.ledger.count(BEEP) == 1

    on_shift(quick_home, play)


def hold_connections(shift: Shift, name: str) -> asyncio.Event:
    """Connections to a device wait for the event that is returned."""
    gate, dial = asyncio.Event(), shift.site.dial

    async def wait(target: Target) -> Link:
        if target.name == name:
            await gate.wait()
        return await dial(target)

    shift.site.dial = wait  # type: ignore[method-assign]
    return gate


def test_once(quick_home: Path) -> None:
    """`--once` runs what is due now, waits for it, and does nothing else; called twice within the minute too."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        service = shift.process()
        shift.add(shift.plan(BEEP))
        await shift.server(service).run_due()
        assert shift.told == []
        await shift.clock.wait_until(BEGIN + timedelta(seconds=50))
        await shift.server(service).run_due()
        await shift.server(shift.process()).run_due()
        assert device.ledger.count(BEEP) == 1
        assert shift.events() == [("done", "2026-11-29T22:01+00:00")]

    on_shift(quick_home, play)


def test_one_job_only(quick_home: Path) -> None:
    """A server that looks after one job leaves the others to whoever looks after them."""

    async def play(shift: Shift) -> None:
        shift.site.lsq("d1")
        service = shift.process()
        for name in ("one", "two"):
            shift.add(shift.plan(BEEP, name=name), name)
        await shift.clock.wait_until(BEGIN + MINUTE)
        await shift.server(service, only="two").run_due()
        assert [(each.job, each.event) for each in shift.told if each.event == "done"] == [("two", "done")]
        assert Turns(service).last("one") is None

    on_shift(quick_home, play)


# --- clocks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missed", OnMissed)
def test_a_clock_set_forward(quick_home: Path, missed: OnMissed) -> None:
    """What the jump left out is told once, and run not at all or once for the newest; never a burst."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        task = shift.serving(shift.process())
        shift.add(shift.plan(BEEP), cron="*/5 * * * *", missed=missed)
        await shift.clock.wait_until(BEGIN + 6 * MINUTE)
        shift.clock.set_by(2 * HOUR)  # 00:06:20, between two due times
        await shift.clock.sleep(60)
        ran = [("done", "2026-11-30T00:05+00:00")] if missed is OnMissed.ONCE else []
        told = ("missed", "2026-11-30T00:05+00:00")
        assert shift.events() == [("done", "2026-11-29T22:05+00:00"), told, *ran]
        [said] = [each.message for each in shift.told if each.event == "missed"]
        assert said.startswith("missed 24 times, last 2026-11-30T00:05+00:00; ")
        await shift.clock.wait_until(datetime(2026, 11, 30, 0, 10, 5, tzinfo=UTC))
        await shift.stop(task)
        assert shift.events()[-1] == ("done", "2026-11-30T00:10+00:00")
        assert device.ledger.count(BEEP) == 2 + len(ran)

    on_shift(quick_home, play)


@pytest.mark.parametrize("missed", OnMissed)
def test_a_machine_that_slept_until_a_due_time(quick_home: Path, missed: OnMissed) -> None:
    """Waking within the grace of a due time it runs that one, and nothing for those before, whatever the policy."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        task = shift.serving(shift.process())
        shift.add(shift.plan(BEEP), missed=missed)
        shift.clock.set_by(HOUR)  # 23:00:20
        await shift.clock.sleep(35)
        await shift.stop(task)
        assert shift.events() == [("missed", "2026-11-29T22:59+00:00"), ("done", "2026-11-29T23:00+00:00")]
        assert "missed 59 times, last 2026-11-29T22:59+00:00; not run" in [
            each.message for each in shift.told
        ]
        assert device.ledger.count(BEEP) == 1

    on_shift(quick_home, play)


def test_a_clock_set_back(quick_home: Path) -> None:
    """Due times that come a second time are not run a second time, and the next new one is."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        task = shift.serving(shift.process())
        shift.add(shift.plan(BEEP))
        await shift.clock.wait_until(BEGIN + 10 * MINUTE)
        assert device.ledger.count(BEEP) == 10
        shift.clock.set_by(-5 * MINUTE)
        await shift.clock.wait_until(BEGIN + 10 * MINUTE)
        assert device.ledger.count(BEEP) == 10
        await shift.clock.wait_until(BEGIN + 12 * MINUTE)
        await shift.stop(task)
        assert device.ledger.count(BEEP) == 12
        assert shift.events() == [("done", nominal(BEGIN + n * MINUTE)) for n in range(1, 13)]

    on_shift(quick_home, play)


def test_a_clock_that_was_wrong_for_a_while(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that was set forward by mistake and back again: what was skipped is run at its time after all."""
    monkeypatch.setattr(serve, "REREAD_S", 1e9)

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        service = shift.process()
        shift.add(shift.plan(BEEP), cron="*/5 * * * *")
        task = shift.serving(service)
        await shift.clock.wait_until(BEGIN + MINUTE)
        shift.clock.set_by(2 * HOUR)
        await shift.clock.sleep(150)
        assert shift.events() == [("missed", "2026-11-30T00:00+00:00")]
        shift.clock.set_by(-2 * HOUR)
        await shift.clock.wait_until(BEGIN + 6 * MINUTE)
        await shift.stop(task)
        assert shift.events()[1:] == [("done", "2026-11-29T22:05+00:00")]
        assert shift.told[-1].ts == "2026-11-29T22:05:00.000Z"
        assert device.ledger.count(BEEP) == 1

    on_shift(quick_home, play)


def test_missed_times_seen_by_two(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two servers that see the same missed times at the same moment, one tells them."""
    monkeypatch.setattr(Turns, "considered", lambda _, job, __: job.added)

    async def play(shift: Shift) -> None:
        shift.site.lsq("d1")
        servers = [shift.server(shift.process()), shift.server(shift.process())]
        shift.add(shift.plan(BEEP), cron="0 * * * *")
        await shift.clock.wait_until(BEGIN + 3 * HOUR + 20 * MINUTE)
        for server in servers:
            await server.run_due()
        assert shift.events() == [("missed", "2026-11-30T01:00+00:00")]

    on_shift(quick_home, play)


def test_a_server_that_starts_late(quick_home: Path) -> None:
    """What came due while nobody served is missed and told once; two servers that start together tell it once."""

    async def play(shift: Shift) -> None:
        shift.site.lsq("d1")
        first, second = shift.process(), shift.process()
        shift.add(shift.plan(BEEP), cron="0 * * * *")
        await shift.clock.wait_until(BEGIN + 3 * HOUR + 20 * MINUTE)
        await asyncio.gather(shift.server(first).run_due(), shift.server(second).run_due())
        assert shift.events() == [("missed", "2026-11-30T01:00+00:00")]
        last = Turns(first).last("job")
        assert last is not None
        assert (last.state, last.note) == (State.MISSED, "missed 3 times, last 2026-11-30T01:00+00:00")

    on_shift(quick_home, play)


@pytest.mark.parametrize(
    ("start", "tz", "cron", "due"),
    [
        (
            datetime(2026, 3, 28, 12, tzinfo=UTC),
            "Europe/Lisbon",
            "30 1 * * *",
            ["03-29T01:00", "03-30T00:30"],
        ),
        (
            datetime(2026, 10, 24, 12, tzinfo=UTC),
            "Europe/Lisbon",
            "30 1 * * *",
            ["10-25T00:30", "10-26T01:30"],
        ),
        (
            datetime(2026, 3, 7, 18, tzinfo=UTC),
            "America/New_York",
            "30 2 * * *",
            ["03-08T07:00", "03-09T06:30"],
        ),
        (
            datetime(2026, 4, 4, 2, tzinfo=UTC),
            "Australia/Lord_Howe",
            "45 1 * * *",
            ["04-04T14:45", "04-05T15:15"],
        ),
    ],
)
def test_the_days_on_which_clocks_change(
    quick_home: Path, monkeypatch: pytest.MonkeyPatch, start: datetime, tz: str, cron: str, due: list[str]
) -> None:
    """A daily job runs once on each of them, by the clocks of its zone; with two servers too."""
    monkeypatch.setattr(serve, "REREAD_S", 1800.0)

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        tasks = [shift.serving(shift.process()), shift.serving(shift.process())]
        shift.add(shift.plan(BEEP), cron=cron, tz=tz)
        await shift.clock.wait_until(start + 2 * DAY)
        await shift.stop(*tasks)
        assert shift.events() == [("done", f"2026-{each}+00:00") for each in due]
        assert device.ledger.count(BEEP) == 2

    on_shift(quick_home, play, start)


def a_day(rng: random.Random) -> Iterator[tuple[float, timedelta]]:
    """Waits in seconds, and by how much the clock is set after each."""
    hours = 24 if LONG else 2
    left_s = hours * 3600.0
    while left_s > 0:
        wait_s = rng.uniform(60, hours * 400)
        left_s -= wait_s
        yield wait_s, rng.choice((-HOUR, -7 * MINUTE, -MINUTE, timedelta(seconds=90), 20 * MINUTE, HOUR))


@pytest.mark.parametrize("seed", [1, 2])
def test_a_day_of_two_servers(quick_home: Path, seed: int) -> None:
    """Two servers and a person, jobs each minute, a clock set this way and that: no due time runs twice."""
    print(f"seed {seed}")
    rng = random.Random(seed)

    async def play(shift: Shift) -> None:
        devices = [shift.site.lsq("d1"), shift.site.lsq("d2")]
        processes = [shift.process(), shift.process()]
        person = shift.process()
        jobs = [
            shift.add(shift.plan(BEEP, name="skip", targets="d1"), "skip"),
            shift.add(shift.plan(BEEP, name="once", targets="d2"), "once", missed=OnMissed.ONCE),
        ]
        tasks = [shift.serving(process) for process in processes]
        by_hand = Counter[str]()
        for wait_s, change in a_day(rng):
            await shift.clock.sleep(wait_s)
            shift.clock.set_by(change)
            job = rng.choice(jobs)
            turn = Turns(person).claim(job, f"manual-{wait_s}")
            assert turn is not None
            if turn.state is State.RUNNING:
                runs = job_runs.JobRuns(person, shift.settings, shift.told.append)
                await runs.take(job, turn)
        await shift.stop(*tasks)
        for job, device in zip(jobs, devices, strict=True):
            keys = [each.key for each in shift.told if each.event == "done" and each.job == job.name]
            assert len(keys) == len(set(keys)) == device.ledger.count(BEEP)
            by_hand[job.name] = sum(str(key).startswith("manual-") for key in keys)
            assert len(keys) - by_hand[job.name] > 10
            assert {each.event for each in shift.told} <= {
                "serving", "waiting", "started", "done", "missed", "overlap",
            }  # fmt: skip

    on_shift(quick_home, play)


# --- what is not run --------------------------------------------------------------------------------------------------


def test_a_run_that_takes_longer_than_its_period(quick_home: Path) -> None:
    """While it runs, the next due times are not run and it is said so; afterwards the next one is."""

    async def play(shift: Shift) -> None:
        gate = hold_connections(shift, "d1")
        device = shift.site.lsq("d1")
        tasks = [shift.serving(shift.process()), shift.serving(shift.process())]
        shift.add(shift.plan(BEEP))
        await shift.clock.wait_until(BEGIN + 3 * MINUTE)
        gate.set()
        await shift.clock.wait_until(BEGIN + 4 * MINUTE)
        await shift.stop(*tasks)
        assert shift.events() == [
            ("overlap", "2026-11-29T22:02+00:00"),
            ("overlap", "2026-11-29T22:03+00:00"),
            ("done", "2026-11-29T22:01+00:00"),
            ("done", "2026-11-29T22:04+00:00"),
        ]
        assert "its run of 2026-11-29T22:01+00:00 is still running" in shift.told[-5].message
        assert device.ledger.count(BEEP) == 2

    on_shift(quick_home, play)


def test_a_plan_that_was_edited(quick_home: Path) -> None:
    """With commands that count every time it is not run until somebody has agreed to it anew; else it is."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        task = shift.serving(shift.process())
        shift.add(shift.plan("SET interval 3"))
        await shift.clock.wait_until(BEGIN + MINUTE)
        shift.plan("SET interval 4")
        await shift.clock.wait_until(BEGIN + 2 * MINUTE)
        path = shift.plan("SET interval 4", BEEP)
        await shift.clock.wait_until(BEGIN + 3 * MINUTE)
        shift.add(path)
        await shift.clock.wait_until(BEGIN + 4 * MINUTE)
        await shift.stop(task)
        assert [event for event, _ in shift.events()] == ["done", "done", "changed", "done"]
        [said] = [each.message for each in shift.told if each.event == "changed"]
        assert "the plan has changed since it was agreed to" in said
        assert "ackonce job add job ... --replace" in said
        assert device.values()["interval"] == 4
        assert device.ledger.count(BEEP) == 1

    on_shift(quick_home, play)


def test_an_inventory_that_has_grown(quick_home: Path) -> None:
    """A reset that was agreed to for one device is not sent to two."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        service = shift.process()
        job = shift.add(shift.plan("RESET counter"))
        assert job.agreed is Consent.YES
        shift.site.lsq("d2")
        shift.inventory()
        await shift.clock.wait_until(BEGIN + MINUTE)
        await shift.server(service).run_due()
        assert shift.events() == [("changed", "2026-11-29T22:01+00:00")]
        assert "needs a stronger yes" in shift.told[0].message
        assert device.ledger.count("RESET counter") == 0

    on_shift(quick_home, play)


def test_a_window_that_is_shut(quick_home: Path) -> None:
    """A due time outside the plan's window is not run; it is said when the window opens."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        service = shift.process()
        shift.add(shift.plan(BEEP, more='window: {from: "22:02", to: "22:03", tz: UTC}\n'))
        for _ in range(2):
            await shift.clock.wait_until(shift.clock.utc() + MINUTE)
            await shift.server(service).run_due()
        assert shift.events() == [("window", "2026-11-29T22:01+00:00"), ("done", "2026-11-29T22:02+00:00")]
        assert "it opens at 2026-11-29T22:02+00:00" in shift.told[0].message
        assert device.ledger.count(BEEP) == 1

    on_shift(quick_home, play)


def test_a_plan_that_cannot_be_used(quick_home: Path) -> None:
    """A plan that is gone, or means nothing any more, is said with its place; other jobs go on."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        service = shift.process()
        bad = shift.plan(BEEP, name="bad")
        for name in ("bad", "gone"):
            shift.add(bad, name)
        shift.add(shift.plan(BEEP, name="good"), "good")
        Jobs(service).add(
            replace(Jobs(service).find("gone"), path=str(shift.folder / "none.yaml")), in_its_place=True
        )
        bad.write_text(bad.read_text().replace(BEEP, "BEEEP\n  - send: SET nothing"))
        await shift.clock.wait_until(BEGIN + MINUTE)
        await shift.server(service).run_due()
        said = {each.job: each.message for each in shift.told if each.event == "unusable"}
        assert set(said) == {"bad", "gone"}
        assert "bad.yaml:4:" in said["bad"]
        assert "bad.yaml:5:" in said["bad"]
        assert "\n" not in said["bad"]
        assert "none.yaml" in said["gone"]
        assert device.ledger.count(BEEP) == 1

    on_shift(quick_home, play)


def test_a_plan_that_wants_a_reason_now(quick_home: Path) -> None:
    """A plan that was edited to want a reason is not run for a job without one."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        service = shift.process()
        shift.add(shift.plan("SET interval 3"))
        shift.plan("SET interval 3", more="reason_required: true\n")
        await shift.clock.wait_until(BEGIN + MINUTE)
        await shift.server(service).run_due()
        assert shift.events() == [("unusable", "2026-11-29T22:01+00:00")]
        assert "it wants a reason. ackonce job add job ... --replace --reason TEXT" in shift.told[0].message
        assert device.ledger.count("SET interval 3") == 0

    on_shift(quick_home, play)


def test_two_jobs_of_one_plan_at_one_time(quick_home: Path) -> None:
    """A plan is carried out once for one due time, however many jobs ask for it."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        path = shift.plan(BEEP)
        tasks = [shift.serving(shift.process()), shift.serving(shift.process())]
        for name in ("one", "two", "three"):
            shift.add(path, name)
        await shift.clock.wait_until(BEGIN + MINUTE)
        await shift.stop(*tasks)
        assert {event for event, _ in shift.events()} <= {"done", "held"}
        assert device.ledger.count(BEEP) == 1

    on_shift(quick_home, play)


def test_a_run_that_another_process_has_in_hand(quick_home: Path) -> None:
    """Where somebody applies the same plan under the same key, the due time is not run, and it is said who does."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        other, service = shift.process(), shift.process()
        path = shift.plan(BEEP)
        shift.add(path)
        due = "2026-11-29T22:01+00:00"
        layout = lay_out(shift.settings, load_plan(path), run="R1", key=due, reason=None)
        Runs(other).begin(layout, options={}, actor="ana")
        await shift.clock.wait_until(BEGIN + MINUTE)
        await shift.server(service).run_due()
        assert shift.events() == [("held", due)]
        assert "is being carried out by agent desk, process" in shift.told[0].message
        assert device.ledger.count(BEEP) == 0

    on_shift(quick_home, play)


# --- ends -------------------------------------------------------------------------------------------------------------


def test_interrupted_while_idle(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server ends within a nap, although nothing is due for hours."""
    monkeypatch.setattr(serve, "REREAD_S", 1e9)

    async def play(shift: Shift) -> None:
        task = shift.serving(shift.process())
        shift.site.lsq("d1")
        shift.add(shift.plan(BEEP), cron="0 12 * * *")
        await shift.clock.sleep(1000)
        await shift.stop(task)
        assert shift.clock.utc() - BEGIN <= timedelta(seconds=1000 + serve.NAP_S)

    on_shift(quick_home, play)


def test_interrupted_while_a_job_runs(quick_home: Path) -> None:
    """What is in flight reaches its word, nothing new begins, and the run may be gone on with."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1", "cmd 1: drop_ack")
        service = shift.process()
        task = shift.serving(service)
        shift.add(shift.plan(BEEP, "SET interval 3"))
        await shift.clock.wait_until(BEGIN + timedelta(seconds=40.2))
        assert device.ledger.count(BEEP) == 1
        await shift.stop(task)
        assert shift.events() == [("unfinished", "2026-11-29T22:01+00:00")]
        told = shift.told[-1]
        assert told.run is not None
        assert f"ackonce resume {told.run}" in told.message
        assert [report.result is not None for report in told.reports] == [True, False]
        assert device.ledger.count("SET interval 3") == 0
        [row] = Runs(service).newest(5)
        assert row.state is RunState.UNFINISHED

    on_shift(quick_home, play)


@pytest.mark.parametrize("at_write", range(1, 16))
@pytest.mark.parametrize("after", [True, False])
def test_a_server_that_is_killed(quick_home: Path, at_write: int, after: bool) -> None:
    """Wherever its process ends, the due time is run at most once, and the next process tells what was cut off."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        mortal = shift.process(gone=True)
        shift.add(shift.plan(BEEP))
        await shift.clock.wait_until(BEGIN + MINUTE)
        killer = Killer(mortal, at_write, after=after)
        died = await killed(shift.server(mortal).run_due())
        assert died is killer.dead
        survivor = shift.process()
        await shift.server(survivor).run_due()
        await shift.clock.wait_until(shift.clock.utc() + MINUTE)
        await shift.server(survivor).run_due()
        first, second = "2026-11-29T22:01+00:00", "2026-11-29T22:02+00:00"
        events = shift.events()
        assert events.count(("done", second)) == 1
        ran_first = events.count(("done", first)), events.count(("cut_off", first))
        assert ran_first in ((1, 0), (0, 1), (1, 1))
        assert 1 <= device.ledger.count(BEEP) <= 2
        if ran_first[0]:
            assert device.ledger.count(BEEP) == 2

    on_shift(quick_home, play)


def test_an_end_that_cannot_be_recorded(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose end could not be written does not block the job for ever: it is written at a later look."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        service = shift.process()
        shift.add(shift.plan(BEEP))
        task = shift.serving(service)
        record = Turns.record

        def fail_at_the_end(turns: Turns, turn: object) -> None:
            if getattr(turn, "state", None) is State.DONE:
                raise StoreError("the disk is full")
            record(turns, turn)  # type: ignore[arg-type]

        with monkeypatch.context() as full:
            full.setattr(Turns, "record", fail_at_the_end)
            await shift.clock.wait_until(BEGIN + MINUTE)
        last = Turns(service).last("job")
        assert last is not None
        assert last.state is State.RUNNING
        await shift.clock.wait_until(BEGIN + 2 * MINUTE)
        await shift.stop(task)
        assert shift.events("done", "overlap") == [("done", nominal(BEGIN + n * MINUTE)) for n in (1, 2)]
        assert device.ledger.count(BEEP) == 2

    on_shift(quick_home, play)


def test_duties_side_by_side() -> None:
    """All duties run at the same time, and serving ends with the last one."""

    async def play() -> list[str]:
        done: list[str] = []
        met = asyncio.Event()

        async def first() -> None:
            await met.wait()
            done.append("first")

        async def second() -> None:
            met.set()
            done.append("second")

        await serve.serve([first, second])
        return done

    assert asyncio.run(play()) == ["second", "first"]
