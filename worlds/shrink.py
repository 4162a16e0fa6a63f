"""Which part of a failing world is needed for its failure?

Jobs, incidents and hits of the weather are taken out as long as the world still breaks the same rule: first halves,
then quarters, down to single ones (delta debugging), in turn until nothing more can go. One job always stays. What
people ask to be kept has to be there: a misspelt part would be left out, and the failure with it.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from worlds.plan import NOTHING_CUT, Cut, Limits, plan_of
from worlds.run import Run, run_seed

T = TypeVar("T", int, str)
ROUNDS_MAX = 6
RUNS_MAX = 2_000
_NUMBERS = re.compile(r"\bOP\d+|\bd\d+\b|[-+]?\d+(\.\d+)?|desk-\w+|'[^']*'|\([^)]*\)|key-\d+")


def shrink(seed: int, limits: Limits, cut: Cut = NOTHING_CUT) -> tuple[Cut, Run]:
    """The smallest cut that was found under which the world of a seed still fails, and its run with the story.

    That is the given cut where the world fails only as a whole.

    Raises ValueError where the world does not fail.
    """
    first = run_seed(seed, limits, cut)
    if not first.violations:
        raise ValueError(f"the world of seed {seed} does not fail")
    rules = {_rule(violation) for violation in first.violations}
    runs = 0

    def fails(candidate: Cut) -> bool:
        nonlocal runs
        runs += 1
        found = {_rule(violation) for violation in run_seed(seed, limits, candidate).violations}
        return runs <= RUNS_MAX and bool(found & rules)

    plan = plan_of(seed, limits).cut(cut)
    jobs = [job.number for batch in plan.batches for job in batch.jobs]
    incidents = [each.number for each in plan.incidents]
    best = replace(cut, hits=frozenset(first.hits), jobs=frozenset(jobs), incidents=frozenset(incidents))
    if not fails(best):
        return cut, run_seed(seed, limits, cut, keep_story=True)
    for _ in range(ROUNDS_MAX):
        before = best
        kept = best.incidents or frozenset()
        best = replace(best, incidents=_fewest(kept, lambda n: fails(replace(best, incidents=n))))  # noqa: B023
        kept = best.jobs or frozenset()
        best = replace(best, jobs=_fewest(kept, lambda n: bool(n) and fails(replace(best, jobs=n))))  # noqa: B023
        names = best.hits or frozenset()
        best = replace(best, hits=_fewest(names, lambda n: fails(replace(best, hits=n))))  # noqa: B023
        if best == before:
            break
    return best, run_seed(seed, limits, best, keep_story=True)


def strangers(seed: int, limits: Limits, cut: Cut) -> list[str]:
    """The parts that a cut names and the world of the seed does not have: `jobs=7`, `hits=d0.cmd.12`.

    A hit is known where it strikes under the cut, or would with all hits, or in the whole world.
    """
    plan = plan_of(seed, limits)
    jobs = {job.number for batch in plan.batches for job in batch.jobs}
    unknown = [f"jobs={number}" for number in sorted((cut.jobs or frozenset()) - jobs)]
    incidents = {each.number for each in plan.incidents}
    unknown += [f"incidents={number}" for number in sorted((cut.incidents or frozenset()) - incidents)]
    hits = set(cut.hits or ())
    for kept in (cut, replace(cut, hits=None), NOTHING_CUT):
        if hits:
            hits -= set(run_seed(seed, limits, kept).hits)
    return unknown + [f"hits={name}" for name in sorted(hits)]


def _fewest(kept: frozenset[T], still: Callable[[frozenset[T]], bool]) -> frozenset[T]:
    """As little as the failure needs."""
    items = sorted(kept)
    size = len(items)
    while size:
        at = 0
        while at < len(items):
            fewer = items[:at] + items[at + size :]
            if still(frozenset(fewer)):
                items = fewer
            else:
                at += size
        size //= 2
    return frozenset(items)


def _rule(violation: str) -> str:
    """What kind of violation it is: its words without names and numbers."""
    return _NUMBERS.sub("#", violation)
