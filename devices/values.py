"""When are two values of a setting the same?

One canonical text per value, so that equal texts are equal values. Rules: parsing is strict, an error text is
never a number (a wrong baseline would become a wrong target); whole numbers are decimal digits only, `0x1E`
is refused because devices that answer in hexadecimal rarely write the prefix; nothing becomes a float on the
way.

Types: `int`, `decimal`, `bool`, `text`, `enum(a, b)`.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache

NUMBER_LENGTH_MAX = 64
EXPONENT_MAX = 30

_INT = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,3}))?")
_ENUM = re.compile(r"enum\(([^()]*)\)")
_TRUE = frozenset({"1", "on", "true"})
_FALSE = frozenset({"0", "off", "false"})

Operand = Decimal | bool | str


@lru_cache(maxsize=256)
def enum_values(type_text: str) -> tuple[str, ...] | None:
    """Return the values of `enum(a, b)` in their order; None for any other type text.

    Raises:
        ValueError: an enum without values, with an empty or a repeated one.
    """
    match = _ENUM.fullmatch(type_text.strip())
    if match is None:
        return None
    values = tuple(value.strip() for value in match[1].split(","))
    if not all(values) or len(set(values)) != len(values):
        raise ValueError(f"'{type_text}' needs different values between its commas")
    return values


def check_type(type_text: str) -> None:
    """Raise ValueError, with a sentence, unless `type_text` is a type of the catalog."""
    if type_text not in _CANONICAL and enum_values(type_text) is None:
        raise ValueError(f"unknown type '{type_text}': int, decimal, bool, text or enum(a, b)")


def is_type(type_text: str) -> bool:
    """Tell whether `type_text` is a type of the catalog."""
    try:
        check_type(type_text)
    except ValueError:
        return False
    return True


def plain(number: Decimal) -> str:
    """Return a finite number as plain decimal text: no exponent, no trailing zeros, no negative zero."""
    if number == 0:
        return "0"
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def normalise(type_text: str, raw: str, step: str | None = None) -> str:
    """Return the canonical text of a reading or an argument.

    Args:
        type_text: a type of the catalog.
        raw: what the device answered or a person typed; blanks around it do not count.
        step: the resolution of the setting; a decimal is rounded to as many places as it has, so that
            `29.999998` of a device that counts in 0.1 is `30`.

    Raises:
        ValueError: `raw` is no value of the type; the sentence quotes it.
    """
    values = enum_values(type_text)
    text = raw.strip()
    if values is not None:
        if text not in values:
            raise ValueError(f"not one of {', '.join(values)}: '{text[:NUMBER_LENGTH_MAX]}'")
        return text
    check_type(type_text)
    if type_text == "decimal" and step is not None:
        return plain(_rounded(_decimal(text), Decimal(step)))
    return _CANONICAL[type_text](text)


def same(type_text: str, a: str, b: str, step: str | None = None, tolerance: str | None = None) -> bool:
    """Tell whether two values of a type are one value for the device.

    Numbers are the same when they differ by less than half a `step`, so that a reading half way between two
    is neither; with `tolerance`, when they differ by no more than that. Without both they must be equal.

    Raises:
        ValueError: one of them is no value of the type.
    """
    if type_text not in ("int", "decimal"):
        return normalise(type_text, a) == normalise(type_text, b)
    distance = abs(Decimal(normalise(type_text, a)) - Decimal(normalise(type_text, b)))
    if tolerance is not None:
        return distance <= Decimal(tolerance)
    return distance == 0 if step is None else 2 * distance < Decimal(step)


def operand(type_text: str, text: str) -> Operand:
    """Return a value as expressions take it: numbers as Decimal, bool as bool, text and enum as they are.

    Raises:
        ValueError: `text` is no value of the type.
    """
    canonical = normalise(type_text, text)
    if type_text in ("int", "decimal"):
        return Decimal(canonical)
    return canonical == "true" if type_text == "bool" else canonical


def text_of(type_text: str, result: Operand, step: str | None = None) -> str:
    """Return the canonical text of what an expression gave, as a value of that type.

    Raises:
        ValueError: the result is no value of the type, e.g. 2.5 for an int.
    """
    if isinstance(result, bool):
        if type_text != "bool":
            raise ValueError(f"not a value of type {type_text}: {str(result).lower()}")
        return str(result).lower()
    if isinstance(result, Decimal):
        if type_text not in ("int", "decimal"):
            raise ValueError(f"not a value of type {type_text}: {plain(result)}")
        return normalise(type_text, plain(result), step)
    return normalise(type_text, result, step)


def _int(text: str) -> str:
    if len(text) > NUMBER_LENGTH_MAX or not _INT.fullmatch(text):
        raise ValueError(f"not a whole number: '{text[:NUMBER_LENGTH_MAX]}'")
    return str(int(text))


def _decimal(text: str) -> Decimal:
    match = _DECIMAL.fullmatch(text) if len(text) <= NUMBER_LENGTH_MAX else None
    if match is None or abs(int(match[1] or 0)) > EXPONENT_MAX:
        raise ValueError(f"not a number: '{text[:NUMBER_LENGTH_MAX]}'")
    return Decimal(text)


def _rounded(number: Decimal, step: Decimal) -> Decimal:
    places = max(0, -int(step.normalize().as_tuple().exponent))
    return Decimal(format(number, f".{places}f"))


def _bool(text: str) -> str:
    folded = text.casefold()
    if folded in _TRUE:
        return "true"
    if folded in _FALSE:
        return "false"
    raise ValueError(f"not on or off: '{text[:NUMBER_LENGTH_MAX]}'")


def _text(text: str) -> str:
    return text


_CANONICAL: dict[str, Callable[[str], str]] = {
    "int": _int,
    "decimal": lambda text: plain(_decimal(text)),
    "bool": _bool,
    "text": _text,
}
