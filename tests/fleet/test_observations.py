"""What have the agents seen, and what of it does a verdict look at?"""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agent.fleet import observations as rules
from agent.fleet.agents import Agents
from agent.fleet.facts import AgentState, Observation, SelfReport
from agent.fleet.marks import Marks
from agent.fleet.observations import Observations
from agent.fleet.verdict import Status, verdict
from agent.processes import this_process
from agent.service import Service
from agent.store import sqlite
from agent.store.database import StoreError
from agent.store.sqlite import open_database
from tests.fleet.crew import START, Meanwhile, crew, full, locked, register, report, seen


def in_order(rows: Sequence[Observation]) -> list[Observation]:
    """Rows by observer and round."""
    return sorted(rows, key=lambda row: (row.observer, row.boot, row.target, row.round))


# --- rows -----------------------------------------------------------------------------------------------------------


def test_a_row_is_read_as_it_was_written(quick_home: Path) -> None:
    """Every field of an observation and of a self report, by another process, at once and without a flush."""
    with crew(quick_home) as them:
        service = them.registered("gw1")
        at_s = Observations(service).now_s()
        rows = [
            Observation("gw1", "b1", "device:pump", 7, at_s, True, "", 0.012),
            Observation("gw1", "b1", "agent:gw2", 7, at_s - 1.5, False, "no_route", None),
        ]
        told = SelfReport(
            "gw1", "b1", at_s, False, "port /dev/ttyUSB0 is gone", {"queue": "3", "clock": "±0"}
        )
        Observations(service).write(rows, [told])
        other = Observations(them.agent("gw2"))
        assert in_order(other.fresh()) == in_order(rows)
        assert other.reports() == (told,)
        assert isinstance(service.database, sqlite.SqliteDatabase)
        assert service.database.flushes == 0


def test_nobodys_row_is_in_anybodys_way(quick_home: Path) -> None:
    """H8: two agents probe one device in the same round: neither row changes the other one."""
    with crew(quick_home) as them:
        one, two = them.registered("gw1"), them.registered("gw2")
        rows = [seen(one, 3, ok=True), seen(two, 3, ok=False)]
        for service, row in zip((one, two), rows, strict=True):
            Observations(service).write([row])
        assert in_order(Observations(one).fresh()) == rows


def test_a_restarted_agent_does_not_find_its_former_rounds(quick_home: Path) -> None:
    """H8: the same round of an earlier boot is another row, and stays what it was."""
    with crew(quick_home) as them:
        before = them.registered("gw1")
        Observations(before).write([first := seen(before, 1, ok=False)])
        after = them.agent("gw1", holder=replace(before.holder, instance="later"))
        Observations(after).write([second := seen(after, 1)])
        assert set(Observations(after).fresh()) == {first, second}


def test_a_round_is_written_once(quick_home: Path) -> None:
    """H3: what closed a round stays: a second row of the same round, with another result, changes nothing."""
    with crew(quick_home) as them:
        service = them.registered("gw1")
        rows = [seen(service, 1, ok=False), seen(service, 2)]
        Observations(service).write(rows[:1])
        Observations(service).write([seen(service, 1, ok=True), rows[1], seen(service, 2, ok=False)])
        assert in_order(Observations(service).fresh()) == rows


