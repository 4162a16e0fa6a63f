"""How does a device that numbers its commands fare on a serial port?

Opening the port may boot the board, and a boot costs it its memory of numbers: so the port stays open while it answers.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from agent.links.link import Link
from agent.operation import Outcome, Proof
from agent.stations import Target
from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.faults import parse
from simulator.habits import Habits
from simulator.loop import run
from tests.agent.desk import PROFILE, Desk, Network
from tests.agent.line_desk import Port

ADJUST = "ADJUST offset +5"


class SerialNetwork(Network):
    """One port for good."""

    def __init__(self, port: Port) -> None:
        super().__init__({}, [])
        self.port = port
        self.openings = 0

    async def dial(self, _: Target) -> Link:
        """Open the port."""
        self.openings += 1
        return self.port.open()


@pytest.mark.parametrize("lost", [1, 2, 3, 4])
def test_lost_acks_on_a_board_that_boots_when_it_is_opened(tmp_path: Path, lost: int) -> None:
    """Every lost ack is asked for again on the open port: one effect, and the device itself says so."""
    profile = replace(PROFILE, opening_resets=True)

    async def main() -> None:
        device = SimulatedDevice(
            Controller(),
            tier=0,
            plan=parse(f"cmd 1-{lost}: drop_ack"),
            hangs_up_on_boot=False,
            habits=Habits(opening_boots=True, deaf_s=1.0),
        )
        network = SerialNetwork(Port(device))
        desk = Desk(tmp_path, network, profile=profile, survives_reopen=True)
        result = (await desk.send(ADJUST, attempts=5)).result
        desk.service.close()
        assert (result.outcome, result.proof) == (Outcome.APPLIED, Proof.DUPLICATE_ACK)
        assert device.ledger.count(ADJUST) == 1
        assert network.openings == 1

    run(main)


def test_a_board_that_has_booted_meanwhile(tmp_path: Path) -> None:
    """A boot that the port did not notice shows in HELLO on the same port: in doubt, never sent again."""

    async def main() -> None:
        device = SimulatedDevice(
            Controller(), tier=1, plan=parse("cmd 1: reboot_after"), hangs_up_on_boot=False
        )
        network = SerialNetwork(Port(device))
        desk = Desk(tmp_path, network, survives_reopen=True)
        result = (await desk.send(ADJUST)).result
        desk.service.close()
        assert result.outcome is Outcome.IN_DOUBT
        assert device.ledger.count(ADJUST) == 1

    run(main)
