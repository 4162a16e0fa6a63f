"""Which edits of a profile help against the doubts of a command, alone or together?

Every edit that makes sense is played alone, under the same seeds. Unless one of them is enough, every two that go
together are played as well, and on top of the best two a third. What counts as a help:

* The share in doubt or the share left to a person is smaller *beyond chance*: by more than STANDARD_ERRORS standard
  errors of the difference. Each share is judged alone, among the runs in which something was sent.
* Neither share is larger beyond chance.
* The work is still done: not less than STILL_DONE of what was applied before.
* Of several edits together all this is asked against the plain profile and against each part of them that was played.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from agent.operation import Outcome
from agent.stations import Target
from devices.profile import Command
from worlds.own.edits import Edit, edits
from worlds.own.plays import Stage, Tally, Weather

TOGETHER_MAX = 3
"""So many edits are tried on top of one another."""
STANDARD_ERRORS = 2.0
STILL_DONE = 0.9
ENOUGH_PERCENT = 1.0
"""Fewer doubts than that are not worth a further claim."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One edit, or several together, and what the runs came to with it.

    `helps`: by the rules above; `lazy`: doubts are fewer at the price of the work.
    """

    edits: tuple[Edit, ...]
    tally: Tally
    helps: bool = False
    lazy: bool = False

    @property
    def rank(self) -> tuple[float, float]:
        """The less the better: doubts left to a person, then all doubts."""
        return self.tally.left_percent, self.tally.doubt_percent

    @property
    def keys(self) -> frozenset[str]:
        """What the edits are about."""
        return frozenset(edit.key for edit in self.edits)

    @property
    def words(self) -> frozenset[str]:
        """What is edited."""
        return frozenset(map(str, self.edits))


def played(target: Target, command: Command, weather: Weather) -> Tally:
    """All runs of a command of a device, on a stage of their own."""
    stage = Stage()
    try:
        return stage.play_all(target, command, weather)
    finally:
        stage.close()


def can_be_helped(tally: Tally) -> bool:
    """Whether so many doubts in so few runs could be told from none at all."""
    return _fewer(0, tally.words[Outcome.IN_DOUBT], tally.sent, tally.sent)


def search(target: Target, command: Command, weather: Weather, without: Tally) -> tuple[Tried, ...]:
    """Everything that was tried, the best first. `without`: what the runs came to as the files are."""
    found: list[Tried] = []
    bases = [Tried((), without)]
    seen = [target]
    for together in range(1, TOGETHER_MAX + 1):
        fresh = []
        for chain in _tops(target, command, bases, seen):
            now = chain[-1].target
            tried = Tried(chain, played(now, _there(now, command), weather))
            fresh.append(_judged(tried, without, found))
        found += fresh
        best = min((each for each in found if each.helps), key=lambda each: each.rank, default=None)
        if best is not None and max(best.rank) < ENOUGH_PERCENT:
            break
        bases = fresh if together == 1 else [best] if best in fresh else []
    return tuple(sorted(found, key=lambda each: each.rank))


def _tops(
    target: Target, command: Command, bases: Sequence[Tried], seen: list[Target]
) -> Iterator[tuple[Edit, ...]]:
    """Each edit that goes on top of what is there already, no device twice (`seen`)."""
    for base in bases:
        now = base.edits[-1].target if base.edits else target
        for edit in edits(now, _there(now, command)):
            if edit.key not in base.keys and edit.target not in seen:
                seen.append(edit.target)
                yield (*base.edits, edit)


def _there(target: Target, command: Command) -> Command:
    return target.profile.command(command.name)


def _judged(tried: Tried, without: Tally, found: Sequence[Tried]) -> Tried:
    parts = [each.tally for each in found if each.words < tried.words]
    helps = all(better(tried.tally, than) for than in (without, *parts))
    return replace(tried, helps=helps, lazy=not done(tried.tally, without))


def better(tally: Tally, than: Tally) -> bool:
    """Whether doubts are fewer beyond chance, and the work gets done (the rules above)."""
    counts = [
        (tally.words[Outcome.IN_DOUBT], than.words[Outcome.IN_DOUBT]),
        (tally.left, than.left),
    ]
    return (
        any(_fewer(now, then, tally.sent, than.sent) for now, then in counts)
        and not any(_fewer(then, now, than.sent, tally.sent) for now, then in counts)
        and done(tally, than)
    )


def done(tally: Tally, than: Tally) -> bool:
    """Whether about as much is applied."""
    return tally.words[Outcome.APPLIED] >= max(1.0, STILL_DONE * than.words[Outcome.APPLIED])


def _fewer(few: int, many: int, of_few: int, of_many: int) -> bool:
    """Whether `few` of some runs is a smaller share than `many` of others, beyond chance.

    One run of each sort is added to both (Agresti and Caffo), so that two or three runs prove nothing.
    """
    low, high = (few + 1) / (of_few + 2), (many + 1) / (of_many + 2)
    error = sqrt(low * (1 - low) / (of_few + 2) + high * (1 - high) / (of_many + 2))
    return high - low > STANDARD_ERRORS * error
