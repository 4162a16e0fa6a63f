"""Which bytes is a value in registers and coils, and which value are they?"""

import math
import struct
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.modbus.cells import Cell, NoValue, cell_of, decode, encode, held, range_of, registers

WHOLE = {"u16": ">H", "s16": ">h", "u32": ">I", "s32": ">i", "u64": ">Q", "s64": ">q"}
ORDERS = ("", "/lw", "/lb", "/lw/lb")


def wire(content: bytes, orders: str) -> bytes:
    """High byte first to the order of the wire, register by register."""
    words = [content[at : at + 2] for at in range(0, len(content), 2)]
    if "/lb" in orders:
        words = [bytes(reversed(word)) for word in words]
    if "/lw" in orders:
        words.reverse()
    return b"".join(words)


@pytest.mark.parametrize(
    ("cell", "content", "value"),
    [
        ("f32", "41F00000", "30"),
        ("f32", "3DCCCCCD", "0.1"),
        ("f32", "42A80000", "84"),
        ("u32", "00060000", "393216"),  # 6 with its words swapped: what a wrong order reads
        ("u32/lw", "00060000", "6"),
        ("u16", "FFFF", "65535"),
        ("s16", "FFFF", "-1"),
        ("s16*0.1", "00D7", "21.5"),
        ("u16*0.01", "01B3", "4.35"),
        ("u16*10", "0003", "30"),
        ("u16/lb", "1E00", "30"),
        ("bit3", "0008", "true"),
        ("bit3", "FFF7", "false"),
        ("bit3/lb", "0800", "true"),
        ("bits(10)", "CD01", "461"),  # the ten coils of the specification's example
        ("bits(10)", "CDFD", "461"),
        ("bool", "01", "true"),
        ("bool", "FE", "false"),
        ("text(8)", "4142430000000000", "ABC"),
        ("text(3)", "41424344", "ABC"),
        ("text(4)", "41422020", "AB"),
        ("text(4)/lb", "42414443", "ABCD"),
        ("text(4)", "41004243", "A"),
        ("text(2)", "41E9", "Aé"),
        ("text(2)", "0741", r"\x07A"),
        ("text", "494E4F5641", "INOVA"),
        ("raw", "5500", "5500"),
    ],
)
def test_known_contents(cell: str, content: str, value: str) -> None:
    """Contents mean what their sources say, in every order and scale."""
    assert decode(cell_of(cell), bytes.fromhex(content)) == value


@pytest.mark.parametrize(
    ("content", "value"),
    [("512445B7", "5866.143"), ("19713F5F", "0.871482"), ("19F9430B", "139.1015"), ("59D145D2", "6731.227")],
)
def test_floats_of_a_log(content: str, value: str) -> None:
    """Floats with the low word first mean what the decoder of a published Mdbus log shows of them, in seven digits."""
    read = decode(Cell("f32", little_words=True), bytes.fromhex(content))
    assert f"{Decimal(read):.7g}".rstrip("0") == value


@pytest.mark.parametrize(
    ("cell", "value", "content"),
    [
        ("u16*0.01", "0.29", "001D"),  # int(0.29 * 100) is 28
        ("u16*0.01", "4.35", "01B3"),  # int(4.35 * 100) is 434
        ("s16*0.1", "-3276.8", "8000"),
        ("u16*10", "655350", "FFFF"),
        ("f32", "30", "41F00000"),
        ("f32/lw", "2141.0", "D0004505"),
        ("f32/lw/lb", "2141.0", "00D00545"),
        ("f32", "24.1", "41C0CCCD"),
        ("f32", "1.00000017881393432617187499", "3F800001"),  # through a double it would be rounded twice
        ("f64", "0.1", "3FB999999999999A"),
        ("u16", "30.0", "001E"),
        ("u16", "3e1", "001E"),
        ("bit15", "on", "8000"),
        ("bit0/lb", "true", "0100"),
        ("bits(10)", "461", "CD01"),
        ("bool", "off", "00"),
        ("text(8)", "AB C", "4142204300000000"),
        ("text(3)", "ABC", "41424300"),
        ("raw", "f7ff0008", "F7FF0008"),
    ],
)
def test_known_values(cell: str, value: str, content: str) -> None:
    """Values become exactly these bytes: nothing is a float on the way to a whole number."""
    assert encode(cell_of(cell), value) == bytes.fromhex(content)