@pytest.mark.parametrize("trouble", ["locked", "full"])
def test_a_batch_that_failed_is_written_again(
    trouble: str, quick_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A locked or full store is said in words and has all or nothing; given again, no row comes twice."""
    monkeypatch.setattr(sqlite, "BUSY_S", 0.01)
    with crew(quick_home) as them:
        service = them.registered("gw1")
        mine = Observations(service)
        mine.write([first := seen(service, 0)], [said := report(service)])
        rows = [seen(service, number, target=f"device:{number:04}") for number in range(1, 1000)]
        again = report(service, queue="9")
        stop = locked(quick_home) if trouble == "locked" else full(service)
        why = "database is locked" if trouble == "locked" else "database or disk is full"
        with stop, pytest.raises(StoreError, match=f"journal .* cannot be written: {why}"):
            mine.write(rows, [again])
        assert (mine.fresh(), mine.reports()) == ((first,), (said,))
        for _ in range(2):
            mine.write(rows)
        assert set(mine.fresh()) == {first, *rows}


WRITER = """
import sys
from pathlib import Path
from agent.fleet.facts import Observation
from agent.fleet.observations import Observations
from agent.processes import this_process
from agent.service import Service
from agent.settings import Settings
home = Path(sys.argv[1])
mine = Observations(Service(Settings(home, home, None, None, "child", "ana")))
for number in range(20):
    mine.write([Observation("child", "b", f"device:{n}", number, mine.now_s(), True) for n in range(20)])
    print(number, flush=True)
"""


def test_two_processes_write_to_one_store(quick_home: Path) -> None:
    """Two real processes write batches at the same time: every row of both is there."""
    with (
        crew(quick_home) as them,
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(quick_home)], stdout=subprocess.PIPE, text=True
        ) as child,
    ):
        service = them.agent("parent")
        assert child.stdout is not None
        child.stdout.readline()
        for number in range(20):
            Observations(service).write([seen(service, number, target=f"device:{n}") for n in range(20)])
        child.communicate(timeout=20)
        assert child.returncode == 0
        counts = service.database.read(
            "SELECT observer, count(*) FROM observation GROUP BY observer ORDER BY 1"
        )
        assert counts == [("child", 400), ("parent", 400)]


# --- what counts ----------------------------------------------------------------------------------------------------


def test_only_fresh_rows_are_looked_at(quick_home: Path) -> None:
    """Rows of the last minute, by the store's clock: the wall clock may be set meanwhile."""
    with crew(quick_home) as them:
        service = them.registered("gw1")
        rows = [seen(service, 1, ago_s=60.1), seen(service, 2, ago_s=60.0), seen(service, 3)]
        Observations(service).write(rows)
        them.clock.wall -= timedelta(hours=5)
        assert in_order(Observations(service).fresh()) == rows[1:]
        assert in_order(Observations(them.agent("gw2")).fresh()) == rows[1:]


def test_rows_of_a_slow_observer_stay_fresh_for_longer(quick_home: Path) -> None:
    """Of an agent that probes every 30 s the rows of six minutes count, so that its misses can be a streak at all."""
    with crew(quick_home) as them:
        quick, slow = them.registered("quick"), them.registered("slow", probe_s=30.0)
        for service in (quick, slow):
            Observations(service).write([seen(service, n, ago_s=n) for n in (0, 60, 61, 360, 361)])
        rounds = [(row.observer, row.round) for row in in_order(Observations(quick).fresh())]
        assert rounds == [("quick", 0), ("quick", 60), ("slow", 0), ("slow", 60), ("slow", 61), ("slow", 360)]


def test_everything_that_a_verdict_looks_at(quick_home: Path) -> None:
    """Agents with their marks and control probe, fresh rows, reports, references, and devices that routes lead to."""
    with crew(quick_home) as them:
        one, two, three = (them.registered(name) for name in ("gw1", "gw2", "gw3"))
        register(three, ("fan",))
        Marks(one).reference("agent:gw2", holds=True, by="ana", reason=None)
        Marks(one).reference("agent:gw3", holds=True, by="ana", reason=None)
        Marks(one).reference("agent:gw3", holds=False, by="ana", reason=None)
        Marks(one).disable("device:pump", by="ana", reason=None)
        mine = Observations(one)
        mine.write(
            [row := seen(one, 1)], [first := report(one, control="succeeds"), report(two, control="succeeds")]
        )
        them.clock.pass_s(1)
        mine.write([], [report(two, control="fails")])
        facts = mine.facts()
        assert facts.observations == (row,)
        assert facts.reports[0] == first
        assert facts.references == {"agent:gw2"}
        assert facts.targets == {"device:pump", "device:fan"}
        told = [(each.name, each.reference, each.control_ok, each.state) for each in facts.agents]
        assert told == [
            ("gw1", False, False, "up"),
            ("gw2", True, True, "up"),
            ("gw3", False, True, "starting"),
        ]
        whole = facts.agents[0]
        assert (whole.boot, whole.site, whole.uplink) == (one.holder.instance, "site of gw1", "uplink of gw1")
        assert (whole.heartbeat_s, whole.probe_s) == (START.timestamp(), 5.0)


def test_devices_of_an_agent_that_stopped_are_nobodys(quick_home: Path) -> None:
    """Routes of an agent that is down make no targets."""
    with crew(quick_home) as them:
        service = them.registered("gw1")
        Agents(service).enter(AgentState.DOWN)
        assert Observations(service).facts().targets == frozenset()


def test_a_control_probe_counts_for_its_boot(quick_home: Path) -> None:
    """A restarted agent is not blamed for what the control probe of its former process did."""
    with crew(quick_home) as them:
        before = them.registered("gw1")
        Observations(before).write([], [report(before, control="succeeds")])
        Agents(before).enter(AgentState.DOWN)
        after = them.registered("gw1")
        assert [each.control_ok for each in Observations(after).facts().agents] == [True]


def test_a_report_that_makes_no_sense(quick_home: Path) -> None:
    """A damaged row is a StoreError that says so."""
    with crew(quick_home) as them:
        service = them.registered("gw1")
        Observations(service).write([], [report(service)])
        service.database.commit_now(lambda cursor: cursor.execute("UPDATE self_report SET metrics = '{'"))
        with pytest.raises(StoreError, match="its self reports make no sense"):
            Observations(service).facts()


def status(service: Service, target: str) -> Status:
    """The verdict on a target, now."""
    mine = Observations(service)
    return verdict(mine.facts(), mine.now_s()).verdicts[target].status


def test_reports_stop_and_resume(quick_home: Path) -> None:
    """M5, M30: an agent whose reports stop is `no_data` after 180 s, not earlier; with the next one it is back."""
    with crew(quick_home) as them:
        one, two = them.registered("gw1"), them.registered("gw2")
        number = 0

        def at(ago_s: float) -> Status:
            nonlocal number
            them.clock.pass_s(ago_s)
            number += 1
            for service in (one, two):
                Agents(service).heartbeat()
                Observations(service).write([seen(service, number)])
            return status(two, "agent:gw1")

        Observations(one).write([], [report(one)])
        assert at(0) is Status.HEALTHY
        assert at(179.9) is Status.HEALTHY
        assert at(0.1) is Status.NO_DATA
        Observations(one).write([], [report(one)])
        assert at(1) is Status.HEALTHY


# --- forgetting -----------------------------------------------------------------------------------------------------


def test_old_rows_are_forgotten_a_few_at_a_time(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of more than ten minutes ago go, the oldest first, so many in a call; the others stay."""
    monkeypatch.setattr(rules, "PRUNE_MAX", 3)
    with crew(quick_home) as them:
        service = them.registered("gw1")
        mine = Observations(service)
        mine.write(
            [seen(service, n, ago_s=600.1 + n) for n in range(5)] + [seen(service, 100, ago_s=600)],
            [replace(report(service), at_s=mine.now_s() - ago_s) for ago_s in (601, 599)],
        )
        assert mine.prune() == 4
        kept = service.database.read("SELECT round FROM observation ORDER BY round")
        assert kept == [(0,), (1,), (100,)]
        assert [mine.prune(), mine.prune()] == [2, 0]
        assert service.database.read("SELECT round FROM observation") == [(100,)]
        assert len(mine.reports()) == 1


def test_rows_that_count_still_are_not_forgotten(quick_home: Path) -> None:
    """Of an agent that probes every two minutes, rows of the last 24 count."""
    with crew(quick_home) as them:
        service = them.registered("gw1", probe_s=120.0)
        mine = Observations(service)
        mine.write([seen(service, ago, ago_s=ago) for ago in (1439, 1441)])
        assert mine.prune() == 1
        assert [row.round for row in mine.fresh()] == [1439]


# --- a machine's restart --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize("wall", [START - timedelta(days=1), START, START + timedelta(seconds=30)])
def test_rows_of_before_a_restart_mean_nothing(wall: datetime, looks: bool, quick_home: Path) -> None:
    """Whatever time the machine starts with, what was seen before is gone for the first who looks, or writes."""
    with crew(quick_home) as them:
        service = them.registered("gw1")
        Observations(service).write([seen(service, 1)], [report(service)])
        them.restart_machine(wall)
        first, late = them.agent("first"), them.agent("late")
        if looks:
            assert (Observations(first).fresh(), Observations(first).reports()) == ((), ())
        Observations(first).write([row := seen(first, 1)])
        assert Observations(late).fresh() == Observations(first).fresh() == (row,)
        assert late.database.read("SELECT count(*) FROM observation") == [(1,)]


def test_two_processes_begin_together_after_a_restart(quick_home: Path) -> None:
    """While one is about to remove what is of before, the other has done so and has written: its row stays."""
    with crew(quick_home) as them:
        before = them.registered("gw1")
        Observations(before).write([seen(before, 1)])
        them.restart_machine(START)
        first, slow = them.agent("gw1"), Meanwhile(open_database(quick_home))
        second = them.with_database(slow, this_process("gw2"))
        second.steady.now()
        row = seen(first, 2)
        slow.happens = lambda: Observations(first).write([row])
        assert Observations(second).fresh() == (row,)
