"""Can a line be taken for two things at once?

Patterns are searched in one line without its end, so only `^` binds one to the beginning (CATALOG.md, section 4). The
answers decide whether a reading may be believed while an ack is still owed. Hence the rule: `exclude` says yes only
where no line whatever can match both, and whatever cannot be told counts as a possible match.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from devices.backtracking import trouble
from devices.regex_tree import Begin, Chain, Chars, Choice, End, Look, Repeat, Tree, Unknown, is_char, tree_of

LENGTH_MAX = 24
"""Characters from the beginning that are compared; what follows may be anything."""
HEADS_MAX = 200
EXAMPLES_MAX = 12


@dataclass(frozen=True, slots=True)
class _Head:
    """How a line may begin: a set of characters for each place.

    `bound` is False until the beginning of the line was asked for, and such a head says nothing. `open`: anything may
    follow, or nothing. `ended`: the line ends here.
    """

    masks: tuple[int, ...] = ()
    bound: bool = False
    open: bool = False
    ended: bool = False

    @property
    def finished(self) -> bool:
        return self.open or self.ended


_UNKNOWN = (_Head(open=True),)


class _TooMany(Exception):  # noqa: N818  # it reads as what happened
    """A pattern has more beginnings than are looked at."""


@lru_cache(maxsize=512)
def exclude(a: str, b: str) -> bool:
    """Tell whether no line can match both patterns; False where that is not certain.

    Raises:
        re.error: one of them is no regular expression.
    """
    return all(_differ(one, other) for one in _heads(a) for other in _heads(b))


@lru_cache(maxsize=512)
def literal_prefix(pattern: str) -> str:
    """Return the text that every line begins with that matches; empty where none is certain.

    Raises:
        re.error: it is no regular expression.
    """
    heads = _heads(pattern)
    prefix = ""
    for masks in zip(*(head.masks for head in heads), strict=False):
        if not is_char(masks[0]) or len(set(masks)) > 1:
            break
        prefix += chr(masks[0].bit_length() - 1)
    return prefix


def is_bound(pattern: str) -> bool:
    """Tell whether a pattern surely begins where the line begins.

    Raises:
        re.error: it is no regular expression.
    """
    return all(head.bound for head in _heads(pattern))


@lru_cache(maxsize=512)
def examples(pattern: str) -> tuple[str, ...]:
    """Return a few lines that match the pattern, none where none was found or a search might not end.

    Raises:
        re.error: it is no regular expression.
    """
    if trouble(pattern) is not None:
        return ()
    lines = dict.fromkeys(islice(_lines(tree_of(pattern)), EXAMPLES_MAX))
    return tuple(line for line in lines if re.search(pattern, line))


# --- how a line may begin -------------------------------------------------------------------------------------


def _heads(pattern: str) -> tuple[_Head, ...]:
    try:
        heads = _after(tree_of(pattern), (_Head(),))
    except _TooMany:
        return _UNKNOWN
    return tuple(_opened(head) for head in heads)


def _after(tree: Tree, heads: tuple[_Head, ...]) -> tuple[_Head, ...]:
    """Return every beginning that one of `heads` has once `tree` followed."""
    done = tuple(head for head in heads if head.finished)
    going = tuple(head for head in heads if not head.finished)
    if not going or isinstance(tree, Look):
        return heads
    match tree:
        case Begin():
            found = tuple(_Head(head.masks, bound=True) for head in going)
        case End():
            found = tuple(_Head(head.masks, head.bound, ended=True) for head in going)
        case Unknown():
            found = tuple(_opened(head) for head in going)
        case Chars(mask):
            found = tuple(_longer(head, mask) for head in going)
        case Chain(parts):
            found = going
            for part in parts:
                found = _after(part, found)
        case Choice(ways):
            found = tuple(head for way in ways for head in _after(way, going))
        case Repeat(body, least, most):
            found = _repeated(body, least, most, going)
    heads = tuple(dict.fromkeys((*done, *found)))
    if len(heads) > HEADS_MAX:
        raise _TooMany
    return heads


def _opened(head: _Head) -> _Head:
    return head if head.finished else _Head(head.masks, head.bound, open=True)


def _longer(head: _Head, mask: int) -> _Head:
    if not head.bound:
        return _Head(open=True)
    masks = (*head.masks, mask)
    return _Head(masks, bound=True, open=len(masks) == LENGTH_MAX)


def _repeated(body: Tree, least: int, most: int | None, heads: tuple[_Head, ...]) -> tuple[_Head, ...]:
    """Return the beginnings after as many copies as there must be, and those of one more, then anything."""
    for _ in range(min(least, LENGTH_MAX)):
        heads = _after(body, heads)
    if most == least:
        return heads
    more = _after(body, heads)
    if most != least + 1:
        more = tuple(_opened(head) for head in more)
    return (*heads, *more)


def _differ(a: _Head, b: _Head) -> bool:
    """Tell whether no line begins in both ways."""
    if not (a.bound and b.bound):
        return False
    if any(not one & other for one, other in zip(a.masks, b.masks, strict=False)):
        return True
    shorter, longer = sorted((a, b), key=lambda head: len(head.masks))
    return shorter.ended and len(longer.masks) > len(shorter.masks)


# --- lines that match -----------------------------------------------------------------------------------------

_LIKELY = [1 << ord(char) for char in "1x OKa0-_.,:;=/*#?!A"]


def _lines(tree: Tree) -> Iterator[str]:
    """Yield texts that the tree describes, the plainest first; places and assertions are left to a search."""
    match tree:
        case Begin() | End() | Look() | Unknown():
            yield ""
        case Chars(mask):
            yield _likely(mask)
        case Choice(ways):
            for way in ways:
                yield from islice(_lines(way), EXAMPLES_MAX)
        case Chain(parts):
            yield from _joined(parts)
        case Repeat(body, least, most):
            counts = dict.fromkeys((max(least, 1), least)) if most != 0 else (0,)
            for count in counts:
                yield from _joined((body,) * min(count, LENGTH_MAX))


def _joined(parts: tuple[Tree, ...]) -> Iterator[str]:
    if not parts:
        yield ""
        return
    for first in islice(_lines(parts[0]), EXAMPLES_MAX):
        for rest in islice(_joined(parts[1:]), EXAMPLES_MAX):
            yield first + rest


def _likely(mask: int) -> str:
    """Return a character of the set, one that lines have if it can be."""
    bit = next((bit for bit in _LIKELY if bit & mask), mask & -mask)
    return chr(bit.bit_length() - 1)
