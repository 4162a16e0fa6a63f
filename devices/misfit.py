"""What do the cross checks of a profile report, and which of their questions are common?"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from devices.backtracking import trouble
from devices.expressions import RESERVED
from devices.problems import did_you_mean
from devices.source import Path
from devices.templates import is_control

_TYPES: Mapping[str, str] = MappingProxyType(
    {
        **{word: word for word in ("int", "decimal", "bool", "text")},
        **dict.fromkeys(("float", "double", "real", "number"), "decimal"),
        **dict.fromkeys(("string", "str", "char"), "text"),
    }
)
"""The types of the catalog by what they are called here and elsewhere."""

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
BEFORE = "before"


@dataclass(frozen=True, slots=True)
class Misfit:
    """A contradiction at `path` of the document; `key` points at the key instead of its value."""

    path: Path
    message: str
    hint: str | None = None
    key: bool = False


def unknown_name(path: Path, what: str, name: str, known: Iterable[str]) -> Misfit:
    """Return the misfit "unknown <what> '<name>'" with the nearest known name, or all if none is near."""
    known = list(known)
    hint = did_you_mean(name, known) or (f"Known: {', '.join(known)}" if known else f"The file has no {what}")
    return Misfit(path, f"unknown {what} '{name}'", hint)


def bad_name(path: Path, what: str, name: str, *, key: bool = False) -> list[Misfit]:
    """Refuse a name that expressions could not use."""
    if not IDENTIFIER.fullmatch(name):
        return [
            Misfit(
                path,
                f"the {what} '{name}' must be letters, digits and _, not beginning with a digit",
                key=key,
            )
        ]
    if name in RESERVED or name == BEFORE:
        return [
            Misfit(path, f"'{name}' has a meaning of its own in expressions, no {what} can have it", key=key)
        ]
    return []


def bad_type(path: Path, type_text: str, error: ValueError) -> Misfit:
    """Return the misfit of what is no type of the catalog, with the word that was meant."""
    if type_text.startswith("enum("):
        return Misfit(path, str(error), 'Put it in quotes: "enum(a, b)"')
    meant = _TYPES.get(type_text.casefold())
    hint = f"Did you mean '{meant}'?" if meant else did_you_mean(type_text, dict.fromkeys(_TYPES.values()))
    return Misfit(path, str(error), hint)


def shown(path: Path) -> str:
    """Return what stands at a path as people call it: its key, or its place in the list of a key."""
    last = path[-1]
    return f"'{last}'" if isinstance(last, str) else f"item {last + 1} of '{path[-2]}'"


def bad_text(path: Path, text: str | None) -> list[Misfit]:
    """Refuse a text for the device that holds a control character."""
    if text is None or not is_control(text):
        return []
    return [Misfit(path, "a control character or line break would be a second command")]


def bad_pattern(path: Path, pattern: str | None, groups: Iterable[str] = ()) -> list[Misfit]:
    """Refuse what is no regular expression, could search for ever, or lacks one of the named groups."""
    if pattern is None:
        return []
    key = shown(path)
    try:
        compiled = re.compile(pattern)
        endless = trouble(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return [Misfit(path, f"{key} is not a regular expression: {error}")]
    found = [] if endless is None else [Misfit(path, f"{key}: {endless}")]
    return found + [
        Misfit(path, f"{key} needs a group (?P<{group}>...)")
        for group in groups
        if group not in compiled.groupindex
    ]
