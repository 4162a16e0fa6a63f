"""Which answer is taken for which question? Reports of late, foreign, torn and noisy answers on plain text lines.

Each test runs over a connection that reopening cuts (`tcp`) and over a line that outlives it (`pty`), in virtual time.
"""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from agent.operation import Outcome, Proof
from agent.station import ReadAnswer
from simulator.base_device import Message
from simulator.equipment import Result
from simulator.habits import Habits
from simulator.text_device import TextDevice
from tests.agent.desk import SILENCE_S
from tests.agent.line_desk import CARRIERS, Bench, at_a_bench
from tests.agent.line_profiles import PROFILE, nameless, with_timing

ADJUST, BEEP, ROTATE = "ADJUST offset +5", "BEEP", "ROTATE log"
VALUES = {"interval": "10", "offset": "10", "counter": "42", "resets": "0", "log_files": "3", "level": "5"}
"""What a fresh controller reads; no two neighbours are alike but the first two."""
both = pytest.mark.parametrize("carrier", CARRIERS)


class NoisyDevice(TextDevice):
    """Equipment on a two-wire line: each change of direction leaves bytes in front of and behind an answer."""

    def _say(self, result: Result, message: Message[str]) -> None:
        message.conn.outbox.send(b"\xff\x00\xff")
        super()._say(result, message)
        message.conn.outbox.send(b"\x00")


class RaggedDevice(TextDevice):
    """Equipment that leaves one letter too many behind its first answer."""

    left = b"x"

    def _say(self, result: Result, message: Message[str]) -> None:
        super()._say(result, message)
        message.conn.outbox.send(self.left)
        self.left = b""


# --- late ---------------------------------------------------------------------------------------------------------


@both
def test_one_slow_answer_shifts_no_other(tmp_path: Path, carrier: str) -> None:
    """After one late answer, nine further readings are their own, and so are nine acks (B21, B22, 53)."""

    async def play(bench: Bench) -> None:
        settings = [PROFILE.setting(name) for name in VALUES]
        first, *others = await bench.desk.service.get(bench.desk.target(), settings)
        assert first == ReadAnswer(None)
        assert others == [ReadAnswer(value) for value in list(VALUES.values())[1:]]
        bench.suffer("cmd 1: delay 0.7; cmd 2: delay 0.3")
        for value in range(11, 21):
            result = (await bench.desk.send(f"SET interval {value}")).result
            assert result.outcome is Outcome.APPLIED
            assert bench.device.values()["interval"] == value
            assert result.attempts == (2 if value == 11 else 1)

    at_a_bench(tmp_path, play, "read 1: delay 0.7; read 2: delay 0.3", carrier=carrier, profile=nameless())


@both
def test_an_answer_that_comes_after_twenty_seconds(tmp_path: Path, carrier: str) -> None:
    """Where the profile says how late answers may be, not even a very late one is taken for the next (B23)."""
    profile = with_timing(nameless(), late_max_s=30.0)

    async def play(bench: Bench) -> None:
        service, target = bench.desk.service, bench.desk.target()
        assert await service.get(target, [PROFILE.setting("offset")]) == [ReadAnswer(None)]
        await service.clock.sleep(19.3)
        assert await service.get(target, [PROFILE.setting("log_files")]) == [ReadAnswer("3")]

    at_a_bench(tmp_path, play, "read 1: delay 20; read 2: delay 0.3", carrier=carrier, profile=profile)


@both
@pytest.mark.parametrize("restarted", [False, True])
def test_a_late_ack_within_the_wait_for_the_next_one(tmp_path: Path, carrier: str, restarted: bool) -> None:
    """An ack that would come while the next command, which was lost, is waited for acknowledges nothing (45, 52)."""

    async def play(bench: Bench) -> None:
        assert (await bench.desk.send(BEEP)).result.outcome is Outcome.IN_DOUBT
        [entry] = bench.desk.service.doubts()
        bench.desk.service.resolve(entry, applied=True, reason="heard it")
        if restarted:
            bench.desk.restart()
        assert (await bench.desk.send(BEEP)).result.outcome is Outcome.IN_DOUBT
        assert bench.count(BEEP) == 1

    faults = "cmd 1: delay 0.8; cmd 2: drop_request"
    at_a_bench(tmp_path, play, faults, carrier=carrier, profile=nameless())


@both
@pytest.mark.parametrize("restarted", [False, True])
def test_a_reading_that_was_cancelled_answers_nobody_else(
    tmp_path: Path, carrier: str, restarted: bool
) -> None:
    """Who stops waiting for a reading leaves its answer to nobody, not to another process either (B24)."""

    async def play(bench: Bench) -> None:
        reading = asyncio.ensure_future(
            bench.desk.service.get(bench.desk.target(), [PROFILE.setting("offset")])
        )
        await asyncio.sleep(SILENCE_S / 2)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        if restarted:
            bench.desk.restart()
        answers = await bench.desk.service.get(bench.desk.target(), [PROFILE.setting("log_files")])
        assert answers == [ReadAnswer("3")]

    at_a_bench(tmp_path, play, "read 1: delay 0.4; read 2: delay 0.3", carrier=carrier, profile=nameless())


@both
def test_answers_just_in_time_leave_no_timer_behind(tmp_path: Path, carrier: str) -> None:
    """A wait that was nearly over ends with its answer and does not end the next one (B25, B27)."""

    async def play(bench: Bench) -> None:
        with bench.desk.service.hold(bench.desk.target()) as station:
            for _ in range(5):
                report = await bench.desk.service.send_on(station, bench.desk.operation(BEEP))
                assert (report.result.proof, report.result.attempts) == (Proof.ACK, 1)
        assert bench.count(BEEP) == 5

    at_a_bench(tmp_path, play, "cmd *: delay 0.495", carrier=carrier)


