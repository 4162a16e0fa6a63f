"""What does the store remember of requests that may still be answered or still arrive?"""

import asyncio
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent.clock import Clock
from agent.evidence import Sent
from agent.leases import LEASE_S
from agent.operation import Outcome
from agent.owed import Owed
from agent.stations import stream_of
from agent.steady_clock import SteadyClock
from agent.steps import Send, Session
from agent.store.database import StoreError
from agent.store.schema import MIGRATIONS
from agent.store.sqlite import SqliteDatabase, open_database
from simulator.loop import VirtualLoop
from tests.agent.desk import START, before_the_write
from tests.agent.line_desk import CARRIERS, Bench, at_a_bench
from tests.agent.line_profiles import nameless
from tests.agent.store_desk import StoreDesk, case, desk, since_start_s, virtual, wall

STREAM = "serial:/dev/ttyUSB0"


def test_what_is_owed_is_known_to_every_process_at_once(tmp_path: Path) -> None:
    """A debt stands for whoever opens the store, for as long as the answer can come."""

    async def scenario() -> None:
        one, other = desk(tmp_path), desk(tmp_path)
        one.owed.owe(STREAM, 3.0)
        assert other.owed.owed_s(STREAM) == pytest.approx(3.0)
        await asyncio.sleep(2.0)
        assert other.owed.owed_s(STREAM) == pytest.approx(1.0)
        await asyncio.sleep(2.0)
        assert other.owed.owed_s(STREAM) == 0.0

    virtual(scenario)


def test_an_answer_pays(tmp_path: Path) -> None:
    """Once it was seen nobody waits any more; other streams are not concerned."""

    async def scenario() -> None:
        one = desk(tmp_path)
        one.owed.owe(STREAM, 3.0)
        one.owed.owe("rfc2217://10.0.0.1:4001", 5.0)
        one.owed.paid(STREAM)
        assert one.owed.owed_s(STREAM) == 0.0
        assert one.owed.owed_s("rfc2217://10.0.0.1:4001") == pytest.approx(5.0)

    virtual(scenario)


@pytest.mark.parametrize("by", [timedelta(days=-1), timedelta(days=1)])
def test_a_clock_that_is_set_changes_nothing(tmp_path: Path, by: timedelta) -> None:
    """What is owed counts from the machine's start: setting a clock makes nobody wait longer, or not long enough."""

    async def scenario() -> None:
        one = desk(tmp_path)
        one.owed.owe(STREAM, 3.0)
        clock = Clock(lambda: wall() + by, since_start_s)
        steady = SteadyClock(one.database, one.holder, clock)
        assert Owed(one.database, steady, clock).owed_s(STREAM) == pytest.approx(3.0)
        assert one.steady.now() == steady.now()

    virtual(scenario)


def _after_a_start(before: StoreDesk, clock: Clock) -> Owed:
    """What a process of the machine's next start finds."""
    me = replace(before.holder, boot="next")
    return Owed(before.database, SteadyClock(before.database, me, clock), clock)


def test_a_machine_that_starts_with_an_earlier_time(tmp_path: Path) -> None:
    """The wait is never longer than the debt was, and what is known of earlier starts is dropped."""

    async def scenario() -> None:
        one = desk(tmp_path)
        one.owed.owe(STREAM, 3.0)
        started = Clock(lambda: wall() - timedelta(days=1), lambda: 0.0)
        early = _after_a_start(one, started)
        assert early.owed_s(STREAM) == pytest.approx(3.0)
        assert len(one.database.read("SELECT 1 FROM meta WHERE name LIKE 'start %'")) == 1

    virtual(scenario)


def test_what_was_asked_before_a_power_cut(tmp_path: Path) -> None:
    """A debt that was not flushed is lost with the power: right after a start every stream may owe an answer."""

    async def scenario() -> None:
        one = desk(tmp_path)
        started = Clock(wall, lambda: 1.0 + asyncio.get_running_loop().time())
        early = _after_a_start(one, started)
        assert early.owed_s(STREAM, 3.0) == pytest.approx(2.0)
        await asyncio.sleep(2.0)
        assert early.owed_s(STREAM, 3.0) == 0.0

    virtual(scenario)


