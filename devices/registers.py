"""Which request texts do the registers of a Modbus profile become?

A setting becomes the text that reads it, a `write` the template of the text that sends it (protocol/modbus/requests has
the grammar), so that catalog, policy and journal handle Modbus as they handle lines. Rules: what a command does not
say of its value, its setting says; an address that depends on arguments stays as arithmetic in braces. What is wrong
in a file is found by `register_checks`; here a `ValueError` says that a text cannot be made.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING

from devices import expressions, templates
from devices.values import plain
from protocol.modbus.cells import BITS_MAX, TEXT_MAX, Cell, range_of, registers
from protocol.modbus.requests import read_text

if TYPE_CHECKING:
    from devices.schema import ModbusSection, SettingSection, WriteSection

BIT_TABLES = frozenset({"coil", "discrete"})
WHOLE_NUMBERS = frozenset({"u16", "s16", "u32", "s32", "u64", "s64"})
FLOATS = frozenset({"f32", "f64"})
_LONG = Decimal(10) ** 20
TYPES = "u16, s16, u32, s32, u64, s64, f32, f64, bool, bits(n) or text(n)"

_LENGTHS: Mapping[str, tuple[re.Pattern[str], int, str]] = MappingProxyType(
    {
        "text": (re.compile(r"text\(([0-9]{1,4})\)"), TEXT_MAX, "characters"),
        "bits": (re.compile(r"bits\(([0-9]{1,4})\)"), BITS_MAX, "bits"),
    }
)


@dataclass(frozen=True, slots=True)
class Content:
    """What registers or coils hold, as a profile says it: `type` as in files, `bit` for one bit of a register."""

    type: str
    scale: Decimal | None = None
    bit: int | None = None
    sentinels: tuple[str, ...] = ()


def value_type(register_type: str, scale: Decimal | None) -> str:
    """Return the catalog's type of a register: a scaled whole number is a decimal.

    Raises:
        ValueError: unknown register type, or a scale on something that is no number.
    """
    kind = _plain_type(register_type)
    if scale is None:
        return kind
    if register_type not in WHOLE_NUMBERS | FLOATS:
        raise ValueError(f"'scale' needs a number type, not {register_type}")
    if scale <= 0:
        raise ValueError("'scale' must be more than 0")
    return "decimal"


def _plain_type(register_type: str) -> str:
    if register_type in WHOLE_NUMBERS:
        return "int"
    if register_type in FLOATS:
        return "decimal"
    if register_type in ("bool", "text"):
        return register_type
    for name, (form, most, what) in _LENGTHS.items():
        match = form.fullmatch(register_type)
        if match is None:
            continue
        if not 1 <= int(match[1]) <= most:
            raise ValueError(f"'{register_type}' must have 1 to {most} {what}")
        return "int" if name == "bits" else "text"
    raise ValueError(f"unknown register type '{register_type}': {TYPES}")


def content_of(section: "SettingSection | WriteSection") -> Content:
    """Return what a setting says of its registers, or a write that has a type of its own."""
    sentinels = tuple(getattr(section, "sentinels", ()))
    return Content(section.type or "bool", section.scale, section.bit, sentinels)


def written_content(write: "WriteSection", setting: "SettingSection | None") -> Content | None:
    """Return what a write writes: its own type, else that of the command's setting; None where neither says it.

    One bit, or function 5 without a setting, is a bool whatever else is said.
    """
    if write.type is not None or write.bit is not None:
        return content_of(write)
    if setting is not None:
        return content_of(setting)
    return Content("bool") if write.function == 5 else None


def cell_for(content: Content, order: "ModbusSection | None") -> Cell:
    """Return how a content lies in its registers. Raises ValueError where it cannot."""
    kind = _cell_type(content)
    in_registers = kind not in ("bool", "text") and not kind.startswith("bits(")
    several = kind in WHOLE_NUMBERS | FLOATS and registers(Cell(kind)) > 1
    return Cell(
        type=kind,
        scale=content.scale,
        little_words=several and order is not None and order.word_order == "little",
        little_bytes=in_registers and order is not None and order.byte_order == "little",
        sentinels=tuple(bytes.fromhex(each.removeprefix("0x")) for each in content.sentinels),
    )


def _cell_type(content: Content) -> str:
    return content.type if content.bit is None else f"bit{content.bit}"


def size_of(content: Content) -> int:
    """How many registers, or coils, a content takes. Raises ValueError where the type has no size."""
    if content.bit is not None or content.type == "bool":
        return 1
    match = _LENGTHS["bits"][0].fullmatch(content.type)
    return int(match[1]) if match is not None else registers(Cell(content.type))


def limits_of(content: Content) -> tuple[Decimal, Decimal] | None:
    """The smallest and the largest number that a content can hold, scaled; None for what is no number."""
    return range_of(Cell(_cell_type(content), content.scale))


def resolution_of(content: Content) -> Decimal | None:
    """The step in which the values of a content go; None where they go in no steps, or are no numbers."""
    if content.type in WHOLE_NUMBERS or content.type.startswith("bits("):
        return content.scale if content.scale is not None else Decimal(1)
    return None


def read_of(setting: "SettingSection", order: "ModbusSection | None") -> str:
    """Return the request text that reads a setting. Raises ValueError where there is none."""
    if setting.table is None or setting.address is None:
        raise ValueError("'table' and 'address' say where it is read")
    return read_text(setting.table, setting.address, cell_for(content_of(setting), order))


def send_of(write: "WriteSection", setting: "SettingSection | None", order: "ModbusSection | None") -> str:
    """Return the template of the request text that a command sends. Raises ValueError where there is none."""
    front = f"fc{write.function:02d} {_address(write.address)}"
    if write.raw is not None:
        return f"{front} raw {raw_digits(write.raw)}"
    content = written_content(write, setting)
    if content is None:
        raise ValueError("'type' is missing, and the command has no 'setting' that would say it")
    return f"{front} {cell_for(content, order)} {write.value or ''}"


def constant(expression: str) -> Decimal | None:
    """Return the value of an expression without names; None where it has some. Raises ValueError."""
    if expressions.names_of(expression):
        return None
    value = expressions.evaluate(expression, {})
    return value if isinstance(value, Decimal) else None


def _address(expression: str) -> str:
    value = constant(expression)
    return f"0x{int(value):04X}" if value is not None else f"0x{{{expression}:04X}}"


def raw_digits(raw: str) -> str:
    """Return the hex digits of `raw` in capitals, its braces as they are. Raises ValueError."""
    parts = templates.parse(raw.removeprefix("0x"))
    return "".join(
        part.upper() if isinstance(part, str) else f"{{{part.name}:{part.spec}}}" for part in parts
    )


def shown(number: Decimal) -> str:
    """Return a limit for people: as plain digits where they are few."""
    return plain(number) if abs(number) < _LONG else f"{number:.6E}"
