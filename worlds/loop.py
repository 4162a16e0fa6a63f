"""How is a process stopped, frozen or ended between any two of its steps?

`WorldLoop` is the loop of virtual time, on which every callback may have an owner. A callback belongs to whoever owned
the context in which it was scheduled; before each one its owner is asked whether it may run. Callbacks without an
owner (devices, the network, the world itself) always run. Owners are told of their tasks, as a loop knows all of its
own.
"""

import asyncio
import heapq
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from typing import Any, Protocol, TypeVar, TypeVarTuple

from simulator.loop import VirtualLoop

T = TypeVar("T")
_Args = TypeVarTuple("_Args")


class Owner(Protocol):
    """Somebody whose steps can be held up."""

    def may_step(self, step: asyncio.Handle, /) -> bool:
        """Whether a step may run now. One that may not is kept by the owner, or lost."""

    def begins(self, task: asyncio.Task[Any], /) -> None:
        """A task of the owner was made."""


OWNER: ContextVar[Owner | None] = ContextVar("owner", default=None)
NOBODY: Context = copy_context()
"""The context of whatever is no process of the agent."""


class _Step(asyncio.Handle):
    """A callback with an owner."""

    __slots__ = ("_owner",)

    def __init__(self, owner: Owner, *args: Any) -> None:  # noqa: ANN401 - asyncio's own arguments
        super().__init__(*args)
        self._owner = owner

    def _run(self) -> None:
        if self._owner.may_step(self):
            super()._run()


class _LaterStep(asyncio.TimerHandle):
    """A timer with an owner."""

    __slots__ = ("_owner",)

    def __init__(self, owner: Owner, *args: Any) -> None:  # noqa: ANN401 - asyncio's own arguments
        super().__init__(*args)
        self._owner = owner

    def _run(self) -> None:
        if self._owner.may_step(self):
            super()._run()


class WorldLoop(VirtualLoop):
    """The loop of one world."""

    def call_soon(
        self,
        callback: Callable[[*_Args], object],
        *args: *_Args,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """As asyncio's, for the owner of the context."""
        owner = OWNER.get() if context is None else context.get(OWNER)
        if owner is None:
            return super().call_soon(callback, *args, context=context)
        step = _Step(owner, callback, args, self, context)
        self.go_on(step)
        return step

    def call_at(
        self,
        when: float,
        callback: Callable[[*_Args], object],
        *args: *_Args,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As asyncio's, for the owner of the context."""
        owner = OWNER.get() if context is None else context.get(OWNER)
        if owner is None:
            return super().call_at(when, callback, *args, context=context)
        step = _LaterStep(owner, when, callback, args, self, context)
        heapq.heappush(self._scheduled, step)  # type: ignore[attr-defined]  # asyncio's own queue
        step._scheduled = True  # type: ignore[attr-defined]
        return step

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """As asyncio's, for the owner of the context."""
        owner = OWNER.get() if context is None else context.get(OWNER)
        task: asyncio.Task[T] = super().create_task(coro, name=name, context=context)
        if owner is not None:
            owner.begins(task)
        return task

    def go_on(self, step: asyncio.Handle) -> None:
        """A step that was kept runs with the next turn, unless it is cancelled until then."""
        self._ready.append(step)  # type: ignore[attr-defined]  # asyncio's own queue

    def end(self) -> None:
        """The world is over; what dead processes still had to do is given up, without a word."""
        self.set_exception_handler(lambda *_: None)
        for task in asyncio.all_tasks(self):
            with suppress(BaseException):
                task.get_coro().close()
        self.close()


def in_the_name_of(owner: Owner) -> Context:
    """A new context of an owner."""
    context = NOBODY.copy()
    context.run(OWNER.set, owner)
    return context