def test_a_read_costs_no_flush(tmp_path: Path) -> None:
    """The debt of a read is written without a flush; what comes after it is flushed again."""

    async def scenario() -> None:
        one = desk(tmp_path)
        before = one.database.flushes
        one.owed.owe(STREAM, 3.0)
        one.owed.paid(STREAM)
        assert one.database.flushes == before
        assert one.database.read("PRAGMA synchronous") == [(2,)], "FULL"

    virtual(scenario)


def test_a_failed_write_leaves_the_store_durable(tmp_path: Path) -> None:
    """Also where the write fails, the next one is flushed."""
    database: SqliteDatabase = open_database(tmp_path)
    with pytest.raises(StoreError):
        database.commit_loosely(lambda cursor: cursor.execute("INSERT INTO nowhere VALUES (1)"))
    assert database.read("PRAGMA synchronous") == [(2,)], "FULL"


def test_a_kill_leaves_the_debt(tmp_path: Path) -> None:
    """A process that is killed right after it owed leaves the debt for the next one."""
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from agent.clock import Clock\n"
        "from agent.owed import Owed\n"
        "from agent.processes import this_process\n"
        "from agent.steady_clock import SteadyClock\n"
        "from agent.store.sqlite import open_database\n"
        "database = open_database(Path(sys.argv[1]))\n"
        "steady = SteadyClock(database, this_process('x'), Clock())\n"
        "Owed(database, steady, Clock()).owe(sys.argv[2], 600.0)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path), STREAM])
    assert ended.returncode == -signal.SIGKILL
    database = open_database(tmp_path)
    [(late_s,)] = database.read("SELECT late_s FROM stream WHERE stream = ?", (STREAM,))
    assert late_s == 600.0


def test_until_when_a_copy_may_arrive_is_durable_with_its_intent(tmp_path: Path) -> None:
    """Whoever takes the lease next knows it, also when this process ends without a word."""

    async def scenario() -> None:
        one = desk(tmp_path)
        lease = one.claim()
        lease.quiet_from = wall() + timedelta(seconds=4)
        await one.journal.intend(case(), lease, Send("BEEP", 1), Sent(1, 1, "BEEP", 1))
        one.database.close()
        other = desk(tmp_path)
        other.database.commit_now(lambda cursor: cursor.execute("UPDATE device SET expires_utc = NULL"))
        assert other.claim().quiet_from == lease.quiet_from

    virtual(scenario)


def test_giving_the_device_back_tells_what_may_still_arrive(tmp_path: Path) -> None:
    """What was answered meanwhile holds up nobody, what was not does."""

    async def scenario() -> None:
        one = desk(tmp_path)
        lease = one.claim()
        lease.quiet_from = until = wall() + timedelta(seconds=4)
        one.leases.release(lease)
        again = one.claim()
        assert again.quiet_from == until
        again.quiet_from = None
        one.leases.release(again)
        assert one.claim().quiet_from is None

    virtual(scenario)


def test_two_addresses_of_one_device_share_what_may_still_arrive(tmp_path: Path) -> None:
    """A copy that was sent at one address may arrive while the device is met at another one."""

    async def scenario() -> None:
        one = desk(tmp_path)
        lease = one.claim()
        one.registry.meet(lease, "tcp://10.3.0.31:7000", 1, "acme", "SN-1", named=False)
        lease.quiet_from = until = wall() + timedelta(seconds=4)
        one.leases.release(lease)
        elsewhere = one.claim("tcp://10.3.0.99:7000")
        assert elsewhere.quiet_from is None
        one.registry.meet(elsewhere, "tcp://10.3.0.99:7000", 1, "acme", "SN-1", named=False)
        assert elsewhere.quiet_from == until

    virtual(scenario)


