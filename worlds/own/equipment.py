"""How does a claimed machine talk, and what goes wrong on the way?

Lines are made from the profile's own patterns (`answers.py`); LSQ1 is spoken by the simulator's own device. The way is
a link in memory: over TCP each opening is a connection of its own, a serial line outlives every opening.
"""

import random
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from agent.links.link import Link, LinkLost, Receiver
from agent.stations import Target
from devices.profile import Line, Profile
from simulator.base_device import Message
from simulator.conn import Conn
from simulator.device import SimulatedDevice
from simulator.equipment import Result, Verdict
from simulator.fault_kinds import Fault
from simulator.fault_terms import NO_FAULTS, Faults
from simulator.faults import FaultPlan
from simulator.habits import Habits
from simulator.text_device import TextDevice
from worlds.network import Direction
from worlds.own.answers import answer, plain_answer
from worlds.own.machine import ClaimedMachine

LATENCY_S = 0.01
LATE_SHARE = 0.6
"""Of `late_max_s`: how late an answer may be."""
SHARES: Mapping[Fault, float] = MappingProxyType(
    {
        Fault.DROP_ACK: 1.0,
        Fault.DROP_REQUEST: 0.5,
        Fault.DELAY: 0.1,
        Fault.CUT: 0.05,
        Fault.CUT_BEFORE: 0.025,
        Fault.REBOOT_BEFORE: 0.025,
        Fault.REBOOT_AFTER: 0.025,
    }
)
"""How often each fault strikes a message, as a share of the losses that were asked for."""


class Losses(FaultPlan):
    """What goes wrong with each message: one die for each, from a seed; `loss` is how often an answer is lost.

    `calm`: nothing goes wrong any more.
    """

    def __init__(self, rng: random.Random, loss: float, late_s: float) -> None:
        super().__init__()
        self._rng = rng
        self._loss = loss
        self._late_s = late_s
        self.calm = False

    def next(self, kind: str) -> Faults:  # noqa: ARG002 - messages of all kinds are lost alike
        """What the next message suffers."""
        if self.calm:
            return NO_FAULTS
        drawn, late = self._rng.random(), self._rng.random()
        for fault, share in SHARES.items():
            drawn -= share * self._loss
            if drawn < 0:
                seconds = (late * LATE_SHARE * self._late_s,) if fault is Fault.DELAY else ()
                return Faults(MappingProxyType({fault: seconds}))
        return NO_FAULTS


class ClaimedTextDevice(TextDevice):
    """Equipment of dialect `line` that answers in lines that its profile's own patterns take."""

    def __init__(self, machine: ClaimedMachine, profile: Profile, *, plan: FaultPlan, cuts: bool) -> None:
        """Switch it on; `cuts`: a start of the device ends its connections."""
        self._line = profile.line or Line()
        eol = self._line.eol.encode()
        end = eol if eol.endswith((b"\r", b"\n")) else b"\n"
        super().__init__(
            machine, plan=plan, hangs_up_on_boot=cuts, eol=end, echo=self._line.echo,
            habits=Habits(opening_boots=profile.opening_resets),
        )  # fmt: skip
        banner = plain_answer(self._line.boot) if self._line.boot is not None else None
        self._tongue = replace(
            self._tongue, ends=eol[-1:], banner=banner.encode() + end if banner is not None else b""
        )
        self._replies = _replies(profile)
        self._request_end = eol

    def _request(self, conn: Conn, data: bytes) -> tuple[str, str] | None:
        if data.endswith(self._request_end):
            data = data.removesuffix(self._request_end) + b"\n"
        return super()._request(conn, data)

    def _say(self, result: Result, message: Message[str]) -> None:
        line = self._answered(result, message)
        if line is not None:
            self._answer(message.conn.number, line.encode() + self._eol, message)

    def _answered(self, result: Result, message: Message[str]) -> str | None:
        if result.verdict is not Verdict.OK:
            return plain_answer(self._line.nak) if self._line.nak is not None else None
        ack = self._line.ack
        if message.kind == "read":
            pattern, kind = self._replies[message.request]
            return answer(pattern or ack, result.text, kind, self._line) or answer(ack, None, "", self._line)
        return answer(ack, result.text, "text", self._line) or answer(ack, None, "", self._line)


