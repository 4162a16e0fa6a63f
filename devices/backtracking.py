"""Could searching a pattern in one line take for ever?

Python's regular expressions try every way in which repetitions can share a text. Where there are two ways inside a
loop, they double with each character; where three loops in a row can pass a text on, they grow with the third power of
the line, which for the longest one (4096 bytes) takes minutes. Both are refused. Two loops in a row cost less than a
second and pass.

The question is put to the pattern's automaton: a state for each character that is taken, an edge for each way to go on.
Two ways from a state back to itself with one text are the first case (exponential ambiguity), a chain of loops that
pass a text on is the second (polynomial ambiguity; A. Weber and H. Seidl, 1991).
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TypeVar

from devices.automaton import Automaton, TooLarge, automaton_of
from devices.regex_tree import ANY, Begin, Chain, Chars, Choice, End, Repeat, Tree, Unknown, tree_of

HANDOVERS_MAX = 1
"""How many loops may pass a text on to the next one: each costs one power more of the line's length."""
WAYS_MAX = (1000, 10)
"""In how many ways the parts outside of loops may share one text: without and with a handover."""
STEPS_MAX = 300_000

NESTED = (
    "two repetitions inside one another can share a text, so a line that does not match could take for ever: "
    "let a character stand between them that the inner one leaves out, as in ([^,]+,)*"
)
IN_A_ROW = (
    "several repetitions in a row can share a text, so a long line that does not match could take minutes: "
    r"say what each stops at, such as [^,]* instead of .*, or \d+(\.\d+)? instead of \d+\.?\d*"
)
TOO_LARGE = "the pattern is too large to make sure that a search ends in time: use fewer, smaller repetitions"

T = TypeVar("T")
_Pair = tuple[int, int]


@lru_cache(maxsize=512)
def trouble(pattern: str) -> str | None:
    """Return what is wrong with a pattern and what to write instead; None where each search ends in time.

    Raises:
        re.error, RecursionError, OverflowError: it is no regular expression.
    """
    tree = tree_of(pattern)
    if not _begins_bound(tree):
        tree = Chain((Unknown(), tree))  # a search tries every place of the line
    for stage in _stages(tree):
        try:
            found = automaton_of(stage)
            parts = found.components()
            if any(_shares_within(found, part) for part in parts):
                return NESTED
            handovers = _handovers(found, parts)
            if handovers > HANDOVERS_MAX or _ways(found, parts) > WAYS_MAX[handovers]:
                return IN_A_ROW
        except TooLarge:
            return TOO_LARGE
    return None


def _stages(tree: Tree) -> tuple[Tree, ...]:
    """Take a pattern apart where it can no longer fail, as at the `.*` of `.*$`: nothing before is tried again then."""
    parts = _flat(tree)
    for index, part in enumerate(parts):
        if _takes_all(part) and all(_may_be_nothing(each) for each in parts[index + 1 :]):
            return Chain(parts[:index]), Chain(parts[index:])
    return (tree,)


def _flat(tree: Tree) -> tuple[Tree, ...]:
    return tuple(each for part in tree.parts for each in _flat(part)) if isinstance(tree, Chain) else (tree,)


def _takes_all(tree: Tree) -> bool:
    match tree:
        case Repeat(Chars(mask), least, None):
            return least <= 1 and not ANY & ~mask
    return False


def _may_be_nothing(tree: Tree) -> bool:
    """Tell whether a part matches at the end of the line."""
    match tree:
        case End():
            return True
        case Chain(parts):
            return all(_may_be_nothing(part) for part in parts)
        case Choice(ways):
            return any(_may_be_nothing(way) for way in ways)
        case Repeat(body, least, _):
            return least == 0 or _may_be_nothing(body)
    return False


def _begins_bound(tree: Tree) -> bool:
    match tree:
        case Begin():
            return True
        case Chain(parts):
            return bool(parts) and _begins_bound(parts[0])
        case Choice(ways):
            return all(_begins_bound(way) for way in ways)
    return False


def _shares_within(found: Automaton, part: frozenset[int]) -> bool:
    """Tell whether a loop has two ways back to where it began with one text."""
    onwards = {state: part & found.follow[state].keys() for state in part}
    if any(found.follow[state][target] > 1 for state in part for target in onwards[state]):
        return True

    def onward(pair: _Pair) -> Iterator[_Pair]:
        for _, one, other in found.common(onwards[pair[0]], onwards[pair[1]]):
            yield one, other

    # All pairs of a state with itself reach one another, so one of them is as good as any.
    reached = _reachable(((state, state) for state in part), onward)
    back: dict[_Pair, list[_Pair]] = {}
    for pair in reached:
        for target in onward(pair):
            back.setdefault(target, []).append(pair)
    returning = _reachable(((state, state) for state in part), lambda pair: back.get(pair, ()))
    return any(a != b for a, b in returning)


def _handovers(found: Automaton, parts: list[frozenset[int]]) -> int:
    """Return how often a text can pass from loop to loop along a chain, if more than is allowed not exactly.

    `parts`: the last ones first.
    """
    best: dict[frozenset[int], int] = {}
    for loop in (part for part in parts if found.is_loop(part)):
        ahead = found.reachable_from(loop)
        most = 0
        for later, count in best.items():
            if later <= ahead and count >= most:
                most = max(most, count + _passes_on(found, loop, later, ahead))
        if most > HANDOVERS_MAX:
            return most
        best[loop] = most
    return max(best.values(), default=0)


def _passes_on(found: Automaton, loop: frozenset[int], later: frozenset[int], ahead: frozenset[int]) -> bool:
    """Tell whether one text can stay in `loop`, stay in `later`, and lead from the one to the other."""

    def onward(at: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
        stays, goes, waits = at
        for mask, one, other in found.common(
            loop & found.follow[stays].keys(), ahead & found.follow[goes].keys()
        ):
            for third in later & found.follow[waits].keys():
                if found.masks[third] & mask:
                    yield one, other, third

    return any(
        (first, last, last) in _reachable([(first, first, last)], onward) for first in loop for last in later
    )


def _ways(found: Automaton, parts: list[frozenset[int]]) -> int:
    """Return in how many ways one text may go through the parts that are no loops. `parts`: the last ones first."""
    ways: dict[int, int] = {}
    for part in parts:
        most = 1
        for state in part:
            exits = {to: number for to, number in found.follow[state].items() if to not in part}
            for target in exits:
                alike = (ways[to] * exits[to] for to in exits if found.masks[to] & found.masks[target])
                most = max(most, sum(alike))
        ways |= dict.fromkeys(part, most)
    return max(ways.values(), default=1)


def _reachable(starts: Iterable[T], onward: Callable[[T], Iterable[T]]) -> set[T]:
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        for each in onward(waiting.pop()):
            if each not in reached:
                reached.add(each)
                waiting.append(each)
        if len(reached) > STEPS_MAX:
            raise TooLarge
    return reached
