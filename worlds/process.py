"""What is a process of the agent, and how does it end?

A `Process` is the product's own `Service` on the store of its world. Three things stand between the two: each step of
its tasks asks whether the process still lives (`loop.py`), each write to the store and to a link is counted, and its
links end with it. Once it is dead, nothing that its code still does on the way out reaches anything.

A stop names one step, or one write and the moment in it: before it, in its middle (half a line has left; a transaction
is undone), or right after it. A frozen process keeps its steps, its links and its lease, and goes on when it is thawed.
A process that leaves (Ctrl-C twice) ends as the command does: its tasks are cancelled, and do what they do about that.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from agent.clock import Clock
from agent.links.link import Link
from agent.processes import Holder
from agent.service import Service
from agent.settings import Settings
from agent.stations import Target
from logs.events import Event
from worlds.disk import Disk
from worlds.loop import NOBODY, WorldLoop, in_the_name_of
from worlds.store import Crash, Moment, ProcessStore

T = TypeVar("T")
LIVING_PID = 1
"""Of the process that runs as long as its machine: a holder with it is alive."""
STEPS_MAX = 100_000
"""A process that takes more steps has hung."""
DEAD_PID = 2**22 + 7
"""Above every pid of the machine: a holder with it is gone."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of a process: at its step, or at its write, with this number from 1. `power`: the machine's, too."""

    step: int | None = None
    write: int | None = None
    moment: Moment = Moment.BEFORE
    power: bool = False

    def __str__(self) -> str:
        where = f"step {self.step}" if self.step is not None else f"{self.moment} write {self.write}"
        return f"{'power cut' if self.power else 'killed'} at {where}"


@dataclass(frozen=True, slots=True)
class Freeze:
    """A process stands still for so many seconds: before a step, or after a write to the store, by its number."""

    seconds: float
    step: int | None = None
    write: int | None = None


class Orphan(Protocol):
    """A link whose process may end."""

    def orphaned(self) -> None:
        """The process is gone; the operating system closes the link."""


class Around(Protocol):
    """What is around a process."""

    def note(self, who: str, what: str, detail: str | bytes = "") -> None:
        """Something happened."""

    def stopped(self, process: "Process") -> None:
        """A process was killed or frozen."""

    def hangs(self, process: "Process") -> None:
        """A process goes on and on."""

    def logged(self, process: "Process", event: Event) -> None:
        """A process wrote to its log."""

    async def dial(self, process: "Process", target: Target) -> Link:
        """A process opens a link. Raises Unreachable."""

    def power_fails(self) -> None:
        """The machine of the processes is without power for a moment."""


