"""Whose time is up? One timer for everybody who waits, instead of one each.

A waiter's deadline may move while it waits. The timer is set to the earliest; when it fires it sweeps all waiters. An
exchange that was answered in time costs no timer at all.
"""

import asyncio
from typing import Protocol


class Waiter(Protocol):
    """Something with a deadline on the event loop's clock."""

    deadline_s: float

    def expire(self) -> None:
        """The deadline has passed."""


class Deadlines:
    """All waits of one event loop."""

    def __init__(self) -> None:
        self._waiters: dict[
            Waiter, None
        ] = {}  # in the order of their coming: two that end together end in it
        self._timer: asyncio.TimerHandle | None = None

    def add(self, waiter: Waiter) -> None:
        """Watch a waiter until it is removed or expires."""
        self._waiters[waiter] = None
        if self._timer is None or waiter.deadline_s < self._timer.when():
            self._arm(waiter.deadline_s)

    def remove(self, waiter: Waiter) -> None:
        """Stop watching; harmless if it is not watched."""
        self._waiters.pop(waiter, None)

    def _arm(self, when_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(when_s, self._sweep)

    def _sweep(self) -> None:
        self._timer = None
        now_s = asyncio.get_running_loop().time()
        for waiter in [w for w in self._waiters if w.deadline_s <= now_s]:
            self._waiters.pop(waiter, None)
            waiter.expire()
        if self._waiters:
            self._arm(min(w.deadline_s for w in self._waiters))
