"""What does an Eastron SDM630 energy meter do?

It has functions 3, 4 and 16 alone. Each parameter is a float32 in two registers, high word first; an odd address
or an odd count would be part of one, and is no address. One parameter is written at a time.

| holding | parameter     | takes                         | takes effect                                 |
|---------|---------------|-------------------------------|----------------------------------------------|
| 0x0002  | demand_period | 0, 5, 8, 10, 15, 20, 30, 60   | at once                                      |
| 0x000A  | system_type   | 1, 2, 3; only while unlocked  | at once                                      |
| 0x000C  | pulse_width   | 60, 100, 200                  | at once                                      |
| 0x000E  | lock          | anything                      | locks at once; reads 0 locked, 1 unlocked    |
| 0x0012  | parity_stop   | 0 to 3                        | at a restart                                 |
| 0x0014  | node          | 1 to 247                      | at a restart                                 |
| 0x0018  | password      | 1000                          | unlocks for one minute; reads as 0           |
| 0x001C  | baud          | 0 to 4                        | at once                                      |
| 0xF010  | reset         | one register, 0000; not read  | max_demand falls to the demand of the moment |
| 0xFC00  | serial, u32   | nothing                       |                                              |

A reading of the lock begins the minute of an unlocked meter anew.

Measured (input registers): 0x0000, 0x0002, 0x0004 volts of each phase; 0x0034 total power, 0x0054 its demand, 0x0056
the largest demand since the reset, W; 0x0046 frequency; 0x0048 energy imported, kWh. The power rises by one watt a
second and falls back every hour, so that the largest demand moves on after each reset.

Sources: manual of the SDM630Modbus V2 (pages 28 to 44, on manualshive.com) for parameters, exceptions (2: "part of
a floating point value", 3: "an invalid value") and the bytes of its examples. It does not say how a protected
parameter is refused while locked: here with exception 3; nor what the password reads as.
"""

import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from simulator.equipment.machine import Verdict
from simulator.equipment.orders import READ_HOLDING, READ_INPUT, WRITE_REGISTERS, Order, order_of
from simulator.equipment.register_machine import NotTakenError, RegisterMachine, no_address, no_value
from simulator.equipment.values import Value

UNLOCKED_S = 60.0
_PASSWORD = 1000
_LOWEST_W, _HOUR_S = 1500, 3600
_LOCK, _PASSWORD_ADDRESS, _RESET, _SERIAL = 0x000E, 0x0018, 0xF010, 0xFC00
_POWER, _DEMAND, _MAX_DEMAND = 0x0034, 0x0054, 0x0056
_STEADY: Mapping[int, float] = MappingProxyType(
    {0x0000: 230.5, 0x0002: 229.75, 0x0004: 231.0, 0x0046: 50.0, 0x0048: 1234.5}
)
_PER_FLOAT = 2


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    start: int
    allowed: frozenset[int]
    protected: bool = False


_PARAMETERS: Mapping[int, _Parameter] = MappingProxyType(
    {
        0x0002: _Parameter("demand_period", 60, frozenset({0, 5, 8, 10, 15, 20, 30, 60})),
        0x000A: _Parameter("system_type", 3, frozenset({1, 2, 3}), protected=True),
        0x000C: _Parameter("pulse_width", 100, frozenset({60, 100, 200})),
        0x0012: _Parameter("parity_stop", 0, frozenset(range(4))),
        0x0014: _Parameter("node", 1, frozenset(range(1, 248))),
        0x001C: _Parameter("baud", 2, frozenset(range(5))),
    }
)


def _table(unit: int) -> Mapping[str, Value]:
    table = {p.name: Value(p.start, min(p.allowed), max(p.allowed)) for p in _PARAMETERS.values()}
    table["node"] = Value(start=unit, low=1, high=247)
    table["max_demand"] = Value(start=6000, low=0, high=None)
    table["boots"] = Value(start=1, low=1, high=None)
    return MappingProxyType(table)


