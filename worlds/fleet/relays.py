"""How do bytes get from one to another in a world, and how is a way cut and healed while it runs?

A relay listens at a loopback address and passes bytes on to whoever answers behind it. A cut is as silent as a network
that drops packets: connections are taken, nothing comes back, and a connection that met a cut never carries anything
again. Who asks is known from the relay where it is for one asker only; where several share one, as agents that look at
an agent, whose address is the same for all, each names itself in its question (`agent/fleet/endpoint.py`).
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import cast
from urllib.parse import unquote

from worlds.fleet.cast import Way

ASKED_MAX = 4096
"""So many bytes wait until the way is known and open."""

Address = tuple[str, int]


class Relays:
    """All relays of one world, on the running loop."""

    def __init__(self) -> None:
        self._cut: set[Way] = set()
        self._passages: set[Passage] = set()
        self._servers: list[asyncio.Server] = []

    async def open(self, host: str, to: Address, answerer: str, asker: str | None = None) -> int:
        """Listen for who asks, and pass it on.

        Args:
            host: where to listen, at any free port.
            to: where the answers come from.
            answerer: who answers there.
            asker: who asks; None where each question says it.

        Returns:
            The port.

        Raises:
            OSError: nothing can listen there.
        """
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Passage(self, to, answerer, asker), host, 0)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    def cut(self, ways: Iterable[Way]) -> None:
        """Let nothing through any more."""
        self._cut |= set(ways)
        for passage in [*self._passages]:
            if passage.way in self._cut:
                passage.fall_silent()

    def heal(self, ways: Iterable[Way]) -> None:
        """Let everything through again, on new connections."""
        healed = set(ways)
        self._cut -= healed
        for passage in [*self._passages]:
            if passage.way in healed:
                passage.end()

    def close(self) -> None:
        """End everything."""
        for server in self._servers:
            server.close()
        for passage in [*self._passages]:
            passage.end()

    def is_cut(self, way: Way) -> bool:
        """Whether nothing gets through there."""
        return way in self._cut

    def joined(self, passage: "Passage") -> None:
        """A connection is open."""
        self._passages.add(passage)

    def left(self, passage: "Passage") -> None:
        """A connection is over."""
        self._passages.discard(passage)


class Passage(asyncio.Protocol):
    """One connection of somebody who asks. `way`: None as long as it is not known who it is."""

    def __init__(self, relays: Relays, to: Address, answerer: str, asker: str | None) -> None:
        self.way: Way | None = None
        self._relays = relays
        self._to = to
        self._answerer = answerer
        self._asker = asker
        self._near: asyncio.Transport | None = None
        self._far: asyncio.Transport | None = None
        self._opening: asyncio.Task[None] | None = None
        self._asked = b""
        self._silent = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio: somebody connects."""
        self._near = cast("asyncio.Transport", transport)
        self._relays.joined(self)
        if self._asker is not None:
            self._begin(self._asker)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio: something is asked."""
        if self._silent:
            return
        if self._far is not None:
            self._far.write(data)
            return
        self._asked += data
        if len(self._asked) > ASKED_MAX:
            self.end()
        elif self.way is None and (asker := asker_in(self._asked)) is not None:
            self._begin(asker)

    def connection_lost(self, _exc: Exception | None) -> None:
        """Called by asyncio: who asked is gone."""
        self._relays.left(self)
        self._leave()

    def answered(self, data: bytes) -> None:
        """An answer came."""
        if self._near is not None:
            self._near.write(data)

    def left(self) -> None:
        """Who answers has ended the connection."""
        if self._near is not None and not self._silent:
            self._near.close()

    def fall_silent(self) -> None:
        """Carry nothing any more, and do not say so."""
        self._silent = True
        self._leave()

    def end(self) -> None:
        """End it at once."""
        if self._near is not None:
            self._near.abort()

    def _begin(self, asker: str) -> None:
        self.way = asker, self._answerer
        if self._relays.is_cut(self.way):
            self.fall_silent()
        else:
            self._opening = asyncio.ensure_future(self._open())

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.create_connection(lambda: _Far(self), *self._to)
        except OSError:  # nobody answers there: a process that is gone
            self.end()
            return
        if self._silent or self._near is None or self._near.is_closing():
            transport.abort()
            return
        self._far = transport
        transport.write(self._asked)

    def _leave(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
        if self._far is not None:
            self._far.abort()


class _Far(asyncio.Protocol):
    """The other end of a passage, towards who answers."""

    def __init__(self, passage: Passage) -> None:
        self._passage = passage

    def data_received(self, data: bytes) -> None:
        self._passage.answered(data)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._passage.left()


def asker_in(asked: bytes) -> str | None:
    """The name in the question of an agent, `ACKONCE? 17 porto-1`; None where there is none yet."""
    line, ended, _ = asked.partition(b"\n")
    words = line.split()
    if not ended or len(words) != 3 or words[0] != b"ACKONCE?":
        return None
    with suppress(UnicodeDecodeError):
        return unquote(words[2].decode("ascii"))
    return None
