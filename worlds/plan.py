"""What is to happen in the world of a seed? Everything that is not thrown message by message (`weather.py`).

Swarm style: each seed switches most kinds of faults off, so that the few that are left meet each other undisturbed. A
plan depends on its seed and its limits alone. `Cut` takes parts of it out again without moving the others, which is
how a failing world is made small.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from devices.catalog import PolicyRefused, choose, resolve
from devices.kinds import Policy
from simulator.fault_kinds import Fault
from worlds.process import Freeze, Stop
from worlds.sorts import Sort, sorts
from worlds.store import Moment
from worlds.weather import SHARE, Risk

WAYS = ("lost", "stall", "cut", "half", "deaf", "refuse")
AROUND = (
    "crash",
    "power_cut",
    "standstill",
    "interrupt",
    "boot",
    "unplug",
    "panel",
    "person",
    "check",
    "restore",
)
_LONGEST_S = {
    Fault.LATE_REQUEST: 20.0,
    Fault.FREEZE: 4.0,
    Fault.BUSY: 7.0,
    Fault.DELAY: 4.0,
    Fault.HOLD: 4.0,
    Fault.TRICKLE: 0.02,
    Fault.REVERT: 3.0,
    "stall": 30.0,
}
_STANDSTILLS_S = (1.0, 4.0, 14.0, 16.0, 40.0)
_SHARES, _SHARES_OF_FEW = (0.1, 0.25, 0.5), (0.5, 0.75, 1.0)
"""How many of the faults that may be on are on: of all, and of those that somebody has picked."""
_PROCESSES = ("crash", "power_cut", "standstill")
_OFTEN = 0.35
_PAUSES_S = (0.02, 0.3, 1.5)
_UNPLUGGED_S = (1.0, 8.0, 30.0)
_SPAN_S = 60.0
"""The time in which things are begun."""


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
        """The inverse of `str`. Raises ValueError."""
        cut = cls()
        for part in text.split():
            name, equals, items = part.partition("=")
            listed = [] if items == "none" else items.split(",")
            match name:
                case "hits" if equals:
                    cut = replace(cut, hits=frozenset(listed))
                case "jobs" if equals:
                    cut = replace(cut, jobs=frozenset(map(int, listed)))
                case "incidents" if equals:
                    cut = replace(cut, incidents=frozenset(map(int, listed)))
                case _:
                    raise ValueError(f"'{part}' is none of hits=…, jobs=…, incidents=…")
        return cut


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
    """What one process is started for; `jobs` of one device are done one after the other, devices side by side."""

    number: int
    agent: int
    at_s: float
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that happens around: to the process of a batch (`stop`, `freeze`), or at a time."""

    number: int
    kind: str
    at_s: float = 0.0
    batch: int | None = None
    device: int = 0
    seconds: float = 0.0
    stop: Stop | None = None
    freeze: Freeze | None = None


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
    share = rng.choice(_SHARES if limits.faults is None else _SHARES_OF_FEW)
    kinds = frozenset(
        kind
        for kind in fault_kinds()
        if rng.random() < (max(share, _OFTEN) if kind in _PROCESSES else share)
        and (limits.faults is None or kind in limits.faults)
    )
    devices = tuple(_device(rng, number, kinds) for number in range(rng.randint(1, limits.devices)))
    agents = rng.randint(1, limits.agents)
    batches = _batches(rng, devices, agents)
    pause_s = rng.choice(_PAUSES_S)
    return Plan(seed, kinds, devices, agents, pause_s, batches, _incidents(rng, kinds, devices, batches))


def _device(rng: random.Random, number: int, kinds: frozenset[str]) -> DevicePlan:
    sort = rng.choices(sorts(), [each.weight for each in sorts()])[0]
    serial = rng.random() < 0.5
    chance = rng.choice((0.03, 0.08, 0.2))
    inside = [name for name in sort.faults if name in kinds]
    return DevicePlan(
        name=f"d{number}",
        sort=sort,
        serial=serial,
        tier=rng.choice(sort.tiers) if sort.tiers else None,
        atomic=rng.random() < 0.7,
        latency_s=rng.choice((0.0, 0.004, 0.03, 0.12)) + 0.0007 * number,
        inside=_risks(rng, inside, chance, sort.late_s),
        to=_risks(
            rng, [name for name in ("lost", "stall", "cut", "half") if name in kinds], chance, sort.late_s
        ),
        back=_risks(rng, [name for name in ("deaf", "stall") if name in kinds], chance, sort.late_s),
        dial=_risks(rng, [name for name in ("refuse",) if name in kinds], chance, sort.late_s),
    )


