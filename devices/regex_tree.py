"""What may a regular expression match, as a tree that questions can be asked of?

The one file that looks into Python's own parser (`re._parser`, which has no public face), so that a pattern is never
read differently here and where it is used. Rules: the tree says at least what the pattern says: whatever has no exact
form here (back-references, assertions) becomes something that matches more. A character is one bit of a mask, those
beyond Latin-1 share a few bits by what they are.
"""

import re
import re._constants as op  # type: ignore[import-not-found]  # typeshed has no stubs for it
import re._parser as parser  # type: ignore[import-not-found]  # likewise
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

LATIN = 256
"""Characters with a bit of their own."""
# Beyond them one bit for all of a sort: digits, other characters of words, blanks, the rest.
_FAR_DIGIT, _FAR_WORD, _FAR_BLANK, _FAR_REST = (1 << (LATIN + sort) for sort in range(4))
_FAR = _FAR_DIGIT | _FAR_WORD | _FAR_BLANK | _FAR_REST
EVERY = (1 << LATIN) - 1 | _FAR
ANY = EVERY & ~(1 << ord("\n"))
"""What a dot takes."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set; bit n of `mask` is the character n, higher bits those beyond Latin-1."""

    mask: int


@dataclass(frozen=True, slots=True)
class Begin:
    """Here the line begins."""


@dataclass(frozen=True, slots=True)
class End:
    """Here the line ends."""


@dataclass(frozen=True, slots=True)
class Look:
    """What comes before or after is looked at, nothing is taken; `body` is what the search may cost."""

    body: "Tree"


@dataclass(frozen=True, slots=True)
class Chain:
    """One after another."""

    parts: tuple["Tree", ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several."""

    ways: tuple["Tree", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`body` at least `least` times and at most `most` times, None for no limit."""

    body: "Tree"
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Any text or none, for want of an exact form."""


Tree = Chars | Begin | End | Look | Chain | Choice | Repeat | Unknown


@lru_cache(maxsize=512)
def tree_of(pattern: str) -> Tree:
    """Return the tree of a pattern.

    Raises:
        re.error, RecursionError, OverflowError: it is no regular expression.
    """
    parsed = parser.parse(pattern)
    return _chain(parsed, parsed.state.flags)


def is_char(mask: int) -> bool:
    """Tell whether a mask stands for one certain character."""
    return 0 < mask < 1 << LATIN and not mask & (mask - 1)


def _chain(items: Iterable[tuple[Any, Any]], flags: int) -> Tree:
    parts = tuple(_TREES.get(code, _unknown)(value, flags) for code, value in items)
    return parts[0] if len(parts) == 1 else Chain(parts)


def _unknown(_value: object, _flags: int) -> Tree:
    return Unknown()


def _literal(code: int, flags: int) -> Tree:
    return Chars(_in_any_case(_bit(code), flags))


def _not_literal(code: int, _flags: int) -> Tree:
    return Chars(EVERY & ~(_bit(code) if code < LATIN else 0))


def _any(_value: None, flags: int) -> Tree:
    return Chars(EVERY if flags & re.DOTALL else ANY)


def _in(items: list[tuple[Any, Any]], flags: int) -> Tree:
    """Return a set such as `[a-c]`; a complement leaves out only what surely belongs to the set."""
    negated = items[0][0] is op.NEGATE
    surely = possibly = 0
    for code, value in items[negated:]:
        if code is op.CATEGORY:
            mask = _category(value, flags)
            surely, possibly = surely | mask, possibly | mask
        else:
            low, high = (value, value) if code is op.LITERAL else value
            near = _span(low, min(high, LATIN - 1))
            surely |= near
            possibly |= near | (_bit(high) if low == high else _FAR if high >= LATIN else 0)
    if negated:
        return Chars(EVERY & ~surely)
    return Chars(_in_any_case(possibly, flags))


def _category(category: object, flags: int) -> int:
    sort = str(category).removeprefix("CATEGORY_")
    mask = _sort_mask(sort.removeprefix("NOT_"), ascii_only=bool(flags & re.ASCII))
    return EVERY & ~mask if sort.startswith("NOT_") else mask


# With the flag ASCII, the separators 0x1c to 0x1f are no blanks.
_ASCII = (1 << 128) - 1 & ~(0b1111 << 0x1C)

_SORTS: Mapping[str, tuple[Callable[[str], bool], int]] = MappingProxyType(
    {
        "DIGIT": (str.isdecimal, _FAR_DIGIT),
        "SPACE": (str.isspace, _FAR_BLANK),
        "WORD": (lambda char: char.isalnum() or char == "_", _FAR_DIGIT | _FAR_WORD),
    }
)


@lru_cache(maxsize=8)
def _sort_mask(sort: str, *, ascii_only: bool) -> int:
    belongs, far = _SORTS[sort]
    near = sum(1 << code for code in range(LATIN) if belongs(chr(code)))
    return near & _ASCII if ascii_only else near | far


def _bit(code: int) -> int:
    """Return the bit of a character, beyond Latin-1 the one that it shares."""
    if code < LATIN:
        return 1 << code
    char = chr(code)
    return next((far for belongs, far in _FAR_SORTS if belongs(char)), _FAR_REST)


_FAR_SORTS = (
    (str.isdecimal, _FAR_DIGIT),
    (str.isspace, _FAR_BLANK),
    (str.isalnum, _FAR_WORD),
)


def _span(low: int, high: int) -> int:
    return (1 << (high + 1)) - (1 << low) if low <= high else 0


def _in_any_case(mask: int, flags: int) -> int:
    """Return what a set may match where case does not count: more than it says, never less."""
    if not flags & re.IGNORECASE:
        return mask
    letters = [chr(code) for code in range(LATIN) if mask >> code & 1 and chr(code).isalpha()]
    for letter in letters:
        for other in letter.lower() + letter.upper():
            mask |= _bit(ord(other))
    if mask & _FAR_WORD:
        mask |= sum(1 << code for code in range(LATIN) if chr(code).isalpha())
    return mask | _FAR_WORD if letters else mask


def _group(value: tuple[Any, int, int, Any], flags: int) -> Tree:
    _, added, removed, body = value
    return _chain(body, (flags | added) & ~removed)


def _repeat(value: tuple[int, Any, Any], flags: int) -> Tree:
    least, most, body = value
    return Repeat(_chain(body, flags), int(least), None if most is op.MAXREPEAT else int(most))


def _branch(value: tuple[None, list[Any]], flags: int) -> Tree:
    return Choice(tuple(_chain(way, flags) for way in value[1]))


def _at(place: object, _flags: int) -> Tree:
    return _PLACES.get(place, Chain(()))


def _look(value: tuple[int, Any], flags: int) -> Tree:
    return Look(_chain(value[1], flags))


_PLACES: Mapping[object, Tree] = MappingProxyType(
    {
        op.AT_BEGINNING: Begin(),
        op.AT_BEGINNING_STRING: Begin(),
        op.AT_END: End(),
        op.AT_END_STRING: End(),
    }
)
_TREES: Mapping[object, Callable[[Any, int], Tree]] = MappingProxyType(
    {
        op.LITERAL: _literal,
        op.NOT_LITERAL: _not_literal,
        op.ANY: _any,
        op.IN: _in,
        op.BRANCH: _branch,
        op.SUBPATTERN: _group,
        op.ATOMIC_GROUP: _chain,
        op.MAX_REPEAT: _repeat,
        op.MIN_REPEAT: _repeat,
        op.POSSESSIVE_REPEAT: _repeat,
        op.AT: _at,
        op.ASSERT: _look,
        op.ASSERT_NOT: _look,
    }
)
