"""Looking: what a plan would change, found by reads alone; the devices' own ledgers and leases stay as they were."""

from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.links.link import Link, PortHeld, Unreachable
from agent.operation import Cause, Outcome
from agent.plans.layout import Layout
from agent.plans.look import DeviceReading, Row, device_rows, look, read_devices
from agent.processes import Holder
from agent.registry import WrongDevice
from agent.service import Service
from agent.settings import Settings
from agent.station import ReadAnswer
from agent.stations import Target
from agent.store.database import StoreError
from agent.targets import choose_targets
from devices.profile import Setting
from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.faults import parse
from simulator.loop import run
from simulator.text_device import TextDevice
from tests.agent.desk import DEAD_PID, DeviceLink, VirtualClock
from tests.plans.plan_files import laid_out, plan_of, project

INVENTORY = """\
defaults: {timeout: 0.5s}
devices:
  numbered: {profile: demo/controller, url: "tcp://numbered:1"}
  plain: {profile: demo/controller-line, url: "tcp://plain:1"}
  gone: {profile: demo/controller-line, url: "tcp://gone:1"}
"""


class AnsweringService(Service):
    """An agent whose reads are answered by the test, where it says how."""

    answer: Callable[[Target], Coroutine[Any, Any, list[ReadAnswer]]] | None = None

    async def get(self, target: Target, settings: Sequence[Setting]) -> list[ReadAnswer]:
        return await (super().get(target, settings) if self.answer is None else self.answer(target))


class Field:
    """Simulated devices at their addresses, and an agent. `faults` are those of the plain one."""

    def __init__(self, folder: Path, faults: str = "") -> None:
        self.settings: Settings = project(folder, INVENTORY)
        self.devices: dict[str, SimulatedDevice | TextDevice] = {
            "tcp://numbered:1": SimulatedDevice(Controller(), serial="N", tier=1),
            "tcp://plain:1": TextDevice(Controller(), plan=parse(faults)),
        }
        self.dialled: list[str] = []
        holder = Holder("desk", "host", DEAD_PID, "1", "boot", "instance")
        self.service = AnsweringService(self.settings, clock=VirtualClock(), dial=self.dial, holder=holder)

    async def dial(self, target: Target) -> Link:
        """Open a link, or find nobody there."""
        self.dialled.append(target.url)
        device = self.devices.get(target.url)
        if device is None:
            raise Unreachable(f"{target.url} refuses connections")
        return DeviceLink(device)

    def laid_out(self, steps: str, targets: str, key: str = "night-1") -> Layout:
        """A plan over the field."""
        return laid_out(self.settings, plan_of(steps, targets=targets), key=key)

    def target(self, name: str) -> Target:
        """A device as the service wants it."""
        [chosen] = choose_targets(self.settings, [name], None)
        return chosen.target

    async def rows(self, steps: str, *, targets: str = "[plain]", key: str = "night-1") -> list[Row]:
        """Look, and make sure that nothing but looking was done."""
        before = self._traces()
        rows = await look(self.service, self.laid_out(steps, targets, key), parallel=4)
        assert self._traces() == before
        return rows

    def _traces(self) -> list[object]:
        database = self.service.database
        executed: list[object] = [device.ledger.entries for device in self.devices.values()]
        copies: list[object] = [len(device.copies) for device in self.devices.values()]
        return (
            executed
            + copies
            + database.read("SELECT * FROM device")
            + database.read("SELECT * FROM operation")
        )


def in_the_field(folder: Path, play: Callable[[Field], Coroutine[Any, Any, None]], faults: str = "") -> None:
    """Run `play` in virtual time."""

    async def main() -> None:
        field = Field(folder, faults)
        try:
            await play(field)
        finally:
            field.service.close()

    run(main)


def told(rows: list[Row]) -> list[tuple[str, str | None, str | None, str]]:
    """Command, before, target and action of each row."""
    return [(row.command, row.before, row.target, row.action) for row in rows]


