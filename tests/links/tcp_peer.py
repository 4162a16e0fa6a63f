"""What is at the other end of a TCP connection under test?"""

import asyncio
import socket
import struct

HOST = "127.0.0.1"


class TcpPeer(asyncio.Protocol):
    """The device's end of a TCP connection. `was_reset`: the agent aborted it."""

    def __init__(self, ready: "asyncio.Future[TcpPeer]") -> None:
        self._ready = ready
        self._data = b""
        self._arrived = asyncio.Event()
        self.ended = asyncio.Event()
        self.was_reset = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ready.set_result(self)

    def data_received(self, data: bytes) -> None:
        """Bytes came in."""
        self._data += data
        self._arrived.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection ended."""
        self.was_reset = isinstance(exc, ConnectionResetError)
        self.ended.set()

    def pause(self) -> None:
        """Read nothing for a while."""
        self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        self._transport.resume_reading()

    async def receive(self, size: int) -> bytes:
        """Everything that came in, once it is at least `size` bytes."""
        while len(self._data) < size:
            self._arrived.clear()
            await self._arrived.wait()
        return self._data

    def feed(self, data: bytes) -> None:
        """Send bytes."""
        self._transport.write(data)

    def cut(self) -> None:
        """Close in an orderly way."""
        self._transport.close()

    def reset(self) -> None:
        """End the connection as a crash does."""
        sock = self._transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()
