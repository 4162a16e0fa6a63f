"""How is a plan carried out on many devices at once, each step at most once?

Waves come one after the other. Within a wave up to `parallel` devices are worked with side by side, as tasks of one
event loop; devices on one stream take turns, whatever `parallel` says. A device is held for all its steps. What may
begin is decided before every step (`course.py`); what has begun reaches its word.

Nothing here makes a step safe to repeat: its key does, in the journal. So a run that ended anywhere, in whatever way,
is gone on with by applying it again.
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING

from agent.clock import Clock
from agent.operation import Cause, Outcome, Result
from agent.plans.course import Course, Listener, Missed, Note, StepReport, what_holds
from agent.plans.runs import RunRow, Runs
from agent.plans.waves import waves
from agent.service import KeyClash, Report, Service
from agent.station import Station
from agent.stations import stream_of
from agent.store.database import Refused, StoreError

if TYPE_CHECKING:
    from agent.plans.layout import DeviceWork, Layout, StepWork

_NONE: Mapping[str, Note] = MappingProxyType({})


async def carry_out(
    service: Service,
    runs: Runs,
    row: RunRow,
    layout: "Layout",
    *,
    clock: Clock,
    listen: Listener,
    left_alone: Mapping[str, Note] = _NONE,
) -> list[StepReport]:
    """As `apply`, for a run that was begun in the store: how it ended is entered there, in whatever way it ends."""
    reports: list[StepReport] = []
    try:
        reports = await apply(service, layout, clock=clock, listen=listen, left_alone=left_alone)
    finally:
        # Where the end cannot be written the run counts as cut off: the journal has what was done.
        with suppress(StoreError):
            runs.end(row, reports)
        service.end_run(row.run)
    return reports


async def apply(
    service: Service,
    layout: "Layout",
    *,
    clock: Clock,
    listen: Listener,
    left_alone: Mapping[str, Note] = _NONE,
) -> list[StepReport]:
    """Carry out what is due of a plan.

    Args:
        service: the agent in this process.
        layout: the plan, device by device; its operations have their keys.
        clock: tells whether the window is open.
        listen: told how it goes on.
        left_alone: devices that nothing is to be sent to, and why (`saved_plan.moved`).

    Returns:
        What became of every step, in the order of the layout. Failures of devices, of other processes and of the store
        are among them and are not raised.
    """
    plan = layout.plan
    course = Course(plan, devices=len(layout.work), utc=clock.utc, stopping=service.executor.stopping)
    turns = {work.chosen.device.name: _Turn(service, layout, course, listen, work) for work in layout.work}
    for device, note in left_alone.items():
        turns[device].leave_alone(note)
    parts = waves(plan.waves, layout.work)
    for number, wave in enumerate(parts, 1):
        if course.stop() is None:
            listen.wave(number, len(parts), [work.chosen.device.name for work in wave])
        await _side_by_side(
            [[turns[work.chosen.device.name] for work in line] for line in _lines(wave)], plan.parallel
        )
    return [report for turn in turns.values() for report in turn.reports]


def _lines(wave: Sequence["DeviceWork"]) -> list[list["DeviceWork"]]:
    """The devices of a wave by the stream that they are on, each in their order."""
    lines: dict[str, list[DeviceWork]] = {}
    for work in wave:
        lines.setdefault(stream_of(work.chosen.target.url), []).append(work)
    return list(lines.values())


async def _side_by_side(lines: Sequence[Sequence["_Turn"]], parallel: int) -> None:
    """Give every device its turn: those of one line one after the other, at most `parallel` lines at a time."""
    waiting = deque(lines)

    async def work() -> None:
        while waiting:
            for turn in waiting.popleft():
                await turn.take()

    async with asyncio.TaskGroup() as group:
        for _ in range(min(parallel, len(lines))):
            group.create_task(work())


class _Turn:
    """One device's turn. `reports` are those of its steps, in their order."""

    def __init__(
        self,
        service: Service,
        layout: "Layout",
        course: Course,
        listen: Listener,
        work: "DeviceWork",
    ) -> None:
        self.reports: list[StepReport] = []
        self._service = service
        self._run = layout.run
        self._hold_after_refused = layout.plan.hold_after_refused
        self._course = course
        self._listen = listen
        self._work = work
        self._device = work.chosen.device.name
        self._held: Note | None = None

    def leave_alone(self, note: Note) -> None:
        """Nothing is to be sent to the device; what is done already is told as ever."""
        self._held = note

    async def take(self) -> None:
        """Step after step. Whatever is done already is only told, even where nothing may begin any more."""
        done = self._done_before()
        if self._held is not None and self._held.cause is not None and len(done) < len(self._work.steps):
            self._course.device_failed(self._device)
        station: Station | None = None
        with ExitStack() as hold:
            for step in self._work.steps:
                report = done.get(step.id) or self._without_turn(step)
                if report is None:
                    report, station = await self._step(step, station, hold)
                self.reports.append(report)
                self._listen.step(report)
        self._listen.device(self._device, self.reports)

    def _done_before(self) -> dict[str, StepReport]:
        """The steps that stand on the device already, by what the journal says; nobody needs to hold it for that."""
        target, journal = self._work.chosen.target, self._service.journal
        found: dict[str, StepReport] = {}
        try:
            device = self._service.registry.lookup(target.url, target.unit, target.serial)
            if device is None:
                return found
            why = self._service.two_names(self._run, device, self._device)
            if why is not None:
                self._held = Note(Missed.AFTER_FAILURE, why, cause=Cause.WRONG_DEVICE)
                return found
            for step in self._work.steps:
                key, command = step.operation.key, step.operation.command
                entry = journal.under_key(key, device) if key is not None else None
                if entry is not None and entry.done and entry.operation.command == command:
                    found[step.id] = StepReport(
                        self._device, step.id, entry.operation, entry.result, skipped=True
                    )
        except StoreError as problem:
            self._course.store_failed(str(problem))
        return found

    def _without_turn(self, step: "StepWork") -> StepReport | None:
        """The report of a step that may not begin; None where it may."""
        note = self._held or self._course.stop()
        if note is None:
            return None
        result = None
        if note.cause is not None:
            result = Result(Outcome.NOT_SENT, None, note.text, note.cause)
        return StepReport(self._device, step.id, step.operation, result, recorded=False, note=note)

    async def _step(
        self, step: "StepWork", station: Station | None, hold: ExitStack
    ) -> tuple[StepReport, Station | None]:
        """Carry one step out; the first one takes hold of the device."""
        try:
            if station is None:
                self._listen.begun(self._device)
                station = hold.enter_context(self._service.hold(self._work.chosen.target))
            told = await self._service.send_on(station, step.operation)
        except KeyClash as clash:
            told = _unrecorded(step, Cause.KEY, str(clash))
        except Refused as refused:
            told = _unrecorded(step, Cause.HELD, str(refused))
        except StoreError as problem:
            told = _unrecorded(step, Cause.STORE, str(problem))
        note = None
        if not told.recorded:
            note = Note(Missed.NOT_BEGUN, told.result.message, cause=told.result.cause)
        report = StepReport(
            self._device, step.id, told.operation, told.result, told.skipped, told.recorded, note
        )
        self._course.count(report)
        self._held = what_holds(report, told.held_by, hold_after_refused=self._hold_after_refused)
        return report, station


def _unrecorded(step: "StepWork", cause: Cause, why: str) -> Report:
    return Report(step.operation, Result(Outcome.NOT_SENT, None, why, cause), recorded=False)
