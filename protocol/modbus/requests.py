"""What does one line of the request language ask for?

Everything between catalog and wire is text; this is the text of Modbus: `fcNN ADDRESS CELL [VALUE]`, single blanks, the
value is the rest of the line.

    fc01 0x0000 bool          read a coil (fc02 a discrete input); fc01 0x0000 bits(8) reads eight as a number
    fc03 0x0002 f32           read holding registers (fc04 input registers), all of the cell in one request
    fc43 0x01 text            read an object of the device identification (function 43/14, individual access)
    fc05 0x0004 bool true     write a coil;       fc05 0x0004 raw 5500    a value outside the standard
    fc06 0x0010 s16*0.1 21.5  write a register;   fc16 0x0002 f32 30      several in one request
    fc15 0x0000 bits(8) 255   write coils;        fc15 0x0000 raw FF      eight coils to a byte
    fc22 0x0005 bit3 true     change one bit;     fc22 0x0005 raw F7FF0008   the and mask and the or mask
    fc23 0x0002 f32 30        write registers and read them back in one request

Rules: addresses are zero-based, as on the wire, in hex with 0x or in decimal. One line is one request: what would need
two is refused. A bit of a register is written by fc22 only, any other function would write its neighbours too.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from protocol.modbus.cells import Cell, cell_of, encode, registers

READS: Final = frozenset({1, 2, 3, 4, 43})
WRITES: Final = frozenset({5, 6, 15, 16, 22, 23})
TABLES: Final = {"holding": 3, "input": 4, "coil": 1, "discrete": 2, "identification": 43}
"""The function that reads each table."""

ADDRESS_MAX: Final = 0xFFFF
OBJECT_MAX: Final = 0xFF
WRITTEN_MAX: Final = {5: 1, 6: 1, 15: 1968, 16: 123, 22: 1, 23: 121}
"""Coils or registers that one request writes at most (Modbus Application Protocol 1.1b3, section 6)."""

_TEXT: Final = re.compile(
    r"fc(?P<function>[0-9]{2}) (?P<address>0x[0-9A-Fa-f]{1,4}|[0-9]{1,5}) (?P<rest>.*)", re.DOTALL
)
_BIT: Final = re.compile(r"bit[0-9]+")
_COIL_VALUES: Final = {b"\x01": b"\xff\x00", b"\x00": b"\x00\x00"}


@dataclass(frozen=True, slots=True)
class Request:
    """One request, taken apart.

    Attributes:
        function: its function code.
        address: of the first coil or register, zero-based; of function 43 the id of the object.
        count: coils or registers that are read or written; 1 for function 43.
        data: what is written, as on the wire: two bytes for 5 and 6, packed coils for 15, registers for 16 and 23, the
            and mask and the or mask for 22; empty for reads.
        cell: how the value of the answer is read; None where the answer has none.
        text: the line that it was made of.
    """

    function: int
    address: int
    count: int
    data: bytes
    cell: Cell | None
    text: str

    @property
    def changes(self) -> bool:
        """Whether it writes something."""
        return self.function in WRITES


def request_of(text: str) -> Request:
    """The request of its text.

    Raises:
        ValueError: the text is none, or the value does not fit the cell; one sentence.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError(
            f"'{text}' is no Modbus request: fcNN ADDRESS CELL [VALUE], e.g. 'fc16 0x0002 f32 30'"
        )
    function, address = (
        int(match["function"]),
        _address(match["address"]),
    )
    cell_text, blank, value = match["rest"].partition(" ")
    if function not in READS | WRITES:
        known = ", ".join(f"fc{number:02}" for number in sorted(READS | WRITES))
        raise ValueError(f"'{text}': function {function} is not known here: {known}")
    cell = cell_of(cell_text)
    if function in READS:
        if blank:
            raise ValueError(f"'{text}': fc{function:02} reads, a value cannot be given")
        count, data = _READERS[function](cell), b""
    else:
        if not blank:
            raise ValueError(f"'{text}': fc{function:02} writes, a value is missing")
        count, data = _WRITERS[function](cell, value)
        if count > WRITTEN_MAX[function]:
            raise ValueError(
                f"{count} at once are too many: fc{function:02} writes {WRITTEN_MAX[function]} at most"
            )
    _check_address(function, address, count)
    return Request(
        function, address, count, data, cell if function in READS or function == 23 else None, text
    )


