"""What is in the world of a plan? The product's own processes on one store, and simulated equipment on its roads.

What happens there is said by two phases: first anything goes (`course.py`), then everything is healed (`healing.py`).
"""

import asyncio
import random
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from agent.clock import Clock
from agent.clock import stamp as stamp_of
from agent.links.link import Link
from agent.operation import Operation, Result, Terms
from agent.service import Report
from agent.stations import Target
from agent.store.database import Refused
from agent.terms import terms_for
from devices.catalog import choose, resolve
from devices.expressions import clamps
from devices.kinds import Policy
from logs.events import Event
from simulator.device import SimulatedDevice
from worlds.disk import Disk
from worlds.history import History
from worlds.incidents import Incident
from worlds.jobs import Job
from worlds.network import Device, Road
from worlds.plan import Cut, DevicePlan, Plan
from worlds.process import Process
from worlds.records import Wanted, Word
from worlds.sorts import Machine, Sort, sorts
from worlds.weather import Weather

START = datetime(2026, 11, 29, 22, 0, tzinfo=UTC)
SILENCE_S = 0.5
PATIENCE_S = 5.0
"""How long a device may say that it is busy."""
UP_S = 86_400.0
"""So long the machine has been up when a world begins."""
APART_S = 0.0137
"""Devices of one batch begin so far apart, so that no two timers of a process are due at once."""


class WorldClock(Clock):
    """UTC that moves with the event loop, and `ahead_s` by which it was set.

    Everything that is decided by the wall clock sees that; records keep the time of the story. `started_s` is when the
    machine was started last.
    """

    def __init__(self) -> None:
        super().__init__(
            lambda: self._true_utc() + timedelta(seconds=self.ahead_s), lambda: self.now_s() - self.started_s
        )
        self.ahead_s = 0.0
        self.started_s = -UP_S
        self._stamped = (-1.0, "")

    def _true_utc(self) -> datetime:
        return START + timedelta(seconds=self.now_s())

    def stamp(self) -> str:
        """As `Clock.stamp`; while virtual time stands still it is the same text."""
        now_s = self.now_s()
        if self._stamped[0] != now_s:
            self._stamped = now_s, stamp_of(self._true_utc())
        return self._stamped[1]


@dataclass(slots=True)
class Wish:
    """A job and the last word that somebody was told about it."""

    job: Job
    result: Result | None = None
    recorded: bool = False
    begun: bool = False
    asked: int = 0


