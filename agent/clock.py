"""What time is it? The one place of `agent/` that asks.

Timers run on the event loop's monotonic clock, so that a virtual-time loop moves everything. Records carry UTC.
Lease expiry is UTC too, because processes of one machine and machines of one store compare it. What is still under way
for whoever comes next is counted from the machine's start, a clock that nobody sets (`SteadyClock`).
"""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

SLICE_S = 0.25
"""Long waits are cut into such pieces, so that Ctrl-C is heard."""


def _since_start_s() -> float:
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Clock:
    """Monotonic seconds for timers, UTC for records."""

    def __init__(
        self,
        utc: Callable[[], datetime] = lambda: datetime.now(UTC),
        since_start_s: Callable[[], float] = _since_start_s,
    ) -> None:
        self._utc = utc
        self._since_start_s = since_start_s

    def now_s(self) -> float:
        """Seconds on the running event loop's monotonic clock."""
        return asyncio.get_running_loop().time()

    def utc(self) -> datetime:
        """The wall clock, time zone UTC."""
        return self._utc()

    def since_start_s(self) -> float:
        """Seconds since the machine was started, those in which it was suspended included."""
        return self._since_start_s()

    def stamp(self) -> str:
        """UTC as ISO 8601 with milliseconds, e.g. `2026-11-29T22:48:03.120Z`."""
        return stamp(self._utc())

    async def sleep(self, seconds: float) -> None:
        """Wait on the event loop's clock."""
        await asyncio.sleep(seconds)

    async def wait(self, seconds: float, stopped: Callable[[], bool]) -> bool:
        """Wait, in pieces after each of which `stopped` is asked; False where it ended the wait."""
        until_s = self.now_s() + seconds
        while (left_s := until_s - self.now_s()) > 0:
            if stopped():
                return False
            await self.sleep(min(left_s, SLICE_S))
        return True


def stamp(moment: datetime) -> str:
    """A UTC moment as records carry it: ISO 8601, milliseconds, `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """The inverse of `stamp`. Raises ValueError."""
    return datetime.fromisoformat(text)
