"""Who answers on a link to plain equipment, and what do real links do?"""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from agent.evidence import NotSent
from agent.links.link import Link, Unreachable
from agent.operation import Cause, Outcome
from agent.registry import WrongDevice
from agent.stations import Target
from agent.steps import Session
from devices.profile import Identity
from simulator.conn import Conn
from simulator.habits import Habits
from simulator.text_device import TextDevice
from tests.agent.line_desk import CARRIERS, Bench, NamingDevice, at_a_bench, settled_by_hand
from tests.agent.line_profiles import PROFILE, nameless, naming

OFFSET, LEVEL, SET = "ADJUST offset +5", "ADJUST level +2", "SET interval 30"
both = pytest.mark.parametrize("carrier", CARRIERS)


class ChattingDevice(TextDevice):
    """Equipment that sends acks without being asked, as long as somebody is connected."""

    def _joined(self, conn: Conn) -> None:
        super()._joined(conn)
        self._chat(conn)

    def _chat(self, conn: Conn) -> None:
        conn.outbox.send(b"OK\nOK 3\n")
        asyncio.get_running_loop().call_later(0.01, self._chat, conn)


# --- who answers ------------------------------------------------------------------------------------------------------


@both
def test_another_device_at_the_same_place(tmp_path: Path, carrier: str) -> None:
    """The first serial is pinned; another one later is named and told nothing."""

    async def play(bench: Bench) -> None:
        await bench.desk.send(SET)
        bench.device._effects._equipment.serial = "OTHER-9"
        bench.desk.restart()
        result = (await bench.desk.send(OFFSET)).result
        assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.WRONG_DEVICE)
        assert "OTHER-9" in result.message
        assert len(bench.device.ledger) == 1

    at_a_bench(tmp_path, play, carrier=carrier)


@both
def test_a_port_swapped_between_two_copies(tmp_path: Path, carrier: str) -> None:
    """Another device that answers after the connection broke is told nothing, and the doubt says so."""

    async def play(bench: Bench) -> None:
        def swap(_word: str, _line: str) -> None:
            bench.device._effects._equipment.serial = "OTHER-9"

        bench.device._observe = swap
        result = (await bench.desk.send("ROTATE log")).result
        assert result.outcome is Outcome.IN_DOUBT
        assert "OTHER-9" in result.message
        assert len(bench.device.copies) == 1

    at_a_bench(tmp_path, play, "cmd 1: cut_before", carrier=carrier)


def test_the_wrong_kind_of_answer_to_who_are_you(tmp_path: Path) -> None:
    """Equipment that does not know the question is not the one that the profile describes."""
    profile = replace(PROFILE, identity=Identity("WHO", "ACME {serial}"))

    async def play(bench: Bench) -> None:
        with pytest.raises(WrongDevice, match="ERR"):
            await bench.desk.service.probe(bench.desk.target())
        other = replace(profile, identity=Identity("GET serial", "ACME {serial}"))
        with pytest.raises(WrongDevice, match="ACME"):
            await bench.desk.service.probe(bench.desk.target(profile=other))

    at_a_bench(tmp_path, play, profile=profile)


@both
def test_who_answers_is_told(tmp_path: Path, carrier: str) -> None:
    """Probing tells the serial and how fast it came."""

    async def play(bench: Bench) -> None:
        found = await bench.desk.service.probe(bench.desk.target())
        assert (found.identity.serial, found.identity.tier) == ("SIM-1", None)

    at_a_bench(tmp_path, play, carrier=carrier)


@both
def test_a_name_that_is_no_ack(tmp_path: Path, carrier: str) -> None:
    """The answer to who it is may have a pattern of its own, which no ack matches."""
    profile = replace(naming(), identity=Identity("GET serial", "{serial}", "^serial=(?P<value>.*)$"))

    async def play(bench: Bench) -> None:
        assert (await bench.desk.service.probe(bench.desk.target())).identity.serial == "SIM-1"

    at_a_bench(tmp_path, play, profile=profile, carrier=carrier, made=NamingDevice)


@both
def test_whether_nameless_equipment_answers_at_all(tmp_path: Path, carrier: str) -> None:
    """Equipment that cannot say who it is gets asked for a setting; one that nothing can be asked of is only opened."""
    mute = replace(nameless(), settings={})

    async def play(bench: Bench) -> None:
        probe, target = bench.desk.service.probe, bench.desk.target()
        assert (await probe(target)).round_trip_s is not None
        bench.suffer("read *: drop_request")
        with pytest.raises(Unreachable, match="does not answer 'GET "):
            await probe(target)
        assert (await probe(bench.desk.target(profile=mute))).round_trip_s is None

    at_a_bench(tmp_path, play, profile=nameless(), carrier=carrier)


# --- links as they are ------------------------------------------------------------------------------------------------


