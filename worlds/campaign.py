"""How are thousands of worlds run? In a pool of processes, in the order of their seeds, all of them judged."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from worlds.plan import Limits
from worlds.run import Run, run_seed

CHUNK = 25
"""Seeds that a process of the pool runs at a time."""


@dataclass(slots=True)
class Campaign:
    """What many worlds came to.

    Attributes:
        worlds: How many ran.
        failed: Those with violations.
        counts: What they met, as `coverage.py` names it.
        left: Doubts that were left to a person.
        avoidable: Those of them that were not needed.
        requests: Requests that the agents wrote.
        cpu_s: CPU seconds of all of them.
    """

    worlds: int = 0
    failed: list[Run] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    left: int = 0
    avoidable: int = 0
    requests: int = 0
    cpu_s: float = 0.0

    def add(self, run: Run) -> None:
        """One more world."""
        self.worlds += 1
        self.counts.update(run.counts)
        self.left += len(run.left)
        self.avoidable += sum(each.evidence is not None for each in run.left)
        self.requests += run.requests
        self.cpu_s += run.cpu_s
        if run.violations:
            self.failed.append(run)


def campaign(
    seeds: Sequence[int],
    limits: Limits,
    *,
    processes: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Campaign:
    """Run the worlds of all seeds; `progress` is told how many are done."""
    result = Campaign()
    for run in _runs(seeds, limits, processes or os.cpu_count() or 1):
        result.add(run)
        if progress is not None:
            progress(result.worlds)
    return result


def _runs(seeds: Sequence[int], limits: Limits, processes: int) -> Iterator[Run]:
    one = partial(run_seed, limits=limits)
    processes = min(processes, -(-len(seeds) // CHUNK))  # no more than have something to do
    if processes == 1:
        yield from map(one, seeds)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from islice(pool.map(one, seeds, chunksize=CHUNK), len(seeds))