# --- not ours -----------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("lost", ["drop_request", "drop_ack"])
@pytest.mark.parametrize("stray", ["foreign", "stale_reply", "echo", "notice", "junk", "duplicate"])
def test_no_stray_line_makes_a_reading_lie(tmp_path: Path, carrier: str, lost: str, stray: str) -> None:
    """Whatever else is said around the readings of a verify, the word agrees with the ledger (B29, B30, 51, 54)."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(ROTATE)).result
        executed = bench.count(ROTATE)
        assert executed <= 1
        if result.outcome is Outcome.APPLIED:
            assert executed == 1
        else:
            assert result.outcome is Outcome.IN_DOUBT

    at_a_bench(tmp_path, play, f"cmd 1: {lost}; read 3-99: {stray}", carrier=carrier)


@both
@pytest.mark.parametrize("stray", ["notice", "echo"])
def test_what_is_no_ack_acknowledges_nothing(tmp_path: Path, carrier: str, stray: str) -> None:
    """A notice or an echo in place of the lost ack leaves the command in doubt (B30, B38, 47, 51)."""

    async def play(bench: Bench) -> None:
        assert (await bench.desk.send(BEEP)).result.outcome is Outcome.IN_DOUBT

    at_a_bench(tmp_path, play, f"cmd 1: {stray}, drop_ack", carrier=carrier)


@both
def test_an_ack_to_somebody_else_beside_our_refusal(tmp_path: Path, carrier: str) -> None:
    """An ack and a refusal at once are no ack, though the ack came first (B29, B30)."""

    async def play(bench: Bench) -> None:
        assert (await bench.desk.send(BEEP)).result.outcome is Outcome.IN_DOUBT
        assert not bench.device.ledger

    at_a_bench(tmp_path, play, "cmd 1: foreign, refuse", carrier=carrier)


# --- torn and noisy -----------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("cut", ["split", "trickle 0.02", "junk"])
def test_answers_in_any_pieces(tmp_path: Path, carrier: str, cut: str) -> None:
    """Byte by byte or behind lines of noise, every answer is found (B32, B33, B34, 50)."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(ADJUST)).result
        assert (result.outcome, result.proof, result.attempts) == (Outcome.APPLIED, Proof.ACK, 1)
        assert (result.before, result.expected) == ("10", "15")

    at_a_bench(tmp_path, play, f"any *: {cut}", carrier=carrier)


@both
@pytest.mark.parametrize("made", [NoisyDevice, RaggedDevice])
def test_bytes_that_are_left_over(tmp_path: Path, carrier: str, made: type[TextDevice]) -> None:
    """Bytes before or behind an answer cost at most the answer that they touch, and shift none (B34, B35, B37)."""

    async def play(bench: Bench) -> None:
        settings = [PROFILE.setting(name) for name in VALUES]
        answers = await bench.desk.service.get(bench.desk.target(), settings)
        told = [answer.value for answer in answers]
        right = list(VALUES.values())
        assert all(value in (None, want) for value, want in zip(told, right, strict=True))
        assert told.count(None) <= (made is RaggedDevice)

    at_a_bench(tmp_path, play, carrier=carrier, profile=nameless(), made=made)


@both
def test_half_an_answer_is_no_value(tmp_path: Path, carrier: str) -> None:
    """A value whose line does not end in time is not read, neither short nor later as another's (B49)."""

    async def play(bench: Bench) -> None:
        settings = [PROFILE.setting("counter"), PROFILE.setting("level")]
        answers = await bench.desk.service.get(bench.desk.target(), settings)
        assert answers == [ReadAnswer(None), ReadAnswer("5")]
        assert bench.desk.service.clock.now_s() >= SILENCE_S

    at_a_bench(tmp_path, play, "read 1: trickle 0.12", carrier=carrier, profile=nameless())


@both
def test_a_refusal_ends_the_wait_at_once(tmp_path: Path, carrier: str) -> None:
    """An answer shorter or longer than an ack is not waited out (B41)."""

    async def play(bench: Bench) -> None:
        before_s = bench.desk.service.clock.now_s()
        result = (await bench.desk.send(BEEP)).result
        assert (result.outcome, result.attempts) == (Outcome.REFUSED, 1)
        assert bench.desk.service.clock.now_s() - before_s < SILENCE_S / 2

    at_a_bench(tmp_path, play, "cmd 1: refuse", carrier=carrier)


@both
def test_telnet_on_a_raw_stream_is_named_and_harmless(tmp_path: Path, carrier: str) -> None:
    """Option negotiation of a terminal server is no answer and spoils none, and the log says what to set (B62)."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(ADJUST)).result
        assert (result.outcome, result.before, result.attempts) == (Outcome.APPLIED, "10", 1)
        if carrier == "tcp":
            assert any("set its port to raw" in line for line in bench.desk.lines())

    habits = Habits(greeting=b"\xff\xfb\x03\xff\xfb\x01")
    at_a_bench(tmp_path, play, carrier=carrier, habits=habits)


@both
def test_an_echo_alone_is_a_bus_that_is_cut(tmp_path: Path, carrier: str) -> None:
    """With nothing but our own lines coming back no command is called applied (B38, 47)."""
    line = PROFILE.line
    assert line is not None

    async def play(bench: Bench) -> None:
        assert (await bench.desk.send(BEEP)).result.outcome is Outcome.IN_DOUBT

    for echo in (True, False):
        profile = replace(nameless(), line=replace(line, echo=echo))
        home = tmp_path / str(echo)
        at_a_bench(home, play, "any *: drop_request", carrier=carrier, profile=profile, echo=True)
