"""What do clocks and their jumps change in cases that no other test plays?

Each test carries the number of its case in `tests/CASES.md`. The ledger is the judge.
"""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from agent.clock import Clock
from agent.links.link import Link
from agent.operation import Outcome, Proof
from agent.stations import Target
from simulator.device import SimulatedDevice
from tests.agent.desk import Desk, at_a_desk, before_the_write
from tests.agent.line_desk import CARRIERS, Bench, at_a_bench

ADJUST = "ADJUST offset +5"


def test_case_60_no_copy_leaves_after_the_deadline(tmp_path: Path) -> None:
    """A way back that opens only after the operation's deadline serves to settle, not to send another copy."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        dial = desk.network.dial

        async def slowly(target: Target) -> Link:
            if device.copies:
                await asyncio.sleep(60)
            return await dial(target)

        desk.service._dial = slowly
        result = (await desk.send(ADJUST)).result
        assert (result.outcome, result.proof) == (Outcome.NOT_APPLIED, Proof.SETTLED), desk.lines()
        assert (len(device.copies), device.ledger.count(ADJUST)) == (1, 0)

    at_a_desk(tmp_path, play, "cmd 1: cut_before")


def jump(clock: Clock, seconds: float) -> None:
    """The wall clock is set while timers go on."""
    utc = clock._utc
    clock._utc = lambda: utc() + timedelta(seconds=seconds)


@pytest.mark.parametrize("seconds", [-86400, -3600, 3600])
@pytest.mark.parametrize("faults", ["", "cmd 1: drop_ack", "cmd 1: drop_request"])
def test_case_61_the_wall_clock_is_set_in_mid_command(faults: str, seconds: float, tmp_path: Path) -> None:
    """Neither the word nor the next command depends on it, and nobody waits for hours."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        clock = desk.service.clock
        before_the_write(desk, lambda: jump(clock, seconds))
        assert (await desk.send(ADJUST)).result.outcome is Outcome.APPLIED, desk.lines()
        desk.restart()
        assert (await desk.send("BEEP")).result.outcome is Outcome.APPLIED, desk.lines()
        assert asyncio.get_running_loop().time() < 30
        assert (device.ledger.count(ADJUST), device.ledger.count("BEEP")) == (1, 1)

    at_a_desk(tmp_path, play, faults)


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("faults", ["", "cmd 1: drop_ack", "cmd 1: drop_request"])
def test_case_63_an_hour_of_sleep_before_the_copy_leaves(faults: str, carrier: str, tmp_path: Path) -> None:
    """Timers stood still and the wall clock did not: the old copy is not written, and what leaves is on time."""

    async def play(bench: Bench) -> None:
        clock = bench.desk.service.clock
        before_the_write(bench.desk, lambda: jump(clock, 3600))
        result = (await bench.desk.send("RESET counter")).result
        assert any("stood still" in line for line in bench.desk.lines()), bench.desk.lines()
        assert result.outcome in (Outcome.APPLIED, Outcome.NOT_SENT), bench.desk.lines()
        assert bench.count("RESET counter") == (result.outcome is Outcome.APPLIED)

    at_a_bench(tmp_path, play, faults, carrier=carrier)