def test_what_each_device_would_get(tmp_path: Path) -> None:
    """Both tongues: the value now, the target and the policy, device by device; what stands already is unchanged."""

    async def play(field: Field) -> None:
        rows = await field.rows(
            "[{set: {interval: 30}}, {send: ADJUST offset +5}, {set: {offset: 15}}, {send: BEEP}]",
            targets="[plain, numbered]",
        )
        assert [(row.device, row.step, row.policy) for row in rows] == [
            ("numbered", "SET interval 30", "resend"),
            ("numbered", "ADJUST offset +5", "resend"),
            ("numbered", "SET offset 15", "resend"),
            ("numbered", "BEEP", "resend"),
            ("plain", "SET interval 30", "resend"),
            ("plain", "ADJUST offset +5", "read-then-set"),
            ("plain", "SET offset 15", "resend"),
            ("plain", "BEEP", "no-retry"),
        ]
        assert (
            told(rows[:4])
            == told(rows[4:])
            == [
                ("SET interval 30", "10", "30", "send"),
                ("ADJUST offset +5", "10", "15", "send"),
                ("SET offset 15", "15", "15", "unchanged"),
                ("BEEP", None, None, "send"),
            ]
        )
        assert all(row.reached and row.why is None for row in rows)

    in_the_field(tmp_path, play)


def test_steps_of_a_device_build_on_each_other(tmp_path: Path) -> None:
    """A later step starts from what the earlier ones lead to, not from what stands there now."""

    async def play(field: Field) -> None:
        steps = "SET interval 30, SET interval 30, ADJUST offset +5, ADJUST offset +5, SET offset 20, SET offset 10"
        sends = ", ".join(f"{{send: {step}}}" for step in steps.split(", "))
        assert told(await field.rows(f"[{sends}]")) == [
            ("SET interval 30", "10", "30", "send"),
            ("SET interval 30", "30", "30", "unchanged"),
            ("ADJUST offset +5", "10", "15", "send"),
            ("ADJUST offset +5", "15", "20", "send"),
            ("SET offset 20", "20", "20", "unchanged"),
            ("SET offset 10", "20", "10", "send"),
        ]

    in_the_field(tmp_path, play)


def test_nobody_can_tell_what_a_reset_leaves(tmp_path: Path) -> None:
    """A reset may put anything back: what a later relative step starts from is unknown, an absolute target is not."""

    async def play(field: Field) -> None:
        sends = "[{send: RESET counter}, {send: ADJUST offset +5}, {send: SET interval 10}]"
        reset, adjust, absolute = await field.rows(sends)
        assert (reset.before, reset.target, reset.why) == ("0", "1", None)
        assert (adjust.before, adjust.target, adjust.action) == (None, None, "send")
        assert adjust.why == "nobody can tell what offset is by then: an earlier step changes it"
        assert (absolute.before, absolute.target, absolute.action) == (None, "10", "send")

    in_the_field(tmp_path, play)


def test_a_target_that_would_not_be_sent(tmp_path: Path) -> None:
    """What the agent would not send is foretold by its own policy."""

    async def play(field: Field) -> None:
        [_, beyond] = await field.rows("[{send: SET offset 98}, {send: ADJUST offset +5}]")
        assert (beyond.before, beyond.target) == ("98", "103")
        assert beyond.why == "it would not be sent: the target 103 lies outside -100 to 100"

    in_the_field(tmp_path, play)


def test_a_relative_command_is_never_unchanged(tmp_path: Path) -> None:
    """Only an absolute command is left out where its value stands; one that adds nothing is sent like any other."""

    async def play(field: Field) -> None:
        assert told(await field.rows("[{send: ADJUST offset +0}]")) == [
            ("ADJUST offset +0", "10", "10", "send")
        ]

    in_the_field(tmp_path, play)


@pytest.mark.parametrize(
    ("step", "read", "action"),
    [
        ("SET gain 10", {"gain": "10.5"}, "unchanged"),
        ("SET gain 10", {"gain": "10.6"}, "send"),
        ("SET level 10", {"level": "12"}, "unchanged"),
        ("SET level 10", {"level": "13"}, "send"),
        ("SAVE", {"saved": "true"}, "send"),
    ],
)
def test_what_stands_already(tmp_path: Path, step: str, read: dict[str, str | None], action: str) -> None:
    """Values that are one for the device are one here: by tolerance and resolution. What is saved is saved again."""
    [work] = laid_out(project(tmp_path), plan_of(f"[{{send: {step}}}]", targets="[m1]")).work
    [row] = device_rows(work, DeviceReading(read), {}, None)
    assert row.action == action


