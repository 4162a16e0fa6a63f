"""How do minutes of waiting pass in microseconds, and always in the same order?

`VirtualLoop` is an ordinary asyncio loop whose clock stands still while anything is ready to run and jumps to
the next timer when nothing is.

1. Nothing is ever waited for: no sockets, pipes, threads or signals. What needs them has no place here.
2. Nothing ready and no timer left means that the program would wait for ever: `DeadlockError`.
3. The clock starts at 0 and no other clock is read, so the same program runs in the same order every time.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

Result = TypeVar("Result")

# asyncio runs timers that are this close to the clock; far above the rounding of a float after years.
_RESOLUTION_S = 1e-6


class DeadlockError(RuntimeError):
    """Everything waits, and no timer is left that could end the wait."""


class _JumpingSelector(selectors.BaseSelector):
    """A selector that never waits: being asked to wait moves the clock."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:  # noqa: ANN401
        """Note a file descriptor (asyncio registers its own wake-up pipe); it is never looked at."""
        key = selectors.SelectorKey(fileobj, fileobj, events, data)
        self._keys[fileobj] = key
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:  # noqa: ANN401
        """Forget the descriptor."""
        return self._keys.pop(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Let `timeout` seconds pass at once; None means that asyncio knows of no timer."""
        if timeout is None:
            raise DeadlockError("every task waits, and no timer is left that could wake one")
        self.now_s += max(0.0, timeout)
        return []

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """Everything registered."""
        return self._keys


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop under virtual time."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)
        self._clock_resolution = _RESOLUTION_S

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._jumping.now_s

    def stand_still(self, seconds: float) -> None:
        """The clock goes on, and nothing that was due meanwhile happens before its end: a machine that is suspended."""
        self._jumping.now_s += seconds


def run(main: Callable[[], Coroutine[Any, Any, Result]], *, limit_s: float | None = 3600.0) -> Result:
    """Run `main()` under virtual time and return its result.

    Args:
        main: Makes the coroutine to run.
        limit_s: Virtual seconds after which the run has failed; None: no limit, and so no timer either.

    Raises:
        DeadlockError: Everything waited and no timer was left; under a limit there is always one.
        TimeoutError: `limit_s` virtual seconds passed.
    """

    async def limited() -> Result:
        async with asyncio.timeout(limit_s):
            return await main()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(limited())
