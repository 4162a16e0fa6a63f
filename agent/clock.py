"""What time is it? The one place of `agent/` that asks.

Timers run on the event loop's monotonic clock, so that a virtual-time loop moves everything. Records carry UTC.
Lease expiry is UTC too, because processes of one machine and machines of one store compare it.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime


class Clock:
    """Monotonic seconds for timers, UTC for records."""

    def __init__(self, utc: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._utc = utc

    def now_s(self) -> float:
        """Seconds on the running event loop's monotonic clock."""
        return asyncio.get_running_loop().time()

    def utc(self) -> datetime:
        """The wall clock, time zone UTC."""
        return self._utc()

    def stamp(self) -> str:
        """UTC as ISO 8601 with milliseconds, e.g. `2026-11-29T22:48:03.120Z`."""
        return stamp(self._utc())

    async def sleep(self, seconds: float) -> None:
        """Wait on the event loop's clock."""
        await asyncio.sleep(seconds)


def stamp(moment: datetime) -> str:
    """A UTC moment as records carry it: ISO 8601, milliseconds, `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """The inverse of `stamp`. Raises ValueError."""
    return datetime.fromisoformat(text)
