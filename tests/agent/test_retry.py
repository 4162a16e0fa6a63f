"""Are harmless things tried again exactly as often, and as long apart, as the contract says?"""

import asyncio
from collections.abc import Callable

import pytest

from agent.retry import LONGEST_WAIT_S, again_after
from tests.agent.store_desk import virtual


class Refused(Exception):  # noqa: N818 - stands for a link that could not be opened
    """May be tried again."""


class Attempts:
    """Fails with each of `outcomes` in turn, then succeeds."""

    def __init__(self, *outcomes: BaseException) -> None:
        self.left = list(outcomes)
        self.made = 0
        self.waits_s: list[float] = []

    async def attempt(self) -> str:
        """One attempt."""
        self.made += 1
        if self.left:
            raise self.left.pop(0)
        return "open"

    async def sleep(self, seconds: float) -> None:
        """Wait, and note it."""
        self.waits_s.append(round(seconds, 3))
        await asyncio.sleep(seconds)

    async def again(
        self, first: Exception, attempts_max: int, give_up: Callable[[], bool] = lambda: False
    ) -> str:
        """`again_after` with this object's attempts."""
        return await again_after(
            first, self.attempt, on=Refused, attempts_max=attempts_max, sleep=self.sleep, give_up=give_up
        )


def test_waits_grow_and_are_bounded() -> None:
    """Every wait is twice the one before, up to the longest; the result of the first success is returned."""

    async def scenario() -> None:
        tries = Attempts(*(Refused(str(n)) for n in range(7)))
        assert await tries.again(Refused("first"), 20) == "open"
        assert tries.waits_s == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0]
        assert max(tries.waits_s) == LONGEST_WAIT_S

    virtual(scenario)


@pytest.mark.parametrize(("attempts_max", "further"), [(0, 0), (1, 0), (2, 1), (3, 2), (5, 4)])
def test_the_first_failure_counts(attempts_max: int, further: int) -> None:
    """`attempts_max` is the number of attempts in all; the last failure is raised as it was."""

    async def scenario() -> None:
        failures = [Refused(str(n)) for n in range(9)]
        tries = Attempts(*failures[1:])
        with pytest.raises(Refused) as caught:
            await tries.again(failures[0], attempts_max)
        assert caught.value is failures[further]
        assert tries.made == len(tries.waits_s) == further

    virtual(scenario)


def test_other_failures_go_through() -> None:
    """What is not named as harmless is not tried again."""

    async def scenario() -> None:
        problem = KeyError("bug")
        tries = Attempts(problem)
        with pytest.raises(KeyError) as caught:
            await tries.again(Refused("first"), 5)
        assert caught.value is problem
        assert tries.made == 1

    virtual(scenario)


def test_cancellation_is_not_tried_again() -> None:
    """Neither in an attempt nor in a wait."""

    async def scenario() -> None:
        tries = Attempts(asyncio.CancelledError())
        with pytest.raises(asyncio.CancelledError):
            await tries.again(Refused("first"), 5)
        assert tries.made == 1
        waiting = Attempts(Refused("second"))
        task = asyncio.ensure_future(waiting.again(Refused("first"), 5))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert waiting.made == 1

    virtual(scenario)


@pytest.mark.parametrize("made", [0, 1, 2])
def test_giving_up_ends_the_effort(made: int) -> None:
    """After `give_up` says so no further attempt is made, and the last failure is told."""

    async def scenario() -> None:
        failures = [Refused(str(n)) for n in range(9)]
        tries = Attempts(*failures[1:])
        with pytest.raises(Refused) as caught:
            await tries.again(failures[0], 9, give_up=lambda: tries.made >= made)
        assert (tries.made, caught.value) == (made, failures[made])
        assert len(tries.waits_s) == made

    virtual(scenario)


def test_giving_up_during_a_wait_prevents_the_attempt() -> None:
    """Who gives up while the next attempt is being waited for does not see it made."""

    async def scenario() -> None:
        second = Refused("second")
        tries = Attempts(second)
        with pytest.raises(Refused) as caught:
            await tries.again(Refused("first"), 9, give_up=lambda: len(tries.waits_s) == 2)
        assert caught.value is second
        assert tries.made == 1

    virtual(scenario)
