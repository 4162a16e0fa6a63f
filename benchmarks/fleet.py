"""How long does one judgement of a whole fleet take, on one core?

    .venv/bin/python -m benchmarks.fleet [--agents 6] [--devices 500] [--rounds 15]

Every agent has probed every device and every other agent each 5 s for as long as rows count. Four fleets: all is well;
every device missed a probe here and there; one site lost a tenth of its devices; nobody reaches anything. The best and
the median of the rounds are told, and beside them the bare cost of touching each row once in a loop.
"""

import argparse
import os
import random
import statistics
import time
from collections.abc import Callable

from agent.fleet.facts import (
    AgentFacts,
    AgentState,
    Facts,
    Observation,
    Params,
    SelfReport,
    agent_target,
    device_target,
)
from agent.fleet.verdict import verdict

NOW_S = 1_000_000.0
PARAMS = Params()
Missed = Callable[[random.Random, int, int, int], bool]
"""Whether this probe failed, by agent, target and age in rounds."""
FLEETS: dict[str, Missed] = {
    "all is well": lambda _rng, _agent, _target, _age: False,
    "a miss in ten": lambda rng, _agent, _target, _age: rng.random() < 0.1,
    "a site lost a tenth": lambda _rng, agent, target, age: agent % 3 == 0 and target % 10 == 0 and age < 8,
    "nobody reaches anything": lambda _rng, _agent, _target, _age: True,
}


def facts_of(agents: int, devices: int, missed: Missed, seed: int) -> Facts:
    """A minute of rows."""
    rng = random.Random(seed)
    names = [f"gw{number}" for number in range(agents)]
    targets = [device_target(f"d{number}") for number in range(devices)] + list(map(agent_target, names))
    rounds = int(PARAMS.fresh_s / PARAMS.probe_s)
    rows = [
        Observation(name, "b1", target, rounds - age, NOW_S - age * PARAMS.probe_s - rng.random(), not miss,
                    "no_reply" if miss else "")
        for observer, name in enumerate(names)
        for number, target in enumerate(targets)
        if target != agent_target(name)
        for age in range(rounds)
        for miss in (missed(rng, observer, number, age),)
    ]  # fmt: skip
    rng.shuffle(rows)
    sites = [f"site-{number % 3}" for number in range(agents)]
    return Facts(
        tuple(
            AgentFacts(name, "b1", site, site, "", AgentState.UP, reference=False, heartbeat_s=NOW_S - 3)
            for name, site in zip(names, sites, strict=True)
        ),
        tuple(rows),
        tuple(SelfReport(name, "b1", NOW_S - 20, ok=True) for name in names),
    )


def touch_ms(facts: Facts) -> float:
    """Looking at two fields of each row, and nothing else."""
    started = time.process_time()
    seen: dict[str, float] = {}
    for row in facts.observations:
        seen[row.target] = row.at_s
    return (time.process_time() - started) * 1000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=6)
    parser.add_argument("--devices", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.sched_setaffinity(0, {0})
    for name, missed in FLEETS.items():
        facts = facts_of(options.agents, options.devices, missed, options.seed)
        took_ms, bare_ms = [], []
        for _ in range(options.rounds):
            started = time.process_time()
            fleet = verdict(facts, NOW_S, PARAMS)
            took_ms.append((time.process_time() - started) * 1000)
            bare_ms.append(touch_ms(facts))
        found = sorted({each.status.value for each in fleet.verdicts.values()})
        print(
            f"{name:<24} {len(facts.observations):>6} rows  best {min(took_ms):6.1f} ms  median "
            f"{statistics.median(took_ms):6.1f} ms  {min(took_ms) / min(bare_ms):5.1f} x bare   {', '.join(found)}"
        )


if __name__ == "__main__":
    main()