def test_each_setting_is_read_once(tmp_path: Path) -> None:
    """However many steps need it, a setting is asked for once, and one that no step needs not at all."""

    async def play(field: Field) -> None:
        await field.rows(
            "[{send: ADJUST offset +5}, {set: {offset: 3, interval: 5}}, {send: ADJUST offset -1}]"
        )
        plain = field.devices["tcp://plain:1"]
        assert isinstance(plain, TextDevice)
        assert [read.text for read in plain.reads] == ["GET serial", "GET offset", "GET interval"]
        await field.rows("[{send: BEEP}]")
        assert field.dialled == ["tcp://plain:1"]

    in_the_field(tmp_path, play)


def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    """An unreachable device has no value before, its absolute target all the same, and the reason; others are told."""

    async def play(field: Field) -> None:
        rows = await field.rows("[{set: {interval: 30}}, {send: ADJUST offset +5}]", targets="[gone, plain]")
        assert told(rows) == [
            ("SET interval 30", "10", "30", "send"),
            ("ADJUST offset +5", "10", "15", "send"),
            ("SET interval 30", None, "30", "send"),
            ("ADJUST offset +5", None, None, "send"),
        ]
        assert [row.reached for row in rows] == [True, True, False, False]
        assert {row.why for row in rows[2:]} == {"tcp://gone:1 refuses connections"}

    in_the_field(tmp_path, play)


def test_a_setting_that_is_not_answered(tmp_path: Path) -> None:
    """A reading that failed is unknown, and said so; the other settings of the device are read all the same."""

    async def play(field: Field) -> None:
        interval, offset = await field.rows("[{set: {interval: 30}}, {send: ADJUST offset +5}]")
        assert (interval.before, interval.reached) == (None, True)
        assert interval.why == "interval could not be read: no answer"
        assert (offset.before, offset.why) == ("10", None)

    in_the_field(tmp_path, play, "read 2: drop_ack")


def test_a_reading_that_is_no_value(tmp_path: Path) -> None:
    """What the device answers must be a value of the setting; an answer of junk is told, never taken for a number."""

    async def play(field: Field) -> None:
        async def answer(_: Target) -> list[ReadAnswer]:
            return [ReadAnswer("?1<b>"), ReadAnswer(None, "ERR busy")]

        field.service.answer = answer
        interval, offset = await field.rows("[{set: {interval: 30}}, {send: ADJUST offset +5}]")
        assert interval.why == "interval could not be read: not a whole number: '?1<b>'"
        assert offset.why == "offset could not be read: ERR busy"

    in_the_field(tmp_path, play)


def test_a_doubt_holds_every_step(tmp_path: Path) -> None:
    """Where an operation is in doubt on the device its steps would not get their turn, and the row names it."""

    async def play(field: Field) -> None:
        [beep] = field.laid_out("[{send: BEEP}]", "[plain]").operations()
        report = await field.service.send(field.target("plain"), beep)
        assert report.result.outcome is Outcome.IN_DOUBT
        rows = await field.rows(
            "[{set: {interval: 30}}, {set: {interval: 40}}]", targets="[plain, numbered]", key="k"
        )
        assert told(rows[:2]) == [
            ("SET interval 30", "10", "30", "send"),
            ("SET interval 40", "30", "40", "send"),
        ]
        assert told(rows[2:]) == [
            ("SET interval 30", "10", "30", "held"),
            ("SET interval 40", "10", "40", "held"),
        ]
        assert {row.why for row in rows[2:]} == {
            f"held by operation {beep.op} ('BEEP'), which is in doubt. See: ackonce doubt show {beep.op}"
        }

    in_the_field(tmp_path, play, "cmd 1: drop_ack")


def test_what_was_done_under_the_key(tmp_path: Path) -> None:
    """Steps done earlier under the key are done; another key means them anew; a used id of another command is held."""

    async def play(field: Field) -> None:
        steps = "[{send: ADJUST offset +5, id: lift}, {send: ADJUST offset +5}]"
        first = next(field.laid_out(steps, "[plain]").operations())
        assert (await field.service.send(field.target("plain"), first)).result.outcome is Outcome.APPLIED
        assert told(await field.rows(steps)) == [
            ("ADJUST offset +5", None, None, "done"),
            ("ADJUST offset +5", "15", "20", "send"),
        ]
        assert [row.action for row in await field.rows(steps, key="night-2")] == ["send", "send"]
        [edited] = await field.rows("[{send: ADJUST offset +6, id: lift}]")
        assert edited.action == "held"
        assert edited.why == f"under this key its id stands for 'ADJUST offset +5' (operation {first.op})"

    in_the_field(tmp_path, play)


