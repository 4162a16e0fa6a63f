"""Which jobs does a store keep, and who may run a due time of one?"""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.plans.consent import Consent
from agent.plans.jobs import Job, Jobs, OnMissed
from agent.plans.runs import Runs
from agent.plans.turns import MISSED_COUNT_MAX, State, Turns, nominal, standing
from agent.processes import this_process
from agent.service import Service
from agent.store.database import StoreError
from devices.problems import UsageProblem
from tests.plans.desk import Site, lay_out, plan
from tests.plans.shift import BEGIN, Shift, on_shift

ADDED = datetime(2026, 11, 29, 22, 0, 20, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
DUE = nominal(ADDED + HOUR)
JOB = Job(
    name="night", path="/srv/night.yaml", cron="0 * * * *", tz="UTC", missed=OnMissed.ONCE, project="/srv",
    inventory="/srv/inventory.yaml", timeout_s=2.5, agreed=Consent.NAME, digest="abc", reason="CHG-1", added_by="ana",
    added=ADDED.replace(second=19, microsecond=123000),
)  # fmt: skip


def in_a_store(folder: Path, play: Callable[[Shift], None]) -> None:
    """Play with a store, no time passing."""

    async def at_once(shift: Shift) -> None:
        play(shift)

    on_shift(folder, at_once)


def change(service: Service, sql: str, value: str) -> None:
    """Change every row behind the agent's back."""
    service.database.commit_now(lambda cursor: cursor.execute(sql, (value,)).rowcount)


# --- jobs -------------------------------------------------------------------------------------------------------------


def test_what_is_added_is_kept(quick_home: Path) -> None:
    """Another process finds a job as it was added; removed, it is gone."""

    def play(shift: Shift) -> None:
        Jobs(shift.process()).add(JOB, in_its_place=False)
        other = Jobs(shift.process())
        assert other.all() == [JOB] == [other.find("night")]
        other.remove("night")
        assert other.all() == []

    in_a_store(quick_home, play)


def test_a_name_that_is_taken(quick_home: Path) -> None:
    """A second job of one name is refused and changes nothing, unless it is to take the first one's place."""

    def play(shift: Shift) -> None:
        jobs = Jobs(shift.process())
        jobs.add(JOB, in_its_place=False)
        other = replace(JOB, cron="5 * * * *")
        with pytest.raises(UsageProblem, match=r"a job night already.*--replace"):
            jobs.add(other, in_its_place=False)
        assert jobs.all() == [JOB]
        jobs.add(other, in_its_place=True)
        assert jobs.all() == [other]

    in_a_store(quick_home, play)


def test_a_name_that_is_not_known(quick_home: Path) -> None:
    """The likely name is said; where there are no jobs, that."""

    def play(shift: Shift) -> None:
        jobs = Jobs(shift.process())
        with pytest.raises(UsageProblem, match="There are no jobs"):
            jobs.find("nigt")
        jobs.add(JOB, in_its_place=False)
        with pytest.raises(UsageProblem, match="Did you mean 'night'"):
            jobs.remove("nigt")
        with pytest.raises(UsageProblem, match="job list"):
            jobs.find("x")

    in_a_store(quick_home, play)


@pytest.mark.parametrize(
    "damage",
    [
        {"cron": "61 * * * *"},
        {"tz": "Mars"},
        {"missed": "maybe"},
        {"options": "{"},
        {"options": "{}"},
        {"added_utc": "x"},
    ],
)
def test_a_damaged_job(quick_home: Path, damage: dict[str, str]) -> None:
    """A row that makes no sense is a damaged store, said as such."""

    def play(shift: Shift) -> None:
        service = shift.process()
        Jobs(service).add(JOB, in_its_place=False)
        [(column, value)] = damage.items()
        change(service, f"UPDATE job SET {column} = ?", value)  # noqa: S608 - a column of ours
        with pytest.raises(StoreError, match=r"damaged.*Restore a backup"):
            Jobs(service).all()

    in_a_store(quick_home, play)


# --- what is due ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("considered", "now", "on_time", "missed", "newest"),
    [
        ("22:00", "22:59:59", None, 0, None),
        ("22:00", "23:00:00", "23:00", 0, None),
        ("22:00", "23:00:59", "23:00", 0, None),
        ("22:00", "23:01:00", None, 1, "23:00"),
        ("23:00", "23:00:30", None, 0, None),
        ("20:00", "23:00:30", "23:00", 2, "22:00"),
        ("20:00", "23:30:00", None, 3, "23:00"),
        ("23:30", "23:00:10", None, 0, None),
        ("22:59", "23:30:00", None, 1, "23:00"),
    ],
)
def test_what_is_due_and_what_was_missed(
    considered: str, now: str, on_time: str | None, missed: int, newest: str | None
) -> None:
    """On time for a minute, then missed; what was considered is neither, and no time is both."""

    def at(text: str | None) -> datetime | None:
        return datetime.fromisoformat(f"2026-11-29T{text}+00:00") if text is not None else None

    since, until = at(considered), at(now)
    assert since is not None
    assert until is not None
    found = standing(JOB, since, until)
    assert (found.on_time, found.missed, found.newest) == (at(on_time), missed, at(newest))