@pytest.mark.parametrize("orders", ORDERS)
@pytest.mark.parametrize("name", WHOLE)
@settings(derandomize=True, max_examples=8)
@given(data=st.data(), scale=st.sampled_from(["", "*0.1", "*0.01", "*10"]))
def test_whole_numbers_both_ways(name: str, orders: str, data: st.DataObject, scale: str) -> None:
    """A whole number lies as struct packs it, and its scaled value comes back as it went in."""
    bits = 8 * struct.calcsize(WHOLE[name])
    low = 0 if name.startswith("u") else -(2 ** (bits - 1))
    raw = data.draw(st.sampled_from([low, low + 2**bits - 1]) | st.integers(low, low + 2**bits - 1))
    cell, content = cell_of(f"{name}{scale}{orders}"), wire(struct.pack(WHOLE[name], raw), orders)
    value = decode(cell, content)

    assert Fraction(value) == raw * Fraction(scale[1:] or 1)
    assert encode(cell, value) == content


@pytest.mark.parametrize("orders", ORDERS)
@settings(derandomize=True, max_examples=30)
@given(
    number=st.floats(width=32, allow_nan=False, allow_infinity=False),
    scale=st.sampled_from(["", "*0.1", "*10"]),
)
def test_f32_both_ways(orders: str, number: float, scale: str) -> None:
    """A float is read as a decimal that is written as the same bits."""
    cell, content = cell_of(f"f32{scale}{orders}"), wire(struct.pack(">f", number or 0.0), orders)

    assert encode(cell, decode(cell, content)) == content


@settings(derandomize=True, max_examples=60)
@given(number=st.floats(2.0**-99, 2.0**99, width=32) | st.floats(-1e30, -1e-30))
def test_f32_is_the_nearest_and_shortest(number: float) -> None:
    """What is written is the float32 of struct; what is read of it has no digit more than it needs."""
    (exact,) = struct.unpack(">f", struct.pack(">f", number))
    if exact == int(exact) and abs(exact) < 1e15:
        number = exact  # no other whole number is taken for it, and it is told as it stands
        assert held(Cell("f32"), repr(number)) == str(int(number))
        return
    content = encode(Cell("f32"), repr(number))
    assert content == struct.pack(">f", number)
    value = held(Cell("f32"), repr(number))
    assert struct.pack(">f", float(value)) == content
    digits = len(Decimal(value).normalize().as_tuple().digits)
    shorter = f"{exact:.{max(digits - 2, 0)}e}"
    assert digits == 1 or struct.pack(">f", float(shorter)) != content


def test_a_whole_number_that_a_float_cannot_hold_is_refused() -> None:
    """A count is one number and no other: 16777217 would stand there as 16777216."""
    with pytest.raises(ValueError, match="the nearest that it can hold is 16777216"):
        encode(Cell("f32"), "16777217")


@pytest.mark.parametrize("value", ["1.2621775e-29", "1.5474251e+26", "1.2379401e+27"])
def test_shortest_may_be_the_one_further_up(value: str) -> None:
    """At a power of two the shortest decimal is not the nearest one."""
    assert Decimal(held(Cell("f32"), value)) == Decimal(value)


@settings(derandomize=True, max_examples=30)
@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_f64_both_ways(number: float) -> None:
    """A double lies as struct packs it and comes back."""
    content = struct.pack(">d", number or 0.0)
    assert encode(Cell("f64"), decode(Cell("f64"), content)) == content


@settings(derandomize=True, max_examples=40)
@given(size=st.integers(1, 64), data=st.data())
def test_coils_both_ways(size: int, data: st.DataObject) -> None:
    """Coil by coil, the first one is the lowest bit of the first byte."""
    coils = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    packed = bytes(
        sum(coil << bit for bit, coil in enumerate(coils[at : at + 8])) for at in range(0, size, 8)
    )
    cell = Cell(f"bits({size})")

    assert decode(cell, packed) == str(sum(coil << at for at, coil in enumerate(coils)))
    assert encode(cell, decode(cell, packed)) == packed


