"""How is a setup played through, and how is one sequence of it played again?"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.exhaustive.bench import Bench, Played
from tests.exhaustive.judge import Violation, judge
from tests.exhaustive.oracle import Choices, Fork, explore, line_of, script_of
from tests.exhaustive.points import AGENT
from tests.exhaustive.setup import Setup
from tests.exhaustive.setups import setup_named


class Broken(AssertionError):  # noqa: N818 - it reads as what it is
    """A sequence after which something was said or done that must not be; `played`: as many sequences until then."""

    def __init__(self, setup: Setup, line: str, played: int, why: str) -> None:
        super().__init__(f"{setup.name}: {line}: {why}")
        self.setup = setup
        self.line = line
        self.played = played
        self.why = why


@dataclass(slots=True)
class Tally:
    """How many sequences were played, by their faults; those in which a process was stopped apart."""

    by_faults: Counter[int] = field(default_factory=Counter)
    stopped: int = 0

    def __str__(self) -> str:
        faults = ", ".join(f"{count} with {n}" for n, count in sorted(self.by_faults.items()))
        return f"{self.total} ({faults}; {self.stopped} with a stop)"

    @property
    def total(self) -> int:
        """All of them."""
        return self.by_faults.total() + self.stopped

    def count(self, faults: int, choices: Choices) -> None:
        """One more."""
        if any(choice.point == AGENT for choice in choices):
            self.stopped += 1
        else:
            self.by_faults[faults] += 1


def play_all(bench: Bench, setup: Setup) -> Tally:
    """Play every sequence of a setup, the shortest first. Raises Broken at the first that breaks a rule."""
    tally = Tally()
    for faults, choices in sequences(bench, setup, tally):
        tally.count(faults, choices)
    return tally


def sequences(bench: Bench, setup: Setup, tally: Tally) -> Iterator[tuple[int, Choices]]:
    """Every sequence of a setup after it was played. Raises Broken."""

    def play(choices: Choices) -> list[Fork]:
        try:
            played = bench.play(setup, {choice.point: choice.option.words for choice in choices})
            judge(played)
        except Violation as violation:
            raise Broken(setup, line_of(choices), tally.total + 1, str(violation)) from violation
        return played.oracle.forks

    return explore(play, setup.bounds.allow)


def play_again(bench: Bench, name: str, line: str) -> Played:
    """Play the sequence that a line names in the setup of that name. Raises Violation, NoSuchWay, StopIteration."""
    played = bench.play(setup_named(name), script_of(line))
    judge(played)
    return played
