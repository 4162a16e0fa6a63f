"""Which bytes is a number, high byte first, and which number are they?

Rules: arithmetic is exact, with decimals and fractions; only f32 and f64 round, to the nearest. They are read as the
shortest decimal that would be written as the same bytes: 0.1, not 0.100000001490116; whole ones as they stand.
"""

import re
import struct
from collections.abc import Iterator
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from math import isfinite
from typing import Final

FORMATS: Final = {
    "u16": ">H",
    "s16": ">h",
    "u32": ">I",
    "s32": ">i",
    "u64": ">Q",
    "s64": ">q",
    "f32": ">f",
    "f64": ">d",
}
NUMBER_LENGTH_MAX: Final = 400
"""Characters of the longest number that is looked at; the smallest f64 has more than 320."""

_FLOAT_MAX: Final = {"f32": Decimal("3.4028235E+38"), "f64": Decimal("1.7976931348623157E+308")}
"""The shortest decimals of the largest finite ones."""
_F32_DIGITS_MAX: Final = 9  # so many tell any two of them apart
_F32_LARGEST: Final = 0x7F7FFFFF
_F32_SIGN: Final = 0x80000000
_EXACT: Final = Context(prec=NUMBER_LENGTH_MAX, traps=[Inexact])
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_SHOWN_MAX: Final = 24
WHOLE_MAX: Final = 1e15
"""Whole numbers of floats are told exactly up to here."""


def size_of(type_text: str) -> int:
    """Bytes of a number type."""
    return struct.calcsize(FORMATS[type_text])


def ends_of(type_text: str) -> tuple[Decimal, Decimal]:
    """The smallest and the largest number of a type."""
    if type_text in _FLOAT_MAX:
        return -_FLOAT_MAX[type_text], _FLOAT_MAX[type_text]
    values = 2 ** (8 * size_of(type_text))
    low = 0 if type_text.startswith("u") else -values // 2
    return Decimal(low), Decimal(low + values - 1)


def number_of(text: str) -> Decimal:
    """The number of its text. Raises ValueError where it is none."""
    if len(text) > NUMBER_LENGTH_MAX or not _NUMBER.fullmatch(text):
        raise ValueError(f"not a number: '{text}'")
    return Decimal(text)


def content_of(type_text: str, number: Fraction) -> bytes:
    """The bytes of a number within the ends of its type; of a whole one, unless the type is f32 or f64."""
    if type_text == "f32":
        return _nearest_f32(number)
    return struct.pack(FORMATS[type_text], float(number) if type_text == "f64" else int(number))


def number_in(type_text: str, content: bytes) -> Decimal | None:
    """The number that bytes are; None for NaN and infinities."""
    (number,) = struct.unpack(FORMATS[type_text], content)
    if not isfinite(number):
        return None
    if number == int(number) and abs(number) < WHOLE_MAX:
        return Decimal(int(number))  # a meter's count is told as it stands there, not by its shortest name
    if type_text == "f32":
        return _shortest_f32(number, content)
    return Decimal(repr(number))


def product(a: Decimal, b: Decimal) -> Decimal:
    """The exact product."""
    return _EXACT.multiply(a, b)


def plain(number: Decimal) -> str:
    """A finite number without exponent, trailing zeros or negative zero."""
    if number == 0:
        return "0"
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def shown(number: Decimal) -> str:
    """A number for people: in digits where they are few."""
    text = plain(number)
    return text if len(text) <= _SHOWN_MAX else f"{number:.7e}"


def _nearest_f32(number: Fraction) -> bytes:
    """The float32 next to a number, of two equally near ones the even one.

    By way of a double it might be rounded twice, so the neighbours are compared exactly.
    """
    (about,) = struct.unpack(">I", struct.pack(">f", float(abs(number))))
    around = [bits for bits in (about - 1, about, about + 1) if 0 <= bits <= _F32_LARGEST]
    best = min(around, key=lambda bits: (abs(Fraction(_f32(bits)) - abs(number)), bits & 1))
    return struct.pack(">I", best | (_F32_SIGN if number < 0 else 0))


def _f32(bits: int) -> float:
    (number,) = struct.unpack(">f", struct.pack(">I", bits))
    return float(number)


def _shortest_f32(number: float, content: bytes) -> Decimal:
    if number == 0:
        return Decimal(0)  # of either sign
    largest = _FLOAT_MAX["f32"]
    return next(
        near for near in _near(number) if abs(near) <= largest and _nearest_f32(Fraction(near)) == content
    )


def _near(number: float) -> Iterator[Decimal]:
    """Decimals next to a number, those with fewer digits first.

    Below a power of two floats lie closer together than above it, so the shortest may be the one that is further up.
    """
    for digits in range(1, _F32_DIGITS_MAX + 1):
        nearest = Decimal(f"{abs(number):.{digits - 1}e}")
        for size in (nearest, nearest.next_plus(Context(prec=digits))):
            yield size.copy_sign(Decimal(number))
