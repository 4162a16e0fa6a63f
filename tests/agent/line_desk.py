"""How does the agent meet equipment without numbers in a test?

Virtual time, a real store on the disk, the simulator's text device, or another one. `tcp`: each link is a connection
of its own, and a boot of the device ends it. `pty`: one line lies there for good, whoever has its port open; what comes
in while nobody has is lost, late answers reach whoever opens it next, and a boot only says so.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from agent.links.link import Link, LinkLost, Receiver, Unreachable
from agent.operation import Outcome
from agent.stations import Target
from devices.profile import Profile
from simulator.base_device import Message
from simulator.equipment import Controller, Result, Verdict
from simulator.fault_kinds import TEXT
from simulator.faults import parse
from simulator.habits import Habits
from simulator.loop import run
from simulator.text_device import TextDevice
from tests.agent.desk import Desk, DeviceLink, Network
from tests.agent.line_profiles import PROFILE
from tests.agent.replay import assert_replays

T = TypeVar("T")

CARRIERS = ("tcp", "pty")


class NamingDevice(TextDevice):
    """Equipment that names the value in its answer to a reading: `offset=15`."""

    def _say(self, result: Result, message: Message[str]) -> None:
        if message.kind == "read" and result.verdict is Verdict.OK:
            name = message.request.split()[-1]
            self._answer(message.conn.number, f"{name}={result.text}\n".encode(), message)
        else:
            super()._say(result, message)


class Port:
    """A serial port: one line to the device, and at most one link that has it open."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self.link: PortLink | None = None
        self.conn = self._plugged_in()

    def open(self) -> "PortLink":
        """Open the port, as a driver does: nothing that came in before is heard."""
        if self.link is not None:
            raise Unreachable("the port is open in another program")
        self.link = PortLink(self)
        self.conn.opened()
        return self.link

    def _plugged_in(self) -> Any:
        return self._device.connect(self._heard, self._pulled, opened=False)

    def _heard(self, data: bytes) -> None:
        if self.link is not None:
            self.link.heard(data)

    def _pulled(self) -> None:
        link, self.link = self.link, None
        if link is not None:
            link.lost()
        self.conn = self._plugged_in()


class PortLink(Link):
    """One opening of a port."""

    def __init__(self, port: Port) -> None:
        self._port: Port | None = port
        self._receiver: Receiver | None = None

    def attach(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def write(self, data: bytes) -> None:
        if self._port is None:
            raise LinkLost("the plug was pulled", left=False)
        self._port.conn.feed(data)

    def close(self, *, abort: bool = False) -> None:  # noqa: ARG002 - nothing waits in a driver here
        if self._port is not None:
            self._port.link = None
        self._port = self._receiver = None

    def heard(self, data: bytes) -> None:
        """Bytes came in."""
        if self._receiver is not None:
            self._receiver.heard(data)

    def lost(self) -> None:
        """The plug was pulled."""
        self._port = None
        if self._receiver is not None:
            self._receiver.lost("the plug was pulled")


@dataclass
class Bench:
    """A desk with one device; `refuses`: nothing answers at its address for now."""

    desk: Desk
    device: Any
    carrier: str
    port: Port | None = None
    refuses: bool = False
    dialled: list[Link] = field(default_factory=list)

    async def dial(self, _: Target) -> Link:
        """Open a link to the device."""
        if self.refuses:
            raise Unreachable("nothing answers")
        link = self.port.open() if self.port is not None else DeviceLink(self.device)
        self.dialled.append(link)
        return link

    def count(self, text: str) -> int:
        """How often the device carried a command out, by its own ledger."""
        return int(self.device.ledger.count(text))

    def suffer(self, faults: str) -> None:
        """Other faults from now on, counted anew."""
        self.device.suffer(parse(faults))


async def settled_by_hand(bench: Bench, words: str = "BEEP") -> None:
    """Send what stays in doubt, and let a person say that it was not applied: the device is free again at once."""
    doubt = await bench.desk.send(words)
    assert doubt.result.outcome is Outcome.IN_DOUBT
    [entry] = bench.desk.service.doubts()
    bench.desk.service.resolve(entry, applied=False, reason="nothing heard")


def at_a_bench(
    home: Path,
    play: Callable[[Bench], Coroutine[Any, Any, T]],
    faults: str = "",
    *,
    carrier: str = "tcp",
    profile: Profile = PROFILE,
    habits: Habits | None = None,
    echo: bool = False,
    made: type[TextDevice] = TextDevice,
) -> T:
    """Run `play` with a fresh desk and one text device, in virtual time."""

    def build(*, surviving: bool) -> TextDevice:
        return made(
            Controller(), plan=parse(faults, TEXT), hangs_up_on_boot=not surviving, echo=echo, habits=habits
        )

    return with_device(home, play, build, carrier=carrier, profile=profile)


class Build(Protocol):
    """Makes the device of a bench; `surviving`: on a line that its boots do not end."""

    def __call__(self, *, surviving: bool) -> Any:
        """The device."""


def with_device(
    home: Path,
    play: Callable[[Bench], Coroutine[Any, Any, T]],
    build: Build,
    *,
    carrier: str,
    profile: Profile,
) -> T:
    """Run `play` with a fresh desk and the device that `build` makes, in virtual time."""

    async def main() -> T:
        surviving = carrier == "pty"
        device = build(surviving=surviving)
        network = _Lines({}, [])
        desk = Desk(home, network, profile=profile, survives_reopen=surviving)
        bench = Bench(desk, device, carrier, Port(device) if surviving else None)
        network.bench = bench
        try:
            return await play(bench)
        finally:
            desk.service.close()
            assert_replays(home)

    return run(main)


class _Lines(Network):
    """The network of a bench."""

    bench: Bench

    async def dial(self, target: Target) -> Link:
        """Open a link to the bench's device."""
        return await self.bench.dial(target)
