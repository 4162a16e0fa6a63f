"""How many copies of a command leave, which ones, and what do they do? Reports of commands that took effect twice.

Numbering equipment (LSQ1) and plain text lines, in virtual time; the device's own list of copies and its ledger judge.
"""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from agent.operation import Cause, Outcome, Proof
from agent.stations import DialectMissing
from devices.profile import Sequence
from simulator.device import SimulatedDevice
from tests.agent.desk import SILENCE_S, Desk, at_a_desk
from tests.agent.line_desk import CARRIERS, Bench, at_a_bench
from tests.agent.line_profiles import LATE_S, PROFILE, nameless, taking

ADJUST, SET, ROTATE, BEEP = "ADJUST offset +5", "SET interval 30", "ROTATE log", "BEEP"
COMMANDS = (SET, ADJUST, "ADJUST level +2", "TOGGLE relay", "RESET counter", ROTATE, BEEP)
URL = "tcp://device:1"
LATER_S = 3000.0
both = pytest.mark.parametrize("carrier", CARRIERS)


@both
@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_attempts_are_the_copies_in_all(tmp_path: Path, carrier: str, attempts: int) -> None:
    """`attempts` is the number of copies that the device gets, the first one included (B13, B14)."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(SET, attempts=attempts)).result
        assert len(bench.device.copies) == result.attempts == attempts

    at_a_bench(tmp_path, play, "cmd *: drop_ack", carrier=carrier)


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_attempts_are_the_copies_of_a_number_in_all(tmp_path: Path, attempts: int) -> None:
    """Nothing below the policy repeats a command of a numbering device either (B13, B14)."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        result = (await desk.send(ADJUST, attempts=attempts)).result
        assert [copy.attempt for copy in device.copies] == list(range(1, attempts + 1))
        assert result.attempts == attempts

    at_a_desk(tmp_path, play, "cmd *: drop_request")


@both
@pytest.mark.parametrize("words", COMMANDS)
def test_an_ack_ends_the_effort(tmp_path: Path, carrier: str, words: str) -> None:
    """Where every answer comes, each command is one copy, however many attempts it would have had (B15)."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(words, attempts=3)).result
        assert (result.outcome, result.proof, result.attempts) == (Outcome.APPLIED, Proof.ACK, 1)
        assert len(bench.device.copies) == len(bench.device.ledger) == 1

    at_a_bench(tmp_path, play, carrier=carrier)


@both
@pytest.mark.parametrize("words", [SET, ADJUST])
def test_all_copies_are_the_same_text(tmp_path: Path, carrier: str, words: str) -> None:
    """A repeat has the text of the first copy, also where that was computed (B10)."""

    async def play(bench: Bench) -> None:
        assert (await bench.desk.send(words)).result.attempts == 3
        assert len({copy.text for copy in bench.device.copies}) == 1

    at_a_bench(tmp_path, play, "cmd 1-2: drop_request", carrier=carrier)


@both
def test_a_refused_repeat_does_not_unmake_the_first_copy(tmp_path: Path, carrier: str) -> None:
    """A refusal that answers a repeat is read back: the first copy may have been carried out (B01)."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(SET)).result
        assert (result.outcome, result.proof) == (Outcome.APPLIED, Proof.VERIFIED)
        assert bench.device.values()["interval"] == 30

    at_a_bench(tmp_path, play, "cmd 1: drop_ack; cmd 2: refuse", carrier=carrier)


@both
def test_a_slow_command_gets_the_time_that_it_takes(tmp_path: Path, carrier: str) -> None:
    """An execution time that the profile states is waited for before anything counts as silence (B01, B02)."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(ROTATE)).result
        assert (result.outcome, result.proof, result.attempts) == (Outcome.APPLIED, Proof.ACK, 1)

    at_a_bench(tmp_path, play, "cmd 1: delay 1.9", carrier=carrier, profile=taking(ROTATE, 2.0))


def test_a_doubled_request_is_harmless_in_the_absolute_form(tmp_path: Path) -> None:
    """Where the way to the device doubles a request, what is sent is the form that may be repeated (B04)."""

    async def play(bench: Bench) -> None:
        assert (await bench.desk.send(ADJUST)).result.outcome is Outcome.APPLIED
        assert bench.count("SET offset 15") == 2
        assert bench.device.values()["offset"] == 15

    at_a_bench(tmp_path, play, "cmd 1: duplicate_request")


@both
@pytest.mark.parametrize("restarted", [False, True])
def test_one_key_is_one_command_on_plain_equipment(tmp_path: Path, carrier: str, restarted: bool) -> None:
    """A second run under the same key sends nothing, whichever process asks (B18)."""

    async def play(bench: Bench) -> None:
        await bench.desk.send(BEEP, key="night")
        if restarted:
            bench.desk.restart()
        again = await bench.desk.send(BEEP, key="night")
        assert (again.skipped, again.result.outcome) == (True, Outcome.APPLIED)
        assert bench.count(BEEP) == 1

    at_a_bench(tmp_path, play, carrier=carrier)


@both
def test_two_runs_never_work_from_one_reading(
    tmp_path: Path, carrier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two runs that would read, add and write at the same time, one is told that the device is held (B04, B71)."""
    monkeypatch.setattr(
        "agent.leases.is_gone", lambda *_: False
    )  # the processes of a desk pass for dead ones

    async def play(bench: Bench) -> None:
        reports = await asyncio.gather(bench.desk.send(ADJUST), bench.desk.send(ADJUST))
        first, second = (report.result for report in reports)
        assert first.outcome is Outcome.APPLIED
        assert (second.outcome, second.cause) == (Outcome.NOT_SENT, Cause.HELD)
        assert bench.device.values()["offset"] == 15

    at_a_bench(tmp_path, play, carrier=carrier)