def _replies(profile: Profile) -> dict[str, tuple[str | None, str]]:
    """By query: the pattern of its answer where it has one of its own, and the type of the value."""
    replies = {s.read: (s.reply, s.type) for s in profile.settings.values() if s.read is not None}
    if profile.boot_read is not None:
        replies[profile.boot_read] = (profile.boot_reply, "int")
    if profile.identity is not None:
        replies[profile.identity.read] = (profile.identity.reply, "text")
    return replies


Device = ClaimedTextDevice | SimulatedDevice


def device_of(target: Target, serial: str, machine: ClaimedMachine, plan: FaultPlan, seed: int) -> Device:
    """A new device for a target, of that serial number."""
    cuts = not target.survives_reopen
    if target.profile.dialect == "line":
        return ClaimedTextDevice(machine, target.profile, plan=plan, cuts=cuts)
    return SimulatedDevice(
        machine, serial=serial, model=target.profile.model or "claimed", tier=1, plan=plan, seed=seed,
        unit=target.unit, hangs_up_on_boot=cuts,
    )  # fmt: skip


class Way:
    """The way to one device; `stays`: opening it anew does not cut it."""

    def __init__(self, device: Device, *, stays: bool) -> None:
        self._device = device
        self._stays = stays
        self._wire: _Wire | None = None

    async def dial(self, _: Target) -> Link:
        """Open it."""
        if not self._stays:
            return _Wire(self._device, stays=False).open()
        if self._wire is None:
            self._wire = _Wire(self._device, stays=True)
        return self._wire.open()


class _Wire:
    """One connection, or the one line."""

    def __init__(self, device: Device, *, stays: bool) -> None:
        self.opening: _Opening | None = None
        self._device = device
        self._stays = stays
        self._back = Direction(LATENCY_S)
        self._to = Direction(LATENCY_S)
        self._conn = self._plugged_in()

    def _plugged_in(self) -> Conn:
        return self._device.connect(self._said, self._ended, opened=False)

    def open(self) -> "_Opening":
        self.opening = _Opening(self)
        self._device.opened(self._conn)
        return self.opening

    def leaves(self, data: bytes) -> None:
        conn = self._conn
        self._to.carry(lambda: conn.feed(data))

    def closed(self) -> None:
        self.opening = None
        if not self._stays:
            self._to.carry(self._conn.closed)

    def _said(self, data: bytes) -> None:
        self._back.carry(lambda: self.opening.hears(data) if self.opening is not None else None)

    def _ended(self) -> None:
        """The device has hung up, or a plug was pulled, which is put back at once."""
        opening = self.opening
        if opening is not None:
            self._back.carry(opening.ends)
        if self._stays:
            self._conn = self._plugged_in()


class _Opening(Link):
    """One opening of a wire."""

    def __init__(self, wire: _Wire) -> None:
        self._wire: _Wire | None = wire
        self._receiver: Receiver | None = None

    def attach(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def write(self, data: bytes) -> None:
        if self._wire is None:
            raise LinkLost("the connection has ended", left=False)
        self._wire.leaves(data)

    def close(self, *, abort: bool = False) -> None:  # noqa: ARG002 - what is on its way cannot be taken back
        wire, self._wire, self._receiver = self._wire, None, None
        if wire is not None and wire.opening is self:
            wire.closed()

    def hears(self, data: bytes) -> None:
        if self._receiver is not None:
            self._receiver.heard(data)

    def ends(self) -> None:
        receiver, self._wire, self._receiver = self._receiver, None, None
        if receiver is not None:
            receiver.lost("the connection has ended")