def read_text(table: str, address: int, cell: Cell) -> str:
    """The text that reads a cell of a table: `holding`, `input`, `coil`, `discrete`, `identification`.

    Raises:
        ValueError: there is no such table, or the table has no such cell or address.
    """
    if table not in TABLES:
        raise ValueError(f"unknown table '{table}': {', '.join(TABLES)}")
    digits = 2 if table == "identification" else 4
    return request_of(f"fc{TABLES[table]:02} 0x{address:0{digits}X} {cell}").text


def _address(text: str) -> int:
    return int(text, 16 if text.startswith("0x") else 10)


def _check_address(function: int, address: int, count: int) -> None:
    if function == 43 and address > OBJECT_MAX:
        raise ValueError(f"object {address} does not exist: 0 to {OBJECT_MAX}")
    if address + count > ADDRESS_MAX + 1:
        raise ValueError(f"{count} from address {address} on end beyond the last one, {ADDRESS_MAX}")


# --- how many are read ------------------------------------------------------------------------------------------------


def _coils(cell: Cell) -> int:
    if cell.type == "bool":
        return 1
    if not cell.type.startswith("bits("):
        raise ValueError(f"coils and discrete inputs are 'bool' or 'bits(n)', not '{cell.type}'")
    return int(cell.type[5:-1])


def _object(cell: Cell) -> int:
    if cell.type != "text":
        raise ValueError(f"an object of the device identification is 'text', not '{cell.type}'")
    return 1


_READERS: Final[dict[int, Callable[[Cell], int]]] = {
    1: _coils,
    2: _coils,
    3: registers,
    4: registers,
    43: _object,
}

# --- how many are written, and what -----------------------------------------------------------------------------------


def _coil(cell: Cell, value: str) -> tuple[int, bytes]:
    if cell.type == "raw":
        return 1, _raw(cell, value, 2)
    if cell.type != "bool":
        raise ValueError(f"fc05 writes 'bool' or 'raw', not '{cell.type}'")
    return 1, _COIL_VALUES[encode(cell, value)]


def _several_coils(cell: Cell, value: str) -> tuple[int, bytes]:
    data = encode(cell, value)
    return (8 * len(data) if cell.type == "raw" else _coils(cell)), data


def _register(cell: Cell, value: str) -> tuple[int, bytes]:
    if cell.type == "raw":
        return 1, _raw(cell, value, 2)
    count, data = _registers(cell, value)
    if count != 1:
        raise ValueError(f"fc06 writes one register, '{cell.type}' takes {count}: use fc16")
    return count, data


def _registers(cell: Cell, value: str) -> tuple[int, bytes]:
    if cell.type == "raw":
        data = encode(cell, value)
        if len(data) % 2:
            raise ValueError(f"registers have four hex digits each, not {2 * len(data)} in all")
        return len(data) // 2, data
    if _BIT.fullmatch(cell.type):
        raise ValueError(
            f"'{cell.type}' is written by fc22 only: the other bits of the register would be written too"
        )
    return registers(cell), encode(cell, value)


def _written_and_read(cell: Cell, value: str) -> tuple[int, bytes]:
    if cell.type == "raw":
        raise ValueError("fc23 reads the value back, so it needs a type, not 'raw'")
    return _registers(cell, value)


def _masks(cell: Cell, value: str) -> tuple[int, bytes]:
    if cell.type == "raw":
        return 1, _raw(cell, value, 4)
    if not _BIT.fullmatch(cell.type):
        raise ValueError(f"fc22 writes one bit, 'bit0' to 'bit15', or 'raw' masks, not '{cell.type}'")
    bit = encode(cell, "true")
    return 1, bytes(byte ^ 0xFF for byte in bit) + encode(cell, value)


def _raw(cell: Cell, value: str, length: int) -> bytes:
    data = encode(cell, value)
    if len(data) != length:
        raise ValueError(f"'{value}' has {len(data)} bytes where {length} are written")
    return data


_WRITERS: Final[dict[int, Callable[[Cell, str], tuple[int, bytes]]]] = {
    5: _coil,
    6: _register,
    15: _several_coils,
    16: _registers,
    22: _masks,
    23: _written_and_read,
}
