"""Which request is a line of the request language?"""

import subprocess
import sys
from decimal import Decimal

import pytest

from protocol.modbus.cells import Cell, cell_of
from protocol.modbus.requests import Request, read_text, request_of


@pytest.mark.parametrize(
    ("text", "function", "address", "count", "data", "cell"),
    [
        ("fc01 0x0000 bool", 1, 0, 1, "", "bool"),
        ("fc01 0x0000 bits(8)", 1, 0, 8, "", "bits(8)"),
        ("fc02 0x0007 bits(64)", 2, 7, 64, "", "bits(64)"),
        ("fc03 0x0002 f32", 3, 2, 2, "", "f32"),
        ("fc03 2 f32/lw!7FC00000", 3, 2, 2, "", "f32/lw!7FC00000"),
        ("fc04 0xFFFF u16", 4, 65535, 1, "", "u16"),
        ("fc03 0x0005 bit3", 3, 5, 1, "", "bit3"),
        ("fc03 0x0100 text(8)", 3, 256, 4, "", "text(8)"),
        ("fc43 0x01 text", 43, 1, 1, "", "text"),
        ("fc05 0x0004 bool true", 5, 4, 1, "FF00", None),
        ("fc05 0x0004 bool off", 5, 4, 1, "0000", None),
        ("fc05 0x0004 raw 5500", 5, 4, 1, "5500", None),
        ("fc06 0x0010 u16 30", 6, 16, 1, "001E", None),
        ("fc06 0x0010 s16*0.1 21.5", 6, 16, 1, "00D7", None),
        ("fc06 0x0010 raw 0003", 6, 16, 1, "0003", None),
        ("fc06 0x0010 text(2) AB", 6, 16, 1, "4142", None),
        ("fc15 0x0000 bits(8) 255", 15, 0, 8, "FF", None),
        ("fc15 0x0013 bits(10) 461", 15, 19, 10, "CD01", None),
        ("fc15 0x0000 bool true", 15, 0, 1, "01", None),
        ("fc15 0x0000 raw FF01", 15, 0, 16, "FF01", None),
        ("fc16 0x0002 f32 30", 16, 2, 2, "41F00000", None),
        ("fc16 0xF010 raw 0000", 16, 61456, 1, "0000", None),
        ("fc16 0x0100 text(8) A B", 16, 256, 4, "4120420000000000", None),
        ("fc16 0x0100 text(4) ", 16, 256, 2, "00000000", None),
        ("fc22 0x0005 bit3 true", 22, 5, 1, "FFF70008", None),
        ("fc22 0x0005 bit3 false", 22, 5, 1, "FFF70000", None),
        ("fc22 0x0005 bit3/lb true", 22, 5, 1, "F7FF0800", None),
        ("fc22 0x0005 raw F7FF0008", 22, 5, 1, "F7FF0008", None),
        ("fc23 0x0002 f32 30", 23, 2, 2, "41F00000", "f32"),
    ],
)
def test_requests(text: str, function: int, address: int, count: int, data: str, cell: str | None) -> None:
    """Each kind of request is taken apart into what goes over the wire."""
    read = None if cell is None else cell_of(cell)
    assert request_of(text) == Request(function, address, count, bytes.fromhex(data), read, text)
    assert request_of(text).changes == (function in (5, 6, 15, 16, 22, 23))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is no Modbus request"),
        ("SET interval 30", "is no Modbus request"),
        ("fc3 0x0002 f32", "is no Modbus request"),
        ("fc03  0x0002 f32", "is no Modbus request"),
        ("fc03 0x00002 f32", "is no Modbus request"),
        ("fc03 -1 f32", "is no Modbus request"),
        ("fc03 0x0002", "is no Modbus request"),
        ("fc07 0x0002 u16", "function 7 is not known here: fc01, fc02"),
        ("fc03 0x0002 f33", "unknown type 'f33'"),
        ("fc03 0x0002 f32 30", "fc03 reads, a value cannot be given"),
        ("fc16 0x0002 f32", "fc16 writes, a value is missing"),
        ("fc01 0x0000 u16", "'bool' or 'bits.n.', not 'u16'"),
        ("fc01 0x0000 bit3", "'bool' or 'bits.n.', not 'bit3'"),
        ("fc03 0x0000 bool", "'bool' does not say how many registers"),
        ("fc03 0x0000 bits(8)", "does not say how many registers"),
        ("fc03 0x0000 raw", "'raw' does not say how many registers"),
        ("fc03 0x0000 text", "'text' does not say how many registers"),
        ("fc43 0x00 text(8)", "an object of the device identification is 'text'"),
        ("fc43 0x100 text", "object 256 does not exist"),
        ("fc05 0x0000 bits(1) 1", "fc05 writes 'bool' or 'raw'"),
        ("fc05 0x0000 raw 55", "'55' has 1 bytes where 2 are written"),
        ("fc05 0x0000 bool 5500", "not true or false"),
        ("fc06 0x0000 u16 65536", "65536 does not fit u16, 0 to 65535"),
        ("fc06 0x0000 f32 30", "fc06 writes one register, 'f32' takes 2: use fc16"),
        ("fc06 0x0000 raw 00000000", "has 4 bytes where 2 are written"),
        ("fc06 0x0000 bit3 true", "written by fc22 only"),
        ("fc16 0x0000 bit3 true", "written by fc22 only"),
        ("fc23 0x0000 bit3 true", "written by fc22 only"),
        ("fc16 0x0000 bits(8) 255", "does not say how many registers"),
        ("fc15 0x0000 u16 1", "not 'u16'"),
        ("fc16 0x0000 raw 000000", "four hex digits each, not 6 in all"),
        ("fc22 0x0000 u16 1", "fc22 writes one bit"),
        ("fc22 0x0000 raw FFF7", "has 2 bytes where 4 are written"),
        ("fc23 0x0000 raw 0000", "fc23 reads the value back, so it needs a type"),
        ("fc03 0xFFFF f32", "2 from address 65535 on end beyond the last one, 65535"),
        ("fc03 65536 u16", "end beyond the last one"),
        ("fc01 0xFFF9 bits(8)", "end beyond the last one"),
        ("fc16 0x0000 raw " + "00" * 248, "124 at once are too many: fc16 writes 123 at most"),
        ("fc15 0x0000 raw " + "00" * 247, "1976 at once are too many: fc15 writes 1968 at most"),
    ],
)
def test_no_requests(text: str, why: str) -> None:
    """What cannot be asked in one request is refused before anything is sent, with one sentence."""
    with pytest.raises(ValueError, match=why):
        request_of(text)


