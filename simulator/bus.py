"""How do several devices share one line?

Each hears everything that the master says and answers for its own unit only; a broadcast is for all. What is
at the other end is one stream: where a device ends it, it has ended for all.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from simulator.base_device import BaseDevice


class Plug(Protocol):
    """One connection, as a server holds it."""

    def feed(self, data: bytes) -> None:
        """Bytes from the peer, in any pieces."""

    def opened(self) -> bool:
        """Somebody has opened the port at the other end.

        True: the device boots because of it, and what was written before it could be told is lost.
        """

    def closed(self) -> None:
        """The peer is gone."""


class Served(Protocol):
    """What a server can serve: a device, or a bus of them."""

    def connect(
        self, sink: Callable[[bytes], None], hang_up: Callable[[], None], *, opened: bool = True
    ) -> Plug:
        """A new connection; see BaseDevice."""

    def hang_up(self) -> None:
        """End every connection."""

    def reboot(self) -> None:
        """Switch off and on."""


class Bus:
    """Devices on one line; on TCP made with `hangs_up_on_boot=False`, for the line is not theirs."""

    def __init__(self, devices: Sequence[BaseDevice[Any]]) -> None:
        self._devices = tuple(devices)

    def connect(
        self, sink: Callable[[bytes], None], hang_up: Callable[[], None], *, opened: bool = True
    ) -> "BusLine":
        """A new connection to all of them; see BaseDevice."""
        return BusLine(self._devices, sink, hang_up, opened=opened)

    def hang_up(self) -> None:
        """End every connection."""
        for device in self._devices:
            device.hang_up()

    def reboot(self) -> None:
        """Switch all of them off and on."""
        for device in self._devices:
            device.reboot()


class BusLine:
    """One connection to every device of a bus."""

    def __init__(
        self,
        devices: Sequence[BaseDevice[Any]],
        sink: Callable[[bytes], None],
        hang_up: Callable[[], None],
        *,
        opened: bool,
    ) -> None:
        self._over = False
        self._hang_up = hang_up
        self._conns = [device.connect(sink, self._ended, opened=False) for device in devices]
        if opened:
            self.opened()

    def feed(self, data: bytes) -> None:
        """Bytes from the master; every device hears them."""
        for conn in self._conns:
            if not self._over:
                conn.feed(data)

    def opened(self) -> bool:
        """Somebody has opened the port at the other end; what one of them boots over is lost to all."""
        boots = [conn.opened() for conn in self._conns]  # every one of them, whatever the first one does
        return any(boots)

    def closed(self) -> None:
        """The master is gone."""
        if not self._over:
            self._over = True
            for conn in self._conns:
                conn.closed()

    def _ended(self) -> None:
        """A device has ended its connection, and with it the line."""
        if not self._over:
            self.closed()
            self._hang_up()