class World:
    """One world. Made and run under a running `WorldLoop`.

    Attributes:
        plan: What is to happen.
        history: What happened.
        roads: The ways to the devices, by name.
        machines: What is behind them.
        processes: All that ever ran, in order.
        wishes: What somebody wanted, and what they were told.
        restored: The store was set back at least once.
    """

    def __init__(self, plan: Plan, cut: Cut) -> None:
        loop = asyncio.get_running_loop()
        self.plan = plan.cut(cut)
        self.disk = Disk(1 + random.Random(f"agent {plan.seed}").getrandbits(62))
        self.history = History(loop.time, self.disk)
        self.clock = WorldClock()
        self.machines: dict[str, Machine] = {}
        self.roads = {each.name: self._road(each, cut) for each in plan.devices}
        self.processes: list[Process] = []
        self.wishes = [Wish(job) for batch in self.plan.batches for job in batch.jobs]
        self.restored = False
        self._ops = 0
        self._failing = False
        loop.set_exception_handler(self._bug)

    def _road(self, plan: DevicePlan, cut: Cut) -> Road:
        seed = f"{self.plan.seed} {plan.name}"
        ways = {"to": plan.to, "back": plan.back, "dial": plan.dial}
        weather = Weather(
            plan.name, random.Random(f"weather {seed}"), plan.inside, ways,
            late_s=plan.sort.late_s, checked=plan.sort.checked, now_s=asyncio.get_running_loop().time, kept=cut.hits,
        )  # fmt: skip
        device = self._device(plan, weather, seed)
        return Road(
            plan.name, device, weather, self.history,
            sort=plan.sort.name, tongue=plan.sort.tongue, serial=plan.serial, latency_s=plan.latency_s,
        )  # fmt: skip

    def _device(self, plan: DevicePlan, weather: Weather, seed: str) -> Device:
        serial = f"SIM-{plan.name}"
        machine = plan.sort.machine(serial)
        self.machines[plan.name] = machine
        rng = random.Random(f"device {seed}")

        def observe(word: str, line: str) -> None:
            self.history.note(plan.name, word, line)
            self.history.saw(plan.name, machine.values())

        device: Device
        if plan.tier is None:
            device = plan.sort.made(
                machine, plan=weather, seed=rng.getrandbits(32), observe=observe,
                hangs_up_on_boot=not plan.serial,
            )  # fmt: skip
        else:
            device = SimulatedDevice(
                machine, serial=serial, tier=plan.tier, plan=weather, seed=rng.getrandbits(32), observe=observe,
                atomic=plan.atomic, hangs_up_on_boot=not plan.serial,
            )  # fmt: skip
        self.history.saw(plan.name, machine.values())
        return device

    # --- what is around processes -------------------------------------------------------------------------------------

    def note(self, who: str, what: str, detail: str | bytes = "") -> None:
        """Something happened."""
        self.history.note(who, what, detail)

    def stopped(self, process: Process) -> None:
        """A process was killed or frozen."""
        self.history.stopped(process.name, "killed" if process.killed else "frozen")
        if not process.killed:
            self.history.met("standstill")
        elif process.gave_up:
            self.history.met("interrupt_twice")
        elif process.stop is not None:
            self.history.met("power_cut" if process.stop.power else "crash")

    def hangs(self, process: Process) -> None:
        """A process goes on and on."""
        self.history.violated(f"{process.name} has hung")

    def logged(self, process: Process, event: Event) -> None:
        """A process wrote to its log."""
        self.history.logged(process.name, event)

    async def dial(self, process: Process, target: Target) -> Link:
        """A process opens a link. Raises Unreachable."""
        return await self.roads[target.name].dial(process)

    def power_fails(self) -> None:
        """The machine of all processes is without power for a moment."""
        if self._failing:
            return
        self._failing = True
        self._end_everybody()
        lost = self.disk.power_cut()
        self.clock.started_s = asyncio.get_running_loop().time()
        self.note("world", "power", "writes without a flush are lost" if lost else "nothing is lost")
        self._store_is_older()
        self._failing = False

    def is_held(self, device: int) -> bool:
        """Whether a process holds a device."""
        held = "SELECT 1 FROM address a JOIN device d ON d.id = a.device WHERE a.url = ? AND d.expires_utc IS NOT NULL"
        return bool(self.disk.rows(held, (_url(self.plan.devices[device].name),)))

    def set_clock(self, seconds: float) -> None:
        """The wall clock of the machine is set; to others a process that runs seems to have stood still meanwhile."""
        self.clock.ahead_s += seconds
        for process in self.processes:
            if not process.dead:
                process.slept_s += max(0.0, seconds)
        self.history.met("clock")
        self.note("world", "clock", f"set by {seconds:+g} s")

    def restore(self, backup: bytes) -> None:
        """The store is set back to a backup, while no process runs."""
        self._end_everybody()
        self.disk.restore(backup)
        self.restored = True
        self.note("world", "restored", "the store is what it was at the backup")
        self._store_is_older()

    def _end_everybody(self) -> None:
        for process in self.processes:
            process.die()

    def _store_is_older(self) -> None:
        for process in self.processes:
            if process.dead:
                process.bury()
        self.history.store_changed()

    def _bug(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        if isinstance(problem, Exception):
            self.history.violated(f"an error that nobody handles: {problem!r}")

    # --- processes ----------------------------------------------------------------------------------------------------

    def start(self, agent: str, incidents: Iterable[Incident] = ()) -> Process:
        """A new process of an agent."""
        number = sum(process.name.startswith(agent) for process in self.processes) + 1
        stop = next((each.stop for each in incidents if each.stop is not None), None)
        freeze = next((each.freeze for each in incidents if each.freeze is not None), None)
        process = Process(
            f"{agent}.{number}", agent, self.disk, self, self.clock,
            stop=stop, freeze=freeze, boot=f"boot {self.clock.started_s:g}",
        )  # fmt: skip
        self.processes.append(process)
        self.note(process.name, "started")
        loop = asyncio.get_running_loop()
        for each in incidents:
            if each.kind in ("interrupt", "interrupt_twice"):
                loop.call_later(each.seconds, self._interrupt, process, context=process.context)
            if each.again_s is not None:
                loop.call_later(
                    each.seconds + each.again_s, self._interrupt, process, context=process.context
                )
        return process

    def _interrupt(self, process: Process) -> None:
        """Ctrl-C: no further copies. Once more: it leaves at once (CLI.md 3)."""
        if process.dead:
            return
        self.note(process.name, "Ctrl-C")
        if process.service.executor.stopping():
            process.leave()
        else:
            self.history.met("interrupt")
            process.service.executor.give_up("interrupted")

    async def through(self, process: Process, work: Coroutine[Any, Any, None]) -> bool:
        """Let a process do something to its end; False where it died over it, or left it."""
        try:
            await process.end_of(work)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the product let it through
            self.history.violated(f"{process.name} ended with {problem!r}")
        if not process.dead:
            self.note(process.name, "exits")
            process.exit()
            return not process.gave_up
        return False

    def target(self, device: str) -> Target:
        """A device as its inventory names it."""
        plan = self.plan_of(device)
        return _target(device, plan.sort.name, plan.serial)

    def plan_of(self, device: str) -> DevicePlan:
        """What the plan says of a device."""
        return next(each for each in self.plan.devices if each.name == device)

    def operation(self, job: Job) -> Operation:
        """A new operation for a job."""
        plan = self.plan.devices[job.device]
        terms, kind = _terms(plan.sort.name, job.words, job.policy, job.attempts, plan.serial)
        self._ops += 1
        op = f"OP{self._ops:03}"
        if job.key is not None:
            self.history.keys[op] = job.key
        return Operation(
            op=op, device=plan.name, command=job.words, kind=kind, terms=terms, profile=plan.sort.profile.name,
            profile_digest="", route=_url(plan.name), submitted_by="ana", key=job.key,
        )  # fmt: skip

    def told(self, process: Process, op: str, result: Result) -> None:
        """Somebody was told a word."""
        self.history.told(
            Word(
                op, len(self.history.lines), result.outcome.value, result.proof.value if result.proof else "",
                result.cause.value if result.cause else "", self.history.now_s(), process.name, result.message,
                result.seq, result.attempts, result.before, result.expected, result.value,
            )
        )  # fmt: skip

    async def do(self, process: Process, wishes: list[Wish]) -> None:
        """What a process of somebody does who wants these things done."""
        by_device: dict[int, list[Wish]] = {}
        for wish in wishes:
            by_device.setdefault(wish.job.device, []).append(wish)
        await asyncio.gather(
            *(self._do_on(process, n * APART_S, each) for n, each in enumerate(by_device.values()))
        )

    async def _do_on(self, process: Process, later_s: float, wishes: list[Wish]) -> None:
        await asyncio.sleep(later_s)
        service, target = process.service, self.target(f"d{wishes[0].job.device}")
        held_for_all = len(wishes) > 1 and wishes[0].job.number % 2
        if not held_for_all:
            for wish in wishes:
                self._answered(process, wish, await service.send(target, self._asked(process, wish)))
            return
        with suppress(Refused), service.hold(target) as station:
            for wish in wishes:
                self._answered(process, wish, await service.send_on(station, self._asked(process, wish)))

    def _asked(self, process: Process, wish: Wish) -> Operation:
        wish.begun = True
        wish.asked += 1
        operation = self.operation(wish.job)
        self.history.asks(process.name, self._wanted(operation))
        return operation

    def _wanted(self, operation: Operation) -> Wanted:
        terms = operation.terms
        back, policy = terms.readback, terms.policy
        return Wanted(
            operation.op, operation.device, operation.command, policy.value,
            self.history.now_s(), len(self.history.lines),
            setting=back.setting if back is not None else None,
            stops=back is not None and clamps(back.expect),
            based=back is not None and policy in (Policy.GET_VERIFY, Policy.READ_THEN_SET),
        )  # fmt: skip

    def _answered(self, process: Process, wish: Wish, report: Report) -> None:
        wish.result, wish.recorded = report.result, report.recorded
        self.told(process, report.operation.op, report.result)


def _sort(name: str) -> Sort:
    return next(sort for sort in sorts() if sort.name == name)


def _url(device: str) -> str:
    return f"tcp://{device}:1"


@cache
def _target(device: str, sort: str, serial: bool) -> Target:
    return Target(device, _url(device), 1, None, _sort(sort).profile, SILENCE_S, 3, PATIENCE_S, 0.0, serial)


@cache
def _terms(sort: str, words: str, policy: Policy | None, attempts: int, serial: bool) -> tuple[Terms, str]:
    profile = _sort(sort).profile
    call = resolve(profile, words.split())
    chosen = choose(profile, call.command, policy).policy
    terms = terms_for(profile, call, chosen, reply_s=SILENCE_S, attempts=attempts, survives_reopen=serial)
    return replace(terms, busy_max_s=PATIENCE_S), call.command.kind.value