@settings(derandomize=True, max_examples=40)
@given(
    text=st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=20),
    orders=st.sampled_from(["", "/lb"]),
)
def test_texts_both_ways(text: str, orders: str) -> None:
    """A text comes back but for blanks at its end."""
    assert held(cell_of(f"text(20){orders}"), text) == text.rstrip(" ")


@pytest.mark.parametrize(
    ("cell", "below", "low", "high", "above"),
    [
        ("u16", "-1", "0", "65535", "65536"),
        ("s16", "-32769", "-32768", "32767", "32768"),
        ("u32", "-1", "0", "4294967295", "4294967296"),
        ("s32", "-2147483649", "-2147483648", "2147483647", "2147483648"),
        ("u64", "-1", "0", "18446744073709551615", "18446744073709551616"),
        ("s64", "-9223372036854775809", "-9223372036854775808", "9223372036854775807", "9223372036854775808"),
        ("s16*0.1", "-3276.9", "-3276.8", "3276.7", "3276.8"),
        ("f32", "-3.4028236e38", "-3.4028235e38", "3.4028235e38", "3.4028236e38"),
        ("f64", "-1.8e308", "-1.7976931348623157e308", "1.7976931348623157e308", "1.8e308"),
        ("bits(3)", "-1", "0", "7", "8"),
    ],
)
def test_out_of_range(cell: str, below: str, low: str, high: str, above: str) -> None:
    """The ends of a range are written, what is beyond them never."""
    for value in (low, high):
        assert Decimal(held(cell_of(cell), value)) == Decimal(value)
    assert range_of(cell_of(cell)) == (Decimal(low), Decimal(high))
    for value in (below, above):
        with pytest.raises(ValueError, match="does not fit"):
            encode(cell_of(cell), value)


@pytest.mark.parametrize(
    ("cell", "value", "why"),
    [
        ("u16", "65536", "65536 does not fit u16, 0 to 65535"),
        ("s16*0.1", "21.55", "21.55 does not fit s16: it goes in steps of 0.1"),
        ("u16*10", "25", "25 does not fit u16: it goes in steps of 10"),
        ("u16", "0.5", "0.5 does not fit u16: it goes in steps of 1"),
        ("bits(3)", "0.5", "0.5 does not fit 3 bits: it goes in steps of 1"),
        ("f32", "1e39", r"1e39 does not fit f32, -3.4028235e\+38 to 3.4028235e\+38"),
        ("u16", "", "not a number: ''"),
        ("u16", "0x10", "not a number: '0x10'"),
        ("f32", "nan", "not a number: 'nan'"),
        ("f32", "1e9999", "not a number: '1e9999'"),
        ("u16", " 5", "not a number: ' 5'"),
        ("bool", "yes", "not true or false: 'yes'"),
        ("bit3", "2", "not true or false: '2'"),
        ("text(4)", "ABCDE", "'ABCDE' has 5 characters, there is room for 4"),
        ("text(4)", "5 €", "printable ASCII or Latin-1 characters only: '5 €'"),
        ("text(4)", "A\nB", "printable ASCII or Latin-1 characters only"),
        ("raw", "550", "not pairs of hex digits: '550'"),
        ("raw", "", "not pairs of hex digits: ''"),
        ("text", "ABC", "'ABC' cannot be written: an object of the identification is only read"),
        ("u16!FFFF", "65535", "'65535' cannot be written: FFFF stands for no value here"),
    ],
)
def test_what_cannot_be_written(cell: str, value: str, why: str) -> None:
    """What a cell cannot hold is refused, with a sentence that quotes the value."""
    with pytest.raises(ValueError, match=why):
        encode(cell_of(cell), value)


@pytest.mark.parametrize(
    ("cell", "content"),
    [
        ("u16!FFFF", "FFFF"),
        ("u16!7FFF,8000", "8000"),
        ("u32/lw!0000FFFF", "0000FFFF"),
        ("f32!7F7FFFFF", "7F7FFFFF"),
        ("text(2)!0000", "0000"),
        ("bit3!FFFF", "FFFF"),
        ("f32", "7FC00000"),
        ("f32", "FF800000"),
        ("f32/lw", "00007F80"),
        ("f64", "7FF8000000000000"),
        ("f64", "FFF0000000000000"),
    ],
)
def test_no_value(cell: str, content: str) -> None:
    """Sentinels as they stand on the wire, NaN and infinities are no values."""
    with pytest.raises(NoValue):
        decode(cell_of(cell), bytes.fromhex(content))


