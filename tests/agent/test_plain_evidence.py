"""Do readings and answers of plain equipment that could fool the agent do so?"""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from agent.evidence import Booted
from agent.operation import Cause, Outcome, Proof
from agent.steps import Session
from devices.profile import Verify
from simulator.base_device import Message
from simulator.habits import Habits
from tests.agent.line_desk import CARRIERS, Bench, NamingDevice, at_a_bench
from tests.agent.line_profiles import (
    LATE_S,
    PROFILE,
    nameless,
    naming,
    with_command,
    with_setting,
    with_timing,
)

OFFSET, LEVEL, SET = "ADJUST offset +5", "ADJUST level +2", "SET interval 30"
both = pytest.mark.parametrize("carrier", CARRIERS)


# --- evidence that could fool -----------------------------------------------------------------------------------------


@both
def test_an_effect_that_shows_late_is_not_caused_twice(tmp_path: Path, carrier: str) -> None:
    """Where the effect takes its time, one reading of the old value authorises nothing."""
    profile = with_timing(settle_s=1.0)

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ROTATE log")).result
        assert (result.outcome, result.proof) == (Outcome.APPLIED, Proof.VERIFIED)
        assert bench.count("ROTATE log") == 1

    at_a_bench(tmp_path, play, "cmd 1: apply_late 0.8, drop_ack", carrier=carrier, profile=profile)


@both
def test_what_was_read_before_the_last_copy_is_no_value(tmp_path: Path, carrier: str) -> None:
    """A reading that led to another copy says nothing about what that copy did."""
    profile = with_command("ADJUST offset", absolute_form=None)

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(OFFSET)).result
        assert (result.outcome, result.proof, result.attempts) == (Outcome.APPLIED, Proof.ACK, 2)
        assert result.value in (None, "15")

    at_a_bench(tmp_path, play, "cmd 1: drop_request", carrier=carrier, profile=profile)


def test_a_start_just_before_the_baseline_is_read(tmp_path: Path) -> None:
    """A device that starts before it answers shows the value of after the start: nothing is void."""

    async def play(bench: Bench) -> None:
        asyncio.get_running_loop().call_later(0.12, bench.device.reboot)
        result = (await bench.desk.send(LEVEL)).result
        assert (result.outcome, result.proof, bench.count(LEVEL)) == (Outcome.APPLIED, Proof.VERIFIED, 1)
        lines = bench.desk.lines()
        assert lines[0] == "[WARN] the device announced a start"

    at_a_bench(tmp_path, play, "read 2: late_request 0.2; cmd 1: drop_ack", carrier="pty")


def test_a_start_before_a_refused_reading_is_not_forgotten(tmp_path: Path) -> None:
    """Where no value carries it, a start stays to be told."""

    async def play(bench: Bench) -> None:
        with bench.desk.service.hold(bench.desk.target()) as station:
            await station.connect(Session.KEEP, 1)
            asyncio.get_running_loop().call_later(0.1, bench.device.reboot)
            answer = await station.read("DANCE")
            assert (answer.value, answer.problem is not None, answer.started) == (None, True, False)
            assert station.noticed() == [Booted(1)]

    at_a_bench(tmp_path, play, "cmd 1: late_request 0.2", carrier="pty")


@both
def test_a_device_that_starts_again_and_again(tmp_path: Path, carrier: str) -> None:
    """However often it says so in a row, the record tells it once a step."""

    async def play(bench: Bench) -> None:
        await bench.desk.send("BEEP")
        assert sum("announced a start" in line for line in bench.desk.lines()) <= 2

    greeting = Habits(greeting=b"READY\r\n" * 50)
    profile = with_timing(nameless(), connect_settle_s=0.1)
    at_a_bench(tmp_path, play, carrier=carrier, profile=profile, habits=greeting)


