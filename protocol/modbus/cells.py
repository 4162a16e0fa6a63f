"""What does the content of registers and coils mean, and how is a value written into them?

A cell is a type with what belongs to it: `s16*0.1`, `f32/lw`, `u16!FFFF`. Rules:

* The same cell serves both directions, so that reading and writing cannot disagree about order or scale.
* A number that the cell cannot hold is refused before anything is written: out of range, between two steps. Only f32
  and f64 round, to the nearest; `held` says to what.
* NaN, infinities and sentinels are never a value.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from protocol.modbus.contents import FAMILIES
from protocol.modbus.numbers import (
    FORMATS,
    WHOLE_MAX,
    content_of,
    ends_of,
    number_in,
    number_of,
    plain,
    product,
    shown,
    size_of,
)

BITS_MAX: Final = 64
"""Coils that may be read or written as one whole number."""
TEXT_MAX: Final = 240
"""Characters of the longest text; its 120 registers fit every function."""
_SCALE_LENGTH_MAX: Final = 32

_TYPE: Final = re.compile(
    r"(?P<number>[us](?:16|32|64)|f(?:32|64))|(?P<bool>bool)|(?P<raw>raw)|(?P<open_text>text)"
    r"|bits\((?P<bits>[1-9][0-9]?)\)|bit(?P<bit>[0-9]|1[0-5])|text\((?P<text>[1-9][0-9]{0,2})\)"
)
_CELL: Final = re.compile(
    r"(?P<type>[a-z]+[0-9]*(?:\([0-9]+\))?)(?:\*(?P<scale>[0-9]+(?:\.[0-9]+)?))?"
    r"(?P<words>/lw)?(?P<bytes>/lb)?(?:!(?P<sentinels>[0-9A-Fa-f]+(?:,[0-9A-Fa-f]+)*))?"
)
_IN_REGISTERS: Final = ("number", "bit", "text")


class NoValue(ValueError):  # noqa: N818 - it is a finding about the device, nobody's mistake
    """The content says that there is no value: a sentinel, NaN or an infinity. Its text is one sentence."""


@dataclass(frozen=True, slots=True)
class Cell:
    """How content is read and written.

    Attributes:
        type: `u16 s16 u32 s32 u64 s64 f32 f64` in registers; `bitN` (0 to 15, 0 is the lowest) one bit of a register;
            `text(n)` characters, two in a register; `bool` one coil; `bits(n)` coils as a whole number, the first one
            lowest; `text` an object of the device identification; `raw` hex digits as they are.
        scale: of numbers in registers: the value is the number in the registers times `scale`.
        little_words: of numbers in registers: the low word comes first. It changes nothing in one register.
        little_bytes: of numbers, bits and texts in registers: the bytes of each register are swapped.
        sentinels: contents, as on the wire, that mean "no value".

    str() of a cell is the text of which `cell_of` makes an equal one.

    Raises:
        ValueError: an unknown type, or a property that the type cannot have.
    """

    type: str
    scale: Decimal | None = None
    little_words: bool = False
    little_bytes: bool = False
    sentinels: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        family, _ = _family(self.type)
        _check_scale(self.type, family, self.scale)
        if self.little_words and family != "number":
            raise ValueError(f"'{self.type}' has no word order")
        if (self.little_bytes or self.sentinels) and family not in _IN_REGISTERS:
            raise ValueError(f"'{self.type}' has neither byte order nor sentinels")
        for sentinel in self.sentinels:
            if len(sentinel) != 2 * registers(self):
                digits = 4 * registers(self)
                raise ValueError(
                    f"a sentinel of '{self.type}' has {digits} hex digits, not '{sentinel.hex().upper()}'"
                )

    def __str__(self) -> str:
        scale = "" if self.scale is None else f"*{plain(self.scale)}"
        orders = "/lw" * self.little_words + "/lb" * self.little_bytes
        sentinels = "!" * bool(self.sentinels) + ",".join(
            sentinel.hex().upper() for sentinel in self.sentinels
        )
        return f"{self.type}{scale}{orders}{sentinels}"


@lru_cache(maxsize=256)
def cell_of(text: str) -> Cell:
    """The cell of its text, e.g. `s16*0.1`, `f32/lw!7FC00000`.

    Raises:
        ValueError: `text` is none; the sentence says why.
    """
    match = _CELL.fullmatch(text)
    if match is None:
        raise ValueError(
            f"'{text}' is no cell: a type, then *scale, /lw, /lb, !sentinels in hex, each where needed"
        )
    try:
        sentinels = tuple(map(bytes.fromhex, match["sentinels"].split(","))) if match["sentinels"] else ()
    except ValueError:
        raise ValueError(f"'{text}' is no cell: sentinels have two hex digits for each byte") from None
    scale = None if match["scale"] is None else Decimal(match["scale"])
    return Cell(match["type"], scale, bool(match["words"]), bool(match["bytes"]), sentinels)


def registers(cell: Cell) -> int:
    """How many registers the cell takes.

    Raises:
        ValueError: its type does not stand in registers, or does not say how many it takes.
    """
    family, size = _family(cell.type)
    if family not in _IN_REGISTERS:
        raise ValueError(
            f"'{cell.type}' does not say how many registers it takes: a number, bitN or text(n) does"
        )
    return 1 if family == "bit" else (size + 1) // 2


def encode(cell: Cell, value: str) -> bytes:
    """The content that holds a value, as on the wire.

    Of `bitN` a register with no other bit set; of `bool` and `bits(n)` coils as they are packed, the first one in the
    lowest bit.

    Raises:
        ValueError: the cell cannot hold the value; one sentence, which quotes it.
    """
    family, size = _family(cell.type)
    plainly = _encode_number(cell, value) if family == "number" else FAMILIES[family].encode(size, value)
    content = _ordered(cell, plainly)
    if family != "bit" and content in cell.sentinels:
        raise ValueError(f"'{value}' cannot be written: {content.hex().upper()} stands for no value here")
    return content


def decode(cell: Cell, data: bytes) -> str:
    r"""The value that content holds: a plain decimal, true or false, text, for `raw` upper-case hex digits.

    Control characters in a text stand as `\x07`. Coils beyond those of the cell in the last byte do not count.

    Raises:
        NoValue: the content says that there is none.
        ValueError: it has another length than the cell.
    """
    family, size = _family(cell.type)
    length = size if family == "number" else FAMILIES[family].length(size)
    if length is not None and len(data) != length:
        raise ValueError(f"{len(data)} bytes where '{cell.type}' takes {length}")
    if data in cell.sentinels:
        raise NoValue(f"{data.hex().upper()} stands for no value")
    content = _ordered(cell, data)
    return _decode_number(cell, content) if family == "number" else FAMILIES[family].decode(size, content)


def held(cell: Cell, value: str) -> str:
    """The value as the device holds it once it is written: f32 and f64 round. Raises ValueError as `encode`."""
    return decode(cell, encode(cell, value))


def range_of(cell: Cell) -> tuple[Decimal, Decimal] | None:
    """The smallest and the largest number that the cell can hold, scaled; None where it holds no numbers."""
    family, size = _family(cell.type)
    if family == "bits":
        return Decimal(0), Decimal(2**size - 1)
    if family != "number":
        return None
    low, high = ends_of(cell.type)
    return _scaled(cell, low), _scaled(cell, high)


# --- types ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _family(type_text: str) -> tuple[str, int]:
    """What kind of type it is, and its size: bytes of a number, characters of a text, coils, or which bit."""
    match = _TYPE.fullmatch(type_text)
    family = match.lastgroup if match is not None else None
    size = 0
    if match is not None and family in ("bits", "bit", "text"):
        size = int(match[family])
    if type_text in FORMATS:
        size = size_of(type_text)
    if family is None or size > {"bits": BITS_MAX}.get(family, TEXT_MAX):
        raise ValueError(
            f"unknown type '{type_text}': {', '.join(FORMATS)}, bool, bits(1 to {BITS_MAX}), bit0 to bit15, "
            f"text(1 to {TEXT_MAX}), text or raw"
        )
    return family, size


def _check_scale(type_text: str, family: str, scale: Decimal | None) -> None:
    if scale is None:
        return
    if family != "number":
        raise ValueError(f"'{type_text}' has no scale")
    if not scale.is_finite() or scale <= 0 or len(plain(scale)) > _SCALE_LENGTH_MAX:
        raise ValueError(
            f"a scale is a number above 0 of at most {_SCALE_LENGTH_MAX} characters, not {scale}"
        )


def _ordered(cell: Cell, content: bytes) -> bytes:
    """High word first and high byte first to the order of the cell, and back: both are the same exchange."""
    if not (cell.little_words or cell.little_bytes):
        return content
    words = [content[at : at + 2] for at in range(0, len(content), 2)]
    if cell.little_bytes:
        words = [word[::-1] for word in words]
    return b"".join(reversed(words) if cell.little_words else words)


# --- numbers ----------------------------------------------------------------------------------------------------------


def _scaled(cell: Cell, number: Decimal) -> Decimal:
    return number if cell.scale is None else product(number, cell.scale)


def _encode_number(cell: Cell, value: str) -> bytes:
    number, ends = number_of(value), range_of(cell)
    if ends is not None and not ends[0] <= number <= ends[1]:
        raise ValueError(f"{value} does not fit {cell.type}, {shown(ends[0])} to {shown(ends[1])}")
    exact = Fraction(number) / Fraction(cell.scale or 1)
    if exact.denominator != 1 and not cell.type.startswith("f"):
        raise ValueError(
            f"{value} does not fit {cell.type}: it goes in steps of {plain(cell.scale or Decimal(1))}"
        )
    content = content_of(cell.type, exact)
    if exact.denominator == 1 and abs(exact) < WHOLE_MAX and number_in(cell.type, content) != exact:
        near = _decode_number(cell, content)
        raise ValueError(f"{value} does not fit {cell.type}: the nearest that it can hold is {near}")
    return content


def _decode_number(cell: Cell, content: bytes) -> str:
    number = number_in(cell.type, content)
    if number is None:
        raise NoValue(f"{content.hex().upper()} is not a number")
    return plain(_scaled(cell, number))
