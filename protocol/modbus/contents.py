"""How do bits, texts and plain digits lie in coils and registers, high byte first?

Rules: coils are packed eight to a byte, the first one in the lowest bit. A text stands two characters to a register,
ends at the first NUL, and blanks at its end do not count; its characters are ASCII or Latin-1. Everything is given a
size: how many coils, which bit, how many characters.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from protocol.modbus.numbers import number_of

_BOOLS: Final = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_HEX: Final = re.compile(r"(?:[0-9A-Fa-f]{2})+")


@dataclass(frozen=True, slots=True)
class Family:
    """Types that lie in the same way: how many bytes (None: any number), and how a value is written and read.

    `encode` raises ValueError, with a sentence that quotes the value, where it cannot be written.
    """

    length: Callable[[int], int | None]
    encode: Callable[[int, str], bytes]
    decode: Callable[[int, bytes], str]


def _bool(value: str) -> bool:
    if value not in _BOOLS:
        raise ValueError(f"not true or false: '{value}'")
    return _BOOLS[value]


def _coils(size: int, value: str) -> bytes:
    number = number_of(value)
    if number != int(number):
        raise ValueError(f"{value} does not fit {size} bits: it goes in steps of 1")
    if not 0 <= number < 2**size:
        raise ValueError(f"{value} does not fit {size} bits, 0 to {2**size - 1}")
    return int(number).to_bytes((size + 7) // 8, "little")


def _coils_as_number(size: int, content: bytes) -> str:
    return str(int.from_bytes(content, "little") & (2**size - 1))


def _bit(which: int, value: str) -> bytes:
    return (_bool(value) << which).to_bytes(2)


def _bit_as_bool(which: int, content: bytes) -> str:
    return "true" if int.from_bytes(content) >> which & 1 else "false"


def _text(size: int, value: str) -> bytes:
    if _CONTROL.search(value) or any(ord(char) > 0xFF for char in value):
        raise ValueError(f"a text in registers has printable ASCII or Latin-1 characters only: '{value}'")
    if len(value) > size:
        raise ValueError(f"'{value}' has {len(value)} characters, there is room for {size}")
    return value.encode("latin-1").ljust(size + size % 2, b"\0")


def _as_text(size: int, content: bytes) -> str:
    text = content[:size].split(b"\0", 1)[0].decode("latin-1").rstrip(" ")
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def _digits(_: int, value: str) -> bytes:
    if not _HEX.fullmatch(value):
        raise ValueError(f"not pairs of hex digits: '{value}'")
    return bytes.fromhex(value)


def _read_only(_: int, value: str) -> bytes:
    raise ValueError(f"'{value}' cannot be written: an object of the identification is only read")


FAMILIES: Final = {
    "bool": Family(
        lambda _: 1, lambda _, value: bytes([_bool(value)]), lambda _, content: _bit_as_bool(0, content)
    ),
    "bits": Family(lambda size: (size + 7) // 8, _coils, _coils_as_number),
    "bit": Family(lambda _: 2, _bit, _bit_as_bool),
    "text": Family(lambda size: size + size % 2, _text, _as_text),
    "open_text": Family(lambda _: None, _read_only, lambda _, content: _as_text(len(content), content)),
    "raw": Family(lambda _: None, _digits, lambda _, content: content.hex().upper()),
}