def test_a_store_of_the_first_version_is_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device of an older store is known, and nothing is owed on its line."""

    async def scenario() -> None:
        with monkeypatch.context() as patch:
            patch.setattr("agent.store.sqlite.MIGRATIONS", MIGRATIONS[:1])
            patch.setattr("agent.store.sqlite.VERSION", 1)
            old = open_database(tmp_path)
            old.commit_now(
                lambda cursor: cursor.execute("INSERT INTO device (model, serial) VALUES ('a', '1')")
            )
            old.close()
        now = desk(tmp_path)
        assert now.claim(serial="1").quiet_from is None
        assert now.owed.owed_s(STREAM) == 0.0

    virtual(scenario)


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_process_that_stood_still(tmp_path: Path, carrier: str) -> None:
    """Longer than its lease between intent and write, it writes nothing: another one may have settled the command."""

    async def play(bench: Bench) -> None:
        copies: list[int] = []

        def stand_still() -> None:
            [station] = stations
            station.lease.renewed_s -= LEASE_S
            copies.append(len(bench.device.copies))

        before_the_write(bench.desk, stand_still)
        with bench.desk.service.hold(bench.desk.target()) as station:
            stations = [station]
            result = (
                await bench.desk.service.send_on(station, bench.desk.operation("BEEP", attempts=1))
            ).result
        assert (result.outcome, copies, len(bench.device.copies)) == (Outcome.NOT_SENT, [0], 0)
        assert any("did not leave: this process stood still" in line for line in bench.desk.lines())

    at_a_bench(tmp_path, play, carrier=carrier)


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_copy_that_leaves_later_than_it_was_drawn(tmp_path: Path, carrier: str) -> None:
    """What waits for a copy counts from its write: an old copy never lands behind a newer command."""

    async def play(bench: Bench) -> None:
        held: list[float] = []

        def stand_still() -> None:
            station._drawn_s -= 10.0  # type: ignore[attr-defined]
            station.lease.quiet_from -= timedelta(seconds=10)  # type: ignore[operator, assignment]
            held.append(bench.desk.service.clock.now_s())

        before_the_write(bench.desk, stand_still)
        with bench.desk.service.hold(bench.desk.target()) as station:
            await bench.desk.service.send_on(station, bench.desk.operation("SET interval 7", attempts=1))
            quiet = station.lease.quiet_from
        assert quiet is not None
        assert (quiet - START).total_seconds() > held[0] + 2.9

    at_a_bench(
        tmp_path, play, "cmd 1: drop_request; read *: drop_request", carrier=carrier, profile=nameless()
    )


def test_a_question_that_leaves_later_than_it_was_begun(tmp_path: Path) -> None:
    """Its answer is owed from when it left: on a stream that outlives reopening the next question waits for it."""

    async def play(bench: Bench) -> None:
        service = bench.desk.service
        station = service.station(bench.desk.target(), None)
        await station.connect(Session.NONE, 1)
        pause = service.clock.sleep

        async def stand_still(seconds: float) -> None:
            service.clock.sleep = pause  # type: ignore[method-assign]
            loop = asyncio.get_running_loop()
            assert isinstance(loop, VirtualLoop)
            loop.stand_still(seconds + 16.0)

        service.clock.sleep = stand_still  # type: ignore[method-assign]
        left_s = service.clock.now_s() + 16.0
        answer = await station.read("GET offset")
        assert answer.value is None
        waited_s = service.clock.now_s() - left_s
        assert waited_s < nameless().timing.late_s / 2
        assert service.owed.owed_s(stream_of(bench.desk.target().url)) == pytest.approx(
            nameless().timing.late_s - waited_s, abs=0.1
        )
        station.close()

    at_a_bench(tmp_path, play, "read *: drop_request", carrier="pty", profile=nameless())
