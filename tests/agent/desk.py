"""How do the agent and a simulated device meet in a test? Virtual time, links in memory, a real store on the disk.

A `Desk` is one agent process: `restart()` ends it as a clean exit or a crash would and starts the next one on the same
store. What really happened is asked of the device's ledger, never of the agent.
"""

import itertools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from agent.clock import Clock
from agent.evidence import Sent
from agent.journal import Case, Intent
from agent.leases import Lease
from agent.links.link import Link, LinkLost, Receiver, Unreachable
from agent.operation import Operation
from agent.processes import Holder
from agent.service import Report, Service
from agent.settings import Settings
from agent.stations import Target
from agent.steps import Step
from agent.terms import terms_for
from devices.catalog import Policy, choose, resolve
from devices.loader import load
from devices.profile import Profile
from logs.events import Event, human
from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.faults import parse
from simulator.loop import run
from simulator.text_device import TextDevice
from tests.agent.replay import assert_replays

T = TypeVar("T")

START = datetime(2026, 11, 29, 22, 0, tzinfo=UTC)
UP_S = 86_400.0
"""So long the machine has been up when a test begins."""
DEAD_PID = 2**22 + 7
"""Above every pid of the machine: a holder with it is gone."""
SILENCE_S = 0.5
PROFILE = load(Path(__file__).parents[2] / "devices/profiles/demo/controller.yaml")
_INSTANCES = itertools.count(1)


class VirtualClock(Clock):
    """UTC that moves with the event loop."""

    def __init__(self, offset_s: float = 0.0) -> None:
        utc = lambda: START + timedelta(seconds=offset_s + self.now_s())  # noqa: E731
        super().__init__(utc, lambda: UP_S + self.now_s())


class DeviceLink(Link):
    """A connection to a simulated device, which may cut it."""

    def __init__(self, device: SimulatedDevice | TextDevice) -> None:
        self._receiver: Receiver | None = None
        self._ended = False
        self.written: list[bytes] = []
        self._conn = device.connect(self._heard, self._hung_up)

    def attach(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def write(self, data: bytes) -> None:
        if self._ended:
            raise LinkLost("the device closed the connection", left=False)
        self.written.append(data)
        self._conn.feed(data)

    def close(self, *, abort: bool = False) -> None:  # noqa: ARG002 - nothing is under way here
        self._receiver = None
        if not self._ended:
            self._ended = True
            self._conn.closed()

    def _heard(self, data: bytes) -> None:
        if self._receiver is not None:
            self._receiver.heard(data)

    def _hung_up(self) -> None:
        self._ended = True
        if self._receiver is not None:
            self._receiver.lost("the device closed the connection")


@dataclass
class Network:
    """Where addresses lead; None: nothing listens there."""

    at: dict[str, SimulatedDevice | None]
    links: list[DeviceLink]

    async def dial(self, target: Target) -> Link:
        device = self.at.get(target.url)
        if device is None:
            raise Unreachable(f"{target.url} refuses connections")
        link = DeviceLink(device)
        self.links.append(link)
        return link


class Desk:
    """One agent process after another on one store."""

    def __init__(
        self,
        home: Path,
        network: Network,
        *,
        agent: str = "desk",
        profile: Profile = PROFILE,
        survives_reopen: bool = False,
    ) -> None:
        self.survives_reopen = survives_reopen
        self.home = home
        self.network = network
        self.agent = agent
        self.profile = profile
        self.events: list[Event] = []
        self.ids = itertools.count(1)
        self.service = self._start()

    def _start(self) -> Service:
        holder = Holder(self.agent, "host", DEAD_PID, "1", "boot", f"instance-{next(_INSTANCES)}")
        settings = Settings(self.home, self.home, None, None, self.agent, "ana")
        return Service(
            settings, echo=self.events.append, clock=VirtualClock(), dial=self.network.dial, holder=holder
        )

    def restart(self) -> None:
        """The process ends (whatever it held is free, since it is gone) and another one starts on the same store."""
        self.service.close()
        self.service = self._start()

    def target(self, url: str = "tcp://device:1", **changes: Any) -> Target:
        base = Target("d1", url, 1, None, self.profile, SILENCE_S, 3, 5.0, 0.0, self.survives_reopen)
        return replace(base, **changes)

    def operation(
        self, words: str, *, key: str | None = None, policy: Policy | None = None, attempts: int = 3
    ) -> Operation:
        call = resolve(self.profile, words.split())
        choice = choose(self.profile, call.command, policy)
        terms = terms_for(
            self.profile,
            call,
            choice.policy,
            reply_s=SILENCE_S,
            attempts=attempts,
            survives_reopen=self.survives_reopen,
        )
        return Operation(
            op=f"OP{next(_INSTANCES):06}", device="d1", command=words, kind=call.command.kind.value,
            terms=replace(terms, busy_max_s=5.0), profile=self.profile.name, profile_digest=self.profile.digest,
            route="tcp://device:1", submitted_by="ana", key=key,
        )  # fmt: skip

    async def send(self, words: str, *, url: str = "tcp://device:1", **how: Any) -> Report:
        """Send a command and return its report."""
        return await self.service.send(self.target(url), self.operation(words, **how))

    def lines(self) -> list[str]:
        """The log as people read it, from INFO on."""
        return [human(event) for event in self.events if event.level != "DEBUG"]


def machine(faults: str = "", *, tier: int = 1, serial: str = "SIM-1", **how: Any) -> SimulatedDevice:
    """A simulated controller with a fault plan."""
    return SimulatedDevice(Controller(), serial=serial, tier=tier, plan=parse(faults), **how)


def change_faults(device: SimulatedDevice, faults: str) -> None:
    """From now on these faults, counted anew."""
    device._plan = parse(faults)


def before_the_write(desk: Desk, happen: Callable[[], object]) -> None:
    """Let something happen once, between the intent of the first copy and its write."""
    intend = desk.service.journal.intend

    async def intending(case: Case, lease: Lease, step: Step, sent: Sent) -> Intent:
        intent = await intend(case, lease, step, sent)
        desk.service.journal.intend = intend  # type: ignore[method-assign]
        happen()
        return intent

    desk.service.journal.intend = intending  # type: ignore[method-assign]


def at_a_desk(
    home: Path, play: Callable[[Desk, SimulatedDevice], Coroutine[Any, Any, T]], faults: str = "", **how: Any
) -> T:
    """Run `play` with a fresh desk and one device at tcp://device:1, in virtual time."""

    async def main() -> T:
        device = machine(faults, **how)
        desk = Desk(home, Network({"tcp://device:1": device}, []))
        try:
            return await play(desk, device)
        finally:
            desk.service.close()
            assert_replays(home)

    return run(main)