@pytest.mark.parametrize(
    ("table", "address", "cell", "text"),
    [
        ("holding", 2, Cell("f32", little_words=True), "fc03 0x0002 f32/lw"),
        ("input", 0xFFFF, Cell("s16", Decimal("0.1")), "fc04 0xFFFF s16*0.1"),
        ("coil", 7, Cell("bool"), "fc01 0x0007 bool"),
        ("discrete", 0, Cell("bits(8)"), "fc02 0x0000 bits(8)"),
        ("identification", 1, Cell("text"), "fc43 0x01 text"),
    ],
)
def test_texts_that_read(table: str, address: int, cell: Cell, text: str) -> None:
    """A cell of a table has one text that reads it."""
    assert read_text(table, address, cell) == text


@pytest.mark.parametrize(
    ("table", "address", "cell", "why"),
    [
        ("holdings", 2, Cell("u16"), "unknown table 'holdings': holding, input"),
        ("coil", 2, Cell("u16"), "not 'u16'"),
        ("holding", 65535, Cell("u32"), "end beyond the last one"),
        ("identification", 256, Cell("text"), "object 256 does not exist"),
    ],
)
def test_tables_without_that_cell(table: str, address: int, cell: Cell, why: str) -> None:
    """What a table cannot hold has no text."""
    with pytest.raises(ValueError, match=why):
        read_text(table, address, cell)


def test_texts_need_no_construct() -> None:
    """Request texts are understood without the library of the wire, which takes long to import."""
    seen = "import sys, protocol.modbus.requests; sys.exit('construct' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", seen]).returncode == 0
