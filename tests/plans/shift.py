"""A site with jobs, and processes that serve them: virtual time, a wall clock that can be set, a real store.

What happened is asked of the devices' ledgers, what was said of `Shift.told`.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from agent.clock import Clock
from agent.plans.consent import needed
from agent.plans.job_runs import Told
from agent.plans.jobs import Job, Jobs, OnMissed
from agent.plans.layout import lay_out
from agent.plans.plan_file import load_plan
from agent.plans.serve import Server
from agent.processes import Holder, this_process
from agent.service import Service
from agent.settings import Settings
from simulator.loop import run
from tests.agent.desk import DEAD_PID, UP_S
from tests.agent.replay import assert_replays
from tests.plans.desk import Site

T = TypeVar("T")

BEGIN = datetime(2026, 11, 29, 22, 0, 20, tzinfo=UTC)
"""Not at a whole minute."""


class WallClock(Clock):
    """A wall clock that moves with virtual time and can be set."""

    def __init__(self, begin: datetime) -> None:
        super().__init__(lambda: self._begin + timedelta(seconds=self.now_s()), lambda: UP_S + self.now_s())
        self._begin = begin

    def set_by(self, change: timedelta) -> None:
        """Set the clock forward, or back; a machine that slept for an hour wakes with one that is an hour further."""
        self._begin += change

    async def wait_until(self, moment: datetime) -> None:
        """Wait until the clock shows a moment, unless it does so already."""
        while (left_s := (moment - self.utc()).total_seconds()) > 0:
            await self.sleep(left_s)


class Shift:
    """Processes `process()`, devices `site.lsq(NAME)`, jobs `add()`."""

    def __init__(self, folder: Path, begin: datetime = BEGIN) -> None:
        self.folder = folder
        self.site = Site()
        self.clock = WallClock(begin)
        self.told: list[Told] = []
        self.settings = Settings(folder / "home", folder, folder / "inventory.yaml", None, "desk", "ana")
        self._services: list[Service] = []

    def process(self, *, gone: bool = False) -> Service:
        """A process on the store; `gone`: one that looks dead to the others."""
        holder = this_process("desk")
        if gone:
            holder = replace(holder, pid=DEAD_PID, started="1")
        return self.process_as(holder)

    def process_as(self, holder: Holder) -> Service:
        """A process on the store with this identity."""
        service = Service(self.settings, clock=self.clock, dial=self.site.dial, holder=holder)
        self._services.append(service)
        return service

    def server(self, service: Service, **how: Any) -> Server:
        """What `ackonce serve` is in a process."""
        return Server(service, self.settings, self.told.append, **how)

    def serving(self, service: Service, **how: Any) -> "asyncio.Task[None]":
        """`ackonce serve` in a process, from now on."""
        return asyncio.create_task(self.server(service, **how).keep_time())

    def inventory(self) -> None:
        """Write an inventory of all devices."""
        lines = [
            f'  {each.device.name}: {{profile: demo/controller, url: "{each.target.url}", timeout: 0.5s}}\n'
            for each in self.site.chosen
        ]
        (self.folder / "inventory.yaml").write_text("devices:\n" + "".join(lines))

    def plan(self, *steps: str, name: str = "night", more: str = "", targets: str = '"*"') -> Path:
        """Write a plan, and the inventory."""
        self.inventory()
        path = self.folder / f"{name}.yaml"
        lines = "".join(f"  - send: {step}\n" for step in steps)
        path.write_text(f"plan: {name}\ntargets: [{targets}]\n{more}steps:\n{lines}")
        return path

    def job(self, path: Path, name: str = "job", cron: str = "* * * * *", **changes: Any) -> Job:
        """A job of a plan, agreed to as it is now."""
        plan = load_plan(path)
        layout = lay_out(self.settings, plan, run="", key="", reason=None)
        made = Job(
            name=name, path=str(path), cron=cron, tz="UTC", missed=OnMissed.SKIP, project=str(self.folder),
            inventory=str(self.settings.inventory), timeout_s=None, agreed=needed(layout.operations()),
            digest=plan.digest, reason=None, added_by="ana", added=self.clock.utc(),
        )  # fmt: skip
        return replace(made, **changes)

    def add(self, path: Path, name: str = "job", cron: str = "* * * * *", **changes: Any) -> Job:
        """Add a job to the store, in the place of one of its name."""
        job = self.job(path, name, cron, **changes)
        Jobs(self._services[0] if self._services else self.process()).add(job, in_its_place=True)
        return job

    def events(self, *kinds: str) -> list[tuple[str, str | None]]:
        """What was told, as event and key: of these events, or all but `serving` and `started`."""
        return [
            (each.event, each.key)
            for each in self.told
            if (each.event in kinds if kinds else each.event not in ("serving", "started"))
        ]

    async def stop(self, *tasks: "asyncio.Task[None]") -> None:
        """Interrupt every process once, and wait."""
        for service in self._services:
            service.executor.give_up("interrupted")
        await asyncio.gather(*tasks)

    def close(self) -> None:
        """End every process."""
        for service in self._services:
            with suppress(Exception):
                service.close()


def on_shift(folder: Path, play: Callable[[Shift], Coroutine[Any, Any, T]], begin: datetime = BEGIN) -> T:
    """Run `play` with a fresh site, in virtual time; every decision is replayed in the end."""

    async def main() -> T:
        shift = Shift(folder, begin)
        try:
            return await play(shift)
        finally:
            shift.close()
            if (folder / "home").exists():
                assert_replays(folder / "home")

    return run(main, limit_s=None)
