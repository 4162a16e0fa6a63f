"""What becomes of commands whose fate was open when the agent stopped looking? The ledger is the judge."""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from agent.dialects.lsq import LsqStation
from agent.narrate import IGNORED_MAX
from agent.operation import Cause, Outcome, Proof
from agent.service import KeyClash
from agent.station import ReadAnswer
from agent.steps import Session
from protocol.native.codes import Status
from protocol.native.messages import CommandReply
from protocol.native.requester import Answered, Ignored, Requester
from simulator.device import SimulatedDevice
from simulator.loop import run
from tests.agent.desk import PROFILE, SILENCE_S, Desk, Network, at_a_desk, change_faults, machine

ADJUST = "ADJUST offset +5"
URL = "tcp://device:1"


def lose_the_device(desk: Desk, device: SimulatedDevice) -> None:
    """From now on nothing listens at the address, and open connections are cut."""
    desk.network.at[URL] = None
    device.hang_up()


async def send_into_the_void(desk: Desk, device: SimulatedDevice, *, arrives: bool) -> bytes:
    """A command whose device vanishes at once; returns the copy's bytes. `arrives`: the copy is executed."""
    change_faults(device, "cmd *: drop_ack" if arrives else "cmd *: drop_request")
    sending = asyncio.ensure_future(desk.send(ADJUST, key="k"))
    await asyncio.sleep(SILENCE_S / 2)
    copy = desk.network.links[-1].written[-1]
    lose_the_device(desk, device)
    report = await sending
    assert report.result.outcome is Outcome.IN_DOUBT
    change_faults(device, "")
    desk.network.at[URL] = device
    return copy


@pytest.mark.parametrize("arrives", [True, False], ids=["it ran", "it never ran"])
@pytest.mark.parametrize("how", ["next command", "doubt check", "restart and next command", "same key"])
def test_a_device_that_comes_back_settles_its_doubt(how: str, arrives: bool, tmp_path: Path) -> None:
    """A doubt over an unreachable device ends by itself when the device answers again, and for good."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        old_copy = await send_into_the_void(desk, device, arrives=arrives)
        [doubt] = desk.service.doubts()
        if how.startswith("restart"):
            desk.restart()
        if how == "doubt check":
            await desk.service.check(desk.target(), doubt)
        elif how == "same key":
            report = await desk.send(ADJUST, key="k")
            assert report.result.outcome is Outcome.APPLIED
            assert device.ledger.count(ADJUST) == 1
            return
        else:
            report = await desk.send("BEEP")
            assert report.result.outcome is Outcome.APPLIED

        [entry] = desk.service.journal.find(doubt.operation.op)
        assert entry.result is not None
        assert entry.result.outcome is (Outcome.APPLIED if arrives else Outcome.NOT_APPLIED)
        assert entry.result.proof is Proof.SETTLED
        assert desk.service.doubts() == []
        conn = device.connect(lambda _: None, lambda: None)
        conn.feed(old_copy)
        await asyncio.sleep(1)
        assert device.ledger.count(ADJUST) == int(arrives)

    at_a_desk(tmp_path, play)


def test_a_doubt_that_nothing_can_settle_blocks_every_change(tmp_path: Path) -> None:
    """A tier 1 device that booted after the effect: only a person can tell; until then nothing changing is sent."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        first = await desk.send(ADJUST)
        assert first.result.outcome is Outcome.IN_DOUBT

        blocked = await desk.send("SET interval 30")

        assert (blocked.result.outcome, blocked.result.cause) == (Outcome.NOT_SENT, Cause.DOUBT)
        assert first.operation.op in blocked.result.message
        assert device.ledger.count("SET interval 30") == 0
        assert await desk.service.get(desk.target(), [PROFILE.setting("offset")]) == [ReadAnswer("15")]
        [doubt] = desk.service.doubts()
        desk.service.resolve(doubt, applied=True, reason="seen on the panel")
        assert (await desk.send("SET interval 30")).result.outcome is Outcome.APPLIED
        assert "[INFO] seq=1 resolved by ana: applied (seen on the panel)" in desk.lines()

    at_a_desk(tmp_path, play, "cmd 1: reboot_after")