def test_a_server_that_closes_every_connection(tmp_path: Path) -> None:
    """Where nothing could be written before the close, nothing was sent: that is said, and nothing is in doubt."""

    async def play(bench: Bench) -> None:
        dial, hanging_up = bench.dial, True

        async def closed_at_once(target: Target) -> Link:
            link = await dial(target)
            if hanging_up:
                bench.device.hang_up()
            return link

        bench.desk.service._dial = closed_at_once
        result = (await bench.desk.send("BEEP")).result
        assert (result.outcome, result.cause, result.attempts) == (Outcome.NOT_SENT, Cause.UNREACHABLE, 0)
        assert (
            bench.desk.lines()[1] == "[WARN] seq=1 attempt=1 did not leave: the device closed the connection"
        )
        hanging_up = False
        assert (await bench.desk.send("BEEP")).result.outcome is Outcome.APPLIED
        assert [copy.text for copy in bench.device.copies] == ["BEEP"]

    at_a_bench(tmp_path, play, profile=nameless())


@both
def test_answers_before_any_question(tmp_path: Path, carrier: str) -> None:
    """Where answers come that nobody asked for, no answer could be believed: nothing is sent."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("BEEP")).result
        assert (result.outcome, len(bench.device.copies)) == (Outcome.NOT_SENT, 0)
        assert any("nobody asked for" in line for line in bench.desk.lines())

    at_a_bench(
        tmp_path, play, profile=nameless(), carrier=carrier,
        made=ChattingDevice,
    )  # fmt: skip


def test_a_device_that_serves_one_connection(tmp_path: Path) -> None:
    """A slot that is not free at once after our own close is waited for."""

    async def play(bench: Bench) -> None:
        for words in (SET, OFFSET, "ROTATE log"):
            assert (await bench.desk.send(words)).result.outcome is Outcome.APPLIED
        assert bench.count("ROTATE log") == 1

    at_a_bench(tmp_path, play, "cmd 1: drop_ack; cmd 3: drop_ack", habits=Habits(slots=1))


def test_a_device_that_ends_idle_connections(tmp_path: Path) -> None:
    """A connection that was ended between two commands is opened anew, and nothing is in doubt."""

    async def play(bench: Bench) -> None:
        with bench.desk.service.hold(bench.desk.target()) as station:
            for _ in range(2):
                report = await bench.desk.service.send_on(station, bench.desk.operation("BEEP"))
                assert report.result.outcome is Outcome.APPLIED
                await bench.desk.service.clock.sleep(5.0)
        assert bench.count("BEEP") == 2

    at_a_bench(tmp_path, play, habits=Habits(idle_close_s=2.0))


def test_a_connection_that_was_quiet_for_long_is_not_trusted(tmp_path: Path) -> None:
    """A peer may have died without a word, so that a command after a long pause gets a new connection."""

    async def play(bench: Bench) -> None:
        with bench.desk.service.hold(bench.desk.target()) as station:
            await bench.desk.service.send_on(station, bench.desk.operation("BEEP"))
            await bench.desk.service.send_on(station, bench.desk.operation("BEEP"))
            assert len(bench.dialled) == 1
            await bench.desk.service.clock.sleep(60.0)
            await bench.desk.service.send_on(station, bench.desk.operation("BEEP"))
            assert len(bench.dialled) == 2

    at_a_bench(tmp_path, play)


@both
def test_a_board_that_boots_when_its_port_is_opened(tmp_path: Path, carrier: str) -> None:
    """What is asked while it boots would be lost, so it is waited for; volatile values prove nothing afterwards."""
    profile = replace(PROFILE, opening_resets=True, boot_read=None)

    async def play(bench: Bench) -> None:
        assert (await bench.desk.send("BEEP")).result.outcome is Outcome.APPLIED
        assert bench.device.values()["boots"] == 2
        doubt = (await bench.desk.send(LEVEL)).result
        assert doubt.outcome is Outcome.IN_DOUBT
        assert bench.count(LEVEL) == 1

    habits = Habits(opening_boots=True, deaf_s=1.0)
    at_a_bench(tmp_path, play, "cmd 2: drop_ack", carrier=carrier, profile=profile, habits=habits)


def test_a_serial_line_is_not_reopened_after_silence(tmp_path: Path) -> None:
    """Opening the port could boot the board, so what is owed is waited out with the port open."""

    async def play(bench: Bench) -> None:
        assert (await bench.desk.send("ROTATE log")).result.outcome is Outcome.APPLIED
        assert len(bench.dialled) == 1

    at_a_bench(tmp_path, play, "cmd 1: drop_ack", carrier="pty", profile=replace(PROFILE, identity=None))


@both
def test_notices_and_greetings_are_no_answers(tmp_path: Path, carrier: str) -> None:
    """What the device tells by itself is a line of the log, letter by letter, and never an answer."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(OFFSET)).result
        assert result.outcome is Outcome.APPLIED
        assert any(line.startswith("[INFO] notice: # ") for line in bench.desk.lines())

    habits = Habits(greeting=b"Welcome to [red] OK 99\r\n")
    at_a_bench(tmp_path, play, "any *: notice", carrier=carrier, habits=habits)


