"""Virtual time: it jumps, it orders, it notices that nothing will happen any more."""

import asyncio

import pytest

from simulator.loop import DeadlockError, run


def test_days_pass_at_once_and_exactly() -> None:
    """Sleeping moves the clock by what was asked for."""

    async def main() -> list[float]:
        clock = asyncio.get_running_loop().time
        times = [clock()]
        for seconds in (0.25, 86_400.0, 1e-3):
            await asyncio.sleep(seconds)
            times.append(clock())
        return times

    assert run(main, limit_s=1e6) == pytest.approx([0.0, 0.25, 86_400.25, 86_400.251])


def test_timers_run_in_the_order_of_their_times() -> None:
    """Tasks interleave by time, equal times by order of creation."""
    order: list[str] = []

    async def wake(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        order.append(name)

    async def main() -> None:
        await asyncio.gather(wake("c", 3), wake("a", 1), wake("a2", 1), wake("b", 2))

    run(main)
    assert order == ["a", "a2", "b", "c"]


def test_waiting_for_nothing_is_named() -> None:
    """A program that would hang for ever is an error at once."""

    async def main() -> None:
        await asyncio.Event().wait()

    async def with_timer() -> None:
        await asyncio.sleep(5)
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):  # the limit itself is a timer
        run(main, limit_s=10)
    with pytest.raises(DeadlockError, match="no timer is left"):
        run(main, limit_s=None)
    with pytest.raises(DeadlockError):
        run(with_timer, limit_s=None)


def test_the_limit_is_virtual_seconds() -> None:
    """A run that takes longer than it may fails, one that takes just less does not."""

    async def main() -> str:
        await asyncio.sleep(10)
        return "done"

    assert run(main, limit_s=10.1) == "done"
    with pytest.raises(TimeoutError):
        run(main, limit_s=9.9)


def test_errors_come_out_unchanged() -> None:
    """What the program raises is what `run` raises."""

    async def main() -> None:
        await asyncio.sleep(1)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        run(main)


@pytest.mark.parametrize("start", [1e7, 1e9])
def test_timers_end_after_years(start: float) -> None:
    """Rounding of large clocks never makes the loop spin."""

    async def main() -> int:
        await asyncio.sleep(start)
        for _ in range(100):
            await asyncio.sleep(0.1)
        return 100

    assert run(main, limit_s=None) == 100
