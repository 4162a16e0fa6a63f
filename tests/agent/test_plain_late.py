"""Does anything that comes late from plain equipment, or reaches it late, fool the agent?"""

from pathlib import Path

import pytest

from agent.operation import Cause, Outcome
from agent.station import ReadAnswer
from tests.agent.desk import SILENCE_S
from tests.agent.line_desk import CARRIERS, Bench, at_a_bench, settled_by_hand
from tests.agent.line_profiles import LATE_S, PROFILE

OFFSET, LEVEL, SET = "ADJUST offset +5", "ADJUST level +2", "SET interval 30"
both = pytest.mark.parametrize("carrier", CARRIERS)


# --- answers that come late -------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("restarted", [False, True])
def test_a_late_ack_never_acknowledges_the_next_lost_command(
    tmp_path: Path, carrier: str, restarted: bool
) -> None:
    """A lost command stays unacknowledged though the ack of the one before comes in, also in another process."""

    async def play(bench: Bench) -> None:
        await settled_by_hand(bench)
        if restarted:
            bench.desk.restart()
        result = (await bench.desk.send("RESET counter", attempts=1)).result
        assert result.outcome is Outcome.NOT_APPLIED
        assert bench.count("RESET counter") == 0
        assert bench.count("BEEP") == 1

    at_a_bench(tmp_path, play, "cmd 1: delay 2.0; cmd 2: drop_request", carrier=carrier)


@both
@pytest.mark.parametrize("restarted", [False, True])
def test_a_late_reading_never_becomes_the_value_of_another_setting(
    tmp_path: Path, carrier: str, restarted: bool
) -> None:
    """The answer to a question that was given up is not taken for the answer to the next one."""

    async def play(bench: Bench) -> None:
        service, target = bench.desk.service, bench.desk.target()
        assert await service.get(target, [PROFILE.setting("offset")]) == [ReadAnswer(None)]
        if restarted:
            bench.desk.restart()
            service = bench.desk.service
        answers = await service.get(target, [PROFILE.setting("log_files"), PROFILE.setting("interval")])
        assert answers == [ReadAnswer("3"), ReadAnswer("10")]

    at_a_bench(tmp_path, play, "read 2: delay 1.5", carrier=carrier)  # the first read asks for the serial


def test_the_agent_says_why_it_waits(tmp_path: Path) -> None:
    """Whoever waits for an answer that is owed to somebody else is told so, and for how long."""

    async def play(bench: Bench) -> None:
        await settled_by_hand(bench)
        bench.desk.restart()
        await bench.desk.send(SET)
        assert (
            f"[WARN] waiting {LATE_S - SILENCE_S:.1f} s: an earlier request may still be answered until then"
            in (bench.desk.lines())
        )

    at_a_bench(tmp_path, play, "cmd 1: drop_ack", carrier="pty")


def test_a_late_ack_is_told_by_its_number(tmp_path: Path) -> None:
    """An ack that comes after its copy was given up is logged as that, and ends nothing."""

    async def play(bench: Bench) -> None:
        await bench.desk.send(SET)
        assert "[INFO] seq=1 late ack of attempt 1, ignored" in bench.desk.lines()

    at_a_bench(tmp_path, play, "cmd 1: delay 0.8", carrier="pty")


def test_an_owed_answer_is_paid_when_it_is_seen(tmp_path: Path) -> None:
    """Where every request was answered, the next process need not wait."""

    async def play(bench: Bench) -> None:
        await bench.desk.send(SET)
        bench.desk.restart()
        before_s = bench.desk.service.clock.now_s()
        await bench.desk.send(SET)
        assert bench.desk.service.clock.now_s() - before_s < SILENCE_S

    at_a_bench(tmp_path, play, carrier="pty")


def test_two_answers_to_one_question_are_none(tmp_path: Path) -> None:
    """A reading that another answer accompanies belongs to nobody: no baseline, no target, nothing sent."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(OFFSET)).result
        assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNFIT)
        assert not bench.device.ledger
        assert bench.device.values()["offset"] == 10

    at_a_bench(tmp_path, play, "read 2: foreign; read 4: foreign; read 6: foreign")


# --- copies that arrive late ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restarted", [False, True])
def test_an_old_set_never_undoes_a_newer_one(tmp_path: Path, restarted: bool) -> None:
    """A copy that travels for long arrives before the next changing command leaves, whichever process sends that."""

    async def play(bench: Bench) -> None:
        first = await bench.desk.send(SET)
        assert (first.result.outcome, first.result.attempts) == (Outcome.APPLIED, 2)
        if restarted:
            bench.desk.restart()
        await bench.desk.send("SET interval 60")
        await bench.desk.service.clock.sleep(60.0)
        assert bench.device.values()["interval"] == 60

    at_a_bench(tmp_path, play, "cmd 1: late_request 2.0")


def test_a_person_does_not_end_the_quiet_time(tmp_path: Path) -> None:
    """Whatever a person said of a copy, it may still arrive: the next changing command waits for that."""

    async def play(bench: Bench) -> None:
        await settled_by_hand(bench)
        before_s = bench.desk.service.clock.now_s()
        await bench.desk.send(SET)
        waited_s = bench.desk.service.clock.now_s() - before_s
        assert waited_s == pytest.approx(LATE_S - SILENCE_S, abs=0.2)

    at_a_bench(tmp_path, play, "cmd 1: drop_ack")


def test_reads_need_not_wait_where_reopening_cuts_the_stream(tmp_path: Path) -> None:
    """On a connection of its own a read owes nothing to anybody."""

    async def play(bench: Bench) -> None:
        await settled_by_hand(bench)
        before_s = bench.desk.service.clock.now_s()
        await bench.desk.service.get(bench.desk.target(), [PROFILE.setting("offset")])
        assert bench.desk.service.clock.now_s() - before_s < SILENCE_S

    at_a_bench(tmp_path, play, "cmd 1: drop_ack")
