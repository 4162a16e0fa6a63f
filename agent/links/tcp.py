"""How are bytes carried over TCP? One asyncio protocol per connection over one shared receive buffer.

The shared buffer matters: asyncio's own streams allocate 256 KiB for every read, which costs more than all the rest of
an exchange.
"""

import asyncio
import socket
import struct
from contextlib import suppress

from agent.links.link import LinkLost, Receiver, Unreachable

_BUFFER = bytearray(4096)
_DROP_AND_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER on, for 0 s: closing drops the send buffer of the kernel and resets the connection."""


class TcpLink(asyncio.BufferedProtocol):
    """A TCP connection."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._receiver: Receiver | None = None
        self._end: str | None = None

    def attach(self, receiver: Receiver) -> None:
        """Deliver what comes in to this receiver."""
        self._receiver = receiver

    def write(self, data: bytes) -> None:
        """Write one whole frame in one call. Raises LinkLost if the connection is known to be broken."""
        if self._transport is None or self._transport.is_closing():
            raise LinkLost(self._end or "the connection is closed", left=False)
        self._transport.write(data)

    def close(self, *, abort: bool = False) -> None:
        """Close at once; bytes that the operating system has not taken yet are dropped.

        Args:
            abort: drop also those that it has taken and could not deliver: on a path that is down for a while they
                would all arrive once it heals. The peer sees a reset.
        """
        self._receiver = None
        if self._transport is None:
            return
        if abort and not self._transport.is_closing():
            with suppress(OSError):  # reset by the peer in this moment
                self._transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, _DROP_AND_RESET
                )
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio: the connection stands."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("a stream transport is needed")
        self._transport = transport

    def get_buffer(self, sizehint: int) -> bytearray:  # noqa: ARG002 - asyncio's signature
        """Called by asyncio: where to put what comes in; consumed before the next read of any connection."""
        return _BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        """Called by asyncio: bytes came in."""
        if self._receiver is not None:
            self._receiver.heard(bytes(_BUFFER[:nbytes]))

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio: the connection ended."""
        self._end = f"the connection broke: {exc}" if exc is not None else "the device closed the connection"
        if self._receiver is not None:
            self._receiver.lost(self._end)


async def open_tcp(host: str, port: int, timeout_s: float) -> TcpLink:
    """Connect. Raises Unreachable, after which certainly nothing was sent."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout_s):
            _, link = await loop.create_connection(TcpLink, host, port)
    except TimeoutError as late:
        raise Unreachable(f"no connection to {host} port {port} within {timeout_s:g} s") from late
    except ConnectionRefusedError as refused:
        raise Unreachable(f"{host} port {port} refuses connections: nothing listens there") from refused
    except socket.gaierror as unknown:
        raise Unreachable(f"the host name {host} is not known: {unknown.strerror}") from unknown
    except OSError as problem:
        why = problem.strerror or "none of its addresses accepts a connection"
        raise Unreachable(f"{host} port {port} cannot be reached: {why}") from problem
    return link