class EnergyMeter(RegisterMachine):
    """The meter; fresh from the factory, in its first boot."""

    functions = frozenset({READ_HOLDING, READ_INPUT, WRITE_REGISTERS})

    def __init__(
        self, serial: int = 1_000_001, unit: int = 1, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Fresh from the factory.

        Args:
            serial: What it is known by, a number of 32 bits.
            unit: The node that it was given, 1 to 247.
            clock: Seconds, for its window and its power.
        """
        super().__init__("meter", _table(unit), str(serial))
        self._serial = serial.to_bytes(4)
        self._clock = clock
        self._unlocked_until_s: float | None = None
        self._unit = unit

    @property
    def unit(self) -> int:
        """The address to which it listens: the node of its last restart."""
        return self._unit

    def names(self, text: str) -> tuple[str, ...]:
        """The values that a query asks for."""
        order = order_of(text)
        if order is None:
            return ()
        addresses = range(order.address, order.address + order.count)
        if order.function == READ_INPUT:
            return ("max_demand",) if _MAX_DEMAND in addresses else ()
        return tuple(_PARAMETERS[address].name for address in addresses if address in _PARAMETERS)

    def boot(self) -> None:
        """Switch off and on: locked, and under the node that was written last."""
        super().boot()
        self._unlocked_until_s = None
        self._unit = self._now["node"]

    def values(self) -> dict[str, int]:
        """Every value by name, as of now."""
        self._look()
        return super().values()

    def durable(self) -> dict[str, int]:
        """The values that survive a boot, as of now."""
        self._look()
        return super().durable()

    def _read(self, order: Order) -> bytes:
        self._look()
        if order.function == READ_HOLDING and (order.address, order.count) == (_SERIAL, _PER_FLOAT):
            return self._serial
        if order.address % _PER_FLOAT or order.count % _PER_FLOAT:
            raise no_address(order)
        stands = self._measured() if order.function == READ_INPUT else self._configured()
        asked = range(order.address, order.address + order.count, _PER_FLOAT)
        if not set(asked) <= stands.keys():
            raise no_address(order)
        if order.function == READ_HOLDING and _LOCK in asked and self._unlocked:
            self._unlocked_until_s = self._clock() + UNLOCKED_S
        return b"".join(struct.pack(">f", stands[address]) for address in asked)

    def _measured(self) -> dict[int, float]:
        power = self._power()
        return {**_STEADY, _POWER: power, _DEMAND: power, _MAX_DEMAND: self._now["max_demand"]}

    def _configured(self) -> dict[int, float]:
        return {
            **{address: self._now[parameter.name] for address, parameter in _PARAMETERS.items()},
            _LOCK: int(self._unlocked),
            _PASSWORD_ADDRESS: 0,
        }

    def _write(self, order: Order) -> str:
        self._look()
        if order.address == _RESET:
            return self._reset(order)
        if order.count != _PER_FLOAT:
            raise no_address(order)
        (number,) = struct.unpack(">f", order.data)
        if order.address == _LOCK:
            self._unlocked_until_s = None
            return "locked"
        if order.address == _PASSWORD_ADDRESS:
            return self._unlock(number)
        if order.address not in _PARAMETERS:
            raise no_address(order)
        parameter = _PARAMETERS[order.address]
        if number not in parameter.allowed:
            raise no_value(f"{parameter.name} takes {', '.join(map(str, sorted(parameter.allowed)))}")
        if parameter.protected and not self._unlocked:
            raise NotTakenError(Verdict.REFUSED, "locked")
        self._now[parameter.name] = int(number)
        return str(self._now[parameter.name])

    def _reset(self, order: Order) -> str:
        if order.count != 1:
            raise no_address(order)
        if any(order.data):
            raise no_value("a reset takes 0000")
        self._now["max_demand"] = self._power()
        return str(self._now["max_demand"])

    def _unlock(self, number: float) -> str:
        if number != _PASSWORD:
            raise no_value("another password")
        self._unlocked_until_s = self._clock() + UNLOCKED_S
        return "unlocked"

    @property
    def _unlocked(self) -> bool:
        return self._unlocked_until_s is not None and self._clock() < self._unlocked_until_s

    def _power(self) -> int:
        return _LOWEST_W + int(self._clock()) % _HOUR_S

    def _look(self) -> None:
        """The largest demand moves on with the demand."""
        self._now["max_demand"] = max(self._now["max_demand"], self._power())