def _risks(
    rng: random.Random, faults: Sequence[str], chance: float, late_s: float | None
) -> tuple[Risk, ...]:
    """So much trouble in all, whatever the number of faults that make it."""
    weights = [rng.uniform(0.3, 1.0) for _ in faults]
    whole = chance * min(2.0, 0.7 + 0.3 * len(faults)) / (sum(weights) or 1.0)
    longest_s: dict[str, float] = {str(name): seconds for name, seconds in _LONGEST_S.items()}
    if late_s is not None:
        longest_s = {name: min(seconds, SHARE * late_s) for name, seconds in longest_s.items()}
    return tuple(
        Risk(fault, weight * whole, longest_s.get(fault))
        for fault, weight in zip(faults, weights, strict=True)
    )


def _batches(rng: random.Random, devices: Sequence[DevicePlan], agents: int) -> tuple[Batch, ...]:
    batches, numbers = [], iter(range(1_000))
    for number in range(rng.randint(2, 8)):
        jobs = tuple(_job(rng, next(numbers), devices) for _ in range(rng.randint(1, 5)))
        batches.append(Batch(number, rng.randrange(agents), round(rng.uniform(0.0, _SPAN_S), 2), jobs))
    return tuple(sorted(batches, key=lambda batch: batch.at_s))


def _job(rng: random.Random, number: int, devices: Sequence[DevicePlan]) -> Job:
    device = rng.randrange(len(devices))
    sort = devices[device].sort
    words = sort.commands[rng.choice(sorted(sort.commands))](rng)
    key = f"key-{number}" if rng.random() < 0.5 else None
    attempts = rng.choice((1, 2, 3, 3))
    wish = rng.choice((*Policy, None, None, None, None))
    return Job(number, device, words, _possible(sort, words, wish), attempts, key)


def _possible(sort: Sort, words: str, wish: Policy | None) -> Policy | None:
    """The policy that is wished for, where the catalog allows it."""
    try:
        choose(sort.profile, resolve(sort.profile, words.split()).command, wish)
    except PolicyRefused:
        return None
    return wish


def _incidents(
    rng: random.Random, kinds: frozenset[str], devices: Sequence[DevicePlan], batches: Sequence[Batch]
) -> tuple[Incident, ...]:
    found: list[Incident] = []

    def add(kind: str, **what: object) -> None:
        found.append(Incident(len(found), kind, **what))  # type: ignore[arg-type]

    for batch in batches:
        if ("crash" in kinds or "power_cut" in kinds) and rng.random() < 0.7:
            power = "power_cut" in kinds and ("crash" not in kinds or rng.random() < 0.5)
            add("power_cut" if power else "crash", batch=batch.number, stop=_stop(rng, power=power))
        if "standstill" in kinds and rng.random() < 0.6:
            by_step = rng.random() < 0.5
            freeze = Freeze(
                rng.choice(_STANDSTILLS_S),
                step=_early(rng, 150) if by_step else None,
                write=None if by_step else _early(rng, 40),
            )
            add("standstill", batch=batch.number, freeze=freeze)
        if "interrupt" in kinds and rng.random() < 0.5:
            add("interrupt", batch=batch.number, seconds=round(rng.uniform(0.0, 4.0), 3))
    for kind, most in (("boot", 3), ("unplug", 2), ("panel", 3), ("person", 2), ("check", 2)):
        for _ in range(rng.randint(1, most) if kind in kinds else 0):
            at_s = round(rng.uniform(0.0, 1.2 * _SPAN_S), 2)
            add(kind, at_s=at_s, device=rng.randrange(len(devices)), seconds=rng.choice(_UNPLUGGED_S))
    if "restore" in kinds and all(device.tier is not None for device in devices):
        backup_s = round(rng.uniform(0.0, _SPAN_S), 2)
        add("restore", at_s=backup_s, seconds=round(rng.uniform(1.0, _SPAN_S), 2))
    return tuple(found)


def _stop(rng: random.Random, *, power: bool) -> Stop:
    if rng.random() < 0.4:
        return Stop(step=_early(rng, 150), power=power)
    return Stop(write=_early(rng, 40), moment=rng.choice(tuple(Moment)), power=power)


def _early(rng: random.Random, most: int) -> int:
    """A number from 1 on, the early ones more often."""
    return 1 + int(most * rng.random() ** 1.7)
