"""What would a plan change? Reads and compares, and sends nothing.

Rules: each setting that the plan's steps need is read once; no lease is taken, so another process may work on the
device meanwhile. Devices of one stream are read one after the other, streams side by side. The steps of a device build
on each other: a later one starts from what the earlier ones lead to. A value that nobody can know is None, with a
sentence about why.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from agent import readback
from agent.evidence import Connected, Evidence, Reading, Why
from agent.journal import Entry
from agent.links.link import PortHeld, Unreachable
from agent.operation import BOOT, Cause, Operation, Outcome, Terms
from agent.plans.layout import DeviceWork, Layout
from agent.policy import next_step
from agent.reckoning import reckon
from agent.registry import WrongDevice
from agent.service import Service
from agent.stations import stream_of
from agent.steps import Finish
from devices.kinds import Kind
from devices.profile import Profile
from devices.values import normalise, same

Action = Literal["send", "unchanged", "held", "done"]


@dataclass(frozen=True, slots=True)
class DeviceReading:
    """What was read from one device: settings with their canonical values, None where reading one failed.

    `problems` says why, by setting; `unreached` why the device could not be asked at all, and `cause` what kind of
    reason that is.
    """

    values: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    problems: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    unreached: str | None = None
    cause: Cause = Cause.UNREACHABLE


@dataclass(frozen=True, slots=True)
class Row:
    """What a step would do on a device.

    `before` is the value that the step would find and `target` the one that it leads to, canonical texts; None where
    there is none or nobody can know it. `action`: `send`; `unchanged`, it stands there already; `held`, it would not
    get its turn; `done` before under the same key. `why`: a sentence about it, or None. `reached` is False where the
    device could not be asked. `read`: the readings that the row stands on, as they came.
    """

    device: str
    step: str
    command: str
    policy: str
    before: str | None
    target: str | None
    action: Action
    why: str | None = None
    reached: bool = True
    read: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))


async def look(service: Service, layout: Layout, *, parallel: int) -> list[Row]:
    """What every step would do, device by device. At most `parallel` devices are asked at once. Raises StoreError."""
    readings = await read_devices(service, layout, parallel=parallel)
    doubts = {entry.device: entry for entry in service.doubts()}
    rows: list[Row] = []
    for work in layout.work:
        target = work.chosen.target
        device = service.registry.lookup(target.url, target.unit, target.serial)
        earlier = {
            step.id: entry
            for step in work.steps
            if device is not None
            and (entry := service.journal.under_key(step.operation.key or "", device)) is not None
        }
        doubt = doubts.get(device) if device is not None else None
        rows += device_rows(work, readings[work.chosen.device.name], earlier, doubt)
    return rows


# --- reading ----------------------------------------------------------------------------------------------------------


async def read_devices(
    service: Service, layout: Layout, *, parallel: int, but: Collection[str] = ()
) -> dict[str, DeviceReading]:
    """Read what the steps need, from every device but those named; one that needs nothing is not connected to.

    After an interruption no further device is asked. Raises StoreError.
    """
    streams: dict[str, list[DeviceWork]] = {}
    for work in layout.work:
        if work.chosen.device.name not in but:
            streams.setdefault(stream_of(work.chosen.target.url), []).append(work)
    readings: dict[str, DeviceReading] = {}
    at_once = asyncio.Semaphore(parallel)

    async def read_stream(devices: Sequence[DeviceWork]) -> None:
        for work in devices:
            async with at_once:
                readings[work.chosen.device.name] = await _read(service, work)

    tasks = [asyncio.create_task(read_stream(devices)) for devices in streams.values()]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()  # no use once one has failed; those that have ended do not mind
    return readings


async def _read(service: Service, work: DeviceWork) -> DeviceReading:
    profile = work.chosen.profile
    wanted = [profile.settings[name] for name in _needed_by_all(profile, work)]
    if service.executor.stopping():
        return DeviceReading(unreached="interrupted before it was asked", cause=Cause.INTERRUPTED)
    try:
        answers = await service.get(work.chosen.target, wanted)
    except WrongDevice as other:
        return DeviceReading(unreached=str(other), cause=Cause.WRONG_DEVICE)
    except PortHeld as held:
        return DeviceReading(unreached=str(held), cause=Cause.HELD)
    except Unreachable as no_way:
        return DeviceReading(unreached=str(no_way))
    values: dict[str, str | None] = {}
    problems: dict[str, str] = {}
    for setting, answer in zip(wanted, answers, strict=True):
        values[setting.name] = None
        if answer.value is None:
            problems[setting.name] = f"{setting.name} could not be read: {answer.problem or 'no answer'}"
            continue
        try:
            values[setting.name] = normalise(setting.type, answer.value, setting.step)
        except ValueError as no_value:
            problems[setting.name] = f"{setting.name} could not be read: {no_value}"
    return DeviceReading(values, problems)


def _needed_by_all(profile: Profile, work: DeviceWork) -> list[str]:
    """The settings that the steps of a device need, each once, in the order of need."""
    names = (name for step in work.steps for name in _needed(step.operation.terms))
    return [name for name in dict.fromkeys(names) if profile.settings[name].read is not None]


def _needed(terms: Terms) -> tuple[str, ...]:
    mode = (terms.mode[0],) if terms.mode is not None else ()
    return (*(name for name in readback.settings_needed(terms) if name != BOOT), *mode)


# --- comparing --------------------------------------------------------------------------------------------------------


def device_rows(
    work: DeviceWork, reading: DeviceReading, earlier: Mapping[str, Entry], doubt: Entry | None
) -> Iterator[Row]:
    """The rows of one device. Pure.

    Args:
        work: its steps.
        reading: what was read.
        earlier: the newest operation under the key of each step id, where there is one.
        doubt: an operation that is in doubt on the device.
    """
    sequence = _Sequence(reading)
    for step in work.steps:
        entry, operation = earlier.get(step.id), step.operation
        if entry is not None and entry.done and entry.operation.command == operation.command:
            yield _row(operation, sequence, "done", None)
        elif entry is not None and entry.operation.command != operation.command:
            other = entry.operation
            clash = f"under this key its id stands for '{other.command}' (operation {other.op})"
            yield _row(operation, sequence, "held", clash)
        elif doubt is not None:
            yield _row(operation, sequence, "held", _held_by(doubt))
        else:
            action, why = sequence.would(operation.terms)
            yield _row(operation, sequence, action, why)
            sequence.after(operation)


def _held_by(doubt: Entry) -> str:
    o = doubt.operation
    return f"held by operation {o.op} ('{o.command}'), which is in doubt. See: ackonce doubt show {o.op}"


def _row(operation: Operation, sequence: "_Sequence", action: Action, why: str | None) -> Row:
    terms = operation.terms
    return Row(
        device=operation.device,
        step=operation.step or "",
        command=operation.command,
        policy=terms.policy.value,
        before=sequence.before(terms) if action != "done" else None,
        target=sequence.target(terms) if action != "done" else None,
        action=action,
        why=why,
        reached=sequence.reading.unreached is None,
        read={name: sequence.reading.values.get(name) for name in _needed(terms)},
    )


class _Sequence:
    """The settings of a device as the steps so far would leave them."""

    def __init__(self, reading: DeviceReading) -> None:
        self.reading = reading
        self._known: dict[str, str | None] = dict(reading.values)
        self._moved: set[str] = set()

    def before(self, terms: Terms) -> str | None:
        """The value that a step would find."""
        return self._known.get(terms.readback.setting) if terms.readback is not None else None

    def target(self, terms: Terms) -> str | None:
        """The value that a step leads to."""
        return readback.expected(terms, reckon(self._facts(terms)))

    def would(self, terms: Terms) -> tuple[Action, str | None]:
        """What would be done, and what is to be said about it."""
        if terms.if_needed and self._stands_already(terms):
            return "unchanged", None
        if self.reading.unreached is not None:
            return "send", self.reading.unreached
        unknown = [name for name in _needed(terms) if self._known.get(name) is None]
        if unknown:
            name = unknown[0]
            by_then = f"nobody can tell what {name} is by then: an earlier step changes it"
            return "send", by_then if name in self._moved else self.reading.problems.get(name)
        step = next_step(terms, [Connected(1, session=1), *self._facts(terms)])
        if isinstance(step, Finish) and step.outcome is Outcome.NOT_SENT:
            return "send", f"it would not be sent: {step.why}"
        return "send", None

    def _stands_already(self, terms: Terms) -> bool:
        back, before, target = terms.readback, self.before(terms), self.target(terms)
        if back is None or before is None or target is None:
            return False
        return same(back.type, before, target, back.step, back.tolerance)

    def after(self, operation: Operation) -> None:
        """The step is done: what it leads to is known, or no longer."""
        terms = operation.terms
        changed = {terms.setting} if terms.setting is not None else set()
        if operation.kind == Kind.RESET:
            changed |= set(self._known)  # it may put back any of them
        target = self.target(terms)
        self._known |= dict.fromkeys(changed, None)
        self._moved |= changed
        if terms.readback is not None:
            self._known[terms.readback.setting] = target
            self._moved.add(terms.readback.setting)

    def _facts(self, terms: Terms) -> list[Evidence]:
        known = {name: self._known.get(name) for name in _needed(terms)}
        boot: list[Evidence] = [Reading(BOOT, "1", 1, Why.BASELINE)]
        return boot + [
            Reading(name, value, 1, Why.BASELINE) for name, value in known.items() if value is not None
        ]
