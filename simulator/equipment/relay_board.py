"""What does a Waveshare Modbus RTU relay board with 8 channels do?

| where                | function | what is written         | effect                                |
|----------------------|----------|-------------------------|---------------------------------------|
| coils 0 to 7         | 5        | FF00, 0000, 5500        | that relay goes on, off, or flips     |
| coils 0 to 7         | 15       | packed coils            | those relays go on or off             |
| coil 0x00FF          | 5        | FF00, 0000, 5500        | all relays go on, off, or flip        |
| coil 0x01FF          | 5        | FF00, 0000, 5500        | all relays flip                       |
| coils 0x0200 to 0207 | 5        | 1 to 0x7FFF times 0.1 s | that relay is on for so long, then off |
| coils 0x0400 to 0407 | 5        | 1 to 0x7FFF times 0.1 s | that relay is off for so long, then on |
| register 0x4000      | 6        | 1 to 247                | its own address, from then on         |

Read are coils 0 to 7 (function 1) and registers 0x4000, the address, and 0x8000, the version (200 is
V2.00; function 3). An ack to function 5 is the request again, also where the relay flips: it says nothing of
the state. Relays are off after a boot; the address stays. A relay that is written to ends its flash.

Sources: the maker's page on the board, https://www.waveshare.com/wiki/Modbus_RTU_Relay, and what the library of
register maps nobrega8/mbmap-library says of its development protocol. Neither says what 0x01FF takes, so it takes
every value that a relay does.
"""

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

from simulator.equipment.orders import (
    READ_COILS,
    READ_HOLDING,
    WRITE_COIL,
    WRITE_COILS,
    WRITE_REGISTER,
    Order,
    bits_of,
    order_of,
    packed,
)
from simulator.equipment.register_machine import RegisterMachine, no_address, no_value
from simulator.equipment.values import Value

RELAYS = 8
_VERSION = 200
_ALL, _FLIP_ALL, _FLASH_ON, _FLASH_OFF, _FLASH_MAX = 0x00FF, 0x01FF, 0x0200, 0x0400, 0x7FFF
_FLASH_UNIT_S = 0.1
_ADDRESS, _VERSION_ADDRESS = 0x4000, 0x8000
_UNIT_MAX = 247
_ON, _OFF, _FLIP = 0xFF00, 0x0000, 0x5500


def _table(unit: int) -> Mapping[str, Value]:
    relays = {f"relay_{n}": Value(start=0, low=0, high=1, durable=False) for n in range(1, RELAYS + 1)}
    return MappingProxyType(
        {
            **relays,
            "unit": Value(start=unit, low=1, high=_UNIT_MAX),
            "boots": Value(start=1, low=1, high=None),
        }
    )


class RelayBoard(RegisterMachine):
    """The relay board; fresh from the factory, in its first boot."""

    functions = frozenset({READ_COILS, READ_HOLDING, WRITE_COIL, WRITE_REGISTER, WRITE_COILS})

    def __init__(self, unit: int = 1, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Fresh from the factory.

        Args:
            unit: The address that it was given, 1 to 247.
            clock: Seconds, for flashes.
        """
        super().__init__("relay board", _table(unit))
        self._clock = clock
        self._flashing: dict[int, float] = {}
        """Relays, from 0, that change to the other state at that time."""

    @property
    def unit(self) -> int:
        """The address to which it listens now."""
        return self._now["unit"]

    def names(self, text: str) -> tuple[str, ...]:
        """The values that a query asks for."""
        order = order_of(text)
        if order is None or order.function == READ_HOLDING:
            return ("unit",) if order is not None and order.address == _ADDRESS else ()
        return tuple(f"relay_{n + 1}" for n in range(order.address, min(order.address + order.count, RELAYS)))

    def boot(self) -> None:
        """Switch off and on: all relays are off, and no flash goes on."""
        self._flashing.clear()
        super().boot()

    def put(self, name: str, number: int) -> None:
        """Move a value; a relay that somebody else switches flashes no longer."""
        self._end_flashes()
        if name.startswith("relay_"):
            self._flashing.pop(int(name.removeprefix("relay_")) - 1, None)
        super().put(name, number)

    def values(self) -> dict[str, int]:
        """Every value by name, as of now."""
        self._end_flashes()
        return super().values()

    def _read(self, order: Order) -> bytes:
        self._end_flashes()
        if order.function == READ_COILS:
            return packed([bool(self._now[f"relay_{n + 1}"]) for n in _relays(order)])
        registers = {_ADDRESS: self._now["unit"], _VERSION_ADDRESS: _VERSION}
        if order.address not in registers or order.count != 1:
            raise no_address(order)
        return registers[order.address].to_bytes(2)

    def _write(self, order: Order) -> str:
        self._end_flashes()
        if order.function == WRITE_REGISTER:
            return self._move(order)
        if order.function == WRITE_COILS:
            self._switch(dict(zip(_relays(order), bits_of(order), strict=True)))
        elif order.address & ~0x7 in (_FLASH_ON, _FLASH_OFF):
            self._flash(order)
        else:
            self._switch(self._wanted(order))
        return "".join(str(self._now[f"relay_{n}"]) for n in range(1, RELAYS + 1))

    def _wanted(self, order: Order) -> dict[int, bool]:
        """The states in which a single write leaves relays."""
        relays = range(RELAYS) if order.address in (_ALL, _FLIP_ALL) else _relays(order)
        value = int.from_bytes(order.data)
        if value not in (_ON, _OFF, _FLIP):
            raise no_value("a relay takes FF00, 0000 or 5500")
        if value == _FLIP or order.address == _FLIP_ALL:
            return {n: not self._now[f"relay_{n + 1}"] for n in relays}
        return dict.fromkeys(relays, value == _ON)

    def _switch(self, wanted: Mapping[int, bool]) -> None:
        for n, on in wanted.items():
            self._flashing.pop(n, None)
            self._now[f"relay_{n + 1}"] = int(on)

    def _flash(self, order: Order) -> None:
        units = int.from_bytes(order.data)
        if not 1 <= units <= _FLASH_MAX:
            raise no_value(f"a flash takes 1 to {_FLASH_MAX} times 100 ms")
        n = order.address & 0x7
        self._switch({n: order.address & ~0x7 == _FLASH_ON})
        self._flashing[n] = self._clock() + units * _FLASH_UNIT_S

    def _end_flashes(self) -> None:
        for n, until_s in list(self._flashing.items()):
            if self._clock() >= until_s:
                self._switch({n: not self._now[f"relay_{n + 1}"]})

    def _move(self, order: Order) -> str:
        unit = int.from_bytes(order.data)
        if order.address != _ADDRESS:
            raise no_address(order)
        if not 1 <= unit <= _UNIT_MAX:
            raise no_value(f"an address is 1 to {_UNIT_MAX}")
        self._now["unit"] = unit
        return str(unit)


def _relays(order: Order) -> range:
    """The relays of an order for coils, from 0; raises NotTakenError where there are not so many."""
    if order.address + order.count > RELAYS:
        raise no_address(order)
    return range(order.address, order.address + order.count)
