"""Which text leaves when the arguments are filled into a `send` template?

`{name}` or `{name:spec}`, `{{` and `}}` for braces. Rules: the spec is one of a few number formats (`+d`,
`03d`, `04X`, `.2f`); no attribute, index or conversion; a format that would drop digits is an error, the
device must get the value that was asked for; the outcome is one line, since a line break would be a second
command.
"""

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from devices.values import enum_values, plain

WIDTH_MAX = 32

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPEC = re.compile(r"(?P<sign>\+?)(?P<width>0?[0-9]{0,2})(?:\.(?P<places>[0-9]))?(?P<form>[dfxX])")


@dataclass(frozen=True, slots=True)
class Field:
    """One pair of braces."""

    name: str
    spec: str


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
        if conversion or not _NAME.fullmatch(name):
            raise TemplateError(
                f"'{{{name}{'!' + conversion if conversion else ''}}}' must be a plain name in braces"
            )
        match = _SPEC.fullmatch(spec or "d")
        if (
            match is None
            or int(match["width"] or 0) > WIDTH_MAX
            or (match["places"] and match["form"] != "f")
        ):
            raise TemplateError(f"unknown format '{spec}' for '{name}': such as +d, 03d, 04X or .2f")
        parts.append(Field(name, spec or ""))
    return tuple(parts)


def names_of(text: str) -> frozenset[str]:
    """Return the names in braces; TemplateError if the template is malformed."""
    return frozenset(part.name for part in parse(text) if isinstance(part, Field))


def check_field_type(field: Field, type_text: str) -> None:
    """Raise TemplateError when the format of a field can never suit a value of that type."""
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
        TemplateError: a value does not fit its format without loss.
        KeyError: a name without a value.
    """
    return "".join(
        part if isinstance(part, str) else _filled(part, values[part.name]) for part in parse(text)
    )


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
