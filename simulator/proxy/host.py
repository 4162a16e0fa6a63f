"""How does a process serve a proxy?

On TCP every connection of a client is a passage of its own. On a serial port there is one passage at a time: it
begins with the first bytes, survives the client that opened the port, and ends with the connection behind it;
the next bytes begin another one.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from simulator.lifetime import Lifetime
from simulator.proxy.passage import Passage, Side, Traffic
from simulator.proxy.places import PtyPlace, SerialPlace, TcpPlace
from simulator.proxy.sides import DIAL_S, Left, PtySide, TcpSide, dial_tcp, open_serial, pty_port
from simulator.pty_port import PtyPort
from simulator.server import url_of
from simulator.setup import SimulateError

NOT_LISTENING = 7

Listening = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Route:
    """Where a proxy listens and leads; `link` is a stable name for a port that it makes."""

    listen: TcpPlace | PtyPlace
    link: Path | None
    to: TcpPlace | SerialPlace


class Proxy:
    """A proxy on the running loop."""

    def __init__(self, traffic: Traffic, route: Route) -> None:
        self._traffic = traffic
        self._route = route
        self._passages: set[Passage] = set()
        self._dials: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._port: PtyPort | None = None
        self._on_port: Passage | None = None
        self._listening: Listening = lambda _: None

    async def open(self, listening: Listening) -> None:
        """Begin to listen.

        Args:
            listening: Called with the URL, and again each time the plug of a port was pulled and put back.

        Raises:
            OSError: The place cannot be listened on.
        """
        self._listening = listening
        place = self._route.listen
        if isinstance(place, PtyPlace):
            self._port = pty_port(self._heard_on_port, self._route.link)
            listening(self._port.url)
        else:
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(lambda: TcpSide(self._accepted), place.host, place.port)
            listening(url_of(self._server))

    async def close(self) -> None:
        """End everything."""
        if self._server is not None:
            self._server.close()
        self._listening = lambda _: None
        for passage in list(self._passages):
            passage.cut()
        for dial in self._dials:
            dial.cancel()
        await asyncio.gather(*self._dials, return_exceptions=True)
        if self._port is not None:
            self._port.pull()

    def _accepted(self, client: TcpSide) -> tuple[Callable[[bytes], None], Left]:
        passage = self._begin(client)
        return passage.client_said, passage.client_left

    def _heard_on_port(self, data: bytes) -> None:
        if self._on_port is None and self._port is not None:
            self._on_port = self._begin(PtySide(self._port, self._replugged))
        if self._on_port is not None:
            self._on_port.client_said(data)

    def _replugged(self) -> None:
        if self._port is not None:
            self._listening(self._port.url)

    def _begin(self, client: Side) -> Passage:
        def over() -> None:
            self._passages.discard(passage)
            if self._on_port is passage:
                self._on_port = None

        passage = Passage(self._traffic, client, over)
        self._passages.add(passage)
        dial = asyncio.get_running_loop().create_task(self._dial(passage))
        self._dials.add(dial)
        dial.add_done_callback(self._dials.discard)
        return passage

    async def _dial(self, passage: Passage) -> None:
        place = self._route.to
        try:
            device: Side
            if isinstance(place, SerialPlace):
                device = open_serial(place, passage.device_said, passage.device_left)
            else:
                device = await dial_tcp(place, passage.device_said, passage.device_left)
        except TimeoutError:
            passage.unreachable(f"{place}: no answer within {DIAL_S:g} s")
        except (OSError, ValueError) as problem:
            passage.unreachable(f"{place}: {problem}")
        else:
            passage.reached(device)


def serve(traffic: Traffic, route: Route, limit_s: float | None, listening: Listening) -> None:
    """Serve until a signal, the limit (seconds; None: none) or a failure; `listening` as in `Proxy.open`.

    Raises:
        SimulateError: The place cannot be listened on.
    """
    try:
        asyncio.run(_serve(Proxy(traffic, route), limit_s, listening))
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise SimulateError(f"Cannot listen on {route.listen}: {why}.", NOT_LISTENING) from problem


async def _serve(proxy: Proxy, limit_s: float | None, listening: Listening) -> None:
    lifetime = Lifetime(limit_s)
    await proxy.open(listening)
    try:
        await lifetime.over()
    finally:
        await proxy.close()
    lifetime.blame()