def test_how_missed_times_are_told() -> None:
    """How many there were and which was the last; of very many only that they were more."""
    one = standing(JOB, ADDED, ADDED + timedelta(minutes=65))
    assert one.told() == "missed 1 time, last 2026-11-29T23:00+00:00"
    many = standing(JOB, ADDED - timedelta(days=100), ADDED)
    assert many.told() == f"missed more than {MISSED_COUNT_MAX} times, last 2026-11-29T21:00+00:00"


def test_only_times_after_it_was_added(quick_home: Path) -> None:
    """A job counts from when it was added or replaced, and from its newest row that is not in the future."""

    def play(shift: Shift) -> None:
        service = shift.process()
        jobs, turns = Jobs(service), Turns(service)
        jobs.add(JOB, in_its_place=False)
        assert turns.considered(JOB, ADDED + 5 * HOUR) == JOB.added
        assert turns.claim(JOB, nominal(ADDED + HOUR)) is not None
        assert turns.considered(JOB, ADDED + 5 * HOUR) == datetime(2026, 11, 29, 23, 0, tzinfo=UTC)
        assert turns.considered(JOB, ADDED) == JOB.added
        later = replace(JOB, added=ADDED + 3 * HOUR)
        jobs.add(later, in_its_place=True)
        assert turns.considered(later, ADDED + 5 * HOUR) == later.added
        assert later.next(ADDED)[0] > later.added

    in_a_store(quick_home, play)


# --- who runs it ------------------------------------------------------------------------------------------------------


def test_a_due_time_is_claimed_once(quick_home: Path) -> None:
    """Of two processes one gets it; and nobody a second time, not even after the job was replaced or added anew."""

    def play(shift: Shift) -> None:
        first, second = shift.process(), shift.process()
        Jobs(first).add(JOB, in_its_place=False)
        turn = Turns(first).claim(JOB, DUE)
        assert turn is not None
        assert turn.state is State.RUNNING
        assert Turns(second).claim(JOB, DUE) is None
        Turns(first).record(replace(turn, state=State.DONE, run="R1"))
        assert Turns(first).claim(JOB, DUE) is None
        assert Turns(second).pass_over(JOB, ADDED + HOUR, "missed") is False
        anew = replace(JOB, added=ADDED + MINUTE)
        Jobs(second).remove("night")
        Jobs(second).add(anew, in_its_place=False)
        assert Turns(second).claim(anew, DUE) is None
        last = Turns(second).last("night")
        assert last is not None
        assert (last.state, last.run, last.key) == (State.DONE, "R1", DUE)

    in_a_store(quick_home, play)


def test_a_job_that_has_changed_meanwhile(quick_home: Path) -> None:
    """Who read a job before it was removed or replaced claims nothing of it."""

    def play(shift: Shift) -> None:
        service = shift.process()
        Jobs(service).add(JOB, in_its_place=False)
        Jobs(service).add(replace(JOB, added=ADDED + MINUTE), in_its_place=True)
        assert Turns(service).claim(JOB, DUE) is None
        Jobs(service).remove("night")
        assert Turns(service).claim(replace(JOB, added=ADDED + MINUTE), DUE) is None

    in_a_store(quick_home, play)


