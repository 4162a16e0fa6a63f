"""Which characters can follow one another in a pattern, and in how many ways?

The position automaton of a pattern (V. M. Glushkov, 1961), with one rule of its own: an edge that the pattern offers in
several ways, as in `(a+)+` or `(a|a)b`, carries their number, because a search goes all of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from devices.regex_tree import EVERY, Chain, Chars, Choice, Look, Repeat, Tree, Unknown

STATES_MAX = 600
COUNT_MAX = 16
"""Counted repetitions are told apart up to this many; a larger count is taken for no limit."""
WAYS_COUNTED = 100_000
"""More ways than these are as good as any number."""
_AT_THE_END = EVERY + 1
"""The mask of the last state: no character, but the same for each way to the end."""


class TooLarge(Exception):  # noqa: N818  # it reads as what happened
    """A pattern with more states than are looked at."""


@dataclass(slots=True)
class Automaton:
    """States are numbers, the first before and the last after everything else.

    `masks` says which characters a state takes, `follow` which states come next, each in how many ways.
    """

    masks: list[int] = field(default_factory=list)
    follow: list[Counter[int]] = field(default_factory=list)

    def add(self, mask: int) -> int:
        """Return a new state. Raises TooLarge."""
        if len(self.masks) == STATES_MAX:
            raise TooLarge
        self.masks.append(mask)
        self.follow.append(Counter())
        return len(self.masks) - 1

    def connect(self, sources: Counter[int], targets: Counter[int]) -> None:
        """Let each target follow each source, in as many ways as there are to leave the one and enter the other."""
        for source, leaving in sources.items():
            for target, entering in targets.items():
                ways = self.follow[source][target] + leaving * entering
                self.follow[source][target] = min(ways, WAYS_COUNTED)

    def common(self, ones: Iterable[int], others: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """Yield (common characters, one, other) of the states that can take one character."""
        for one in ones:
            for other in others:
                if mask := self.masks[one] & self.masks[other]:
                    yield mask, one, other

    def components(self) -> list[frozenset[int]]:
        """Return the sets of states that reach one another, each before those that lead to it."""
        order: list[frozenset[int]] = []
        ahead = [self.reachable_from({state}) for state in range(len(self.masks))]
        placed: set[int] = set()
        for state in sorted(range(len(self.masks)), key=lambda state: len(ahead[state] | {state})):
            if state not in placed:
                part = frozenset({state, *(each for each in ahead[state] if state in ahead[each])})
                placed |= part
                order.append(part)
        return order

    def is_loop(self, part: frozenset[int]) -> bool:
        """Tell whether a component leads back into itself."""
        return any(part & self.follow[state].keys() for state in part)

    def reachable_from(self, starts: Iterable[int]) -> frozenset[int]:
        """Return the states that come after `starts`, these only where a way leads back to them."""
        reached: set[int] = set()
        waiting = list(starts)
        while waiting:
            new = self.follow[waiting.pop()].keys() - reached
            reached |= new
            waiting += new
        return frozenset(reached)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a pattern: where it begins and ends, each in how many ways, and in how many it may be nothing."""

    first: Counter[int] = field(default_factory=Counter)
    last: Counter[int] = field(default_factory=Counter)
    empty: int = 1


def automaton_of(tree: Tree) -> Automaton:
    """Return the automaton of a pattern. Raises TooLarge."""
    automaton = Automaton()
    start = _state(automaton, 0)
    piece = _joined(automaton, start, _build(automaton, tree))
    _joined(automaton, piece, _state(automaton, _AT_THE_END))
    return automaton


def _state(automaton: Automaton, mask: int) -> _Piece:
    state = automaton.add(mask)
    return _Piece(Counter([state]), Counter([state]), empty=0)


def _build(automaton: Automaton, tree: Tree) -> _Piece:
    match tree:
        case Chars(mask):
            return _state(automaton, mask)
        case Look(body):
            return _build(automaton, Repeat(body, 0, 1))
        case Unknown():
            return _build(automaton, Repeat(Chars(EVERY), 0, None))
        case Choice(ways):
            pieces = [_build(automaton, way) for way in ways]
            return _Piece(
                sum((piece.first for piece in pieces), Counter()),
                sum((piece.last for piece in pieces), Counter()),
                sum(piece.empty for piece in pieces),
            )
        case Chain(parts):
            piece = _Piece()
            for part in parts:
                piece = _joined(automaton, piece, _build(automaton, part))
            return piece
        case Repeat(body, least, most):
            return _repeated(automaton, body, least, most)
    return _Piece()


def _joined(automaton: Automaton, a: _Piece, b: _Piece) -> _Piece:
    automaton.connect(a.last, b.first)
    return _Piece(a.first + _times(b.first, a.empty), b.last + _times(a.last, b.empty), a.empty * b.empty)


def _times(ways: Counter[int], number: int) -> Counter[int]:
    if not number:
        return Counter()
    return Counter({state: min(count * number, WAYS_COUNTED) for state, count in ways.items()})


def _repeated(automaton: Automaton, body: Tree, least: int, most: int | None) -> _Piece:
    """Build `x{2,4}` as `xx(x(x)?)?` and `x{2,}` as `x+`, after which one more `x` that is nothing may follow."""
    if most is None or most > COUNT_MAX:
        piece = _build(automaton, body)
        automaton.connect(piece.last, piece.first)
        more = 1 + piece.empty
        return _Piece(
            piece.first,
            _times(piece.last, more),
            min(piece.empty * more + (least == 0), WAYS_COUNTED),
        )
    rest = _Piece()
    for number in range(most, 0, -1):
        rest = _joined(automaton, _build(automaton, body), rest)
        if number > least:
            rest = _Piece(rest.first, rest.last, rest.empty + 1)
    return rest