class Process:
    """One process of one agent.

    Attributes:
        name: For people, such as `desk-a.3`.
        dead: It has ended by a stop.
        frozen: It stands still.
        killed: It did not end of itself.
        gave_up: It was told to leave at once.
        slept_s: How long it has stood still in all, or seems to others to have.
        steps: How many steps it has taken.
        writes: How often it has written to its store or to a link.
        ended: Done when it is dead.
    """

    def __init__(
        self,
        name: str,
        agent: str,
        disk: Disk,
        around: Around,
        clock: Clock,
        *,
        stop: Stop | None = None,
        freeze: Freeze | None = None,
        boot: str = "boot",
    ) -> None:
        self.name = name
        self.dead = self.frozen = self.killed = self.gave_up = False
        self.steps = self.writes = 0
        self.slept_s = 0.0
        self.stop = stop
        self.context = in_the_name_of(self)
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.links: list[Orphan] = []
        self._tasks: list[asyncio.Task[Any]] = []
        self._freeze = freeze
        self._kept: list[asyncio.Handle] = []
        self._disk = disk
        self._around = around
        self._holder = Holder(agent, "machine", LIVING_PID, "", boot, name)
        self.service = Service(
            Settings(Path(), Path(), None, None, agent, "ana"),
            clock=clock,
            dial=lambda target: around.dial(self, target),
            holder=self._holder,
            database=ProcessStore(self, disk),
        )
        self.service.log.write = self.service.executor.tell = self._logs  # type: ignore[method-assign]

    def run(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Let the process do something."""
        return asyncio.get_running_loop().create_task(work, context=self.context.copy())

    async def end_of(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Let the process do something; None where it died over it, or left it."""
        task = self.run(work)
        await asyncio.wait((task, self.ended), return_when=asyncio.FIRST_COMPLETED)
        return None if self.dead or task.cancelled() else task.result()

    # --- steps --------------------------------------------------------------------------------------------------------

    def may_step(self, step: asyncio.Handle, /) -> bool:
        """Called before each step: count it, keep it, or let it be the last one."""
        if self.dead:
            return False
        if self.frozen:
            self._kept.append(step)
            return False
        self.steps += 1
        if self.steps > STEPS_MAX:
            self._around.hangs(self)
            self.die()
            return False
        if self.stop is not None and self.stop.step == self.steps:
            self.die()
            return False
        if self._freeze is not None and self._freeze.step == self.steps:
            self._stand_still(self._freeze.seconds)
            self._kept.append(step)
            return False
        return True

    def begins(self, task: asyncio.Task[Any], /) -> None:
        """A task of the process was made."""
        self._tasks.append(task)

    async def after_commit(self) -> None:
        """A write to the store is durable, and nothing has come of it yet."""
        if self._freeze is not None and self._freeze.write is not None and self.writes >= self._freeze.write:
            self._stand_still(self._freeze.seconds)
            self._freeze = None
            await asyncio.sleep(0)

    def _stand_still(self, seconds: float) -> None:
        self.frozen = True
        self.slept_s += seconds
        self._around.note(
            self.name, "frozen", f"for {seconds:g} s, at step {self.steps}, write {self.writes}"
        )
        self._around.stopped(self)
        asyncio.get_running_loop().call_later(seconds, self.thaw, context=NOBODY)

    def thaw(self) -> None:
        """Go on where it stood still."""
        if self.dead or not self.frozen:
            return
        self.frozen = False
        self._around.note(self.name, "thawed")
        kept, self._kept = self._kept, []
        loop = asyncio.get_running_loop()
        assert isinstance(loop, WorldLoop)  # noqa: S101 - worlds run on no other
        for step in kept:
            loop.go_on(step)

    # --- writes and the end -------------------------------------------------------------------------------------------

    def at_write(self) -> Moment | None:
        """A write begins; says where in it the process is to end. Raises Crash where it does not even begin."""
        if self.dead:
            raise Crash
        self.writes += 1
        if self.stop is None or self.stop.write != self.writes:
            return None
        if self.stop.moment is Moment.BEFORE:
            self.die()
            raise Crash
        return self.stop.moment

    def die(self) -> None:
        """The process ends now, whatever it is doing."""
        if self.dead:
            return
        self.dead = self.killed = True
        self.frozen = False
        self._around.note(self.name, "dead", str(self.stop) if self.stop is not None else "killed")
        self._around.stopped(self)
        self.let_go()
        asyncio.get_running_loop().call_soon(self._tell_the_end, context=NOBODY)
        if self.stop is not None and self.stop.power:
            self._around.power_fails()

    def leave(self) -> None:
        """The process leaves at once what it is doing, and ends of itself."""
        if self.dead or self.gave_up:
            return
        self.gave_up = self.killed = True
        self._around.note(self.name, "leaves")
        self._around.stopped(self)
        for task in self._tasks:
            task.cancel()

    def exit(self) -> None:
        """The process has done what it was started for."""
        self.dead = True
        self.let_go()

    def let_go(self) -> None:
        """The process is gone, of itself or not: its links are closed, and its lease is seen to be nobody's."""
        for link in self.links:
            link.orphaned()
        self.bury()

    def bury(self) -> None:
        """What the store holds of the process is a dead one's."""
        self._disk.bury(self._holder.to_json(), replace(self._holder, pid=DEAD_PID).to_json())

    def _tell_the_end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def _logs(self, event: Event) -> None:
        if self.dead:
            raise Crash
        self._around.logged(self, event)
