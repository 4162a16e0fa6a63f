"""Which type has the value of a Modbus register?"""

import re
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

_TEXT = re.compile(r"text\([1-9][0-9]{0,2}\)")
_VALUE_TYPES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("u16", "s16", "u32", "s32", "u64"), "int")
    | dict.fromkeys(("f32", "f64"), "decimal")
    | {"bool": "bool"}
)


def value_type(register_type: str, scale: Decimal | None) -> str:
    """Return the catalog's type of a register: a scaled whole number is a decimal.

    Raises:
        ValueError: unknown register type, or a scale on something that is no number.
    """
    if _TEXT.fullmatch(register_type):
        kind = "text"
    elif register_type in _VALUE_TYPES:
        kind = _VALUE_TYPES[register_type]
    else:
        raise ValueError(f"unknown register type '{register_type}': {', '.join(_VALUE_TYPES)} or text(n)")
    if scale is None:
        return kind
    if kind not in ("int", "decimal") or scale == 0:
        raise ValueError(f"'scale' needs a number type and must not be 0, not type {register_type}")
    return "decimal"