@both
def test_a_declared_clamp_is_expected(tmp_path: Path, carrier: str) -> None:
    """A value that ran into its stop shows that the command was carried out."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ADJUST level +9")).result
        assert (result.outcome, result.expected, result.value) == (Outcome.APPLIED, "10", "10")
        assert bench.count("ADJUST level +9") == 1

    at_a_bench(tmp_path, play, "cmd 1: drop_ack", carrier=carrier)


@both
def test_an_undeclared_clamp_is_in_doubt(tmp_path: Path, carrier: str) -> None:
    """Neither the old value nor the expected one: somebody must look."""
    profile = with_command("ADJUST level", verify=Verify("level", "before + delta"))

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ADJUST level +9")).result
        assert result.outcome is Outcome.IN_DOUBT
        assert "clamped, or someone else wrote" in result.message
        assert bench.count("ADJUST level +9") == 1

    at_a_bench(tmp_path, play, "cmd 1: drop_ack", carrier=carrier, profile=profile)


@both
def test_at_the_stop_already_the_command_goes_out_once(tmp_path: Path, carrier: str) -> None:
    """Where expected equals baseline a reading is void: one copy, and silence is left to a person."""

    async def play(bench: Bench) -> None:
        await bench.desk.send("SET level 10")
        result = (await bench.desk.send(LEVEL)).result
        assert (result.outcome, result.attempts) == (Outcome.IN_DOUBT, 1)
        assert "the expected value is the one from before" in result.message
        assert bench.count(LEVEL) == 1

    at_a_bench(tmp_path, play, "cmd 2: drop_ack", carrier=carrier)


@both
@pytest.mark.parametrize("fault", ["drop_request", "drop_ack", "reboot_before", "reboot_after"])
def test_without_a_boot_count_no_volatile_value_proves_anything(
    tmp_path: Path, carrier: str, fault: str
) -> None:
    """A restart that nobody can notice puts a volatile value back, so that silence ends in doubt."""
    profile = replace(PROFILE, boot_read=None)

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(LEVEL)).result
        assert (result.outcome, result.attempts) == (Outcome.IN_DOUBT, 1)

    at_a_bench(tmp_path, play, f"cmd 1: {fault}", carrier=carrier, profile=profile)


@both
def test_a_value_that_moves_by_itself_proves_nothing(tmp_path: Path, carrier: str) -> None:
    """Unequal readings are repeated a few times, then it is a doubt; nothing is sent again."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ROTATE log")).result
        assert (result.outcome, result.attempts) == (Outcome.IN_DOUBT, 1)

    at_a_bench(tmp_path, play, "cmd 1: drop_request; read *: drift", carrier=carrier)


@both
def test_a_baseline_that_cannot_be_read(tmp_path: Path, carrier: str) -> None:
    """Without a baseline nothing is sent, and the sentence says what could not be read."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(OFFSET)).result
        assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNFIT)
        assert "could not read offset" in result.message
        assert result.unread == "offset"
        assert not bench.device.copies

    profile = replace(PROFILE, identity=None)
    at_a_bench(tmp_path, play, "read *: drop_ack", carrier=carrier, profile=profile)


@both
def test_a_lost_baseline_is_read_again(tmp_path: Path, carrier: str) -> None:
    """A read changes nothing, so a lost one is asked again before anything is given up."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(OFFSET)).result
        assert (result.outcome, result.before, result.value) == (Outcome.APPLIED, "10", "15")

    at_a_bench(tmp_path, play, "read 2: drop_ack", carrier=carrier)


@both
def test_an_error_text_is_never_a_value(tmp_path: Path, carrier: str) -> None:
    """A device that refuses to tell a value, or tells none, gives no baseline."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(OFFSET)).result
        assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNFIT)
        assert "ERR" in result.message
        assert not bench.device.copies

    profile = with_setting("offset", read="GET nonsense")
    at_a_bench(tmp_path, play, carrier=carrier, profile=profile)


@both
def test_a_refusal_that_may_follow_the_effect_is_looked_into(tmp_path: Path, carrier: str) -> None:
    """A declared nak of that kind is no refusal: the reading decides."""
    profile = with_command("ROTATE log", nak_may_follow_effect=True)

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ROTATE log")).result
        assert (result.outcome, result.proof) == (Outcome.APPLIED, Proof.VERIFIED)
        refused = (await bench.desk.send("ROTATE log")).result
        assert (refused.outcome, refused.proof) == (Outcome.NOT_APPLIED, Proof.VERIFIED)
        assert bench.count("ROTATE log") == 1

    at_a_bench(tmp_path, play, "cmd 1: nak_after_effect; cmd 2: refuse", carrier=carrier, profile=profile)


@both
def test_an_ack_that_only_says_queued_is_read_back(tmp_path: Path, carrier: str) -> None:
    """What was only taken counts as applied when a reading shows it, and as nothing until then."""
    profile = with_command("ROTATE log", ack_means="queued")

    async def play(bench: Bench) -> None:
        late = (await bench.desk.send("ROTATE log")).result
        assert (late.outcome, late.proof) == (Outcome.APPLIED, Proof.VERIFIED)
        never = (await bench.desk.send("ROTATE log")).result
        assert never.outcome is Outcome.IN_DOUBT
        assert bench.count("ROTATE log") == 1

    at_a_bench(tmp_path, play, "cmd 1: apply_late 1.0; cmd 2: ignore", carrier=carrier, profile=profile)


@both
def test_busy_extends_the_wait_and_sends_nothing(tmp_path: Path, carrier: str) -> None:
    """A device that says busy is alive: its command is not sent again however long it takes."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("BEEP")).result
        assert (result.outcome, result.proof, result.attempts) == (Outcome.APPLIED, Proof.ACK, 1)
        assert bench.count("BEEP") == 1

    at_a_bench(tmp_path, play, "cmd 1: busy 3.0", carrier=carrier)


