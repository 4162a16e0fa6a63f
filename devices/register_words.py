"""How do makers write the columns, tables, types and numbers of their register maps?

Tables of usual spellings, and for each column a function from what a cell says to what a profile says. Rule: where two
readings are common it is not guessed but a `Misread`.
"""

import difflib
import re
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

from devices.problems import did_you_mean

SPELLINGS: Mapping[str, str] = MappingProxyType(
    {
        "name": "name, parameter, register name, signal, variable, tag, point",
        "table": "table, register type, area, register table, object type, data table",
        "function": "function, function code, fc, read function",
        "address": "address, register, register address, start address, addr, reg, register number, modbus address",
        "type": "type, data type, datatype, format, data format",
        "unit": "unit, units, uom",
        "scale": "scale, factor, scale factor, multiplier, scaling",
        "gain": "gain",
        "min": "min, minimum, lower limit",
        "max": "max, maximum, upper limit",
        "step": "step, increment",
        "access": "access, r/w, rw, read/write, permission, mode",
        "bit": "bit, bit number",
        "description": "description, comment, comments, remark, remarks, note, notes, meaning",
    }
)
"""The headings that each column may have."""

COLUMNS: Mapping[str, str] = MappingProxyType(
    {spelling: key for key, spellings in SPELLINGS.items() for spelling in spellings.split(", ")}
)
"""The column that each heading means."""

MODICON_TABLES: Mapping[str, str] = MappingProxyType(
    {"0": "coil", "1": "discrete", "3": "input", "4": "holding"}
)
"""The table that the first digit of a number such as 40003 means."""

_SURELY, _TELLING = 0.8, 4
"""How alike a heading must be to a known one, and how long, to be a mistyped one."""

_TABLES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("holding", "holdingregister", "holdingregisters", "hr", "4x"), "holding")
    | dict.fromkeys(("input", "inputregister", "inputregisters", "ir", "3x"), "input")
    | dict.fromkeys(
        ("coil", "coils", "discreteoutput", "discreteoutputs", "digitaloutput", "do", "0x"), "coil"
    )
    | dict.fromkeys(("discrete", "discreteinput", "discreteinputs", "digitalinput", "di", "1x"), "discrete")
)
_FUNCTIONS: Mapping[str, str] = MappingProxyType({"1": "coil", "2": "discrete", "3": "holding", "4": "input"})
_TYPES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        ("u16", "uint16", "uint", "word", "unsigned", "unsigned16", "ushort", "unsignedint16"), "u16"
    )
    | dict.fromkeys(
        ("s16", "int16", "i16", "sint16", "int", "short", "signed16", "signed", "signedint16"), "s16"
    )
    | dict.fromkeys(("u32", "uint32", "dword", "udint", "ulong", "unsigned32", "unsignedint32"), "u32")
    | dict.fromkeys(("s32", "int32", "i32", "sint32", "dint", "long", "signed32", "signedint32"), "s32")
    | dict.fromkeys(("u64", "uint64", "ulint", "qword"), "u64")
    | dict.fromkeys(("s64", "int64", "i64", "lint"), "s64")
    | dict.fromkeys(("f32", "float", "float32", "real", "single", "real32"), "f32")
    | dict.fromkeys(("f64", "double", "float64", "lreal", "real64"), "f64")
    | dict.fromkeys(("bool", "boolean", "bit"), "bool")
)
_ACCESS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("r", "ro", "read", "readonly"), "r")
    | dict.fromkeys(("rw", "readwrite"), "rw")
    | dict.fromkeys(("w", "wo", "write", "writeonly"), "w")
)
_TEXT = re.compile(r"(?:text|string|str|char|ascii)[(\[]?([0-9]+)[)\]]?")
_BITS = re.compile(r"bits[(\[]([0-9]+)[)\]]")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_EMPTY = re.compile(r"(?:[-/\u2013\u2014]|n/?a)?", re.IGNORECASE)


class Misread(ValueError):  # noqa: N818 - it reads as what happened
    """A cell says nothing that can be used; `hint` is what to write instead, a sentence, or None."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def column_of(heading: str) -> str | None:
    """Return the column of a heading, whatever its case; what stands in brackets behind it does not count."""
    return COLUMNS.get(re.sub(r"\s*[\[(].*[\])]$", "", _plain(heading)))


def mistyped_column(heading: str) -> str | None:
    """Return the known heading that one was surely meant to be; None where it may be anything else."""
    near = difflib.get_close_matches(_plain(heading), COLUMNS, n=1, cutoff=_SURELY)
    return near[0] if near and len(heading) >= _TELLING else None


def _plain(heading: str) -> str:
    """Return a heading in small letters, without signs that mean nothing."""
    return " ".join(re.sub(r"[_.:#*]", " ", heading).lower().split())


def is_empty(cell: str) -> bool:
    """Tell whether a cell says nothing: blank, or a dash."""
    return _EMPTY.fullmatch(cell) is not None


def table_of(cell: str) -> str:
    """Return the table of a register. Raises Misread."""
    known = _TABLES.get(_squeezed(cell))
    if known is None:
        nearest = did_you_mean(cell, ("holding", "input", "coil", "discrete"))
        raise Misread(f"unknown table '{cell}'", nearest or "It is holding, input, coil or discrete")
    return known


def table_read_by(cell: str) -> str:
    """Return the table that a function reads. Raises Misread."""
    known = _FUNCTIONS.get(_squeezed(cell).removeprefix("fc").removeprefix("0x").lstrip("0"))
    if known is None:
        message = (
            f"function '{cell}' reads no table: 1 coils, 2 discrete inputs, 3 holding, 4 input registers"
        )
        raise Misread(message, "The functions that write follow from 'access'")
    return known


def type_of(cell: str) -> str:
    """Return the type as profiles write it. Raises Misread."""
    squeezed = _squeezed(cell).removesuffix("_t")
    for form, name in ((_TEXT, "text"), (_BITS, "bits")):
        match = form.fullmatch(squeezed)
        if match is not None:
            return f"{name}({match[1]})"
    known = _TYPES.get(squeezed)
    if known is None:
        words = ("uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64", "bool")
        hint = (
            did_you_mean(cell, ("float", *words)) or f"Known: {', '.join(words)}, text(n) with n characters"
        )
        raise Misread(f"unknown type '{cell}'", hint)
    return known


def access_of(cell: str) -> str:
    """Return r, rw or w. Raises Misread."""
    known = _ACCESS.get(_squeezed(cell).replace("/", "").replace("&", "").replace("+", ""))
    if known is None:
        raise Misread(f"unknown access '{cell}'", "It is r, rw or w")
    return known


def number_of(cell: str, *, decimal_comma: bool) -> Decimal | int:
    """Return a number.

    Args:
        cell: its text.
        decimal_comma: a single comma in it is a decimal comma, since commas do not separate the cells.

    Raises:
        Misread: it is none.
    """
    text = cell.replace(",", ".") if decimal_comma and cell.count(",") == 1 and "." not in cell else cell
    if not _NUMBER.fullmatch(text):
        raise Misread(f"'{cell}' is no number", "Write a decimal point" if "," in cell else None)
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else number


def bit_of(cell: str) -> int:
    """Return the number of a bit. Raises Misread."""
    if not re.fullmatch(r"[0-9]{1,2}", cell):
        raise Misread(f"'{cell}' is no bit of a register: 0 (lowest) to 15")
    return int(cell)


def _squeezed(text: str) -> str:
    return re.sub(r"[\s-]+", "", text.lower()).replace("_", "" if not text.lower().endswith("_t") else "_")
