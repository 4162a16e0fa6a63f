"""What is to happen in the world of a seed? Everything that is not thrown message by message (`weather.py`).

The equipment and its roads are drawn here, what is asked of it in `jobs.py`, what happens around in `incidents.py`.
Swarm style: each seed switches most kinds of faults off, so that the few that are left meet each other undisturbed. A
plan depends on its seed and its limits alone. `Cut` takes parts of it out again without moving the others, which is
how a failing world is made small.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from simulator.fault_kinds import Fault
from worlds.exceptions import LATE
from worlds.incidents import AROUND, PROCESSES, Incident, incidents_of
from worlds.jobs import SPANS_S, Batch, batches_of
from worlds.sorts import Sort, sorts
from worlds.weather import SHARE, Risk

TO, BACK, DIAL = ("lost", "stall", "hang_up", "half"), ("deaf", "stall"), ("no_answer",)
WAYS = tuple(dict.fromkeys((*TO, *BACK, *DIAL)))
"""What may happen to messages on the way to a device, on the way back, and when it is dialled."""
_LONGEST_S = {
    Fault.LATE_REQUEST: 20.0,
    Fault.FREEZE: 4.0,
    Fault.BUSY: 7.0,
    Fault.DELAY: 4.0,
    Fault.HOLD: 4.0,
    Fault.TRICKLE: 0.02,
    Fault.REVERT: 3.0,
    **dict.fromkeys(LATE, 4.0),
    "stall": 30.0,
}
_PLAIN = 0.5
"""How often a world has nothing but plain text equipment."""
_LATE, _LATE_ONES = 0.6, ("delay", "hold", "late_request", "stall")
"""How often a world surely has one of the faults after which something comes too late."""
_COUNTS = (1, 1, 1, 2, 2, 3, 5, 10)
"""How many kinds of faults of messages are on: mostly few, so that those that are left meet each other undisturbed."""
_AROUND, _OFTEN = 0.2, 0.35
"""How often something around is on, and something that befalls processes."""
_SHARES_OF_FEW = (0.5, 0.75, 1.0)
"""How many of the faults are on that somebody has picked."""
_CHANCES = (0.03, 0.1, 0.25, 0.5)
"""How often a message is struck."""
_PAUSES_S = (0.02, 0.3, 1.5)


def fault_kinds() -> tuple[str, ...]:
    """Everything that may go wrong in any world."""
    inside = {name for sort in sorts() for name in sort.faults}
    return (*WAYS, *AROUND, *sorted(inside))


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a world may be, and which kinds of faults it may have (None: all)."""

    devices: int = 3
    agents: int = 2
    faults: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left of a world; None: everything. `hits` are names of the weather, the others numbers of the plan."""

    hits: frozenset[str] | None = None
    jobs: frozenset[int] | None = None
    incidents: frozenset[int] | None = None

    def __str__(self) -> str:
        parts = {"hits": self.hits, "jobs": self.jobs, "incidents": self.incidents}
        kept = {name: sorted(map(str, each)) for name, each in parts.items() if each is not None}
        return " ".join(f"{name}={','.join(each) or 'none'}" for name, each in kept.items())

    @classmethod
    def parse(cls, text: str) -> "Cut":
        """The inverse of `str`. Raises ValueError, which says what is wrong."""
        found: dict[str, frozenset[str]] = {}
        for part in text.split():
            name, equals, items = part.partition("=")
            if name not in ("hits", "jobs", "incidents") or not equals:
                raise ValueError(f"'{part}' is none of hits=…, jobs=…, incidents=…")
            if name in found:
                raise ValueError(f"'{name}=' stands twice")
            found[name] = frozenset() if items == "none" else frozenset(items.split(","))
            if "" in found[name]:
                raise ValueError(f"a name is missing in '{part}'; '{name}=none' keeps none")
        return cls(found.get("hits"), _numbers("jobs", found), _numbers("incidents", found))


def _numbers(name: str, found: Mapping[str, frozenset[str]]) -> frozenset[int] | None:
    if name not in found:
        return None
    for item in sorted(found[name]):
        if not (item.isascii() and item.isdecimal()):
            raise ValueError(f"'{item}' in '{name}=' is no number")
    return frozenset(map(int, found[name]))


NOTHING_CUT = Cut()


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """One device: its sort, its road, and how often what strikes there."""

    name: str
    sort: Sort
    serial: bool
    tier: int | None
    atomic: bool
    latency_s: float
    inside: tuple[Risk, ...]
    to: tuple[Risk, ...]
    back: tuple[Risk, ...]
    dial: tuple[Risk, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole world. `kinds` are the faults that are on; `pause_s` lies between a dead process and the next one."""

    seed: int
    kinds: frozenset[str]
    devices: tuple[DevicePlan, ...]
    agents: int
    pause_s: float
    batches: tuple[Batch, ...]
    incidents: tuple[Incident, ...]

    def cut(self, cut: Cut) -> "Plan":
        """The plan without what the cut takes out; what the weather throws is cut there."""
        batches = tuple(
            replace(
                batch, jobs=tuple(job for job in batch.jobs if cut.jobs is None or job.number in cut.jobs)
            )
            for batch in self.batches
        )
        incidents = tuple(
            each for each in self.incidents if cut.incidents is None or each.number in cut.incidents
        )
        return replace(self, batches=tuple(batch for batch in batches if batch.jobs), incidents=incidents)