@both
def test_a_device_that_is_busy_for_ever(tmp_path: Path, carrier: str) -> None:
    """One that answers the question who it is with busy alone is said to be busy, not to say nothing."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("BEEP")).result
        assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNREACHABLE)
        assert "has been busy for" in result.message
        assert not bench.device.ledger

    class Busy(NamingDevice):
        def _say(self, result: object, message: Message[str]) -> None:  # noqa: ARG002
            self._answer(message.conn.number, b"BUSY\n", message)

    at_a_bench(tmp_path, play, carrier=carrier, made=Busy)


@both
def test_someone_else_who_writes_the_setting(tmp_path: Path, carrier: str) -> None:
    """A third value is nobody's proof: in doubt, and nothing is sent again."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(LEVEL)).result
        assert (result.outcome, result.attempts) == (Outcome.IN_DOUBT, 1)
        assert bench.count(LEVEL) == 1

    at_a_bench(tmp_path, play, "cmd 1: drop_ack, other_writer", carrier=carrier)


# --- answers that can be told apart -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["drop_request", "drop_ack", "delay 0.8"])
def test_told_apart_a_volatile_value_proves_something_on_the_same_connection(
    tmp_path: Path, fault: str
) -> None:
    """Where no restart can hide behind a reconnect, because none is needed, a volatile value is evidence."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ADJUST level +2")).result
        assert result.outcome is Outcome.APPLIED
        assert bench.count("ADJUST level +2") == 1
        assert bench.device.values()["level"] == 7
        assert len(bench.dialled) == 1

    at_a_bench(tmp_path, play, f"cmd 1: {fault}", profile=naming(), made=NamingDevice)


@both
def test_told_apart_a_late_ack_beside_a_reading_is_nobodys_value(tmp_path: Path, carrier: str) -> None:
    """An ack that comes while a setting is read is known for what it is."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ROTATE log")).result
        assert (result.outcome, result.proof, result.value) == (Outcome.APPLIED, Proof.VERIFIED, "4")
        assert bench.count("ROTATE log") == 1
        assert bench.desk.service.clock.now_s() < LATE_S, "nothing had to be waited out"

    faults = "cmd 1: delay 0.65; read 2: delay 0.3"
    at_a_bench(tmp_path, play, faults, carrier=carrier, profile=naming(), made=NamingDevice)


@both
def test_told_apart_the_debt_stays(tmp_path: Path, carrier: str) -> None:
    """A reading beside an owed ack pays for itself only: the next command still waits for the ack or the quiet time."""

    async def play(bench: Bench) -> None:
        with bench.desk.service.hold(bench.desk.target()) as station:
            await bench.desk.service.send_on(station, bench.desk.operation("ROTATE log"))
            lost = await bench.desk.service.send_on(
                station, bench.desk.operation("RESET counter", attempts=1)
            )
        assert lost.result.outcome is Outcome.NOT_APPLIED
        assert bench.count("RESET counter") == 0

    faults = "cmd 1: delay 2.0; cmd 2: drop_request"
    at_a_bench(tmp_path, play, faults, carrier=carrier, profile=naming(), made=NamingDevice)


@both
def test_an_ack_and_a_refusal_for_one_command(tmp_path: Path, carrier: str) -> None:
    """One of the two is somebody else's: neither is believed, and the reading decides."""
    line = PROFILE.line
    assert line is not None
    profile = replace(PROFILE, line=replace(line, nak="^(ERR|OK 777)"))

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ROTATE log")).result
        assert (result.outcome, result.proof) == (Outcome.APPLIED, Proof.VERIFIED)
        assert bench.count("ROTATE log") == 1

    at_a_bench(tmp_path, play, "cmd 1: foreign", carrier=carrier, profile=profile)


@both
def test_two_acks_with_two_values(tmp_path: Path, carrier: str) -> None:
    """It was executed, and which value is ours nobody can tell: none is named."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ROTATE log")).result
        assert (result.outcome, result.proof, result.value) == (Outcome.APPLIED, Proof.ACK, None)

    at_a_bench(tmp_path, play, "cmd 1: foreign", carrier=carrier)


def test_told_apart_a_late_reading_is_no_late_ack(tmp_path: Path) -> None:
    """Beside an owed ack an answer to a reading is told as what it is, and the ack by its number when it comes."""

    async def play(bench: Bench) -> None:
        await bench.desk.send("ROTATE log")
        late = [line for line in bench.desk.lines() if "late ack" in line]
        assert late == ["[INFO] seq=1 late ack of attempt 1, ignored"]
        told = [event.text or "" for event in bench.desk.events if event.event == "ignored"]
        assert any("log_files=4" in text for text in told)

    faults = "cmd 1: delay 1.2; read 2: duplicate, delay 0.3; read 3: delay 0.45"
    at_a_bench(tmp_path, play, faults, carrier="pty", profile=naming(), made=NamingDevice)
