"""What does a device that numbers its commands do, and its agent make of it, in cases that no other test plays?

Each test carries the number of its case in `tests/CASES.md`. The ledger is the judge.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from agent.links.link import Link
from agent.operation import Cause, Outcome, Proof
from agent.stations import Target
from protocol.native.requester import Requester
from protocol.native.responder import Identity, Memory
from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.faults import parse
from simulator.loop import run
from tests.agent.desk import PROFILE, Desk, Network, at_a_desk, before_the_write, change_faults
from tests.agent.line_desk import Port

ADJUST = "ADJUST offset +5"


class SerialNetwork(Network):
    """One serial port for good, which outlives the boots of its device."""

    def __init__(self, device: SimulatedDevice) -> None:
        super().__init__({}, [])
        self.port = Port(device)

    async def dial(self, _: Target) -> Link:
        """Open the port."""
        return self.port.open()


def on_a_serial_port(home: Path, tier: int) -> tuple[SimulatedDevice, Desk]:
    """A device and an agent with a serial line between them."""
    device = SimulatedDevice(Controller(), tier=tier, plan=parse(""), hangs_up_on_boot=False)
    return device, Desk(home, SerialNetwork(device), survives_reopen=True)


def test_case_5_a_repeat_tells_the_value_of_its_time(tmp_path: Path) -> None:
    """Somebody turns the knob between effect and repeat: the answer tells the value that the command made."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        def turn(what: str, _: str) -> None:
            if what == "command":
                device._after(0.1, partial(device._effects.put, {"offset": 40}))

        device._observe = turn
        report = await desk.send(ADJUST)
        assert (report.result.outcome, report.result.proof) == (Outcome.APPLIED, Proof.DUPLICATE_ACK)
        assert report.result.value == "15"
        assert device.values()["offset"] == 40
        assert device.ledger.count(ADJUST) == 1

    at_a_desk(tmp_path, play, "cmd 1: drop_ack")


@pytest.mark.parametrize(
    ("twin", "outcome"),
    [("NOP", Outcome.NOT_APPLIED), ("BEEP", Outcome.IN_DOUBT)],
    ids=["a NOP", "a command"],
)
def test_case_8_a_number_that_a_twin_of_the_store_has_spent(
    twin: str, outcome: Outcome, tmp_path: Path
) -> None:
    """Somebody else has used our next number: no old answer passes for ours, and nothing runs."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        with desk.service.hold(desk.target()) as station:
            await desk.service.send_on(station, desk.operation(ADJUST))
            session = device.copies[0].session
            requester = Requester()
            requester.max_body = 512
            spent = requester.nop(session, 2, 1) if twin == "NOP" else requester.command(session, 2, 1, twin)
            device.connect(lambda _: None, lambda: None).feed(spent)
            met = (await desk.service.send_on(station, desk.operation("ADJUST offset +7"))).result
        assert met.outcome is outcome, desk.lines()
        assert device.ledger.count("ADJUST offset +7") == 0
        assert any("[WARN]" in line and "seq=2" in line for line in desk.lines()) == (twin != "NOP")

    at_a_desk(tmp_path, play)


@pytest.mark.parametrize("tier", [0, 1, 2])
@pytest.mark.parametrize("command", [ADJUST, "BEEP", "SET interval 30"])
def test_case_25_case_28_a_boot_just_before_the_only_copy(command: str, tier: int, tmp_path: Path) -> None:
    """On a line that outlives the boot, the copy that meets no session never ran: it is issued again, and runs once."""

    async def main() -> None:
        device, desk = on_a_serial_port(tmp_path, tier)
        before_the_write(desk, device.reboot)
        result = (await desk.send(command)).result
        desk.service.close()
        assert (result.outcome, result.proof) == (Outcome.APPLIED, Proof.ACK), desk.lines()
        assert device.ledger.count(command) == 1
        assert len(device.copies) == (1 if tier == 2 else 2)

    run(main)


@pytest.mark.parametrize("tier", [0, 1])
def test_case_28_it_is_issued_again_once(tier: int, tmp_path: Path) -> None:
    """A second boot at the same moment ends the effort: the command certainly never ran, and that is said."""

    async def main() -> None:
        device, desk = on_a_serial_port(tmp_path, tier)

        def boot_twice() -> None:
            device.reboot()
            before_the_write(desk, device.reboot)

        before_the_write(desk, boot_twice)
        result = (await desk.send(ADJUST)).result
        desk.service.close()
        assert result.outcome is Outcome.NOT_APPLIED, desk.lines()
        assert (device.ledger.count(ADJUST), len(device.copies)) == (0, 2)

    run(main)


@pytest.mark.parametrize(("tier", "earlier"), [(1, 0), (1, 1), (2, 0), (2, 1)])
def test_case_35_a_device_that_has_lost_all_memory(tier: int, earlier: int, tmp_path: Path) -> None:
    """Blank memory, as after a reset at the device itself, proves nothing of what was sent before."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        for _ in range(earlier):
            await desk.send("ROTATE log")
        change_faults(device, "cmd *: drop_ack")

        def blank(what: str, _: str) -> None:
            if what == "command":
                device._after(0.1, partial(start_blank, device, tier))

        device._observe = blank
        result = (await desk.send(ADJUST)).result
        assert result.outcome is Outcome.IN_DOUBT, desk.lines()
        change_faults(device, "")
        held = (await desk.send("BEEP")).result
        assert (held.outcome, held.cause) == (Outcome.NOT_SENT, Cause.DOUBT), desk.lines()
        assert device.ledger.count(ADJUST) == 1

    at_a_desk(tmp_path, play, tier=tier)


def start_blank(device: SimulatedDevice, tier: int) -> None:
    """The memory is gone; the device starts as from the factory."""
    device._effects.memory = Memory.blank(tier)
    device.reboot()


def test_case_37_other_firmware_between_two_copies(tmp_path: Path) -> None:
    """A device that comes back with a firmware that the profile is not for gets no further copy: in doubt."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        def update() -> None:
            identity = Identity("SIM-1", "demo", "2.0")
            device._start = partial(device._start.func, identity, **device._start.keywords)
            device.reboot()

        def begin(what: str, _: str) -> None:
            if what == "command":
                device._after(0.1, update)

        device._observe = begin
        target = desk.target(profile=replace(PROFILE, firmware=">=1,<2"))
        report = await desk.service.send(target, desk.operation(ADJUST))
        assert report.result.outcome is Outcome.IN_DOUBT, desk.lines()
        assert "firmware 2.0" in report.result.message
        assert (len(device.copies), device.ledger.count(ADJUST)) == (1, 1)

    at_a_desk(tmp_path, play, "cmd 1: drop_ack", tier=2)


@pytest.mark.parametrize("tier", [0, 1])
def test_case_38_a_session_that_ends_between_two_commands(tier: int, tmp_path: Path) -> None:
    """Old numbers are never counted on: the next command of a long run opens a session and runs once."""

    async def main() -> None:
        device, desk = on_a_serial_port(tmp_path, tier)
        with desk.service.hold(desk.target()) as station:
            for _ in range(3):
                result = (await desk.service.send_on(station, desk.operation(ADJUST))).result
                assert (result.outcome, result.proof) == (Outcome.APPLIED, Proof.ACK), desk.lines()
                device.reboot()
        desk.service.close()
        assert device.ledger.count(ADJUST) == 3

    run(main)