def test_what_was_refused_under_the_key_is_due_again(tmp_path: Path) -> None:
    """A step that did not take effect is no done step."""

    async def play(field: Field) -> None:
        steps = "[{send: ADJUST offset +5}]"
        [first] = field.laid_out(steps, "[plain]").operations()
        assert (await field.service.send(field.target("plain"), first)).result.outcome is Outcome.REFUSED
        assert told(await field.rows(steps)) == [("ADJUST offset +5", "10", "15", "send")]

    in_the_field(tmp_path, play, "cmd 1: refuse")


def test_how_many_are_read_at_once(tmp_path: Path) -> None:
    """Devices of one stream follow each other, streams run side by side, and never more than `parallel`."""

    async def play(field: Field) -> None:
        devices = "".join(
            f'  d{stream}{unit}: {{profile: demo/controller-line, url: "tcp://s{stream}:1", unit: {unit}}}\n'
            for stream in range(4)
            for unit in (1, 2)
        )
        field.settings = project(tmp_path, INVENTORY + devices)
        layout = field.laid_out("[{set: {interval: 30}}]", "['d*']")
        asked: list[str] = []
        most = 0

        async def answer(target: Target) -> list[ReadAnswer]:
            nonlocal most
            assert target.url not in asked
            asked.append(target.url)
            most = max(most, len(asked))
            await field.service.clock.sleep(1)
            asked.remove(target.url)
            return [ReadAnswer("10")]

        field.service.answer = answer
        for parallel, at_once, took_s in ((3, 3, 3), (100, 4, 2), (1, 1, 8)):
            most, began_s = 0, field.service.clock.now_s()
            assert len(await read_devices(field.service, layout, parallel=parallel)) == 8
            assert most == at_once
            assert field.service.clock.now_s() - began_s == took_s
        assert set(await read_devices(field.service, layout, parallel=3, but={"d01", "d12"})) == {
            work.chosen.device.name for work in layout.work
        } - {"d01", "d12"}

    in_the_field(tmp_path, play)


@pytest.mark.parametrize(
    ("problem", "cause"),
    [
        (WrongDevice("another one answers"), Cause.WRONG_DEVICE),
        (PortHeld("the port is open elsewhere", ours=True), Cause.HELD),
        (Unreachable("silence"), Cause.UNREACHABLE),
    ],
)
def test_why_a_device_could_not_be_asked(tmp_path: Path, problem: Exception, cause: Cause) -> None:
    """The kind of reason goes with the sentence, so that a saved plan tells both."""

    async def play(field: Field) -> None:
        async def answer(_: Target) -> list[ReadAnswer]:
            raise problem

        field.service.answer = answer
        layout = field.laid_out("[{set: {interval: 30}}]", "[plain]")
        readings = await read_devices(field.service, layout, parallel=1)
        assert readings == {"plain": DeviceReading(unreached=str(problem), cause=cause)}

    in_the_field(tmp_path, play)


def test_an_interruption_ends_the_asking(tmp_path: Path) -> None:
    """After Ctrl-C no further device is asked, and its row says so."""

    async def play(field: Field) -> None:
        field.service.executor.give_up("interrupted")
        [row] = await field.rows("[{set: {interval: 30}}]")
        assert (row.reached, row.why) == (False, "interrupted before it was asked")
        assert not field.dialled

    in_the_field(tmp_path, play)


def test_a_broken_store_is_no_reading(tmp_path: Path) -> None:
    """What the store cannot tell ends the look at once."""

    async def play(field: Field) -> None:
        async def answer(_: Target) -> list[ReadAnswer]:
            raise StoreError("the disk is gone")

        field.service.answer = answer
        with pytest.raises(StoreError, match="the disk is gone"):
            await field.rows("[{set: {interval: 30}}]", targets="[plain, numbered]")

    in_the_field(tmp_path, play)