def test_a_person_who_says_not_applied_is_not_contradicted_by_old_bytes(tmp_path: Path) -> None:
    """After a person's word the next command opens a new session, so that the old copy can never run."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        old_copy = await send_into_the_void(desk, device, arrives=False)
        [doubt] = desk.service.doubts()
        desk.service.resolve(doubt, applied=False, reason="looked")
        await desk.send("BEEP")
        device.connect(lambda _: None, lambda: None).feed(old_copy)
        await asyncio.sleep(1)
        assert device.ledger.count(ADJUST) == 0

    at_a_desk(tmp_path, play)


@pytest.mark.parametrize("again", ["same key", "next command"])
def test_the_device_proves_a_person_wrong(again: str, tmp_path: Path) -> None:
    """The old copy arrives after a person said `not applied`: the device's memory of it wins, nothing runs twice."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        old_copy = await send_into_the_void(desk, device, arrives=False)
        [doubt] = desk.service.doubts()
        desk.service.resolve(doubt, applied=False, reason="looked")
        device.connect(lambda _: None, lambda: None).feed(old_copy)
        await asyncio.sleep(1)
        assert device.ledger.count(ADJUST) == 1

        report = await (desk.send(ADJUST, key="k") if again == "same key" else desk.send("BEEP"))

        assert report.result.outcome is Outcome.APPLIED
        [entry] = desk.service.journal.find(doubt.operation.op)
        assert entry.result is not None
        assert (entry.result.outcome, entry.result.proof) == (Outcome.APPLIED, Proof.SETTLED)
        assert device.ledger.count(ADJUST) == 1

    at_a_desk(tmp_path, play)


def test_a_record_that_shows_up_later_settles_a_doubt(tmp_path: Path) -> None:
    """`doubt check` always looks at the device's record, also where nothing else can be asked any more."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        first = await desk.send(ADJUST)
        assert first.result.outcome is Outcome.IN_DOUBT
        [doubt] = desk.service.doubts()
        connections = device.counts["connections"]
        await desk.service.check(desk.target(), doubt)
        assert device.counts["connections"] == connections + 1

    at_a_desk(tmp_path, play, "cmd 1: indeterminate")


def test_a_device_that_says_busy_for_ever_ends_in_doubt_in_time(tmp_path: Path) -> None:
    """BUSY and IN_PROGRESS put the end off until their own limit, and the word says that the device was busy."""

    async def play(desk: Desk, _: SimulatedDevice) -> None:
        started_s = asyncio.get_running_loop().time()
        report = await desk.send(ADJUST)
        assert report.result.outcome is Outcome.IN_DOUBT
        assert "busy" in report.result.message
        assert asyncio.get_running_loop().time() - started_s < 30

    at_a_desk(tmp_path, play, "cmd 1: busy 900")


def test_whoever_lost_the_device_tells_what_its_successor_found(tmp_path: Path) -> None:
    """An agent whose lease was taken in mid-command reports the word that the other one settled, not a stale doubt."""

    async def main() -> None:
        device = machine("cmd 1: drop_ack")
        network = Network({URL: device}, [])
        first, second = Desk(tmp_path, network, agent="first"), Desk(tmp_path, network, agent="second")
        sending = asyncio.ensure_future(first.send(ADJUST))
        await asyncio.sleep(SILENCE_S / 2)
        assert (await second.send("BEEP")).result.outcome is Outcome.APPLIED
        report = await sending
        assert (report.result.outcome, report.result.proof) == (Outcome.APPLIED, Proof.SETTLED)
        assert device.ledger.count(ADJUST) == 1
        first.service.close()
        second.service.close()

    run(main)


def test_a_doubt_blocks_a_device_that_is_held_too(tmp_path: Path) -> None:
    """Commands in a row under one lease: after a doubt nothing changing goes out either."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        with desk.service.hold(desk.target()) as station:
            assert (
                await desk.service.send_on(station, desk.operation("SET interval 20"))
            ).result.outcome is Outcome.APPLIED
            doubt = await desk.service.send_on(station, desk.operation(ADJUST))
            assert doubt.result.outcome is Outcome.IN_DOUBT
            blocked = await desk.service.send_on(station, desk.operation("BEEP"))
        assert blocked.result.cause is Cause.DOUBT
        assert device.ledger.count("BEEP") == 0

    at_a_desk(tmp_path, play, "cmd 2: reboot_after")


def test_a_flood_fills_no_log(tmp_path: Path) -> None:
    """Input that answers nothing is logged so many times each time a device is held, then said to go on unlogged."""

    async def play(desk: Desk, _: SimulatedDevice) -> None:
        station = desk.service.station(desk.target(), None)
        assert isinstance(station, LsqStation)
        for _number in range(5 * IGNORED_MAX):
            station._means.told.ignored(Ignored("junk", "noise", None, b"noise"))
        assert [event.event for event in desk.events] == ["ignored"] * IGNORED_MAX + ["note"]

    at_a_desk(tmp_path, play)


