"""Where do devices and relays of a world run? On an event loop in a thread, beside whoever tells them what to do.

The main thread is left to the story: it waits, starts processes and prints, as a person would, and Ctrl-C finds it
there.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Machinery:
    """An event loop in a thread, from `with` to its end."""

    def __init__(self) -> None:
        self._thread = threading.Thread(target=self._live, name="machinery", daemon=True)
        self._begun = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        self._begun.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.call(self._over.set)
        self._thread.join()

    def _live(self) -> None:
        asyncio.run(self._until_over())

    async def _until_over(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._begun.set()
        await self._over.wait()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on the loop; what comes of it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def call(self, function: Callable[..., T], *given: object) -> T:
        """Call something on the loop; what comes of it."""

        async def called() -> T:
            return function(*given)

        return self.run(called())
