"""Which simulated devices does a world have, and what do they say at the end that was done to them?

They live in this process, each at a port of its own; only relays connect to it. What a device counted is what really
happened: messages by kind, and every command that took effect.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from simulator.device import SimulatedDevice
from simulator.equipment import Adder, Controller
from simulator.modbus_device import ModbusDevice
from simulator.server import serve_tcp
from simulator.text_device import TextDevice
from worlds.fleet.cast import Device

HOST = "127.0.0.1"

Simulated = SimulatedDevice | TextDevice | ModbusDevice


@dataclass(frozen=True, slots=True)
class Account:
    """What a device counted itself. `messages` by kind; `executed`: the commands that took effect, in their order."""

    device: Device
    connections: int
    messages: Mapping[str, int]
    executed: tuple[str, ...]


def _numbered(serial: str) -> Simulated:
    return SimulatedDevice(Controller(serial), serial=serial, draw=partial(secrets.randbits, 32))


def _plain(serial: str) -> Simulated:
    return TextDevice(Controller(serial))


def _modbus(serial: str) -> Simulated:
    return ModbusDevice(Adder(serial, 1), framing="tcp")


_MAKERS: Mapping[str, Callable[[str], Simulated]] = MappingProxyType(
    {"demo/controller": _numbered, "demo/controller-line": _plain, "worlds/adder": _modbus}
)
"""The machine that each profile of the cast describes."""


class Equipment:
    """One device, on the running loop."""

    def __init__(self, device: Device) -> None:
        """Switch it on; nobody can reach it yet."""
        self.device = device
        self._simulated = _MAKERS[device.profile](device.serial)
        self._server: asyncio.Server | None = None

    async def open(self) -> int:
        """Listen, at any free port; returns it. Raises OSError."""
        self._server = await serve_tcp(self._simulated, HOST, 0)
        return int(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        """Switch it off."""
        if self._server is not None:
            self._server.close()
        self._simulated.hang_up()

    def account(self) -> Account:
        """What it has counted so far."""
        counts = {name: many for name, many in sorted(self._simulated.counts.items()) if many}
        connections = counts.pop("connections", 0)
        counts.pop("boots", None)
        executed = tuple(entry.text for entry in self._simulated.ledger.entries)
        return Account(self.device, connections, counts, executed)
