"""How do a whole plan and many simulated devices meet in a test? Virtual time, links in memory, a real store.

A `Site` is the equipment, each device with its ledger, and sees who works with what at the same time. A `Killer` ends a
process of the agent in the middle of a run. Plans are laid out by hand here: reading files is not the matter.
"""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from agent.inventory import Device
from agent.links.link import Link, Unreachable
from agent.operation import Outcome
from agent.orders import order_of
from agent.plans.apply import apply, carry_out
from agent.plans.course import StepReport
from agent.plans.layout import DeviceWork, Layout, StepWork, step_key
from agent.plans.plan_file import PlanFile, Step
from agent.plans.runs import RunRow, Runs
from agent.processes import this_process
from agent.service import Service
from agent.settings import Settings
from agent.stations import Target
from agent.store.database import Cursor
from agent.targets import Chosen
from devices import catalog
from devices.profile import Profile
from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.fault_kinds import LSQ, TEXT
from simulator.faults import parse
from simulator.loop import run
from simulator.text_device import TextDevice
from tests.agent.desk import PROFILE as LSQ_PROFILE
from tests.agent.desk import SILENCE_S, Desk, DeviceLink, Network, VirtualClock
from tests.agent.line_profiles import PROFILE as LINE_PROFILE
from tests.agent.replay import assert_replays
from tests.crash.crasher import Crash

T = TypeVar("T")

SETTINGS = Settings(Path(), Path(), None, None, "desk", "ana")
RUN, KEY = "01JRUN", "night"


class Site(Network):
    """The equipment. `gone`: devices that do not answer; `most`: how many had a connection at the same time."""

    def __init__(self) -> None:
        super().__init__({}, [])
        self.devices: dict[str, SimulatedDevice | TextDevice] = {}
        self.chosen: list[Chosen] = []
        self.gone: set[str] = set()
        self.working: list[str] = []
        self.most = 0
        self.overlaps: list[tuple[str, str]] = []
        self.dialled: list[tuple[float, str]] = []
        self._urls: dict[str, str] = {}

    def lsq(
        self, name: str, faults: str = "", *, url: str | None = None, unit: int = 1, serial: str | None = None
    ) -> SimulatedDevice:
        """Add a controller that speaks LSQ1; its serial is its name unless one is given."""
        device = SimulatedDevice(Controller(name), serial=serial or name, plan=parse(faults, LSQ), unit=unit)
        self._add(name, device, LSQ_PROFILE, url, unit)
        return device

    def also(self, name: str, device: SimulatedDevice) -> None:
        """A controller that is there already answers at another address too."""
        self._add(name, device, LSQ_PROFILE, None, 1)

    def text(self, name: str, faults: str = "", *, profile: Profile = LINE_PROFILE) -> TextDevice:
        """Add a controller that speaks plain text."""
        device = TextDevice(Controller(name), plan=parse(faults, TEXT))
        self._add(name, device, profile, None, 1)
        return device

    def _add(
        self, name: str, device: SimulatedDevice | TextDevice, profile: Profile, url: str | None, unit: int
    ) -> None:
        url = url or f"tcp://{name}:1"
        target = Target(name, url, unit, None, profile, SILENCE_S, 3, 5.0, 0.0, survives_reopen=False)
        self.devices[name] = device
        self.chosen.append(Chosen(Device(name, url, profile.name, unit), profile, target))
        self._urls[name] = url

    def count(self, name: str, text: str) -> int:
        """How often a device carried a command out, by its own ledger."""
        return self.devices[name].ledger.count(text)

    async def dial(self, target: Target) -> Link:
        """Open a link to a device by its name; notes who else has one."""
        self.dialled.append((asyncio.get_running_loop().time(), target.name))
        if target.name in self.gone:
            await asyncio.sleep(0)
            raise Unreachable(f"{target.url} refuses connections")
        self.overlaps += [
            (target.name, other)
            for other in self.working
            if other != target.name and self._urls[other] == target.url
        ]
        self.working.append(target.name)
        self.most = max(self.most, len(set(self.working)))
        return SiteLink(self, target.name)


class SiteLink(DeviceLink):
    """A connection to a device of a site."""

    def __init__(self, site: Site, name: str) -> None:
        super().__init__(site.devices[name])
        self._site, self._name, self._open = site, name, True

    def close(self, *, abort: bool = False) -> None:
        """Close it; the site sees it."""
        super().close(abort=abort)
        if self._open:
            self._open = False
            self._site.working.remove(self._name)


def step(
    text: str, name: str | None = None, *, devices: tuple[str, ...] = (), policy: str | None = None
) -> Step:
    """A step of a plan, `name` its id; it stands in the line that `plan` gives it."""
    return Step(tuple(text.split()), None, devices, name, policy, (1, 5))


def plan(steps: Sequence[Step | str], **changes: Any) -> PlanFile:
    """A plan with these steps, from line 3 on."""
    made = tuple(
        replace(each if isinstance(each, Step) else step(each), where=(n, 5))
        for n, each in enumerate(steps, 3)
    )
    text = repr(made)
    base = PlanFile(
        name="night", path="night.yaml", text=text, digest=hashlib.sha256(text.encode()).hexdigest(),
        targets=("*",), targets_at=((2, 10),), steps=made,
    )  # fmt: skip
    return replace(base, **changes)


