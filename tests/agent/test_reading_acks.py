"""What does equipment get that ends its readings with the line that acks its commands, as modems do?"""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from agent.operation import Outcome, Proof
from agent.station import ReadAnswer
from simulator.base_device import Message
from simulator.equipment import Result, Verdict
from tests.agent.desk import SILENCE_S
from tests.agent.line_desk import CARRIERS, Bench, NamingDevice, at_a_bench
from tests.agent.line_profiles import naming

both = pytest.mark.parametrize("carrier", CARRIERS)
MODEM = naming()
COUNTED = replace(MODEM, boot_read="GET boots", boot_reply=r"^boots=(?P<value>.*)$")


def modem(behind_s: float, *, forgets: int | None = None, silent: str = "-") -> type[NamingDevice]:
    """Equipment that says OK so long after the value of a reading.

    `forgets`: not after the reading of that number; `silent`: never after the readings of that setting.
    """

    class Modem(NamingDevice):
        readings = 0

        def _say(self, result: Result, message: Message[str]) -> None:
            super()._say(result, message)
            if message.kind == "read" and result.verdict is Verdict.OK:
                Modem.readings += 1
                if Modem.readings != forgets and not message.request.endswith(silent):
                    ack = partial(self._answer, message.conn.number, b"OK\n", message)
                    asyncio.get_running_loop().call_later(behind_s, ack)

    return Modem


@both
@pytest.mark.parametrize("behind_s", [0.001, 0.04, 0.2])
@pytest.mark.parametrize("words", ["ROTATE log", "ADJUST offset +5"])
def test_the_ack_of_a_reading_is_not_that_of_a_lost_command(
    tmp_path: Path, carrier: str, behind_s: float, words: str
) -> None:
    """A command that got lost right behind a reading is not acknowledged by what ends the reading."""

    async def play(bench: Bench) -> None:
        before = bench.device.values()
        result = (await bench.desk.send(words, attempts=1)).result
        assert result.outcome is Outcome.NOT_APPLIED
        assert not bench.device.ledger
        assert bench.device.values() == before

    at_a_bench(tmp_path, play, "cmd 1: drop_request", carrier=carrier, profile=MODEM, made=modem(behind_s))


@both
def test_commands_of_such_equipment_are_acked(tmp_path: Path, carrier: str) -> None:
    """Where nothing is lost, the ack that comes is the command's own, and nobody waits for long."""

    async def play(bench: Bench) -> None:
        began_s = bench.desk.service.clock.now_s()
        result = (await bench.desk.send("ADJUST level +2")).result
        assert (result.outcome, result.attempts) == (Outcome.APPLIED, 1)
        assert bench.count("ADJUST level +2") == 1
        assert bench.desk.service.clock.now_s() - began_s < SILENCE_S

    at_a_bench(tmp_path, play, carrier=carrier, profile=MODEM, made=modem(0.04))


@both
def test_a_reading_whose_ack_is_missing_is_none(tmp_path: Path, carrier: str) -> None:
    """Once a device acks a reading, the next one without its ack is asked again: that ack may still come."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ROTATE log")).result
        assert (result.outcome, result.proof, result.attempts) == (Outcome.APPLIED, Proof.VERIFIED, 1)
        assert bench.count("ROTATE log") == 1
        assert bench.device.readings > 3

    made = modem(0.04, forgets=2)
    at_a_bench(tmp_path, play, "cmd 1: drop_ack", carrier=carrier, profile=MODEM, made=made)


@both
@pytest.mark.parametrize("silent", ["boots", "level"])
@pytest.mark.parametrize("lost", [True, False])
def test_equipment_that_acks_some_of_its_readings(
    tmp_path: Path, carrier: str, silent: str, *, lost: bool
) -> None:
    """Each question is learnt by itself: no ack of a reading meets the command, and none is waited for in vain."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ADJUST level +2", attempts=1)).result
        assert bench.count("ADJUST level +2") == (0 if lost else 1)
        assert result.outcome is (Outcome.NOT_APPLIED if lost else Outcome.APPLIED)

    faults, made = "cmd 1: drop_request" if lost else "", modem(0.06, silent=silent)
    at_a_bench(tmp_path, play, faults, carrier=carrier, profile=COUNTED, made=made)


def test_reads_alone_are_not_held_up(tmp_path: Path) -> None:
    """Where no command follows, nobody waits for what may come behind a value."""

    async def play(bench: Bench) -> None:
        clock = bench.desk.service.clock
        began_s = clock.now_s()
        answers = await bench.desk.service.get(bench.desk.target(), [MODEM.setting("level")])
        assert answers == [ReadAnswer("5")]
        assert clock.now_s() - began_s < 0.2

    at_a_bench(tmp_path, play, profile=MODEM, made=NamingDevice)


def test_the_ack_of_a_reading_is_not_told_as_late(tmp_path: Path) -> None:
    """What ends a read-back says nothing of the copy before it, and the log does not claim that it does."""

    async def play(bench: Bench) -> None:
        await bench.desk.send("ROTATE log", attempts=1)
        assert not [line for line in bench.desk.lines() if "late ack" in line]

    at_a_bench(tmp_path, play, "cmd 1: drop_request", carrier="pty", profile=MODEM, made=modem(0.04))


def test_the_late_ack_of_a_copy_is_not_that_of_a_reading(tmp_path: Path) -> None:
    """An ack behind a reading that is asked while one is owed teaches nothing: later readings need none."""

    async def play(bench: Bench) -> None:
        clock = bench.desk.service.clock
        began_s = clock.now_s()
        result = (await bench.desk.send("SET offset 15", attempts=1)).result
        assert (result.outcome, result.value) == (Outcome.APPLIED, "15")
        assert clock.now_s() - began_s < 4 * SILENCE_S

    late_s = SILENCE_S + 0.1
    at_a_bench(tmp_path, play, f"cmd 1: delay {late_s}", carrier="pty", profile=MODEM, made=NamingDevice)