def test_a_bit_is_written_whatever_the_sentinels() -> None:
    """The sentinels of a bit are of the whole register, of which a write changes one bit."""
    assert encode(cell_of("bit3!0008"), "true") == b"\x00\x08"


@pytest.mark.parametrize(
    ("cell", "length"),
    [("u16", 3), ("u32", 2), ("f64", 4), ("bit3", 1), ("bool", 2), ("bits(9)", 1), ("text(3)", 3)],
)
def test_wrong_length(cell: str, length: int) -> None:
    """Content of another length is not read as if it were the cell's."""
    with pytest.raises(ValueError, match=f"{length} bytes where"):
        decode(cell_of(cell), bytes(length))


def test_negative_zero_is_zero() -> None:
    """A float may hold a negative zero, a value is never one."""
    assert decode(Cell("f32"), struct.pack(">f", -0.0)) == "0"
    assert decode(Cell("f64"), struct.pack(">d", -0.0)) == "0"
    assert math.copysign(1, struct.unpack(">f", encode(Cell("f32"), "-0"))[0]) == 1


@pytest.mark.parametrize(
    "text",
    [
        *(
            "u16",
            "s16*0.1",
            "u32/lw",
            "f32/lw/lb",
            "u16*10!FFFF",
            "f64*0.001/lw!7FF8000000000000",
            "u16!7FFF,FFFF",
        ),
        *("text(8)/lb", "text(3)!00000000", "bit15/lb", "bit0!FFFF", "bits(64)", "bool", "text", "raw"),
    ],
)
def test_texts_of_cells(text: str) -> None:
    """The text of a cell makes an equal one."""
    assert str(cell_of(text)) == text
    assert cell_of(str(cell_of(text))) == cell_of(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("u8", "unknown type 'u8'"),
        ("f16", "unknown type 'f16'"),
        ("bits(0)", "unknown type"),
        ("bits(65)", "unknown type"),
        ("bit16", "unknown type"),
        ("text(241)", "unknown type"),
        ("text(0)", "unknown type"),
        ("u16*0", "a scale is a number above 0"),
        ("bool*2", "'bool' has no scale"),
        ("bits(8)/lb", "neither byte order nor sentinels"),
        ("text(8)/lw", "'text(8)' has no word order".replace("(", r"\(").replace(")", r"\)")),
        ("raw!FFFF", "neither byte order nor sentinels"),
        ("u16!FF", "a sentinel of 'u16' has 4 hex digits, not 'FF'"),
        ("u16!FFF", "sentinels have two hex digits for each byte"),
        ("u16/lb/lw", "is no cell"),
        ("u16 ", "is no cell"),
        ("", "is no cell"),
    ],
)
def test_no_cells(text: str, why: str) -> None:
    """What is no cell is refused with a sentence."""
    with pytest.raises(ValueError, match=why):
        cell_of(text)


def test_how_many_registers() -> None:
    """All of a value is read and written in one request."""
    takes = {"u16": 1, "u32": 2, "f32": 2, "f64": 4, "s64": 4, "bit7": 1, "text(8)": 4, "text(3)": 2}
    assert {text: registers(Cell(text)) for text in takes} == takes
    for text in ("bool", "bits(8)", "raw", "text"):
        with pytest.raises(ValueError, match="does not say how many registers"):
            registers(Cell(text))
    assert range_of(Cell("text(8)")) is None
    assert range_of(Cell("bool")) is None


@pytest.mark.parametrize("scale", [Decimal("NaN"), Decimal(-1), Decimal("1E-40"), Decimal("Infinity")])
def test_no_scales(scale: Decimal) -> None:
    """A scale made elsewhere is checked too."""
    with pytest.raises(ValueError, match="a scale is a number above 0"):
        Cell("u16", scale)
