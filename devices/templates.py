"""Which text leaves when the arguments are filled into a `send` template?

`{name}` or `{name:spec}`, `{{` and `}}` for braces. What stands in braces may be arithmetic over arguments, as in
`{channel - 1:04X}` (devices/expressions). Rules: the spec is one of a few number formats (`+d`, `03d`, `04X`, `.2f`);
no attribute, index or conversion; a format that would drop digits is an error, the device must get the value that was
asked for; the outcome is one line, since a line break would be a second command.
"""

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from devices import expressions
from devices.values import Operand, enum_values, plain

WIDTH_MAX = 32

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ARITHMETIC = re.compile(r"[-+*/%(]|^not ")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_SPEC = re.compile(r"(?P<sign>\+?)(?P<width>0?[0-9]{0,2})(?:\.(?P<places>[0-9]))?(?P<form>[dfxX])")


@dataclass(frozen=True, slots=True)
class Field:
    """One pair of braces: the name of an argument, or arithmetic over arguments."""

    name: str
    spec: str

    @property
    def is_plain(self) -> bool:
        """Whether it is a name and no arithmetic."""
        return _NAME.fullmatch(self.name) is not None

    @property
    def names(self) -> frozenset[str]:
        """The arguments whose values it needs."""
        return frozenset({self.name}) if self.is_plain else expressions.names_of(self.name)


class TemplateError(ValueError):
    """A template is malformed, or a value does not fit its format; one sentence."""


def is_control(text: str) -> bool:
    """Tell whether a text holds a control character, a line break of any sort included."""
    return any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 or char in "\u2028\u2029" for char in text)


@lru_cache(maxsize=512)
def parse(text: str) -> tuple[str | Field, ...]:
    """Return the literal pieces and the fields in their order.

    Raises:
        TemplateError: malformed, a control character, an empty or unknown sort of field.
    """
    if is_control(text):
        raise TemplateError("a control character or line break would be a second command")
    parts: list[str | Field] = []
    try:
        pieces = list(string.Formatter().parse(text))
    except ValueError as error:
        raise TemplateError(f"{str(error).lower()} in '{text}'") from None
    for literal, name, spec, conversion in pieces:
        if literal:
            parts.append(literal)
        if name is None:
            continue
        _check_name(name, conversion)
        match = _SPEC.fullmatch(spec or "d")
        if (
            match is None
            or int(match["width"] or 0) > WIDTH_MAX
            or (match["places"] and match["form"] != "f")
        ):
            raise TemplateError(f"unknown format '{spec}' for '{name}': such as +d, 03d, 04X or .2f")
        parts.append(Field(name, spec or ""))
    return tuple(parts)


def _check_name(name: str, conversion: str | None) -> None:
    """Raise TemplateError unless it is a plain name, or arithmetic that names something."""
    if not conversion and _NAME.fullmatch(name):
        return
    if conversion or not _ARITHMETIC.search(name):
        raise TemplateError(
            f"'{{{name}{'!' + conversion if conversion else ''}}}' must be a plain name in braces"
        )
    try:
        names = expressions.names_of(name)
    except expressions.ExpressionError as error:
        raise TemplateError(f"bad arithmetic in '{{{name}}}': {error}") from None
    if not names:
        raise TemplateError(f"'{{{name}}}' names no argument")


def names_of(text: str) -> frozenset[str]:
    """Return the names in braces; TemplateError if the template is malformed."""
    return frozenset(name for part in parse(text) if isinstance(part, Field) for name in part.names)


def check_field_type(field: Field, type_text: str) -> None:
    """Raise TemplateError when a field can never suit a value of that type: its format, or its arithmetic."""
    if not field.is_plain:
        if type_text not in ("int", "decimal", "bool"):
            raise TemplateError(f"'{{{field.name}}}' is arithmetic, which does not suit type {type_text}")
        return  # what it gives is seen when it is filled in
    form = field.spec[-1:]
    suits = {"": True, "d": type_text in ("int", "bool"), "f": type_text in ("int", "decimal")}
    if not suits.get(form, type_text == "int"):
        raise TemplateError(f"format '{field.spec}' of '{field.name}' does not suit type {type_text}")


def may_give(text: str, types: Mapping[str, str], line: str) -> bool:
    """Tell whether a template could give a line, for some arguments of these types; False where it is malformed.

    An argument of type text counts only where it stands as written, or else it could give any line.
    """
    try:
        parts = parse(text)
    except TemplateError:
        return False
    pattern = "".join(
        re.escape(part) if isinstance(part, str) else _value_pattern(part, types.get(part.name))
        for part in parts
    )
    return re.fullmatch(pattern, line) is not None


def _value_pattern(field: Field, type_text: str | None) -> str:
    allowed = enum_values(type_text) if type_text is not None else None
    if allowed is not None:
        return f"(?:{'|'.join(map(re.escape, allowed))})"
    written = {"int": "[+-]?[0-9A-Fa-f]+", "decimal": "[+-]?[0-9.]+", "bool": "(?:[01]|true|false)"}
    return written.get(type_text or "", re.escape(f"{{{field.name}}}"))


def render(text: str, values: Mapping[str, str]) -> str:
    """Fill canonical texts into a template.

    Raises:
        TemplateError: a value does not fit its format without loss, or arithmetic gives none.
        KeyError: a name without a value.
    """
    return "".join(part if isinstance(part, str) else _field_text(part, values) for part in parse(text))


def _field_text(field: Field, values: Mapping[str, str]) -> str:
    if field.is_plain:
        return _filled(field, values[field.name])
    result = _computed(field, values)
    if isinstance(result, bool):
        return _filled(field, str(result).lower())
    form = field.spec[-1:]
    if form in ("d", "x", "X") and result != result.to_integral_value():
        raise TemplateError(f"'{field.name}' gives no whole number, as '{field.spec}' needs one")
    if form in ("x", "X") and result < 0:
        raise TemplateError(f"'{field.name}' is {plain(result)}, which '{field.spec}' cannot carry")
    return _filled(field, plain(result))


def _computed(field: Field, values: Mapping[str, str]) -> Decimal | bool:
    known = {name: _operand(values[name]) for name in field.names}
    try:
        result = expressions.evaluate(field.name, known)
    except expressions.ExpressionError as error:
        raise TemplateError(f"'{field.name}' gives no value: {error.message}") from None
    if isinstance(result, str):
        raise TemplateError(f"'{field.name}' gives no number")
    return result


def _operand(text: str) -> Operand:
    """The value of a canonical text, whose type nobody has told."""
    if text in ("true", "false"):
        return text == "true"
    return Decimal(text) if _NUMBER.fullmatch(text) else text


def _filled(field: Field, value: str) -> str:
    form = field.spec[-1:]
    if not form:
        return value
    if form == "f":
        number = Decimal(value)
        shown = format(number, field.spec)
        if Decimal(shown) != number:
            raise TemplateError(
                f"{plain(number)} is finer than the format '{field.spec}' of '{field.name}' can carry"
            )
        return shown
    return format(
        {"true": 1, "false": 0}.get(value) if value in ("true", "false") else int(value), field.spec
    )
