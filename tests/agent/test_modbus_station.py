"""What may fool an agent that talks Modbus, and does not?

Late answers, echoes, other units, other masters, intermediaries that answer for the device, values that are none.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from agent.operation import Cause, Outcome, Proof
from agent.station import ReadAnswer
from devices.calls import resolve
from devices.loader import find
from devices.problems import UsageProblem
from devices.profile import Profile
from simulator.bus import Bus
from simulator.equipment import Adder, EnergyMeter, RelayBoard
from simulator.fault_terms import NO_FAULTS
from simulator.faults import parse
from simulator.modbus_device import ModbusDevice
from tests.agent.line_desk import Bench, with_device
from tests.agent.modbus_desk import ADDS, PROFILE, WAYS, at_a_unit, spoken
from tests.simulator.modbus_bench import now_s

Way = tuple[Literal["tcp", "rtu"], str]
SERIAL: Way = ("rtu", "pty")
all_ways = pytest.mark.parametrize("way", WAYS, ids="-".join)
rtu = pytest.mark.parametrize("way", WAYS[1:], ids="-".join)
RELAYS, METER = find("waveshare/modbus-rtu-relay", []), find("eastron/sdm630", [])


def setting(name: str, profile: Profile = PROFILE) -> Any:
    """A setting of the profile."""
    return profile.setting(name)


def asked_after(way: Way) -> int:
    """Which read on a new connection is the first that the test asks for: on RTU one has greeted before."""
    return 2 if way[0] == "rtu" else 1


# --- late answers -----------------------------------------------------------------------------------------------------


@all_ways
@pytest.mark.parametrize("restarted", [False, True])
def test_a_late_answer_never_becomes_another_registers_value(
    tmp_path: Path, way: Way, restarted: bool
) -> None:
    """The answer to a read that was given up is not taken for that of the next one, also by another process."""

    async def play(bench: Bench) -> None:
        await bench.desk.send("SET setpoint 30")
        bench.suffer(f"read {asked_after(way)}: delay 1.5")
        service, target = bench.desk.service, bench.desk.target()
        first = await service.get(target, [setting("setpoint")])
        if restarted:
            bench.desk.restart()
        service = bench.desk.service
        answers = await service.get(target, [setting("total"), setting("boots"), setting("setpoint")])
        assert first in ([ReadAnswer(None)], [ReadAnswer("30")])
        assert answers == [ReadAnswer("0"), ReadAnswer("1"), ReadAnswer("30")]

    at_a_unit(tmp_path, play, way=way)


@all_ways
@pytest.mark.parametrize("restarted", [False, True])
def test_a_late_ack_never_acknowledges_the_next_lost_command(
    tmp_path: Path, way: Way, restarted: bool
) -> None:
    """A lost write stays unacknowledged though the very same ack of the one before comes in."""

    async def play(bench: Bench) -> None:
        doubt = await bench.desk.send("ADD BLINDLY 5")
        assert doubt.result.outcome is Outcome.IN_DOUBT
        [entry] = bench.desk.service.doubts()
        bench.desk.service.resolve(entry, applied=False, reason="nothing heard")
        if restarted:
            bench.desk.restart()
        result = (await bench.desk.send("ADD 5", attempts=1)).result
        assert result.outcome is Outcome.NOT_APPLIED
        assert bench.count(ADDS) == 1

    at_a_unit(tmp_path, play, "cmd 1: delay 2.0; cmd 2: drop_request", way=way)


# --- echoes -----------------------------------------------------------------------------------------------------------


@rtu
def test_where_the_line_echoes_a_lost_write_is_no_ack(tmp_path: Path, way: Way) -> None:
    """The adapter gives the write back, byte for byte its ack, and the device never got it."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ADD 5", attempts=1)).result
        assert result.outcome is Outcome.NOT_APPLIED
        assert len(bench.device.ledger) == 0

    at_a_unit(tmp_path, play, "cmd 1: drop_request", way=way, echo=True)


@rtu
def test_where_the_line_echoes_an_ack_is_the_second_of_two(tmp_path: Path, way: Way) -> None:
    """Echo and ack are the same bytes: with both the command is confirmed."""

    async def play(bench: Bench) -> None:
        for words in ("ADD 5", "SET setpoint 30", "TOGGLE relay"):
            result = (await bench.desk.send(words)).result
            assert (result.outcome, result.proof, result.attempts) == (Outcome.APPLIED, Proof.ACK, 1)
        assert len(bench.device.ledger) == 3

    at_a_unit(tmp_path, play, way=way, echo=True)