def lay_out(site: Site, of: PlanFile, *, run: str = RUN, key: str = KEY, only: Sequence[str] = ()) -> Layout:
    """The plan over the site's devices, or over some of them."""
    work = []
    for chosen in site.chosen:
        name = chosen.device.name
        if only and name not in only:
            continue
        steps: list[StepWork] = []
        for each in of.steps:
            if each.devices and name not in each.devices:
                continue
            call = catalog.resolve(chosen.profile, each.words or ())
            operation = order_of(SETTINGS, chosen, call, policy=each.policy, run=run, if_needed=True)
            times = sum(made.operation.command == operation.command for made in steps)
            id_ = each.id or (f"{operation.command} ({times + 1})" if times else operation.command)
            steps.append(StepWork(id_, replace(operation, step=id_, key=step_key(of.name, key, id_))))
        if steps:
            work.append(DeviceWork(chosen, tuple(steps)))
    return Layout(of, run, key, tuple(work))


@dataclass
class Heard:
    """What a listener was told, in order."""

    events: list[tuple[str, Any]] = field(default_factory=list)
    on_step: Callable[[StepReport], object] | None = None

    def begun(self, device: str) -> None:
        """A device's turn has come."""
        self.events.append(("begun", device))

    def step(self, report: StepReport) -> None:
        """A step has its word."""
        self.events.append(("step", (report.device, report.step)))
        if self.on_step is not None:
            self.on_step(report)

    def device(self, device: str, reports: Sequence[StepReport]) -> None:
        """A device is done with."""
        self.events.append(("device", (device, len(reports))))

    def wave(self, number: int, of: int, devices: Sequence[str]) -> None:
        """A wave begins."""
        self.events.append(("wave", (number, of, tuple(devices))))

    def names(self, event: str) -> list[Any]:
        """What was told of one kind of event."""
        return [what for kind, what in self.events if kind == event]


async def carry(
    service: Service, layout: Layout, listen: Heard | None = None, **how: Any
) -> dict[tuple[str, str], StepReport]:
    """Apply a layout; the reports by device and step."""
    reports = await apply(service, layout, clock=service.clock, listen=listen or Heard(), **how)
    assert [(r.device, r.step) for r in reports] == [
        (work.chosen.device.name, each.id) for work in layout.work for each in work.steps
    ]
    return {(report.device, report.step): report for report in reports}


def begin(service: Service, layout: Layout, **how: Any) -> RunRow:
    """Begin the run of a layout in the store, as ana does."""
    return Runs(service).begin(layout, options={"project": "/srv/site"}, actor="ana", **how)


async def run_plan(
    service: Service, layout: Layout, listen: Heard | None = None, **how: Any
) -> list[StepReport]:
    """Begin the run of a layout in the store, carry it out, and end it."""
    row = begin(service, layout)
    listener = listen or Heard()
    return await carry_out(service, Runs(service), row, layout, clock=service.clock, listen=listener, **how)


def another_process(desk: Desk, *, host: str = "host") -> Service:
    """One more process on the store of a desk, and this one lives."""
    holder = replace(this_process("other"), host=host, boot="boot")
    settings = replace(SETTINGS, home=desk.home)
    return Service(settings, clock=VirtualClock(), dial=desk.network.dial, holder=holder)


def outcomes(reports: Sequence[StepReport]) -> list[Outcome | None]:
    """The word of each step, None where it had no turn."""
    return [report.result.outcome if report.result is not None else None for report in reports]


class Killer:
    """Ends a process at one of its writes to the store or to a link, before it or after it; it writes no more then."""

    def __init__(self, service: Service, at_write: int, *, after: bool) -> None:
        """Watch a process from its start; writes are counted from 1."""
        self.writes = 0
        self._at, self._after = at_write, after
        database, dial = service.database, service._dial
        commit, commit_now, commit_loosely = database.commit, database.commit_now, database.commit_loosely

        async def dying_commit(work: Callable[[Cursor], T]) -> T:
            self._write()
            result = await commit(work)
            self._written()
            return result

        def dying(commit: Callable[[Callable[[Cursor], T]], T]) -> Callable[[Callable[[Cursor], T]], T]:
            def write(work: Callable[[Cursor], T]) -> T:
                self._write()
                result = commit(work)
                self._written()
                return result

            return write

        async def dial_dying(target: Target) -> Link:
            link = await dial(target)
            send = link.write

            def write(data: bytes) -> None:
                self._write()
                send(data)
                self._written()

            link.write = write  # type: ignore[method-assign]
            return link

        database.commit = dying_commit  # type: ignore[method-assign, assignment]
        database.commit_now = dying(commit_now)  # type: ignore[method-assign, assignment]
        database.commit_loosely = dying(commit_loosely)  # type: ignore[method-assign, assignment]
        service._dial = dial_dying

    @property
    def dead(self) -> bool:
        """Whether the process has ended."""
        return self.writes > self._at or (self.writes == self._at and not self._after)

    def _write(self) -> None:
        self.writes += 1
        if self.dead:
            raise Crash

    def _written(self) -> None:
        if self.writes >= self._at:
            self.writes = self._at + 1
            raise Crash


async def killed(running: Coroutine[Any, Any, object]) -> bool:
    """Run a process to its end; whether it was killed."""
    died = False
    try:
        await running
    except* Crash:
        died = True
    return died


def at_a_site(home: Path, play: Callable[[Desk, Site], Coroutine[Any, Any, T]]) -> T:
    """Run `play` with a fresh desk and an empty site, in virtual time; every decision is replayed in the end."""

    async def main() -> T:
        site = Site()
        desk = Desk(home, site)
        try:
            return await play(desk, site)
        finally:
            desk.service.close()
            assert_replays(home)

    return run(main, limit_s=None)
