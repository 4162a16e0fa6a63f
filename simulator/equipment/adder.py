"""What does the machine do on which a second copy of a write can be counted?

| where        | value              | survives a boot | written with                                          |
|--------------|--------------------|-----------------|-------------------------------------------------------|
| coil 0       | relay              | no, back to 0   | 5, 15: any write flips it, whatever value it carries  |
| holding 0    | total, s16         | yes             | nothing                                               |
| holding 1    | reads as 0         | -               | 6, 16, 23: adds what is written (s16) to the total    |
| holding 2    | setpoint, u16      | yes             | 6, 16, 22, 23                                         |
| holding 3, 4 | counter, u32, high word first; one more with every request | no, back to 65530 | nothing  |
| holding 5    | boots, u16         | yes             | nothing                                               |

Identification (function 43/14): objects 0 to 2 are maker, product and revision, object 0x80 the serial. A sum
beyond s16 is refused without any effect. The counter begins shortly before its high word changes, so that who
reads it in two requests gets a number that it never was.
"""

from collections.abc import Mapping
from types import MappingProxyType

from simulator.equipment.orders import (
    COIL_WRITES,
    IDENTIFY,
    MASK_REGISTER,
    READ_COILS,
    READ_HOLDING,
    WRITE_AND_READ,
    WRITE_COIL,
    WRITE_COILS,
    WRITE_REGISTER,
    WRITE_REGISTERS,
    Order,
    order_of,
    packed,
)
from simulator.equipment.register_machine import RegisterMachine, no_address, no_value
from simulator.equipment.values import Value

_S16_LOW, _S16_HIGH, _U16_HIGH, _U32_HIGH = -0x8000, 0x7FFF, 0xFFFF, 0xFFFF_FFFF
_VALUES: Mapping[str, Value] = MappingProxyType(
    {
        "relay": Value(start=0, low=0, high=1, durable=False),
        "total": Value(start=0, low=_S16_LOW, high=_S16_HIGH),
        "setpoint": Value(start=0, low=0, high=_U16_HIGH),
        "counter": Value(start=65_530, low=0, high=_U32_HIGH, durable=False),
        "boots": Value(start=1, low=1, high=None),
    }
)
_ADD, _SETPOINT = 1, 2
_HOLDING = ("total", "", "setpoint", "counter", "counter", "boots")


class Adder(RegisterMachine):
    """The adding machine; fresh, in its first boot."""

    functions = frozenset(
        {READ_COILS, READ_HOLDING, WRITE_REGISTER, WRITE_REGISTERS, MASK_REGISTER, WRITE_AND_READ, IDENTIFY}
        | COIL_WRITES
    )

    def __init__(self, serial: str = "SIM-1", unit: int = 1) -> None:
        """`unit` is the address to which it listens for good, 1 to 247."""
        super().__init__("adder", _VALUES, serial)
        self._unit = unit
        self._objects = {0x00: "ackonce", 0x01: "adder", 0x02: "1.0", 0x80: serial}

    @property
    def unit(self) -> int:
        """The address that it was given."""
        return self._unit

    def asked(self) -> None:
        """Count."""
        self._now["counter"] = (self._now["counter"] + 1) % (_U32_HIGH + 1)

    def names(self, text: str) -> tuple[str, ...]:
        """The values that a query asks for."""
        order = order_of(text)
        if order is None or order.function == IDENTIFY:
            return ()
        if order.function == READ_COILS:
            return ("relay",)
        return tuple(filter(None, dict.fromkeys(_HOLDING[order.address : order.address + order.count])))

    def _read(self, order: Order) -> bytes:
        if order.function == IDENTIFY:
            if order.address not in self._objects:
                raise no_address(order)
            return self._objects[order.address].encode()
        if order.function == READ_COILS:
            self._only_coil(order)
            return packed([bool(self._now["relay"])])
        counter = self._now["counter"]
        registers = (
            self._now["total"] & _U16_HIGH, 0, self._now["setpoint"],
            counter >> 16, counter & _U16_HIGH, self._now["boots"] & _U16_HIGH,
        )  # fmt: skip
        if order.address + order.count > len(registers):
            raise no_address(order)
        asked = registers[order.address : order.address + order.count]
        return b"".join(register.to_bytes(2) for register in asked)

    def _write(self, order: Order) -> str:
        if order.function in (WRITE_COIL, WRITE_COILS):
            self._only_coil(order)
            self._now["relay"] = 1 - self._now["relay"]
            return str(self._now["relay"])
        if order.function == MASK_REGISTER:
            return self._mask(order)
        registers = {
            order.address + at: int.from_bytes(order.data[2 * at : 2 * at + 2]) for at in range(order.count)
        }
        if not registers.keys() <= {_ADD, _SETPOINT}:
            raise no_address(order)
        total = self._now["total"] + _signed(registers.get(_ADD, 0))
        if not _VALUES["total"].holds(total):
            raise no_value(f"the total goes from {_S16_LOW} to {_S16_HIGH}")
        self._now["total"] = total
        self._now["setpoint"] = registers.get(_SETPOINT, self._now["setpoint"])
        return str(total if _ADD in registers else self._now["setpoint"])

    def _mask(self, order: Order) -> str:
        if order.address != _SETPOINT:
            raise no_address(order)
        kept, added = int.from_bytes(order.data[:2]), int.from_bytes(order.data[2:])
        self._now["setpoint"] = self._now["setpoint"] & kept | added & ~kept
        return str(self._now["setpoint"])

    def _only_coil(self, order: Order) -> None:
        if (order.address, order.count) != (0, 1):
            raise no_address(order)


def _signed(register: int) -> int:
    return register - (_U16_HIGH + 1) if register > _S16_HIGH else register