@rtu
def test_an_echo_alone_is_nobody(tmp_path: Path, way: Way) -> None:
    """An unplugged bus behind an adapter that echoes: nothing is sent."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ADD 5")).result
        assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNREACHABLE)
        assert not bench.device.copies

    at_a_unit(tmp_path, play, "any *: drop_request", way=way, echo=True)


@rtu
def test_an_echo_that_only_the_write_has_is_not_believed(tmp_path: Path, way: Way) -> None:
    """Where nothing could be read before, nobody knows whether the line echoes, so that one frame is no ack."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ADD BLINDLY 5")).result
        assert result.outcome is Outcome.IN_DOUBT
        assert "an echo is no answer" in "\n".join(bench.desk.lines())

    blind = replace(PROFILE, settings={}, boot_read=None, commands=PROFILE.commands[-1:])
    at_a_unit(tmp_path, play, "cmd 1: drop_request", way=way, profile=blind, echo=True)


def test_an_adapter_with_noise_before_every_answer_is_not_taken_for_one_that_echoes(tmp_path: Path) -> None:
    """Junk when the line turns around may have been an echo once, not each time."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ADD 5")).result
        assert (result.outcome, result.proof, result.attempts) == (Outcome.APPLIED, Proof.ACK, 1)

    at_a_unit(tmp_path, play, "any *: junk", way=SERIAL)


# --- several on one line ----------------------------------------------------------------------------------------------


def test_a_silent_unit_harms_nobody_else_on_its_line(tmp_path: Path) -> None:
    """While unit 2 owes an answer, units 1 and 3 are asked at once, and nothing of theirs is mixed up."""
    units = {
        n: ModbusDevice(
            Adder(unit=n), plan=parse("any *: drop_request" if n == 2 else ""), hangs_up_on_boot=False
        )
        for n in (1, 2, 3)
    }

    async def play(bench: Bench) -> None:
        service, clock = bench.desk.service, bench.desk.service.clock

        async def add(unit: int) -> Outcome:
            operation = bench.desk.operation("ADD 5")
            return (await service.send(bench.desk.target(unit=unit), operation)).result.outcome

        before_s = clock.now_s()
        assert await add(1) is Outcome.APPLIED
        one_s = clock.now_s() - before_s
        assert await add(2) is Outcome.NOT_SENT
        before_s = clock.now_s()
        assert (await add(3), await add(1)) == (Outcome.APPLIED, Outcome.APPLIED)
        assert clock.now_s() - before_s < 3 * one_s
        assert [len(device.ledger) for device in units.values()] == [2, 0, 1]

    with_device(tmp_path, play, lambda **_: Bus(list(units.values())), carrier="pty", profile=spoken("rtu"))


def test_a_second_master_on_the_line_is_noticed(tmp_path: Path) -> None:
    """Answers to nobody's question come in: no answer on this line could be believed, so nothing is sent."""

    async def play(bench: Bench) -> None:
        device, port = bench.device, bench.port
        another = bytes.fromhex("010300040001C5CB")  # another master reads register 4
        assert port is not None
        noted = device._note

        def note(message: Any) -> None:
            noted(message)
            if message.request.adu.data != another:
                port.conn.feed(another)

        device._note = note
        result = (await bench.desk.send("ADD 5")).result
        assert result.outcome is Outcome.NOT_SENT
        assert not device.copies

    at_a_unit(tmp_path, play, way=SERIAL)


# --- what exceptions mean ---------------------------------------------------------------------------------------------


