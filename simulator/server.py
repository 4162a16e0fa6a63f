"""How does a simulated device answer on a TCP port?

1. At most CONNECTIONS_MAX connections; one more takes the place of the one that has been silent longest, as
   small equipment does, so that connections whose peers died unseen never lock a new agent out.
2. A peer that does not read its answers is cut off instead of filling the memory.
3. Sessions belong to the device: connections come and go without touching them.
"""

import asyncio

from simulator.bus import Plug, Served

CONNECTIONS_MAX = 16


class _Connections:
    """The open connections of one server, the one silent longest first."""

    def __init__(self) -> None:
        self._open: dict[_Line, None] = {}

    def heard(self, line: "_Line") -> None:
        """A connection is new or has said something."""
        self._open.pop(line, None)
        self._open[line] = None
        if len(self._open) > CONNECTIONS_MAX:
            silent = next(iter(self._open))
            self.gone(silent)
            silent.hang_up()

    def gone(self, line: "_Line") -> None:
        """A connection has ended."""
        self._open.pop(line, None)


class _Line(asyncio.Protocol):
    """One TCP connection to the device."""

    def __init__(self, device: Served, connections: _Connections) -> None:
        self._device = device
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._conn: Plug | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Plug the connection into the device."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 (what create_server makes)
        self._transport = transport
        self._conn = self._device.connect(transport.write, self.hang_up)
        self._connections.heard(self)

    def data_received(self, data: bytes) -> None:
        """Hand the bytes to the device."""
        self._connections.heard(self)
        if self._conn is not None:
            self._conn.feed(data)

    def pause_writing(self) -> None:
        """Cut off a peer that does not read."""
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        """Tell the device; what it heard before still counts."""
        self._connections.gone(self)
        if self._conn is not None:
            self._conn.closed()

    def hang_up(self) -> None:
        """End the connection after what was already written."""
        if self._transport is not None:
            self._transport.close()


async def serve_tcp(device: Served, host: str, port: int) -> asyncio.Server:
    """Serve `device` on HOST:PORT (port 0: any free one) on the running loop until the server is closed.

    Raises:
        OSError: The address cannot be listened on.
    """
    connections = _Connections()
    return await asyncio.get_running_loop().create_server(lambda: _Line(device, connections), host, port)


def url_of(server: asyncio.Server) -> str:
    """Where a server listens: `tcp://HOST:PORT`."""
    name, port = server.sockets[0].getsockname()[:2]
    return f"tcp://[{name}]:{port}" if ":" in name else f"tcp://{name}:{port}"