def test_the_same_key_does_nothing_twice(tmp_path: Path) -> None:
    """A done key is skipped with its first outcome; other words under it are refused; a new key is a new command."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        first = await desk.send(ADJUST, key="k")
        desk.restart()
        second = await desk.send(ADJUST, key="k")
        assert (second.skipped, second.operation.op) == (True, first.operation.op)
        assert second.result.outcome is Outcome.APPLIED
        with pytest.raises(KeyClash, match=first.operation.op):
            await desk.send("BEEP", key="k")
        await desk.send(ADJUST, key="k2")
        assert device.ledger.count(ADJUST) == 2
        assert device.ledger.count("BEEP") == 0

    at_a_desk(tmp_path, play)


def test_a_key_that_is_still_in_doubt_answers_with_its_own_word(tmp_path: Path) -> None:
    """Asking again under a key whose doubt cannot be settled sends nothing and says in doubt, skipped."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        first = await desk.send(ADJUST, key="k")
        again = await desk.send(ADJUST, key="k")
        assert (again.skipped, again.operation.op) == (True, first.operation.op)
        assert again.result.outcome is Outcome.IN_DOUBT
        assert device.ledger.count(ADJUST) == 1

    at_a_desk(tmp_path, play, "cmd 1: reboot_after")


def test_a_refused_key_is_due_again(tmp_path: Path) -> None:
    """A command that certainly had no effect may be sent again under its key."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        first = await desk.send(ADJUST, key="k")
        assert first.result.outcome is Outcome.REFUSED
        second = await desk.send(ADJUST, key="k")
        assert (second.skipped, second.result.outcome) == (False, Outcome.APPLIED)
        assert device.ledger.count(ADJUST) == 1

    at_a_desk(tmp_path, play, "cmd 1: refuse")


def test_sessions_outlive_processes(tmp_path: Path) -> None:
    """The next process goes on in the session after spending one number on a NOP; the epoch does not grow."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        first = await desk.send(ADJUST)
        desk.restart()
        second = await desk.send(ADJUST)
        assert (first.result.seq, second.result.seq) == (1, 3)
        assert device.counts["open"] == 1
        assert device.counts["nop"] == 1
        assert device.ledger.count(ADJUST) == 2

    at_a_desk(tmp_path, play)


def test_a_lost_answer_to_the_gate_does_not_stop_a_command(tmp_path: Path) -> None:
    """The number before a new process's first command may be spent again; nothing runs twice."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        await desk.send(ADJUST)
        desk.restart()
        report = await desk.send(ADJUST)
        assert report.result.outcome is Outcome.APPLIED
        assert device.ledger.count(ADJUST) == 2

    at_a_desk(tmp_path, play, "nop 1: drop_ack")


def test_a_restored_journal_never_credits_an_old_reply(tmp_path: Path) -> None:
    """A store put back from a copy meets its own later numbers: the gate finds them, every command runs once."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        await desk.send("SET interval 20")
        desk.service.close()
        shutil.copytree(desk.home, tmp_path / "backup")
        desk.service = desk._start()
        for _ in range(3):
            await desk.send(ADJUST)
        desk.service.close()
        shutil.rmtree(desk.home)
        shutil.copytree(tmp_path / "backup", desk.home)
        desk.service = desk._start()

        report = await desk.send("ROTATE log")

        assert report.result.outcome is Outcome.APPLIED
        assert device.ledger.count("ROTATE log") == 1
        assert device.ledger.count(ADJUST) == 3

    at_a_desk(tmp_path / "home", play)


