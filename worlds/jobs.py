"""Which commands are wanted in a world, of which device, by whom and when?

Wrong order and false credit show where commands follow each other closely, on one device, and where an old value can be
told from a new one. So most batches are for one device, many come right behind the one before or while it still runs,
and each device has a palette of few commands and few values, which come again and again.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from devices.catalog import PolicyRefused, choose, resolve
from devices.kinds import Policy
from worlds.sorts import Sort

SPANS_S = (6.0, 20.0, 60.0)
"""The time in which things are begun."""
BATCHES, JOBS = (2, 8), (1, 6)
_CLOSE, CLOSE_S = 0.5, (0.0, 0.2, 0.7, 2.0)
"""How often a batch comes right behind the one before, and how many seconds later."""
_ON_ONE = 0.7
"""How often a batch is for one device."""
_RIVALS, _RIVALS_S = 0.6, ((0.05, 1.0), (0.05, 4.0), (15.5, 30.0))
"""How often a batch has a rival, and how many seconds later: at once, soon, or once a lease may have lapsed."""
_NAMES, _VALUES = (1, 2, 3, 20), (1, 2, 3, 20)
"""How many commands and how many values a device's palette has at most."""


@dataclass(frozen=True, slots=True)
class Job:
    """One command that somebody wants. `key`: asked for again under it, until its word is known."""

    number: int
    device: int
    words: str
    policy: Policy | None
    attempts: int
    key: str | None


@dataclass(frozen=True, slots=True)
class Batch:
    """What one process is started for; `jobs` of one device are done one after the other, devices side by side.

    Batches of an agent wait for each other, but for a `rival`: it starts while another one works.
    """

    number: int
    agent: int
    at_s: float
    jobs: tuple[Job, ...]
    rival: bool = False


@dataclass(frozen=True, slots=True)
class _Palette:
    """What is asked of a device: names of commands, and seeds that draw the values."""

    names: tuple[str, ...]
    values: tuple[int, ...]

    def words(self, rng: random.Random, sort: Sort) -> str:
        name, value = rng.choice(self.names), rng.choice(self.values)
        return sort.commands[name](random.Random(value))


def batches_of(
    rng: random.Random, sorts: Sequence[Sort], agents: int, span_s: float, *, rivals: bool
) -> tuple[Batch, ...]:
    """The batches of a world whose devices are of these sorts, in the order of their times."""
    palettes = [_palette(rng, sort) for sort in sorts]
    found: list[Batch] = []
    number = 0

    def jobs(devices: Sequence[int], count: int) -> tuple[Job, ...]:
        nonlocal number
        first, number = number, number + count
        return tuple(_job(rng, n, rng.choice(devices), sorts, palettes) for n in range(first, number))

    at_s = 0.0
    for _ in range(rng.randint(*BATCHES)):
        at_s = at_s + rng.choice(CLOSE_S) if found and rng.random() < _CLOSE else rng.uniform(0.0, span_s)
        device = rng.randrange(len(sorts))
        devices = [device] if rng.random() < _ON_ONE else range(len(sorts))
        agent, wanted = rng.randrange(agents), jobs(devices, rng.randint(*JOBS))
        found.append(Batch(len(found), agent, round(at_s, 2), wanted))
        if rivals and rng.random() < _RIVALS:
            later_s = round(at_s + rng.uniform(*rng.choice(_RIVALS_S)), 2)
            found.append(
                Batch(len(found), rng.randrange(agents), later_s, jobs([wanted[0].device], 1), rival=True)
            )
    return tuple(sorted(found, key=lambda batch: batch.at_s))


def _palette(rng: random.Random, sort: Sort) -> _Palette:
    names = sorted(sort.commands)
    rng.shuffle(names)
    values = range(rng.choice(_VALUES))
    return _Palette(tuple(names[: rng.choice(_NAMES)]), tuple(rng.getrandbits(32) for _ in values))


def _job(
    rng: random.Random, number: int, device: int, sorts: Sequence[Sort], palettes: Sequence[_Palette]
) -> Job:
    sort = sorts[device]
    words = palettes[device].words(rng, sort)
    key = f"key-{number}" if rng.random() < 0.5 else None
    attempts = rng.choice((1, 2, 3))
    wish = rng.choice((*Policy, None, None, None, None))
    return Job(number, device, words, _possible(sort, words, wish), attempts, key)


def _possible(sort: Sort, words: str, wish: Policy | None) -> Policy | None:
    """The policy that is wished for, where the catalog allows it."""
    try:
        choose(sort.profile, resolve(sort.profile, words.split()).command, wish)
    except PolicyRefused:
        return None
    return wish
