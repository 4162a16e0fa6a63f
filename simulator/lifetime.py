"""How is a serving process told to stop?

By SIGINT or SIGTERM, by its limit in seconds, or by a failure that no caller is there to hear of.
"""

import asyncio
import contextlib
import signal


class Lifetime:
    """From here until the process is told to stop; to be made on the running loop."""

    def __init__(self, limit_s: float | None) -> None:
        """`limit_s` None: no limit."""
        self._limit_s = limit_s
        self._told = asyncio.Event()
        self._failures: list[Exception] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._failed)
        loop.add_signal_handler(signal.SIGINT, self._told.set)
        loop.add_signal_handler(signal.SIGTERM, self._told.set)

    async def over(self) -> None:
        """Wait for the end."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limit_s):
                await self._told.wait()

    def blame(self) -> None:
        """Raise what made it end, where that was a failure."""
        if self._failures:
            raise self._failures[0]

    def _failed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        cause = context.get("exception")
        self._failures.append(cause if isinstance(cause, Exception) else RuntimeError(context["message"]))
        self._told.set()