@both
def test_a_device_that_echoes_is_found_and_named(tmp_path: Path, carrier: str) -> None:
    """Our own line coming back is no ack, and the log says what the profile lacks."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("BEEP")).result
        assert result.outcome is Outcome.IN_DOUBT
        assert any("sends our own line back" in line for line in bench.desk.lines())

    at_a_bench(tmp_path, play, "cmd 1: drop_ack", carrier=carrier, echo=True)


def test_an_echo_that_is_declared_and_does_not_come(tmp_path: Path) -> None:
    """The key of the profile is named: nothing is wrong with the line, and nothing was sent."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("BEEP")).result
        assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNREACHABLE)
        assert "'echo: true'" in result.message
        assert not bench.device.ledger

    line = PROFILE.line
    assert line is not None
    at_a_bench(tmp_path, play, profile=replace(PROFILE, line=replace(line, echo=True)))


def test_words_that_the_profile_does_not_know(tmp_path: Path) -> None:
    """A device that answers in other words than the profile knows is quoted once, also where a copy had left."""

    async def play(bench: Bench) -> None:
        await bench.desk.send("BEEP")
        said = [line for line in bench.desk.lines() if "does not take for an answer" in line]
        assert said == [
            f"[WARN] the device says 'OK', which the profile {PROFILE.name} does not take for an answer"
        ]

    line = PROFILE.line
    assert line is not None
    known = replace(PROFILE, line=replace(line, ack=r"^OK (?P<value>.+)$|^DONE$"))
    at_a_bench(tmp_path, play, profile=known)


@both
def test_a_device_that_is_known_to_echo(tmp_path: Path, carrier: str) -> None:
    """Where the profile says so the echo is checked and passed over; alone it is no ack."""
    line = PROFILE.line
    assert line is not None
    profile = replace(PROFILE, line=replace(line, echo=True))

    async def play(bench: Bench) -> None:
        assert (await bench.desk.send(OFFSET)).result.value == "15"
        alone = (await bench.desk.send("BEEP")).result
        assert alone.outcome is Outcome.IN_DOUBT

    at_a_bench(tmp_path, play, "cmd 2: drop_ack", carrier=carrier, profile=profile, echo=True)


def test_the_pause_that_the_line_needs(tmp_path: Path) -> None:
    """No request follows an answer sooner than the equipment can hear it."""

    async def play(bench: Bench) -> None:
        target = replace(bench.desk.target(), gap_s=0.3)
        await bench.desk.service.send(target, bench.desk.operation("BEEP"))
        await bench.desk.service.send(target, bench.desk.operation("BEEP"))
        heard = sorted(seen.at_s for seen in (*bench.device.reads, *bench.device.copies))
        first, second, *_ = heard
        assert second - first >= 0.3

    at_a_bench(tmp_path, play)


@both
def test_nothing_answers(tmp_path: Path, carrier: str) -> None:
    """A way that cannot be opened is certainly nothing sent; after a copy it leaves a doubt that says so."""

    async def play(bench: Bench) -> None:
        bench.refuses = True
        nothing = (await bench.desk.send("BEEP")).result
        assert (nothing.outcome, nothing.cause) == (Outcome.NOT_SENT, Cause.UNREACHABLE)
        with pytest.raises(Unreachable):
            await bench.desk.service.get(bench.desk.target(), [PROFILE.setting("offset")])
        assert not bench.device.copies

    at_a_bench(tmp_path, play, carrier=carrier)


def test_an_interrupt_ends_the_wait_for_a_quiet_line(tmp_path: Path) -> None:
    """Ctrl-C before anything left is heard within a moment, and nothing is sent."""

    async def play(bench: Bench) -> None:
        await settled_by_hand(bench)
        bench.desk.service.executor.give_up("interrupted")
        station = bench.desk.service.station(
            bench.desk.target(), bench.desk.service.registry.claim("tcp://device:1", 1, None)
        )
        fact = await station.connect(Session.KEEP, 1)
        assert isinstance(fact, NotSent)
        assert fact.cause is Cause.INTERRUPTED

    at_a_bench(tmp_path, play, "cmd 1: drop_ack")


def test_a_connection_on_which_nobody_was_answered_is_not_trusted(tmp_path: Path) -> None:
    """An answer too many shows that answers do not fit their questions: the next command gets a new connection."""

    async def play(bench: Bench) -> None:
        with bench.desk.service.hold(bench.desk.target()) as station:
            await bench.desk.service.send_on(station, bench.desk.operation("BEEP"))
            lost = await bench.desk.service.send_on(station, bench.desk.operation("BEEP"))
            assert len(bench.dialled) == 2
        assert lost.result.outcome is Outcome.APPLIED

    at_a_bench(tmp_path, play, "cmd 1: duplicate")
