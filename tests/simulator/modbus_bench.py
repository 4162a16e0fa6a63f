"""What does a plain Modbus client see of a simulated device?

`ModbusClient` is one end of an in-memory connection: it writes frames and notes what comes back, and when. It never
repeats anything. Frames are made here a second time, bit by bit, and not by the code under test.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from simulator.bus import Served
from simulator.equipment import Adder, RegisterMachine
from simulator.fault_kinds import MODBUS
from simulator.faults import parse
from simulator.habits import Habits
from simulator.loop import run
from simulator.modbus_device import ModbusDevice
from simulator.modbus_frames import Framing

TIMEOUT_S = 1.0
ADD_5 = "06 0001 0005"
"""Adds 5 to the total of the adder."""
ADDED = "fc06 0x0001 raw 0005"
TOTAL = "03 0000 0001"


def crc(data: bytes) -> bytes:
    """CRC-16 of Modbus, low byte first (Serial Line 1.02, section 6.2.2)."""
    register = 0xFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ 0xA001 if register & 1 else register >> 1
    return register.to_bytes(2, "little")


def rtu(pdu: str, unit: int = 1) -> bytes:
    """An RTU frame; the PDU in hexadecimal."""
    data = bytes((unit,)) + bytes.fromhex(pdu)
    return data + crc(data)


def tcp(pdu: str, unit: int = 1, transaction: int = 7) -> bytes:
    """An MBAP frame."""
    data = bytes.fromhex(pdu)
    return transaction.to_bytes(2) + b"\0\0" + (len(data) + 1).to_bytes(2) + bytes((unit,)) + data


class ModbusClient:
    """One connection to a device, or to a bus of them."""

    def __init__(self, device: Served, *, opened: bool = True) -> None:
        self.pieces: list[tuple[float, bytes]] = []
        self.ends = 0
        self.plug = device.connect(self._hear, self._hung_up, opened=opened)

    @property
    def heard(self) -> bytes:
        """Everything that came back so far."""
        return b"".join(data for _, data in self.pieces)

    @property
    def times(self) -> list[float]:
        """When each piece came."""
        return [at_s for at_s, _ in self.pieces]

    async def ask(self, frame: bytes, wait_s: float = TIMEOUT_S) -> bytes:
        """Write bytes, and say what came back within a fixed time."""
        before = len(self.heard)
        self.plug.feed(frame)
        await asyncio.sleep(wait_s)
        return self.heard[before:]

    def _hear(self, data: bytes) -> None:
        self.pieces.append((asyncio.get_running_loop().time(), data))

    def _hung_up(self) -> None:
        self.ends += 1


Scenario = Callable[[ModbusClient], Coroutine[Any, Any, None]]


def now_s() -> float:
    """The clock of the running loop, for machines."""
    return asyncio.get_running_loop().time()


def modbus_bench(
    scenario: Scenario,
    plan: str = "",
    *,
    machine: RegisterMachine | None = None,
    framing: Framing = "rtu",
    surviving: bool = True,
    echo: bool = False,
    habits: Habits | None = None,
    seed: int = 0,
) -> ModbusDevice:
    """Run a scenario with a client and a new device under virtual time; `surviving`: boots do not hang up."""
    device = ModbusDevice(
        machine or Adder(),
        framing=framing,
        plan=parse(plan, MODBUS),
        hangs_up_on_boot=not surviving,
        echo=echo,
        habits=habits,
        seed=seed,
    )

    async def main() -> None:
        await scenario(ModbusClient(device))

    run(main)
    return device
