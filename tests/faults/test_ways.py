"""What do connections do to a command? Reports of half-open, reset, refused and swapped ways to a device."""

import asyncio
from pathlib import Path

import pytest

from agent.operation import Cause, Outcome, Proof
from logs.events import human
from simulator.device import SimulatedDevice
from tests.agent.desk import Desk, at_a_desk
from tests.agent.line_desk import CARRIERS, Bench, at_a_bench

BEEP, ROTATE = "BEEP", "ROTATE log"
both = pytest.mark.parametrize("carrier", CARRIERS)


@both
@pytest.mark.parametrize("cut", ["cut_before", "cut"])
def test_a_connection_that_ends_in_mid_command_tells_nothing(tmp_path: Path, carrier: str, cut: str) -> None:
    """A reset is neither a failure nor a success, whether the copy arrived or not (B03, B11, B56, B58, 40, 42)."""

    async def play(bench: Bench) -> None:
        doubt = (await bench.desk.send(BEEP)).result
        assert (doubt.outcome, doubt.attempts) == (Outcome.IN_DOUBT, 1)
        assert bench.count(BEEP) == (cut == "cut")
        [entry] = bench.desk.service.doubts()
        bench.desk.service.resolve(entry, applied=cut == "cut", reason="counted")
        read = (await bench.desk.send(ROTATE)).result
        assert read.outcome is Outcome.APPLIED
        assert bench.count(ROTATE) == 1

    at_a_bench(tmp_path, play, f"cmd 1-2: {cut}", carrier=carrier)


@both
def test_a_device_that_was_away_is_reached_when_it_is_back(tmp_path: Path, carrier: str) -> None:
    """Failures leave nothing behind that keeps later commands from a device that has come back (B60, 41)."""

    async def play(bench: Bench) -> None:
        bench.refuses = True
        for _ in range(5):
            away = (await bench.desk.send(BEEP)).result
            assert (away.outcome, away.cause) == (Outcome.NOT_SENT, Cause.UNREACHABLE)
            await bench.desk.service.clock.sleep(60.0)
        bench.refuses = False
        assert (await bench.desk.send(BEEP)).result.outcome is Outcome.APPLIED
        assert bench.count(BEEP) == 1

    at_a_bench(tmp_path, play, carrier=carrier)


@both
def test_a_slot_that_is_not_free_yet_is_waited_for(tmp_path: Path, carrier: str) -> None:
    """Equipment that refuses us for a moment after our own close gets the command all the same, once (B57, 44)."""

    async def play(bench: Bench) -> None:
        await bench.desk.send(BEEP)
        bench.refuses = True
        asyncio.get_running_loop().call_later(0.5, setattr, bench, "refuses", False)
        result = (await bench.desk.send(ROTATE)).result
        assert (result.outcome, result.attempts) == (Outcome.APPLIED, 1)
        assert bench.count(ROTATE) == 1

    at_a_bench(tmp_path, play, carrier=carrier)


def test_a_way_that_answers_with_foreign_numbers_is_named(tmp_path: Path) -> None:
    """Answers with another address than ours are on record as such, and nothing is sent over that way (B22, 55)."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        result = (await desk.send(BEEP)).result
        assert result.outcome is Outcome.NOT_SENT
        assert any("ignored foreign: HELLO reply, unit 2" in human(event) for event in desk.events)
        assert not device.copies

    at_a_desk(tmp_path, play, "any *: wrong_unit")


def test_a_frozen_device_wakes_up_to_one_execution(tmp_path: Path) -> None:
    """A frozen device that wakes up with our copies in its buffer has got no more of them than one (B20, B55)."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        result = (await desk.send(ROTATE)).result
        assert (result.outcome, result.proof) == (Outcome.APPLIED, Proof.DUPLICATE_ACK)
        await asyncio.sleep(60.0)
        assert device.ledger.count(ROTATE) == 1

    at_a_desk(tmp_path, play, "cmd 1: freeze 1.2")
