"""Which devices are in which wave, and when is a run aborted? Pure.

Rules: every device is in exactly one wave, in the order given; a percentage is of all devices, rounded up; what the
sizes leave over forms one more wave; a wave without a device does not exist. A limit aborts when it is reached.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of devices, or with `percent` that many of a hundred."""

    number: int
    percent: bool = False

    def of(self, devices: int) -> int:
        """How many devices that is where there are so many, rounded up."""
        return -(-self.number * devices // 100) if self.percent else self.number

    def __str__(self) -> str:
        """As in the plan: `2` or `10%`."""
        return f"{self.number}{'%' if self.percent else ''}"


class Rest(Enum):
    """All devices that are left."""

    REST = "rest"


REST = Rest.REST
Limit = Amount
WaveSize = Amount | Rest


@dataclass(frozen=True, slots=True)
class Abort:
    """How many devices may fail or be left in doubt before nothing new is begun; None: any number."""

    failed: Limit | None = None
    in_doubt: Limit | None = None

    def why(self, *, failed: int, in_doubt: int, devices: int) -> str | None:
        """Why a run stops here, a sentence; None where it goes on.

        Args:
            failed: devices on which a step failed so far.
            in_doubt: devices left in doubt so far.
            devices: all devices of the run.
        """
        for limit, count, what in ((self.in_doubt, in_doubt, "in doubt"), (self.failed, failed, "failed")):
            if limit is not None and count >= limit.of(devices):
                return f"{what} on {count} of {devices} devices, and the plan allows less than {limit}"
        return None


NO_ABORT = Abort()
"""Whatever happens on some devices, the others get their turn."""


def waves(sizes: Sequence[WaveSize], devices: Sequence[T]) -> tuple[tuple[T, ...], ...]:
    """The devices of each wave, in their order. Without sizes all are one wave."""
    found: list[tuple[T, ...]] = []
    begun = 0
    for size in (*sizes, REST):
        end = len(devices) if isinstance(size, Rest) else begun + size.of(len(devices))
        if wave := tuple(devices[begun:end]):
            found.append(wave)
        begun += len(wave)
    return tuple(found)
