"""What goes wrong with each message on the way to one device, in the device, and on the way back?

One die per message, thrown from the seed whether or not it hits. A hit has a name such as `d0.cmd.3` (the third
command that reached device d0) or `d0.to.12` (the twelfth message that left for it), so that a world can be played
again with some hits taken out.

Equipment without numbers relies on its profile: nothing arrives later than `late_max_s` after it was asked. There at
most one thing that takes time is under way at once, and it takes at most SHARE of that time.
"""

import random
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType

from simulator.fault_kinds import ONLY
from simulator.fault_terms import NO_FAULTS, Faults, Value
from simulator.faults import FaultPlan
from worlds.exceptions import armed

SHARE = 0.7
"""Of `late_max_s`: how long one fault may delay anything on equipment without numbers."""
AGAIN = 0.15
"""How often a message that was hit is hit by a second fault."""
BURST, BURST_CHANCE, BURST_MESSAGES = 5.0, 0.5, 8
"""Trouble comes in bursts: after a hit it is so much more likely, that often, for so many messages."""
JUST_TOO_LATE, PATIENCE_S = 0.3, (0.45, 0.85)
"""How often what takes time ends while the next copy is under way; so long after the first one that is."""
ONLY_COMMANDS = frozenset({"bit_flip", "truncate"})
"""Where a reading has no checksum, as on plain text: a wrong or missing digit would be believed."""


@dataclass(frozen=True, slots=True)
class Risk:
    """A fault and how often it strikes, 0 to 1; `longest_s` where it takes time."""

    fault: str
    chance: float
    longest_s: float | None = None


@dataclass(frozen=True, slots=True)
class Strike:
    """A fault that strikes a message, and for how many seconds."""

    fault: str
    seconds: float = 0.0


class _Dice:
    """Which of some risks strikes."""

    def __init__(self, risks: Sequence[Risk]) -> None:
        self._risks = risks
        self._edges = list(accumulate(risk.chance for risk in risks))

    def throw(self, rng: random.Random, likelier: float = 1.0) -> Strike | None:
        drawn = rng.random() / likelier
        at = bisect(self._edges, drawn)
        if at == len(self._risks):
            return None
        risk = self._risks[at]
        return Strike(risk.fault, round(_seconds(rng, risk.longest_s), 3) if risk.longest_s else 0.0)


def _seconds(rng: random.Random, longest_s: float) -> float:
    """How long a fault lasts: often just longer than an answer is waited for, else anything."""
    if longest_s > PATIENCE_S[1] and rng.random() < JUST_TOO_LATE:
        return rng.uniform(*PATIENCE_S)
    return longest_s * rng.uniform(0.1, 1.0)


class Weather(FaultPlan):
    """Everything that goes wrong around one device.

    Attributes:
        calm: Nothing goes wrong any more.
        hits: How often each fault struck.
        names: The names of the hits, in order.
    """

    def __init__(
        self,
        device: str,
        rng: random.Random,
        inside: Sequence[Risk],
        ways: Mapping[str, Sequence[Risk]],
        *,
        late_s: float | None,
        checked: bool = False,
        now_s: Callable[[], float],
        kept: frozenset[str] | None = None,
    ) -> None:
        """The weather of a device.

        Args:
            device: its name.
            rng: the dice.
            inside: what may happen in the device.
            ways: what may happen on the ways `to` it and `back`, and when it is dialled (`dial`).
            late_s: how late anything may be; None where the equipment numbers its commands.
            checked: a checksum shows every reading that was damaged.
            now_s: the time.
            kept: the names of the only hits that count; None: all.
        """
        super().__init__()
        self.calm = False
        self.hits: Counter[str] = Counter()
        self.names: list[str] = []
        self._device = device
        self._rng = rng
        self._inside = _Dice(inside)
        self._ways = {way: _Dice(risks) for way, risks in ways.items()}
        self._late_s = late_s
        self._checked = checked
        self._now_s = now_s
        self._kept = kept
        self._counts: Counter[str] = Counter()
        self._clear_from_s = 0.0
        self._burst = 0

    def next(self, kind: str) -> Faults:
        """What the device suffers with its next message of a kind."""
        self._counts[kind] += 1
        first = self._throw(self._inside)
        if first is None:
            return NO_FAULTS
        strikes = [first]
        if self._rng.random() < AGAIN:
            strikes += filter(None, [self._inside.throw(self._rng)])
        faults: dict[str, tuple[Value, ...]] = {}
        struck: list[str] = []
        for strike in strikes:
            of_device = armed(strike.fault, strike.seconds)
            if all(ONLY.get(name, kind) == kind for name in of_device) and self._fits(strike, kind):
                faults |= of_device
                struck.append(strike.fault)
        if not struck or not self._hit(f"{kind}.{self._counts[kind]}", struck):
            return NO_FAULTS
        return Faults(MappingProxyType(faults))

    def on_the_way(self, way: str) -> Strike | None:
        """What happens to the next message on a way."""
        self._counts[way] += 1
        strike = self._throw(self._ways[way])
        if strike is None or not self._fits(strike, way):
            return None
        return strike if self._hit(f"{way}.{self._counts[way]}", [strike.fault]) else None

    def _throw(self, dice: _Dice) -> Strike | None:
        strike = dice.throw(self._rng, BURST if self._burst > 0 else 1.0)
        self._burst -= self._burst > 0
        if strike is not None and self._rng.random() < BURST_CHANCE:
            self._burst = BURST_MESSAGES
        return strike

    def _fits(self, strike: Strike, kind: str) -> bool:
        if self._late_s is None:
            return True
        if not self._checked and strike.fault in ONLY_COMMANDS and kind != "cmd":
            return False
        if not strike.seconds:
            return True
        if self._now_s() < self._clear_from_s or strike.seconds > SHARE * self._late_s:
            return False
        self._clear_from_s = self._now_s() + self._late_s
        return True

    def _hit(self, what: str, faults: Sequence[str]) -> bool:
        name = f"{self._device}.{what}"
        if self.calm or (self._kept is not None and name not in self._kept):
            return False
        self.hits.update(dict.fromkeys(faults, 1))
        self.names.append(name)
        return True
