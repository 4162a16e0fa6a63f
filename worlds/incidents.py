"""What happens around the processes and devices of a world, and when?

Ends, standstills and Ctrl-C come to the process of a batch; everything else comes at a time, while something is under
way rather than long after.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from worlds.jobs import Batch
from worlds.process import Freeze, Stop
from worlds.store import Moment

AROUND = (
    "crash",
    "power_cut",
    "standstill",
    "interrupt",
    "interrupt_twice",
    "rival",
    "boot",
    "unplug",
    "panel",
    "person",
    "check",
    "clock",
    "restore",
)
PROCESSES = ("crash", "power_cut", "standstill", "rival")
"""What befalls processes in many worlds."""
ENDS = ("crash", "power_cut", "interrupt_twice")
"""What ends a process before it is done."""
_STANDSTILLS_S = (1.0, 4.0, 4.0, 14.0, 16.0, 40.0)
_UNPLUGGED_S = (1.0, 8.0, 30.0)
_SET_BY_S = (10.0, 120.0, 3600.0, 86400.0)
"""By how much the wall clock is set."""
_TIMES = (("boot", 3), ("unplug", 2), ("panel", 3), ("person", 2), ("check", 2), ("clock", 3))
"""What comes at a time, and how often at most."""
_NEAR, _NEAR_S = 0.5, 6.0
"""How often it comes while a batch is at work, and how many seconds that may be from the batch's start."""


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that happens around: to the process of a batch (`stop`, `freeze`, `again_s`), or at a time.

    `seconds`: how long it lasts, how much later it comes, or by how much a clock is set. `again_s`: so much later once
    more.
    """

    number: int
    kind: str
    at_s: float = 0.0
    batch: int | None = None
    device: int = 0
    seconds: float = 0.0
    again_s: float | None = None
    stop: Stop | None = None
    freeze: Freeze | None = None


def incidents_of(
    rng: random.Random,
    kinds: frozenset[str],
    *,
    numbered: bool,
    devices: int,
    batches: Sequence[Batch],
    span_s: float,
) -> tuple[Incident, ...]:
    """The incidents of a world; `numbered`: all of its devices number their commands."""
    found: list[Incident] = []

    def add(kind: str, **what: object) -> None:
        found.append(Incident(len(found), kind, **what))  # type: ignore[arg-type]

    def time_s() -> float:
        if rng.random() < _NEAR:
            return round(rng.choice(batches).at_s + rng.uniform(0.0, _NEAR_S), 3)
        return round(rng.uniform(0.0, 1.2 * span_s), 2)

    for batch in batches:
        for kind, what in _of_a_process(rng, kinds):
            add(kind, batch=batch.number, **what)
    for kind, most in _TIMES:
        for _ in range(rng.randint(1, most) if kind in kinds else 0):
            seconds = _set_by_s(rng) if kind == "clock" else rng.choice(_UNPLUGGED_S)
            add(kind, at_s=time_s(), device=rng.randrange(devices), seconds=seconds)
    if "restore" in kinds and numbered:
        add("restore", at_s=time_s(), seconds=round(rng.uniform(0.5, span_s), 2))
    return tuple(found)


def _of_a_process(rng: random.Random, kinds: frozenset[str]) -> list[tuple[str, dict[str, object]]]:
    """What befalls the process of one batch."""
    found: list[tuple[str, dict[str, object]]] = []
    if ("crash" in kinds or "power_cut" in kinds) and rng.random() < 0.7:
        power = "power_cut" in kinds and ("crash" not in kinds or rng.random() < 0.5)
        found.append(("power_cut" if power else "crash", {"stop": _stop(rng, power=power)}))
    if "standstill" in kinds and rng.random() < 0.6:
        found.append(("standstill", {"freeze": _freeze(rng)}))
    for kind in ("interrupt", "interrupt_twice"):
        if kind in kinds and rng.random() < 0.5:
            again_s = round(rng.uniform(0.0, 1.5), 3) if kind == "interrupt_twice" else None
            found.append((kind, {"seconds": round(rng.uniform(0.0, 4.0), 3), "again_s": again_s}))
    return found


def _set_by_s(rng: random.Random) -> float:
    """By how much a clock is set, forward or back."""
    seconds = rng.choice(_SET_BY_S)
    return seconds if rng.random() < 0.5 else -seconds


def _stop(rng: random.Random, *, power: bool) -> Stop:
    if rng.random() < 0.4:
        return Stop(step=_early(rng, 150), power=power)
    return Stop(write=_early(rng, 40), moment=rng.choice(tuple(Moment)), power=power)


def _freeze(rng: random.Random) -> Freeze:
    by_step = rng.random() < 0.5
    return Freeze(
        rng.choice(_STANDSTILLS_S),
        step=_early(rng, 150) if by_step else None,
        write=None if by_step else _early(rng, 20),
    )


def _early(rng: random.Random, most: int) -> int:
    """A number from 1 on, the early ones more often."""
    return 1 + int(most * rng.random() ** 1.7)
