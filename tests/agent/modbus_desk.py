"""How does the agent meet a Modbus device in a test? The bench of `line_desk.py` with the adding machine."""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from devices.loader import load
from devices.profile import Modbus, Profile
from simulator.equipment import Adder, RegisterMachine
from simulator.faults import parse
from simulator.modbus_device import ModbusDevice
from tests.agent.line_desk import Bench, with_device

T = TypeVar("T")

WAYS: tuple[tuple[Literal["tcp", "rtu"], str], ...] = (("tcp", "tcp"), ("rtu", "tcp"), ("rtu", "pty"))
"""How a device is talked to: the framing, and the carrier of `line_desk.py`."""

PROFILE = load(Path(__file__).with_name("adder.yaml"))

ADDS, FLIPS = "fc06 0x0001 raw 0005", "fc05 0x0000 raw FF00"
"""How the ledger calls `ADD 5` and `TOGGLE relay`."""
SETS = "fc06 0x0002 raw 001E"
"""How it calls `SET setpoint 30`."""


def spoken(framing: Literal["tcp", "rtu"], profile: Profile = PROFILE) -> Profile:
    """The profile in a framing."""
    return replace(profile, modbus=Modbus(framing))


def at_a_unit(
    home: Path,
    play: Callable[[Bench], Coroutine[Any, Any, T]],
    faults: str = "",
    *,
    way: tuple[Literal["tcp", "rtu"], str] = WAYS[0],
    profile: Profile = PROFILE,
    echo: bool = False,
    machine: Callable[[], RegisterMachine] = Adder,
) -> T:
    """Run `play` with a fresh desk and one machine, in virtual time."""
    framing, carrier = way

    def build(*, surviving: bool) -> ModbusDevice:
        return ModbusDevice(
            machine(), framing=framing, plan=parse(faults), hangs_up_on_boot=not surviving, echo=echo
        )

    return with_device(home, play, build, carrier=carrier, profile=spoken(framing, profile))