def claim_of(shift: Shift, *, by: Any) -> Turns:
    """The turns as a second process sees them while the first has claimed a due time."""
    holder = by(this_process("desk"))
    first, second = shift.process_as(holder), shift.process()
    Jobs(first).add(JOB, in_its_place=False)
    assert Turns(first).claim(JOB, DUE) is not None
    return Turns(second)


def test_overlap(quick_home: Path) -> None:
    """While a living process runs a job its next due time is not run; who it is, is kept."""

    def play(shift: Shift) -> None:
        turns = claim_of(shift, by=lambda me: me)
        turn = turns.claim(JOB, nominal(ADDED + 2 * HOUR))
        assert turn is not None
        assert turn.state is State.OVERLAP
        assert turn.note is not None
        assert f"its run of {DUE} is still running (agent desk, process" in turn.note
        assert turns.orphans() == []
        assert turns.claim(replace(JOB, name="other"), DUE) is None

    in_a_store(quick_home, play)


def test_no_overlap_with_the_dead(quick_home: Path) -> None:
    """A run whose process has gone does not hold the next one up, and is told once."""

    def play(shift: Shift) -> None:
        turns = claim_of(shift, by=lambda me: replace(me, pid=2**22 + 7))
        turn = turns.claim(JOB, nominal(ADDED + 2 * HOUR))
        assert turn is not None
        assert turn.state is State.RUNNING
        [lost] = turns.orphans()
        assert (lost.key, lost.state) == (DUE, State.NOT_BEGUN)
        assert turns.orphans() == []

    in_a_store(quick_home, play)


def test_a_process_of_another_machine(quick_home: Path) -> None:
    """Nobody can ask whether it lives: it counts as living until the job is replaced."""

    def play(shift: Shift) -> None:
        turns = claim_of(shift, by=lambda me: replace(me, host="elsewhere", pid=2**22 + 7))
        overlapping = turns.claim(JOB, nominal(ADDED + 2 * HOUR))
        assert overlapping is not None
        assert overlapping.state is State.OVERLAP
        anew = replace(JOB, added=ADDED + HOUR)
        Jobs(shift.process()).add(anew, in_its_place=True)
        turn = turns.claim(anew, nominal(ADDED + 3 * HOUR))
        assert turn is not None
        assert turn.state is State.RUNNING

    in_a_store(quick_home, play)


def test_a_run_that_is_gone_on_with(quick_home: Path) -> None:
    """While somebody resumes a run of the job, its next due time is not run either."""

    def play(shift: Shift) -> None:
        service, site = shift.process(), Site()
        site.lsq("d1")
        Jobs(service).add(JOB, in_its_place=False)
        Runs(service).begin(lay_out(site, plan(["SET interval 3"])), options={}, actor="ana", job="night")
        turn = Turns(shift.process()).claim(JOB, DUE)
        assert turn is not None
        assert turn.state is State.OVERLAP

    in_a_store(quick_home, play)


def test_the_key_of_a_due_time() -> None:
    """It is the nominal time in UTC, whatever zone it is given in, so that all processes mean the same run."""
    assert BEGIN.tzinfo is UTC
    due = datetime(2026, 11, 29, 2, 30, tzinfo=UTC)
    east = due.astimezone(datetime.fromisoformat("2026-11-29T00:00+05:45").tzinfo)
    assert nominal(due) == nominal(east) == "2026-11-29T02:30+00:00"


def test_damaged_turns(quick_home: Path) -> None:
    """Rows of due times that make no sense are a damaged store."""

    def play(shift: Shift) -> None:
        service = shift.process()
        Jobs(service).add(JOB, in_its_place=False)
        assert Turns(service).claim(JOB, DUE) is not None
        change(service, "UPDATE due SET claimed_by = ?", json.dumps({"pid": 1}))
        for fails in (
            lambda: Turns(service).orphans(),
            lambda: Turns(service).claim(JOB, nominal(ADDED + 2 * HOUR)),
        ):
            with pytest.raises(StoreError, match="damaged"):
                fails()
        change(service, "UPDATE due SET state = ?", "x")
        with pytest.raises(StoreError, match="damaged"):
            Turns(service).last("night")

    in_a_store(quick_home, play)
