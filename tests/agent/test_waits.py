"""Is whoever waits for a quiet line told so, and heard when they do not want to wait any longer?"""

import asyncio
from pathlib import Path

import pytest

from agent.links.link import Unreachable
from agent.operation import Cause, Outcome
from agent.station import ReadAnswer
from tests.agent.desk import SILENCE_S
from tests.agent.line_desk import Bench, at_a_bench
from tests.agent.line_profiles import LATE_S, PROFILE

LEVEL, OFFSET, SET = "ADJUST level +2", "ADJUST offset +5", "SET interval 30"


async def interrupted(bench: Bench, work: asyncio.Task[object], after_s: float) -> float:
    """Press Ctrl-C once; returns how many seconds later the work ended."""
    clock = bench.desk.service.clock
    await clock.sleep(after_s)
    assert not work.done()
    bench.desk.service.executor.give_up("interrupted")
    pressed_s = clock.now_s()
    await asyncio.wait([work])
    return clock.now_s() - pressed_s


@pytest.mark.parametrize(
    "faults", ["read 1: drop_request", "read 2: drop_ack"], ids=["who it is", "baseline"]
)
def test_before_anything_was_sent_an_interruption_ends_the_wait(tmp_path: Path, faults: str) -> None:
    """On a line that owes the answer to a question nobody has to sit out what a command never sent would need."""

    async def play(bench: Bench) -> None:
        work = asyncio.ensure_future(bench.desk.send(OFFSET))
        assert await interrupted(bench, work, SILENCE_S + 0.5) < 2 * SILENCE_S < LATE_S - SILENCE_S
        result = work.result().result
        assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.INTERRUPTED)
        assert not bench.device.ledger

    at_a_bench(tmp_path, play, faults, carrier="pty")


def test_a_read_is_interrupted_while_it_waits(tmp_path: Path) -> None:
    """So is a read that waits for what an earlier one is owed."""

    async def play(bench: Bench) -> None:
        service, target = bench.desk.service, bench.desk.target()
        reading = asyncio.ensure_future(service.get(target, [PROFILE.setting("offset")]))
        assert await interrupted(bench, reading, SILENCE_S + 0.5) < 2 * SILENCE_S
        with pytest.raises(Unreachable, match="interrupted"):
            reading.result()

    at_a_bench(tmp_path, play, "read 1: drop_request", carrier="pty")


def test_what_is_in_flight_is_waited_for(tmp_path: Path) -> None:
    """Once a copy has left, an interruption ends no wait: the word stands on it."""

    async def play(bench: Bench) -> None:
        work = asyncio.ensure_future(bench.desk.send(LEVEL))
        assert await interrupted(bench, work, SILENCE_S + 0.5) > LATE_S - 2 * SILENCE_S
        assert work.result().result.outcome is Outcome.NOT_APPLIED
        assert bench.count(LEVEL) == 0

    at_a_bench(tmp_path, play, "cmd 1: drop_request", carrier="pty")


def test_the_debt_of_an_interrupted_wait_stands(tmp_path: Path) -> None:
    """Whoever asks next waits for what was left, and takes no late answer for its own."""

    async def play(bench: Bench) -> None:
        work = asyncio.ensure_future(bench.desk.send(OFFSET))
        await interrupted(bench, work, SILENCE_S + 0.3)
        bench.desk.restart()
        answers = await bench.desk.service.get(bench.desk.target(), [PROFILE.setting("interval")])
        assert answers == [ReadAnswer("10")]

    at_a_bench(tmp_path, play, "read 2: delay 2.0", carrier="pty")


def test_a_mute_device_is_given_up_at_once_after_the_last_try(tmp_path: Path) -> None:
    """What the last question owes is left to whoever comes next: nobody waits for it only to say so."""

    async def play(bench: Bench) -> None:
        clock = bench.desk.service.clock
        began_s = clock.now_s()
        result = (await bench.desk.send(SET)).result
        assert result.outcome is Outcome.NOT_SENT
        waits = sum("waiting" in line for line in bench.desk.lines())
        assert clock.now_s() - began_s < waits * LATE_S + 2 * SILENCE_S

    mute = "; ".join(f"read {number}: drop_request" for number in range(1, 20))
    at_a_bench(tmp_path, play, mute, carrier="pty")


def test_a_wait_before_the_first_copy_speaks_of_no_copy(tmp_path: Path) -> None:
    """Where only a question got lost, it is its answer that may still come."""

    async def play(bench: Bench) -> None:
        await bench.desk.send(OFFSET)
        (told,) = [line for line in bench.desk.lines() if "waiting" in line]
        assert told.startswith("[WARN]")
        assert told.endswith("an earlier request may still be answered until then")

    at_a_bench(tmp_path, play, "read 2: drop_ack", carrier="pty")


def test_what_a_wait_is_for(tmp_path: Path) -> None:
    """First the lost copy is waited for; then, where its read-back got no answer either, only that answer."""

    async def play(bench: Bench) -> None:
        await bench.desk.send("ROTATE log", attempts=1)
        told = [line.split(": ", 1)[1] for line in bench.desk.lines() if "waiting" in line]
        assert told == [
            "an earlier copy may still arrive until then",
            "an earlier request may still be answered until then",
        ]

    at_a_bench(tmp_path, play, "cmd 1: drop_request; read 3: drop_request", carrier="pty")
