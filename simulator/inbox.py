"""In which order does a device get to what reaches it, and what does it do while it hangs?

Everything that happens to a device from outside is a step. Steps are taken one after another, never one
inside another, each at once unless earlier ones wait or the device hangs. What hangs too much is overrun
and lost, as in a full receive buffer.
"""

import asyncio
from collections import deque
from collections.abc import Callable

STEPS_MAX = 1_000

Step = Callable[[], None]


class Inbox:
    """The steps of one device; `on_thaw` is called when it has hung long enough, before the steps go on."""

    def __init__(self, on_thaw: Step) -> None:
        self._steps: deque[Step] = deque()
        self._on_thaw = on_thaw
        self._stepping = False
        self._thaw: asyncio.TimerHandle | None = None

    @property
    def frozen(self) -> bool:
        """Whether the device hangs."""
        return self._thaw is not None

    def put(self, step: Step) -> bool:
        """Take a step as soon as those before it are done; False: overrun, the step is lost."""
        if len(self._steps) >= STEPS_MAX:
            return False
        self._steps.append(step)
        self._go_on()
        return True

    def put_next(self, step: Step) -> None:
        """Take a step before all that wait, to be called in a step."""
        self._steps.appendleft(step)

    def freeze(self, seconds: float, first: Step) -> None:
        """Hang, to be called in a step; `first` comes before all others afterwards."""
        self._steps.appendleft(first)
        self._thaw = asyncio.get_running_loop().call_later(seconds, self._thawed)

    def clear(self) -> None:
        """Lose every waiting step, and hang no longer."""
        self._steps.clear()
        if self._thaw is not None:
            self._thaw.cancel()
            self._thaw = None

    def _thawed(self) -> None:
        self._thaw = None
        self._on_thaw()
        self._go_on()

    def _go_on(self) -> None:
        if self._stepping:
            return
        self._stepping = True
        try:
            while self._steps and not self.frozen:
                self._steps.popleft()()
        finally:
            self._stepping = False
