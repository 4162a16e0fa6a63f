"""What is at the two ends of the proxy's passages: TCP connections and serial ports.

A peer that does not read is reset once WRITE_MAX bytes wait for it. A serial port is opened for one passage at
a time, and exclusively.
"""

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from simulator.fd_stream import FdStream
from simulator.proxy.places import SerialPlace, TcpPlace
from simulator.pty_port import PtyPort

WRITE_MAX = 1_048_576
DIAL_S = 5.0
_LINGER_NOT = struct.pack("ii", 1, 0)


class Left(Protocol):
    """Hears that a side has ended."""

    def __call__(self, *, reset: bool = False) -> None:
        """`reset`: not in good order."""


class TcpSide(asyncio.Protocol):
    """A TCP connection, accepted or dialled."""

    def __init__(self, made: Callable[["TcpSide"], tuple[Callable[[bytes], None], Left]]) -> None:
        """`made` is called with the connected side and says who hears its bytes and its end."""
        self._made = made
        self._transport: asyncio.Transport | None = None
        self._heard: Callable[[bytes], None] = _unheard
        self._left: Left | None = None
        self._over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say so."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 (what asyncio makes for TCP)
        transport.set_write_buffer_limits(high=WRITE_MAX)
        self._transport = transport
        self._heard, self._left = self._made(self)

    def data_received(self, data: bytes) -> None:
        """Pass it on."""
        if not self._over:
            self._heard(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass it on."""
        if not self._over and self._left is not None:
            self._over = True
            self._left(reset=exc is not None)

    def pause_writing(self) -> None:
        """The peer does not read."""
        if not self._over and self._left is not None:
            self.reset()
            self._left(reset=True)

    def write(self, data: bytes) -> None:
        """See Side."""
        if self._transport is not None and not self._over:
            self._transport.write(data)

    def end(self) -> None:
        """Close after what was written."""
        self._over = True
        if self._transport is not None:
            self._transport.close()

    def cut(self) -> None:
        """As `end`: what was written before the cut had passed."""
        self.end()

    def reset(self) -> None:
        """Close with a TCP reset."""
        self._over = True
        if self._transport is not None:
            held: socket.socket | None = self._transport.get_extra_info("socket")
            if held is not None and held.fileno() >= 0:
                held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
            self._transport.abort()


class SerialSide:
    """A serial port that was there before."""

    def __init__(self, fd: int, heard: Callable[[bytes], None], left: Left) -> None:
        """Take over an open descriptor."""
        self._stream = FdStream(fd, heard, lambda: left(reset=True))
        self._stream.resume()

    def write(self, data: bytes) -> None:
        """See Side."""
        self._stream.write(data)

    def end(self) -> None:
        """Close the port."""
        self._stream.close()

    cut = end
    reset = end


class PtySide:
    """The serial port that the proxy has made; it stays when a passage is over."""

    def __init__(self, port: PtyPort, plugged_in: Callable[[], None]) -> None:
        """`plugged_in` is called when the plug was pulled and put back."""
        self._port = port
        self._plugged_in = plugged_in

    def write(self, data: bytes) -> None:
        """See Side."""
        self._port.write(data)

    def end(self) -> None:
        """A line hears nothing of what ends behind it."""

    def cut(self) -> None:
        """Pull the plug, and put it back."""
        self._port.pull()
        self._port.plug_in()
        self._plugged_in()

    def reset(self) -> None:
        """A line hears nothing of a reset either."""


async def dial_tcp(place: TcpPlace, heard: Callable[[bytes], None], left: Left) -> TcpSide:
    """Connect; raises OSError, or TimeoutError (which is one) after DIAL_S."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(DIAL_S):
        _, side = await loop.create_connection(
            lambda: TcpSide(lambda _: (heard, left)), place.host, place.port
        )
    return side


def open_serial(place: SerialPlace, heard: Callable[[bytes], None], left: Left) -> SerialSide:
    """Open a serial port for us alone; raises OSError (pyserial's errors are such) or ValueError."""
    import serial

    port = serial.Serial(
        place.path,
        place.baud,
        bytesize=place.bits,
        parity=place.parity,
        stopbits=place.stop,
        timeout=0,
        exclusive=True,
    )
    try:
        fd = os.dup(port.fileno())  # keeps settings and lock when pyserial's own descriptor is closed
    finally:
        port.close()
    return SerialSide(fd, heard, left)


def pty_port(heard: Callable[[bytes], None], link: Path | None) -> PtyPort:
    """Make a serial port for clients; raises OSError."""
    return PtyPort(heard, lambda: False, link)


def _unheard(_data: bytes) -> None:
    """Nobody listens yet."""
