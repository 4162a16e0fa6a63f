"""How is a request to a register machine written down, so that a person can read and count it?

    fc05 0x0000 raw 5500            write: what is written as on the wire, in upper-case hex
    fc15 0x0000 raw 05 coils 3      coils are packed, the first in the lowest bit; eight to a byte unless it says
    fc22 0x0005 raw F7FF0008        the and-mask, then the or-mask
    fc03 0x0002 count 2             read: how many coils or registers
    fc43 0x01                       read: which object of the identification

This is the text that machines take, and the one that stands in ledgers.
"""

import re
from dataclasses import dataclass

READ_COILS, READ_DISCRETE, READ_HOLDING, READ_INPUT = 1, 2, 3, 4
WRITE_COIL, WRITE_REGISTER, WRITE_COILS, WRITE_REGISTERS = 5, 6, 15, 16
MASK_REGISTER, WRITE_AND_READ, IDENTIFY = 22, 23, 43
COIL_WRITES = frozenset({WRITE_COIL, WRITE_COILS})
WRITES = COIL_WRITES | {WRITE_REGISTER, WRITE_REGISTERS, MASK_REGISTER, WRITE_AND_READ}

_BITS = 8
_WRITE = re.compile(r"fc(\d\d) 0x([0-9A-F]{4}) raw ((?:[0-9A-F]{2})+)(?: coils (\d{1,4}))?")
_READ = re.compile(r"fc(\d\d) 0x([0-9A-F]{4}) count (\d{1,4})")
_IDENTIFY = re.compile(r"fc43 0x([0-9A-F]{2})")


@dataclass(frozen=True, slots=True)
class Order:
    """One request.

    Attributes:
        function: Its number, such as 5.
        address: The first coil or register, or the object of the identification.
        count: How many coils or registers are read or written.
        data: What is written, as on the wire; empty where it reads.
    """

    function: int
    address: int
    count: int
    data: bytes = b""

    @property
    def writes(self) -> bool:
        """Whether it tells to do something, instead of asking."""
        return self.function in WRITES

    def __str__(self) -> str:
        if self.function == IDENTIFY:
            return f"fc43 0x{self.address:02X}"
        front = f"fc{self.function:02d} 0x{self.address:04X}"
        if not self.writes:
            return f"{front} count {self.count}"
        odd = self.function == WRITE_COILS and self.count != _BITS * len(self.data)
        return f"{front} raw {self.data.hex().upper()}" + (f" coils {self.count}" if odd else "")


def order_of(text: str) -> Order | None:
    """The request in a text; None where it is none."""
    if found := _WRITE.fullmatch(text):
        function, data = int(found[1]), bytes.fromhex(found[3])
        if function == WRITE_COILS:
            count = int(found[4] or _BITS * len(data))
        else:
            count = 1 if function == MASK_REGISTER else max(1, len(data) // 2)
        return Order(function, int(found[2], 16), count, data) if function in WRITES else None
    if found := _READ.fullmatch(text):
        return Order(int(found[1]), int(found[2], 16), int(found[3]))
    if found := _IDENTIFY.fullmatch(text):
        return Order(IDENTIFY, int(found[1], 16), 1)
    return None


def bits_of(order: Order) -> list[bool]:
    """The coils that a request of function 15 writes, in order."""
    return [bool(order.data[at // _BITS] >> at % _BITS & 1) for at in range(order.count)]


def packed(bits: list[bool]) -> bytes:
    """Coils as they stand in an answer, the first in the lowest bit."""
    data = bytearray(-(-len(bits) // _BITS))
    for at, bit in enumerate(bits):
        data[at // _BITS] |= bit << at % _BITS
    return bytes(data)