def plan_of(seed: int, limits: Limits) -> Plan:
    """The world of a seed."""
    rng = random.Random(f"plan {seed}")
    equipment = _equipment(rng, limits.devices)
    kinds = _kinds(rng, equipment, limits.faults)
    devices = tuple(_device(rng, number, sort, kinds) for number, sort in enumerate(equipment))
    agents, span_s = rng.randint(1, limits.agents), rng.choice(SPANS_S)
    batches = batches_of(rng, equipment, agents, span_s, rivals="rival" in kinds)
    pause_s = rng.choice(_PAUSES_S)
    incidents = incidents_of(
        rng,
        kinds,
        numbered=all(device.tier is not None for device in devices),
        devices=len(devices),
        batches=batches,
        span_s=span_s,
    )
    return Plan(seed, kinds, devices, agents, pause_s, batches, incidents)


def _equipment(rng: random.Random, most: int) -> list[Sort]:
    plain = rng.random() < _PLAIN
    among = [sort for sort in sorts() if not (plain and sort.tiers)]
    return rng.choices(among, [sort.weight for sort in among], k=rng.randint(1, most))


def _kinds(rng: random.Random, equipment: Sequence[Sort], picked: frozenset[str] | None) -> frozenset[str]:
    """The kinds of faults that are on: some of those that somebody has picked, else few that can strike here."""
    if picked is not None:
        share = rng.choice(_SHARES_OF_FEW)
        return frozenset(kind for kind in fault_kinds() if rng.random() < share and kind in picked)
    possible = sorted({*WAYS, *(str(name) for sort in equipment for name in sort.faults)})
    of_messages = rng.sample(possible, rng.choice(_COUNTS))
    late = [rng.choice(_LATE_ONES)] if rng.random() < _LATE else []
    around = [kind for kind in AROUND if rng.random() < (_OFTEN if kind in PROCESSES else _AROUND)]
    return frozenset((*of_messages, *late, *around))


def _device(rng: random.Random, number: int, sort: Sort, kinds: frozenset[str]) -> DevicePlan:
    chance, late_s = rng.choice(_CHANCES), sort.late_s
    return DevicePlan(
        name=f"d{number}",
        sort=sort,
        serial=rng.random() < 0.5 and not sort.tcp_only,
        tier=rng.choice(sort.tiers) if sort.tiers else None,
        atomic=rng.random() < 0.7,
        latency_s=rng.choice((0.0, 0.004, 0.03, 0.12)) + 0.0007 * number,
        inside=_risks(rng, sort.faults, kinds, chance, late_s),
        to=_risks(rng, TO, kinds, chance, late_s),
        back=_risks(rng, BACK, kinds, chance, late_s),
        dial=_risks(rng, DIAL, kinds, chance, late_s),
    )


def _risks(
    rng: random.Random, names: Sequence[str], kinds: frozenset[str], chance: float, late_s: float | None
) -> tuple[Risk, ...]:
    """So much trouble in all, whatever the number of faults that make it."""
    faults = [name for name in names if name in kinds]
    weights = [rng.uniform(0.3, 1.0) for _ in faults]
    whole = chance * min(2.0, 0.7 + 0.3 * len(faults)) / (sum(weights) or 1.0)
    longest_s: dict[str, float] = {str(name): seconds for name, seconds in _LONGEST_S.items()}
    if late_s is not None:
        longest_s = {name: min(seconds, SHARE * late_s) for name, seconds in longest_s.items()}
    return tuple(
        Risk(fault, weight * whole, longest_s.get(fault))
        for fault, weight in zip(faults, weights, strict=True)
    )
