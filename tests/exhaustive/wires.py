"""How do bytes get from the agent to a simulated device and back, where the world may interfere?

A `Wire` leads to the device. Over TCP every opening has a wire of its own, which ends with it. A serial port has one
for good: whoever opens it hears what comes in, and pulling its plug puts it back at once. Whatever the agent writes
goes to the world, which decides what becomes of it; whatever the device says goes there too.
"""

from typing import Any, Protocol

from agent.links.link import Link, LinkLost, Receiver
from simulator.device import SimulatedDevice
from simulator.text_device import TextDevice

Device = SimulatedDevice | TextDevice


class World(Protocol):
    """Who decides what becomes of bytes."""

    def leaves(self, wire: "Wire", data: bytes) -> None:
        """The agent writes."""

    def answers(self, wire: "Wire", data: bytes) -> None:
        """The device says something."""


class Wire:
    """One way to a device; `stays`: closing it does not cut it."""

    def __init__(self, device: Device, world: World, *, stays: bool) -> None:
        self.link: Opening | None = None
        self.stays = stays
        self._device = device
        self._world = world
        self._conn = self._plugged_in()

    def open(self) -> "Opening":
        """Somebody opens it; nothing that came in before is heard."""
        self.link = Opening(self, self._world)
        self._device.opened(self._conn)
        return self.link

    @property
    def leads_somewhere(self) -> bool:
        """Whether what the device says could still be heard."""
        return self.link is not None or self.stays

    def feed(self, data: bytes) -> None:
        """Bytes reach the device; over a way that has ended they come in as a stranger's, whom nobody answers to."""
        if not self._conn.hung_up:
            self._conn.feed(data)
            return
        stranger = self._device.connect(_unheard, _unheard)
        stranger.feed(data)
        stranger.closed()

    def hear(self, data: bytes) -> None:
        """Bytes come in at whoever has it open."""
        if self.link is not None:
            self.link.hear(data)

    def closed(self) -> None:
        """Whoever had it open has closed it."""
        self.link = None
        if not self.stays:
            self._conn.closed()

    def _plugged_in(self) -> Any:
        return self._device.connect(self._said, self._ended, opened=False)

    def _said(self, data: bytes) -> None:
        self._world.answers(self, data)

    def _ended(self) -> None:
        link, self.link = self.link, None
        if link is not None:
            link.lost()
        if self.stays:
            self._conn = self._plugged_in()


class Opening(Link):
    """One opening of a wire."""

    def __init__(self, wire: Wire, world: World) -> None:
        self._wire: Wire | None = wire
        self._world = world
        self._receiver: Receiver | None = None

    def attach(self, receiver: Receiver) -> None:
        """Deliver what comes in to this receiver."""
        self._receiver = receiver

    def write(self, data: bytes) -> None:
        """Write one whole frame. Raises LinkLost."""
        if self._wire is None:
            raise LinkLost("the connection has ended", left=False)
        self._world.leaves(self._wire, data)

    def close(self, *, abort: bool = False) -> None:  # noqa: ARG002 - nothing waits to leave here
        """Close at once."""
        wire, self._wire, self._receiver = self._wire, None, None
        if wire is not None:
            wire.closed()

    def hear(self, data: bytes) -> None:
        """Bytes come in."""
        if self._receiver is not None:
            self._receiver.heard(data)

    def lost(self) -> None:
        """The device, or a pulled plug, has ended it."""
        self._wire = None
        if self._receiver is not None:
            self._receiver.lost("the connection has ended")


def _unheard(*_: bytes) -> None:
    """Nobody listens."""
