"""How many observations does one store take, and how long does an agent need to read what a verdict looks at?

    .venv/bin/python -m benchmarks.fleet_store [--writers 6] [--targets 500] [--rounds 24] [--batch 500]

The writers take turns, each with a connection of its own, and write one row per target and round in batches. A fleet
that probes every 5 s needs `writers x targets / 5` rows a second. The clock of the rows runs 5 s a round. Then rows are
added without a stopwatch until the store has those of ten minutes, as it always has in service, and the writing is
measured again, with the forgetting of old rows.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agent.clock import Clock
from agent.fleet.agents import Agents
from agent.fleet.facts import AgentState, Observation
from agent.fleet.observations import KEEP_S, Observations
from agent.fleet.verdict import verdict
from agent.processes import this_process
from agent.service import Service
from agent.settings import Settings

PROBE_S = 5.0
BEGIN = datetime(2026, 11, 30, tzinfo=UTC)


class RoundClock(Clock):
    """A clock that goes on by one round at a time."""

    def __init__(self) -> None:
        self.rounds = 0
        super().__init__(lambda: BEGIN + timedelta(seconds=self._passed_s()), lambda: 1e6 + self._passed_s())

    def _passed_s(self) -> float:
        return self.rounds * PROBE_S


def batches(service: Service, number: int, targets: int, batch: int) -> Iterator[list[Observation]]:
    """What one agent saw in one round."""
    me, at_s = service.holder, service.steady.now().timestamp()
    rows = [
        Observation(me.agent, me.instance, f"device:pump-{target:04}", number, at_s, True, "", 0.012)
        for target in range(targets)
    ]
    for first in range(0, targets, batch):
        yield rows[first : first + batch]


def write_rounds(
    services: list[Service], clock: RoundClock, rounds: int, options: argparse.Namespace, *, prune: bool
) -> float:
    """So many rounds of all writers; returns the seconds that the store needed."""
    took_s = 0.0
    for _ in range(rounds):
        clock.rounds += 1
        for service in services:
            mine = Observations(service)
            for rows in batches(service, clock.rounds, options.targets, options.batch):
                started = time.perf_counter()
                mine.write(rows)
                took_s += time.perf_counter() - started
            if prune:
                started = time.perf_counter()
                mine.prune()
                took_s += time.perf_counter() - started
    return took_s


def report(name: str, took_s: float, rounds: int, options: argparse.Namespace) -> None:
    """One line about some rounds of writing."""
    rows = rounds * options.writers * options.targets
    needed = options.writers * options.targets / PROBE_S
    print(
        f"{name:<28} {rows / took_s:9.0f} rows/s, {took_s / rows * 1e6:5.1f} us per row; the fleet needs {needed:.0f} "
        f"rows/s: {rows / took_s / needed:5.0f} x"
    )


def best_ms(work: Callable[[], object]) -> float:
    """Milliseconds of the best of five goes."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times) * 1e3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writers", type=int, default=6)
    parser.add_argument("--targets", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="where the store is put")
    options = parser.parse_args()
    os.sched_setaffinity(0, {0})
    clock = RoundClock()
    with tempfile.TemporaryDirectory(dir=options.folder, prefix=".bench-") as folder:
        home = Path(folder)
        services = [
            Service(Settings(home, home, None, None, name, "bench"), clock=clock, holder=this_process(name))
            for name in (f"gw{number}" for number in range(options.writers))
        ]
        for service in services:
            Agents(service).register(
                site="", vantage="", uplink="", listens=None, probe_s=PROBE_S,
                routes={f"pump-{target:04}": "tcp://10.0.0.1:1" for target in range(options.targets)},
            )  # fmt: skip
            Agents(service).enter(AgentState.UP)
        took_s = write_rounds(services, clock, options.rounds, options, prune=False)
        report("an empty store", took_s, options.rounds, options)
        write_rounds(services, clock, int(KEEP_S / PROBE_S), options, prune=True)
        took_s = write_rounds(services, clock, options.rounds, options, prune=True)
        report("ten minutes of rows, pruned", took_s, options.rounds, options)
        mine = Observations(services[0])
        facts = mine.facts()
        read_ms = best_ms(mine.facts)
        judged_ms = best_ms(lambda: verdict(facts, mine.now_s()))
        print(f"{'facts of a minute':<28} {len(facts.observations):9} rows read in {read_ms:.0f} ms")
        print(f"{'verdict':<28} {'':>9} computed in {judged_ms:.0f} ms")
        size = sum(path.stat().st_size for path in home.iterdir())
        print(f"{'the store':<28} {size / 1e6:9.0f} MB with its write-ahead log")
        for service in services:
            service.close()


if __name__ == "__main__":
    main()
