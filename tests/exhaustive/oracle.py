"""In which ways may the world go, and how is every one of them tried exactly once?

A play asks its `Oracle` wherever the world may go several ways. The first option of a point is what happens where
nothing goes wrong; every other one counts as so many faults. What departs from the first options names a play: the
`Choices`. One line says them, as in `copy 1: ack lost · copy 2: boot before`, and plays them again.

`explore` plays every sequence of choices there is, those with fewer faults first: of all that a broken rule lets
happen, it meets a shortest one first. It needs no list of them. A play leaves the points at which it passed after its
last choice; each option not taken there is a further sequence.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

SEPARATOR = " · "
NOTHING = "nothing goes wrong"


@dataclass(frozen=True, slots=True)
class Option:
    """One way to go on, in words; `faults`: what it adds to the faults of a sequence."""

    words: str
    faults: int = 1


@dataclass(frozen=True, slots=True)
class Choice:
    """An option that was taken at a point, other than the first one there."""

    point: str
    option: Option

    def __str__(self) -> str:
        return f"{self.point}: {self.option.words}"


Choices = tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Fork:
    """A point that a play has passed, and what could have happened there instead."""

    point: str
    others: Sequence[Option]


class NoSuchWay(ValueError):  # noqa: N818 - it reads as what it is
    """A sequence names a point where the play does not pass, or an option that does not exist there."""


class Oracle:
    """Says which way the world goes in one play.

    Attributes:
        taken: The choices so far.
        forks: The points passed since the script was through, at which other ways were open.
        writes: Counts something that goes on beside the points: the writes of a process.
        last_write: That count at the last choice.
    """

    def __init__(self, script: Mapping[str, str]) -> None:
        """`script`: the words of an option for every point at which it is not the first one."""
        self.taken: list[Choice] = []
        self.forks: list[Fork] = []
        self.writes: Callable[[], int] = int
        self.last_write = 0
        self._script = dict(script)

    @property
    def done(self) -> bool:
        """Whether every point of the script was passed."""
        return not self._script

    def choose(self, point: str, options: Sequence[Option]) -> Option:
        """The way that the world goes at a point, which is passed once. Raises NoSuchWay."""
        wanted = self._script.pop(point, None)
        if wanted is None:
            if len(options) > 1 and not self._script:
                self.forks.append(Fork(point, options[1:]))
            return options[0]
        for option in options:
            if option.words == wanted:
                self.taken.append(Choice(point, option))
                self.last_write = self.writes()
                return option
        raise NoSuchWay(f"{point}: {wanted!r} is none of {', '.join(option.words for option in options)}")

    def check_done(self) -> None:
        """Raises NoSuchWay where the script names a point that was not passed."""
        if self._script:
            raise NoSuchWay(f"the play did not pass at {', '.join(self._script)}")


def line_of(choices: Sequence[Choice]) -> str:
    """A sequence as one line."""
    return SEPARATOR.join(map(str, choices)) or NOTHING


def script_of(line: str) -> dict[str, str]:
    """The script in a line of `line_of`. Raises ValueError."""
    if line == NOTHING:
        return {}
    script: dict[str, str] = {}
    for part in line.split(SEPARATOR):
        point, words = part.split(": ", 1)
        script[point] = words
    return script


def faults_in(choices: Choices) -> int:
    """How many faults a sequence has."""
    return sum(choice.option.faults for choice in choices)


def explore(
    play: Callable[[Choices], Sequence[Fork]], within: Callable[[Choices], bool]
) -> Iterator[tuple[int, Choices]]:
    """Play every sequence once, the shortest first; yields the faults and the choices of each that was played.

    Args:
        play: plays a sequence and returns the forks after its last choice.
        within: whether a sequence is within bounds. What goes on from one that is not is left out too.
    """
    shelves: list[deque[Choices]] = [deque([()])]
    faults = 0
    while faults < len(shelves):
        shelf = shelves[faults]
        while shelf:
            choices = shelf.popleft()
            for fork in play(choices):
                for option in fork.others:
                    longer = (*choices, Choice(fork.point, option))
                    if within(longer):
                        shelves += [deque() for _ in range(len(shelves), faults + option.faults + 1)]
                        shelves[faults + option.faults].append(longer)
            yield faults, choices
        faults += 1