@all_ways
def test_a_device_that_stays_busy_has_taken_nothing(tmp_path: Path, way: Way) -> None:
    """Exception 6 for as long as patience lasts: refused, and nothing happened."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ADD BLINDLY 5")).result
        assert result.outcome is Outcome.REFUSED
        assert "busy and took nothing" in result.message
        assert len(bench.device.ledger) == 0

    at_a_unit(tmp_path, play, "cmd *: exception 6", way=way)


@pytest.mark.parametrize("code", [6, 10])
@pytest.mark.parametrize("later_s", [0.0, 0.05, 0.4])
def test_an_exception_that_comes_twice_does_not_hide_an_ack(
    tmp_path: Path, code: int, later_s: float
) -> None:
    """The first copy met a busy device, and its exception comes once more in front of the ack of the second."""

    async def play(bench: Bench) -> None:
        device, again = bench.device, bytes((0x86, code))

        def twice(pdu: bytes, message: Any) -> None:
            if len(device.copies) == 2 and message.kind == "cmd":
                say(again, replace(message, faults=NO_FAULTS))
                faults = parse(f"cmd 1: delay {later_s}").next("cmd") if later_s else NO_FAULTS
                message = replace(message, faults=faults)
            say(pdu, message)

        say, device._say = device._say, twice
        result = (await bench.desk.send("ADD BLINDLY 5")).result
        assert bench.count(ADDS) == 1
        assert result.outcome is Outcome.IN_DOUBT

    at_a_unit(tmp_path, play, f"cmd 1: exception {code}", way=SERIAL)


@all_ways
def test_what_was_accepted_is_read_back_until_it_is_done(tmp_path: Path, way: Way) -> None:
    """Exception 5 comes at once, the effect later: one write, and the reading tells."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ADD 5")).result
        assert (result.outcome, result.proof, result.attempts) == (Outcome.APPLIED, Proof.VERIFIED, 1)
        assert bench.count(ADDS) == 1

    at_a_unit(tmp_path, play, "cmd 1: exception_after 5, apply_late 2.0", way=way)


@all_ways
@pytest.mark.parametrize("code", [6, 11, 4, 10])
def test_a_read_is_asked_again_where_nobody_answered_in_time(tmp_path: Path, way: Way, code: int) -> None:
    """A busy device, or an intermediary that gave up, says nothing of the setting."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ADD 5")).result
        assert result.outcome is Outcome.APPLIED, result.message
        assert bench.count(ADDS) == 1

    at_a_unit(tmp_path, play, f"read 2: exception {code}", way=way)


@all_ways
def test_a_device_that_is_busy_for_ever_is_no_wrong_device(tmp_path: Path, way: Way) -> None:
    """Nobody is sent to look at the cabling; patience is spent once, and whoever waits is told why."""

    async def play(bench: Bench) -> None:
        clock = bench.desk.service.clock
        began_s = clock.now_s()
        result = (await bench.desk.send("ADD 5")).result
        assert (result.outcome, result.cause) in {
            (Outcome.NOT_SENT, Cause.UNREACHABLE),
            (Outcome.NOT_SENT, Cause.UNFIT),  # where nobody asks who it is, the baseline is the first reading
        }
        assert "busy" in result.message
        assert clock.now_s() - began_s < 70.0
        assert [line for line in bench.desk.lines() if "it is busy: asked again for up to" in line]
        assert not bench.device.copies

    at_a_unit(tmp_path, play, "read *: exception 6", way=way)


@all_ways
def test_a_register_that_is_not_there_is_no_baseline(tmp_path: Path, way: Way) -> None:
    """Exception 2 to the reading before the command: nothing is sent, and the sentence says why."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ADD 5")).result
        assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNFIT)
        assert "exception 2 (illegal data address)" in result.message
        assert not bench.device.copies

    at_a_unit(tmp_path, play, f"read {asked_after(way)}-9: exception 2", way=way)


# --- values -----------------------------------------------------------------------------------------------------------


def test_what_says_that_there_is_no_value_is_no_baseline(tmp_path: Path) -> None:
    """A sentinel is not a number to add to."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("ADD 5")).result
        assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNFIT)
        assert not bench.device.copies

    total = replace(PROFILE.setting("total"), read="fc03 0x0000 s16!0000")
    at_a_unit(tmp_path, play, profile=replace(PROFILE, settings={**PROFILE.settings, "total": total}))


@pytest.mark.parametrize("words", ["SET setpoint 1001", "SET setpoint -1", "ADD 101"])
def test_a_value_out_of_range_is_refused_before_anything_is_sent(words: str) -> None:
    """The limits of the argument are looked at when the words are read."""
    with pytest.raises(UsageProblem):
        resolve(PROFILE, words.split())


def test_a_target_that_the_register_cannot_hold_is_not_sent(tmp_path: Path) -> None:
    """The form's own command states no limits, but 65536 does not fit into 16 bits."""
    commands = tuple(
        replace(each, args=tuple(replace(a, min=None, max=None) for a in each.args))
        for each in PROFILE.commands
    )
    settings = {name: replace(each, min=None, max=None) for name, each in PROFILE.settings.items()}

    async def play(bench: Bench) -> None:
        assert (await bench.desk.send("SET setpoint 65500")).result.outcome is Outcome.APPLIED
        result = (await bench.desk.send("RAISE setpoint 36")).result
        assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNFIT)
        assert "65536" in result.message
        assert len(bench.device.ledger) == 1

    at_a_unit(tmp_path, play, profile=replace(PROFILE, commands=commands, settings=settings))


