"""What is at the other end of RFC 2217? pyserial's server side, with a port that notes what is done to it."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Self, cast

from serial import rfc2217

from tests.links.tcp_peer import HOST, TcpPeer


@dataclass(slots=True)
class ServedPort:
    """The serial port of the server; every value that a client may change, and what it purged."""

    baudrate: int = 115_200
    bytesize: int = 7
    parity: str = "E"
    stopbits: int = 2
    xonxoff: bool = False
    rtscts: bool = True
    dtr: bool = False
    rts: bool = False
    break_condition: bool = False
    cts: bool = True
    dsr: bool = False
    ri: bool = False
    cd: bool = True
    purged: list[str] = field(default_factory=list)

    def reset_input_buffer(self) -> None:
        """Drop what came from the equipment."""
        self.purged.append("received")

    def reset_output_buffer(self) -> None:
        """Drop what waits for the line."""
        self.purged.append("unsent")


class TerminalServer(TcpPeer):
    """A terminal server with its equipment: `receive` and `feed` are the equipment's bytes."""

    def __init__(self, ready: "asyncio.Future[TcpPeer]") -> None:
        super().__init__(ready)
        self.port = ServedPort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client came."""
        super().connection_made(transport)
        self._manager = rfc2217.PortManager(cast("rfc2217.Serial", self.port), cast("Any", transport))

    def data_received(self, data: bytes) -> None:
        """Telnet came in."""
        super().data_received(b"".join(self._manager.filter(data)))

    def feed(self, data: bytes) -> None:
        """The equipment sends bytes."""
        super().feed(b"".join(self._manager.escape(data)))

    def feed_raw(self, data: bytes) -> None:
        """The server sends bytes of its own."""
        super().feed(data)


class Listening:
    """Something that accepts TCP connections: `async with Listening(TerminalServer) as server`."""

    def __init__(self, kind: type[TcpPeer]) -> None:
        self._kind = kind

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self.peer: asyncio.Future[Any] = loop.create_future()
        self._server = await loop.create_server(lambda: self._kind(self.peer), HOST, 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
