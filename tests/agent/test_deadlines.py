"""Does one timer serve everybody who waits, and everybody at their own time?"""

import asyncio

import pytest

from agent.deadlines import Deadlines
from tests.agent.store_desk import virtual

TEST_LIMIT_S = 3600.0
"""When the virtual loop ends a test that hangs; that timer is not counted."""


class Waits:
    """A waiter that notes when it expired."""

    def __init__(self, deadline_s: float) -> None:
        self.deadline_s = deadline_s
        self.expired_s: list[float] = []

    def expire(self) -> None:
        """The deadline has passed."""
        self.expired_s.append(asyncio.get_running_loop().time())


def timers() -> int:
    """Timers of the running loop that are still to fire."""
    scheduled: list[asyncio.TimerHandle] = vars(asyncio.get_running_loop())["_scheduled"]
    return sum(not each.cancelled() and each.when() < TEST_LIMIT_S for each in scheduled)


def test_a_thousand_waiters_cost_one_timer() -> None:
    """However many wait, one timer runs; everybody expires at their own time, once."""

    async def scenario() -> None:
        deadlines = Deadlines()
        waiters = [Waits(3.0 - (n * 7919 % 1000) / 500) for n in range(1000)]
        for waiter in waiters:
            deadlines.add(waiter)
        assert timers() == 1
        await asyncio.sleep(2.0)
        assert timers() == 1
        await asyncio.sleep(2.0)
        assert timers() == 0
        assert all(waiter.expired_s == [pytest.approx(waiter.deadline_s)] for waiter in waiters)

    virtual(scenario)


def test_what_ends_in_time_costs_no_timer_of_its_own() -> None:
    """A thousand waiters that are removed in time, one after the other, set the timer once."""

    async def scenario() -> None:
        deadlines = Deadlines()
        for n in range(1000):
            waiter = Waits(1.0 + n)
            deadlines.add(waiter)
            deadlines.remove(waiter)
            assert timers() == 1

    virtual(scenario)


def test_a_deadline_may_move_both_ways() -> None:
    """A later deadline is respected when the timer fires; an earlier one moves the timer."""

    async def scenario() -> None:
        deadlines = Deadlines()
        later, earlier, removed = Waits(1.0), Waits(5.0), Waits(1.0)
        for waiter in (later, earlier, removed):
            deadlines.add(waiter)
        later.deadline_s, earlier.deadline_s = 3.0, 0.5
        deadlines.add(later)
        deadlines.add(earlier)
        deadlines.remove(removed)
        deadlines.remove(removed)
        await asyncio.sleep(6.0)
        assert [round(at_s, 4) for at_s in later.expired_s + earlier.expired_s] == [3.0, 0.5]
        assert removed.expired_s == []

    virtual(scenario)