def test_a_float_is_compared_as_the_meter_holds_it(tmp_path: Path) -> None:
    """0.1 is no float of 32 bits; what stands there afterwards is the nearest one, and that is the value asked for."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("SET demand_period 15")).result
        assert (result.outcome, result.proof, result.value) == (Outcome.APPLIED, Proof.VERIFIED, "15")
        assert bench.device.ledger.count("fc16 0x0002 raw 41700000") == result.attempts

    at_a_unit(
        tmp_path, play, "cmd *: drop_ack", way=SERIAL, profile=METER, machine=lambda: EnergyMeter(clock=now_s)
    )


# --- relay board and meter --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["drop_ack", "drop_request", "delay 1.0", "cut"])
def test_a_toggled_relay_ends_in_the_wanted_state(tmp_path: Path, fault: str) -> None:
    """Whatever is lost, the relay is on in the end, and no frame that flips was ever sent."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("TOGGLE relay 3")).result
        assert result.outcome is Outcome.APPLIED
        assert bench.device.values()["relay_3"] == 1
        assert not any("5500" in entry.text for entry in bench.device.ledger.entries)

    at_a_unit(
        tmp_path, play, f"cmd 1: {fault}", way=SERIAL, profile=RELAYS, machine=lambda: RelayBoard(clock=now_s)
    )


@pytest.mark.parametrize("fault", ["", "cmd 1: drop_ack", "cmd 1: drop_request"])
def test_a_board_that_moves_to_another_unit_is_looked_for_there(tmp_path: Path, fault: str) -> None:
    """An ack is an ack; where it is lost, whoever answers at the new unit tells that the board has moved."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("SET unit 5")).result
        moved = bench.device.unit == 5
        assert moved is ("drop_request" not in fault)
        wanted = (
            (Outcome.APPLIED, Proof.VERIFIED if fault else Proof.ACK) if moved else (Outcome.IN_DOUBT, None)
        )
        assert (result.outcome, result.proof) == wanted
        assert result.attempts == 1

    at_a_unit(tmp_path, play, fault, way=SERIAL, profile=RELAYS, machine=lambda: RelayBoard(clock=now_s))


def test_nobody_is_moved_to_a_unit_where_somebody_answers(tmp_path: Path) -> None:
    """Two boards at one address are lost until one is taken off the line."""
    boards = [ModbusDevice(RelayBoard(unit=n, clock=now_s), hangs_up_on_boot=False) for n in (1, 5)]

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("SET unit 5")).result
        assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNFIT)
        assert "somebody answers at unit 5 already" in result.message
        assert [len(board.ledger) for board in boards] == [0, 0]

    with_device(tmp_path, play, lambda **_: Bus(boards), carrier="pty", profile=RELAYS)


def test_what_needs_the_password_is_not_sent_while_the_meter_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window is read first; the password opens it, and stands in no record."""
    monkeypatch.setenv("METER_PASSWORD", "1000")

    async def play(bench: Bench) -> None:
        locked = (await bench.desk.send("SET system_type 2")).result
        assert (locked.outcome, locked.cause) == (Outcome.NOT_SENT, Cause.UNFIT)
        assert (await bench.desk.send("UNLOCK env:METER_PASSWORD")).result.outcome is Outcome.APPLIED
        assert (await bench.desk.send("SET system_type 2")).result.outcome is Outcome.APPLIED
        assert "447A0000" not in "\n".join(bench.desk.lines())

    at_a_unit(tmp_path, play, way=SERIAL, profile=METER, machine=lambda: EnergyMeter(clock=now_s))


def test_the_bytes_of_a_password_stand_in_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a float it is four bytes that look like nothing; they are hidden like its text."""
    monkeypatch.setenv("METER_PASSWORD", "48151623")
    traced: list[bytes] = []

    async def play(bench: Bench) -> None:
        service = bench.desk.service
        service._trace = True
        service.log._echo = lambda event: traced.append((event.text or "").encode())
        await bench.desk.send("UNLOCK env:METER_PASSWORD")
        assert any(b"***" in text for text in traced)
        assert not any(b"L7\\xaf" in text for text in traced)

    at_a_unit(tmp_path, play, way=SERIAL, profile=METER, machine=lambda: EnergyMeter(clock=now_s), echo=True)
