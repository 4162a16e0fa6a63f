"""The order in which a device gets to what reaches it."""

import asyncio
from functools import partial

from simulator.inbox import STEPS_MAX, Inbox
from simulator.loop import run


def test_steps_never_run_inside_one_another() -> None:
    """A step that is put while another runs comes after it."""
    order: list[str] = []
    inbox = Inbox(on_thaw=lambda: None)

    def outer() -> None:
        order.append("outer begins")
        inbox.put(partial(order.append, "inner"))
        order.append("outer ends")

    assert inbox.put(outer)
    assert order == ["outer begins", "outer ends", "inner"]


def test_frozen_steps_wait_in_order_behind_the_freezing_one() -> None:
    """After the freeze: first whoever must know, then the step that froze, then the others."""
    order: list[str] = []

    async def main() -> None:
        inbox = Inbox(on_thaw=partial(order.append, "thaw"))

        def freezing() -> None:
            inbox.put(partial(order.append, "behind"))
            inbox.freeze(3, partial(order.append, "first"))

        inbox.put(freezing)
        inbox.put(partial(order.append, "last"))
        assert inbox.frozen
        await asyncio.sleep(2.9)
        assert order == []
        await asyncio.sleep(0.2)
        assert order == ["thaw", "first", "behind", "last"]

    run(main)


def test_a_full_inbox_overruns() -> None:
    """What is too much for a hanging device is lost, and the inbox is as good as new after a clear."""
    order: list[int] = []

    async def main() -> None:
        inbox = Inbox(on_thaw=lambda: None)
        inbox.put(partial(inbox.freeze, 1, lambda: None))
        taken = [inbox.put(partial(order.append, k)) for k in range(STEPS_MAX + 5)]
        assert (sum(taken), taken[-1]) == (STEPS_MAX - 1, False)
        inbox.clear()
        assert not inbox.frozen
        assert inbox.put(partial(order.append, -1))
        await asyncio.sleep(2)

    run(main)
    assert order == [-1]
