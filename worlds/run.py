"""What comes of one seed? Its world is made, run, healed and judged; the same seed always comes to the same."""

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from unittest.mock import patch

from worlds.checker import judge
from worlds.course import anything_goes
from worlds.healing import Left, heal
from worlds.history import Line
from worlds.loop import WorldLoop
from worlds.plan import NOTHING_CUT, Cut, Limits, plan_of
from worlds.story import trace_hash
from worlds.world import World

LIMIT_S = 7200.0
"""Virtual seconds after which a world has hung."""


@dataclass(slots=True)
class Run:
    """One world that has ended.

    Attributes:
        seed: Its seed.
        violations: What must not happen.
        left: The doubts that were left once everything was healed.
        counts: What happened how often.
        hits: The names of what the weather did.
        trace: The hash of its story.
        lines: The story; empty where nobody wants it.
        requests: How many requests the agents wrote.
        cpu_s: What it cost.
    """

    seed: int
    violations: list[str]
    left: list[Left]
    counts: Counter[str]
    hits: list[str]
    trace: str
    requests: int
    cpu_s: float
    lines: list[Line] = field(default_factory=list)


def run_seed(seed: int, limits: Limits, cut: Cut = NOTHING_CUT, *, keep_story: bool = False) -> Run:
    """Play the world of a seed."""
    started_s = time.process_time()
    loop = WorldLoop()
    drawn = random.Random(f"secrets {seed}")  # what the agent draws at random comes from the seed, too
    try:
        with patch("secrets.randbits", drawn.getrandbits):
            world, left = loop.run_until_complete(_play(seed, limits, cut))
        history = world.history
        violations = [*history.violations, *judge(world)]
        counts = history.counts
        for road in world.roads.values():
            sort = road.sort
            counts.update({f"fault on {sort}: {name}": n for name, n in road.weather.hits.items()})
        counts.update(f"left: {each.policy}" for each in left)
        hits = [name for road in world.roads.values() for name in road.weather.names]
        world.disk.close()
        trace = trace_hash(history.lines)
    finally:
        loop.end()
    lines = history.lines if keep_story else []
    cpu_s = time.process_time() - started_s
    return Run(seed, violations, left, counts, hits, trace, history.requests, cpu_s, lines)


async def _play(seed: int, limits: Limits, cut: Cut) -> tuple[World, list[Left]]:
    world = World(plan_of(seed, limits), cut)
    left: list[Left] = []
    try:
        async with asyncio.timeout(LIMIT_S):
            await anything_goes(world)
            left = await heal(world)
    except TimeoutError:
        world.history.violated(f"it did not end within {LIMIT_S:g} s")
    return world, left
