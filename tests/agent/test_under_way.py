"""Is what may still arrive, show or be answered waited for, and by nobody for ever?"""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent.clock import Clock
from agent.dialects.debts import WAIT_MAX_S
from agent.operation import Outcome
from agent.owed import Owed
from agent.steady_clock import SteadyClock
from tests.agent.line_desk import Bench, at_a_bench, settled_by_hand
from tests.agent.modbus_desk import ADDS, SETS, at_a_unit
from tests.agent.store_desk import desk, virtual, wall

STREAM = "serial:/dev/ttyUSB0"


def test_what_was_only_queued_lands_before_the_next_command(tmp_path: Path) -> None:
    """An answer that says taken, not done, pays no debt: the effect may still come, and must not undo a newer one."""

    async def play(bench: Bench) -> None:
        await settled_by_hand(bench, "ADD BLINDLY 5")
        assert not bench.count(ADDS)
        result = (await bench.desk.send("SET setpoint 30")).result
        assert result.outcome is Outcome.APPLIED
        assert [entry.text for entry in bench.device.ledger.entries] == [ADDS, SETS]

    at_a_unit(tmp_path, play, "cmd 1: apply_late 3, exception_after 5")


def test_nobody_waits_for_ever(tmp_path: Path) -> None:
    """A machine that was started with an earlier time finds a copy under way for a day, and does not wait so long."""

    async def play(bench: Bench) -> None:
        service = bench.desk.service
        with service.hold(bench.desk.target()) as station:
            lease = station.lease
            lease.quiet_from = service.steady.now() + timedelta(days=1)
            started_s = service.clock.now_s()
            await station._debts.wait_until_quiet(lease)  # type: ignore[attr-defined]
            assert service.clock.now_s() - started_s == pytest.approx(WAIT_MAX_S)
            assert lease.quiet_from is None

    at_a_bench(tmp_path, play)


def test_a_debt_on_record_does_not_hide_one_that_was_lost(tmp_path: Path) -> None:
    """Right after a power cut a later question than the one on record may be owed an answer, for as long as ever."""

    async def scenario() -> None:
        one = desk(tmp_path)
        one.owed.owe(STREAM, 3.0)
        started = Clock(wall, lambda: 1.0 + asyncio.get_running_loop().time())
        me = replace(one.holder, boot="next")
        owed = Owed(one.database, SteadyClock(one.database, me, started), started)
        assert owed.owed_s(STREAM, 10.0) == pytest.approx(9.0)
        await asyncio.sleep(9.0)
        assert owed.owed_s(STREAM, 10.0) == 0.0

    virtual(scenario)
