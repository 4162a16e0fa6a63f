"""What does plain equipment do to the agent, and is what the agent then says still true?

Text lines without numbers, over a connection that reopening cuts (`tcp`) and over a serial line (`pty`), in virtual
time. What happened is asked of the device's ledger and of its values.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from agent.evidence import NotSent
from agent.links.link import Unreachable
from agent.operation import Cause, Outcome, Proof
from agent.registry import WrongDevice
from agent.station import ReadAnswer
from agent.steps import Session
from devices.profile import Identity, Profile, Verify
from simulator.habits import Habits
from tests.agent.desk import SILENCE_S
from tests.agent.line_desk import (
    CARRIERS,
    LATE_S,
    PROFILE,
    Bench,
    NamingDevice,
    at_a_bench,
    naming,
    with_timing,
)

OFFSET, LEVEL, SET = "ADJUST offset +5", "ADJUST level +2", "SET interval 30"
both = pytest.mark.parametrize("carrier", CARRIERS)


def changed(name: str, profile: Profile = PROFILE, **changes: object) -> Profile:
    """The profile with one command changed."""
    commands = tuple(replace(c, **changes) if c.name == name else c for c in profile.commands)  # type: ignore[arg-type]
    return replace(profile, commands=commands)


def setting_changed(name: str, profile: Profile = PROFILE, **changes: object) -> Profile:
    """The profile with one setting changed."""
    setting = replace(profile.setting(name), **changes)  # type: ignore[arg-type]
    return replace(profile, settings={**profile.settings, name: setting})


async def settled_by_hand(bench: Bench, words: str = "BEEP") -> None:
    """Send what stays in doubt, and let a person say that it was not applied: the device is free again at once."""
    doubt = await bench.desk.send(words)
    assert doubt.result.outcome is Outcome.IN_DOUBT
    [entry] = bench.desk.service.doubts()
    bench.desk.service.resolve(entry, applied=False, reason="nothing heard")


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
    profile = changed("ADJUST level", verify=Verify("level", "before + delta"))

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

    profile = setting_changed("offset", read="GET nonsense")
    at_a_bench(tmp_path, play, carrier=carrier, profile=profile)


@both
def test_a_refusal_that_may_follow_the_effect_is_looked_into(tmp_path: Path, carrier: str) -> None:
    """A declared nak of that kind is no refusal: the reading decides."""
    profile = changed("ROTATE log", nak_may_follow_effect=True)

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
    profile = changed("ROTATE log", ack_means="queued")

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


# --- who answers ------------------------------------------------------------------------------------------------------


@both
def test_another_device_at_the_same_place(tmp_path: Path, carrier: str) -> None:
    """The first serial is pinned; another one later is named and told nothing."""

    async def play(bench: Bench) -> None:
        await bench.desk.send(SET)
        bench.device._effects._equipment.serial = "OTHER-9"  # type: ignore[attr-defined]
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
            bench.device._effects._equipment.serial = "OTHER-9"  # type: ignore[attr-defined]

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


# --- links as they are ------------------------------------------------------------------------------------------------


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