def test_a_restored_journal_settles_what_it_left_open_truly(tmp_path: Path) -> None:
    """A copy made in mid-command, put back after the command was done: the same key finds it done."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        sending = asyncio.ensure_future(desk.send(ADJUST, key="k"))
        await asyncio.sleep(SILENCE_S / 2)
        shutil.copytree(desk.home, tmp_path / "backup")
        assert (await sending).result.outcome is Outcome.APPLIED
        desk.service.close()
        shutil.rmtree(desk.home)
        shutil.copytree(tmp_path / "backup", desk.home)
        desk.service = desk._start()

        report = await desk.send(ADJUST, key="k")

        assert report.result.outcome is Outcome.APPLIED
        assert device.ledger.count(ADJUST) == 1

    at_a_desk(tmp_path / "home", play, "cmd 1: drop_ack")


def test_another_store_keeps_us_out_until_a_person_takes_over(tmp_path: Path) -> None:
    """A device that another store has used is not touched; after the take-over the other store is kept out."""

    async def main() -> None:
        device = machine()
        network = Network({URL: device}, [])
        one, two = Desk(tmp_path / "one", network), Desk(tmp_path / "two", network)
        await one.send(ADJUST)
        refused = await two.send(ADJUST)
        assert (refused.result.outcome, refused.result.cause) == (Outcome.NOT_SENT, Cause.FOREIGN)
        assert device.ledger.count(ADJUST) == 1

        await two.service.take_over(two.target(), "laptop one was stolen")
        assert (await two.send(ADJUST)).result.outcome is Outcome.APPLIED
        fenced = await one.send(ADJUST)
        assert (fenced.result.outcome, fenced.result.cause) == (Outcome.NOT_SENT, Cause.FOREIGN)
        assert device.ledger.count(ADJUST) == 2
        one.service.close()
        two.service.close()

    run(main)


def test_two_agents_share_a_device_by_lease_and_epoch(tmp_path: Path) -> None:
    """The second agent waits for the lease, takes over, settles and opens anew; the device refuses the first."""

    async def main() -> None:
        device = machine()
        network = Network({URL: device}, [])
        first, second = Desk(tmp_path, network, agent="first"), Desk(tmp_path, network, agent="second")
        lease = first.service.registry.claim(URL, 1, None)
        station = first.service.station(first.target(), lease)
        await station.connect(Session.KEEP, 1)
        session = lease.session
        assert session is not None

        report = await second.send(ADJUST)

        assert report.result.outcome is Outcome.APPLIED
        answers: list[CommandReply] = []
        requester = Requester()
        requester.max_body = 512
        conn = device.connect(
            lambda data: answers.extend(
                event.reply
                for event in requester.receive(data)
                if isinstance(event, Answered) and isinstance(event.reply, CommandReply)
            ),
            lambda: None,
        )
        conn.feed(requester.command(session.session, 1, 1, "ADJUST offset -9"))
        await asyncio.sleep(1)
        assert [answer.status for answer in answers] == [Status.BAD_SESSION]
        assert [entry.text for entry in device.ledger.entries] == [ADJUST]
        first.service.close()
        second.service.close()

    run(main)


def test_a_wrong_device_is_told_nothing(tmp_path: Path) -> None:
    """Another serial than the expected or the pinned one: not sent, and the device saw no command."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        report = await desk.service.send(desk.target(serial="SN-9"), desk.operation(ADJUST))
        assert (report.result.outcome, report.result.cause) == (Outcome.NOT_SENT, Cause.WRONG_DEVICE)
        await desk.send(ADJUST)
        desk.network.at[URL] = machine(serial="OTHER")
        swapped = await desk.send(ADJUST)
        assert (swapped.result.outcome, swapped.result.cause) == (Outcome.NOT_SENT, Cause.WRONG_DEVICE)
        assert device.ledger.count(ADJUST) == 1

    at_a_desk(tmp_path, play)


def test_a_firmware_that_the_profile_is_not_for(tmp_path: Path) -> None:
    """Where the semantics may differ nothing is sent: the profile names the firmware that it describes."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        other = await desk.service.send(
            desk.target(profile=replace(PROFILE, firmware=">=2")), desk.operation(ADJUST)
        )
        assert (other.result.outcome, other.result.cause) == (Outcome.NOT_SENT, Cause.WRONG_DEVICE)
        assert "firmware 1.0" in other.result.message
        right = desk.target(profile=replace(PROFILE, firmware=">=1,<2"))
        assert (await desk.service.send(right, desk.operation(ADJUST))).result.outcome is Outcome.APPLIED
        assert device.ledger.count(ADJUST) == 1

    at_a_desk(tmp_path, play)


def test_two_addresses_of_one_device_share_its_doubt(tmp_path: Path) -> None:
    """A second address that leads to the same serial meets the same journal: doubt, key and session."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        desk.network.at["tcp://nat:9"] = device
        doubt = await desk.send(ADJUST, key="k")
        blocked = await desk.send("BEEP", url="tcp://nat:9")
        assert blocked.result.cause is Cause.DOUBT
        again = await desk.send(ADJUST, url="tcp://nat:9", key="k")
        assert again.operation.op == doubt.operation.op
        assert device.ledger.count("BEEP") == 0

    at_a_desk(tmp_path, play, "cmd 1: reboot_after")


def test_an_old_set_never_undoes_a_newer_one(tmp_path: Path) -> None:
    """A SET that was lost on the way and arrives after a newer one carries a spent number or an ended session."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        change_faults(device, "cmd 1: late_request 3")
        await desk.send("SET interval 30")
        await desk.send("SET interval 60")
        await asyncio.sleep(10)
        assert device.values()["interval"] == 60

    at_a_desk(tmp_path, play)


def test_cancelling_waits_for_the_word(tmp_path: Path) -> None:
    """A cancelled command sends no further copies, is settled, and its word stands in the journal."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        sending = asyncio.ensure_future(desk.send(ADJUST, key="k"))
        await asyncio.sleep(SILENCE_S / 2)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        [op] = desk.service.in_hand
        [entry] = desk.service.journal.find(op)
        assert entry.result is not None
        assert (entry.result.outcome, entry.result.proof) == (Outcome.APPLIED, Proof.SETTLED)
        assert len(device.copies) == 1
        assert device.ledger.count(ADJUST) == 1

    at_a_desk(tmp_path, play, "cmd *: drop_ack")
