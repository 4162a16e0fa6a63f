"""Where does a story take place? Virtual time, a device, and one process of the agent after another or side by side.

Whether a process is alive is what the story says, and nothing of this machine: a killed one writes nothing any more,
neither into its store nor to the device, and whoever comes next finds that it is gone.
"""

import asyncio
import shutil
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from agent.clock import Clock
from agent.journal import Intent
from agent.links.link import Link, Unreachable
from agent.operation import Operation, Result
from agent.processes import Holder
from agent.service import Service
from agent.settings import Settings
from agent.stations import Target
from logs.events import Event, human
from simulator.loop import VirtualLoop
from tests.agent.desk import START, UP_S, Desk, DeviceLink, Network
from tests.agent.line_desk import Port
from tests.crash.crasher import Crash, Crasher
from tests.scenarios.setup import Device, Setup

HOST = "laptop"
TCP, SERIAL = "tcp://pump-7:7000", "serial:/dev/ttyPUMP7"


class StageClock(Clock):
    """The clock of the machine, which somebody may set."""

    def __init__(self, stage: "Stage") -> None:
        utc = lambda: START + timedelta(seconds=self.now_s() + stage.ahead_s)  # noqa: E731
        super().__init__(utc, lambda: UP_S + self.now_s())


@dataclass(slots=True)
class Life:
    """One process of the machine: alive until it is killed."""

    holder: Holder
    alive: bool = True