def test_the_memory_of_a_number_has_no_time_window(tmp_path: Path) -> None:
    """A repeat that comes most of an hour later is still recognised as one (B08)."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        sending = asyncio.ensure_future(desk.send(ADJUST, key="k"))
        await asyncio.sleep(SILENCE_S / 2)
        desk.network.at[URL] = None
        device.hang_up()
        assert (await sending).result.outcome is Outcome.IN_DOUBT
        desk.network.at[URL] = device
        desk.restart()
        await asyncio.sleep(LATER_S)
        late = (await desk.send(ADJUST, key="k")).result
        assert (late.outcome, late.proof) == (Outcome.APPLIED, Proof.DUPLICATE_ACK)
        assert device.ledger.count(ADJUST) == 1

    at_a_desk(tmp_path, play, "cmd 1: drop_ack")


def test_numbers_hold_over_the_end_of_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten commands, each with its first ack lost, over sessions of four numbers: each runs once (B09, B31)."""
    for place in ("agent.dialects.lsq", "protocol.native.requester", "protocol.native.numbers"):
        monkeypatch.setattr(f"{place}.SEQ_MAX", 4)

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        for done in range(1, 11):
            result = (await desk.send(ADJUST)).result
            assert (result.outcome, result.proof) == (Outcome.APPLIED, Proof.DUPLICATE_ACK)
            assert device.ledger.count(ADJUST) == done
        assert {copy.seq for copy in device.copies} == {1, 2, 3, 4}
        assert len({copy.session for copy in device.copies}) == 3

    at_a_desk(tmp_path, play, "; ".join(f"cmd {first}: drop_ack" for first in range(1, 20, 2)))


@both
def test_a_way_that_never_acks_holds_up_what_follows(tmp_path: Path, carrier: str) -> None:
    """On a way without acks a command is sent once and the next one not at all: nothing piles up (B19)."""

    async def play(bench: Bench) -> None:
        assert (await bench.desk.send(BEEP)).result.outcome is Outcome.IN_DOUBT
        held = (await bench.desk.send(BEEP)).result
        assert (held.outcome, held.cause) == (Outcome.NOT_SENT, Cause.DOUBT)
        await bench.desk.service.clock.sleep(LATE_S)
        assert len(bench.device.copies) == 1

    at_a_bench(tmp_path, play, "any *: drop_ack", carrier=carrier, profile=nameless())


@both
def test_what_was_left_in_doubt_is_never_sent_by_a_later_process(tmp_path: Path, carrier: str) -> None:
    """Later processes read, and settle what was open: nobody sends it because it was once wanted (B16)."""

    async def play(bench: Bench) -> None:
        assert (await bench.desk.send(ROTATE)).result.outcome is Outcome.IN_DOUBT
        bench.suffer("")
        bench.desk.restart()
        await bench.desk.service.get(bench.desk.target(), [PROFILE.setting("offset")])
        bench.desk.restart()
        [doubt] = bench.desk.service.doubts()
        settled = await bench.desk.service.check(bench.desk.target(), doubt)
        assert (settled.outcome, settled.proof) == (Outcome.NOT_APPLIED, Proof.VERIFIED)
        assert len(bench.device.copies) == 1

    at_a_bench(tmp_path, play, "cmd 1: drop_request; read 3-99: drop_ack", carrier=carrier)


@both
def test_numbers_that_we_cannot_use_are_refused(tmp_path: Path, carrier: str) -> None:
    """Equipment that numbers its lines itself is told nothing, instead of being repeated to blindly (B08, 108)."""
    profile = replace(PROFILE, sequence=Sequence("{seq} {command}", r"^(?P<seq>\d+) (?P<rest>.*)$"))

    async def play(bench: Bench) -> None:
        with pytest.raises(DialectMissing, match="sequence"):
            await bench.desk.send(BEEP)
        assert not bench.dialled

    at_a_bench(tmp_path, play, carrier=carrier, profile=profile)