class Stage(Network):
    """A story's equipment and everybody who works with it. What is told is collected in `told`."""

    def __init__(self, setup: Setup, folder: Path) -> None:
        super().__init__({}, [])
        self.setup = setup
        self.folder = folder
        self.url = SERIAL if setup.serial_port else TCP
        self.devices: dict[str, Device] = {}
        self.told: list[str] = []
        self.lives: dict[str, Life] = {}
        self.agents: dict[str, Agent] = {}
        self.under_way: dict[asyncio.Task[None], Life] = {}
        self.ordered: dict[str, Operation] = {}
        self.words: dict[str, list[Result]] = {}
        self.ahead_s = 0.0
        self._there: Device | None = None
        self._port: Port | None = None
        self.put("SIM-1", setup.faults)

    # --- equipment ----------------------------------------------------------------------------------------------------

    @property
    def device(self) -> Device:
        """The device that the story is about."""
        return self.devices["SIM-1"]

    def put(self, serial: str, faults: str = "") -> None:
        """The device with that serial stands at the address from now on; it is switched on if it is a new one."""
        if self._there is not None:
            self.unplug()
        if serial not in self.devices:
            self.devices[serial] = self.setup.device(serial, faults)
        self._there = self.devices[serial]
        self._port = Port(self._there) if self.setup.serial_port else None

    def unplug(self) -> None:
        """Nothing stands at the address any more, and what was connected is cut."""
        there, self._there, self._port = self._there, None, None
        if there is not None:
            there.hang_up()

    async def dial(self, _: Target) -> Link:
        """Open a link to whatever stands at the address."""
        if self._there is None:
            raise Unreachable(
                f"{self.url}: no such port" if self.setup.serial_port else f"{self.url} refuses connections"
            )
        return self._port.open() if self._port is not None else DeviceLink(self._there)

    # --- processes ----------------------------------------------------------------------------------------------------

    def agent(self, name: str) -> "Agent":
        """The process that is called so; it is started when it is first heard of."""
        if name not in self.agents:
            own = name in self.setup.own_stores
            self.agents[name] = Agent(self, name, self.folder / (name if own else "store"))
        return self.agents[name]

    def holder(self) -> Holder:
        """A new process of the machine."""
        number = len(self.lives) + 1
        holder = Holder(HOST, HOST, 100 + number, "", "", f"{number}")
        self.lives[holder.instance] = Life(holder)
        return holder

    def is_gone(self, holder: Holder, _: Holder) -> bool:
        """Whether a process has been killed; stands for `agent.processes.is_gone`."""
        return not self.lives[holder.instance].alive

    def start(self, life: Life, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let a process work; when it is killed its work comes to nothing."""

        async def until_killed() -> None:
            try:
                await work
            except Crash:
                return

        task = asyncio.ensure_future(until_killed())
        self.under_way[task] = life
        task.add_done_callback(self.under_way.pop)
        return task

    # --- the record ---------------------------------------------------------------------------------------------------

    def tell(self, who: str, line: str) -> None:
        """One line of the record, with the name of its process where there are several."""
        self.told.append(f"{who}: {line}" if who else line)

    def take(self) -> list[str]:
        """What was told since this was last asked."""
        told, self.told = self.told, []
        return told

    async def end(self) -> None:
        """Everybody comes to an end."""
        for task in list(self.under_way):
            task.cancel()
        if self.under_way:
            await asyncio.wait(set(self.under_way))
        for agent in self.agents.values():
            agent.close()

    def forget(self, op: str) -> None:
        """An operation came to no entry in any journal: its id is free for the next one."""
        self.ordered.pop(op, None)

    def copy_store(self) -> None:
        """Put a copy of the store aside."""
        shutil.copytree(self.folder / "store", self.folder / "copy")

    def put_copy_back(self, agent: "Agent") -> None:
        """The copy takes the store's place, between two processes."""
        agent.service.close()
        agent.life.alive = False
        shutil.rmtree(agent.home)
        shutil.copytree(self.folder / "copy", agent.home)
        agent.begin()


class Agent(Desk):
    """One process after another under one name on one store."""

    def __init__(self, stage: Stage, name: str, home: Path) -> None:
        self.stage = stage
        self.name = name
        self.ended: list[Service] = []
        self.crasher: Crasher | None = None
        self.links: list[Link] = []
        profile = stage.setup.profile
        assert profile is not None
        super().__init__(home, stage, agent=HOST, profile=profile, survives_reopen=stage.setup.serial_port)

    def _start(self) -> Service:
        holder = self.stage.holder()
        self.life = self.stage.lives[holder.instance]
        life = self.life

        def heard(event: Event) -> None:
            if life.alive and (event.level != "DEBUG" or self.stage.setup.verbose):
                seconds = (datetime.fromisoformat(event.ts) - START).total_seconds() - self.stage.ahead_s
                self.stage.tell(self.name, f"{seconds:.1f}  {human(event)}")

        settings = Settings(self.home, self.home, None, None, HOST, "ana")
        return Service(settings, echo=heard, clock=StageClock(self.stage), dial=self._dial, holder=holder)

    async def _dial(self, target: Target) -> Link:
        link = await self.stage.dial(target)
        self.links.append(link)
        return link

    def begin(self) -> None:
        """The next process begins."""
        self.service = self._start()
        self.crasher = None

    def stop_before_copy(self) -> None:
        """The process will end when its next copy is on record, and before it leaves."""
        self.crasher = crasher = Crasher(self.service, None)
        intend = self.service.journal.intend

        async def intend_and_end(*args: Any) -> Intent:
            await intend(*args)
            crasher.dead = True
            raise Crash

        self.service.journal.intend = intend_and_end  # type: ignore[method-assign, assignment]

    def stand_still_before_copy(self, seconds: float) -> None:
        """The machine will stand still when the next copy is on record; the clock goes on, and nothing else does."""
        intend = self.service.journal.intend

        async def intend_and_wait(*args: Any) -> Intent:
            intent = await intend(*args)
            self.service.journal.intend = intend  # type: ignore[method-assign]
            loop = asyncio.get_running_loop()
            assert isinstance(loop, VirtualLoop)
            loop.stand_still(seconds)
            return intent

        self.service.journal.intend = intend_and_wait  # type: ignore[method-assign, assignment]

    def kill(self) -> bool:
        """The process is gone, its connections with it, and another one begins; returns whether it was at work."""
        at_work = self.life in self.stage.under_way.values()
        self.life.alive = False
        (self.crasher or Crasher(self.service, None)).dead = True
        for link in self.links:
            link.close(abort=True)
        self.links.clear()
        self.ended.append(self.service)
        self.begin()
        return at_work

    def close(self) -> None:
        """Every process gives back what it had open."""
        for service in (*self.ended, self.service):
            service.close()

    def here(self) -> Target:
        """The device, as the inventory has it."""
        return self.target(self.stage.url, name="pump-7")

    def ordered(self, words: str, **how: Any) -> Operation:
        """The operation of typed words; ids are counted."""
        made = self.operation(words, **how)
        made = replace(made, op=f"OP{len(self.stage.ordered) + 1}", device="pump-7", route=self.stage.url)
        self.stage.ordered[made.op] = made
        return made
