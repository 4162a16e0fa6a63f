"""Where do one connection's requests begin and end, and what was seen of each command?

`Conn` is what a server or an in-memory link holds: bytes go in by `feed`, the end by `closed`; answers come
out of the `sink` it was made with, and `hang_up` is called when the device ends the connection.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from protocol.native.frame import Frame, digest
from simulator.cutter import Cutter
from simulator.delivery import Outbox


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy of a command as an agent sent it, faults on the way notwithstanding.

    Attributes:
        conn: Number of the connection, from 1.
        session: LSQ1 session.
        seq: Sequence number.
        attempt: The attempt byte.
        digest: What a device remembers of the content.
        text: The command; bytes that are not UTF-8 are replaced.
        data: The whole frame with its closing zero.
    """

    conn: int
    session: int
    seq: int
    attempt: int
    digest: int
    text: str
    data: bytes


@dataclass(frozen=True, slots=True)
class TextCopy:
    """One request to a device that knows no numbers, faults on the way notwithstanding.

    Attributes:
        conn: Number of the connection, from 1.
        text: A line without its end, bytes that are not UTF-8 replaced; a Modbus order as `orders.py` writes it.
        at_s: When it came, in seconds on the simulator's clock.
    """

    conn: int
    text: str
    at_s: float


def copy_of(conn: "Conn", frame: Frame, data: bytes) -> Copy:
    """The copy in a CMD frame, which came as `data`."""
    return Copy(
        conn=conn.number,
        session=frame.session,
        seq=frame.seq,
        attempt=frame.attempt,
        digest=digest(frame.type, frame.payload),
        text=frame.payload.decode(errors="replace"),
        data=data,
    )


class Conn:
    """One connection to a simulated device."""

    def __init__(
        self,
        number: int,
        sink: Callable[[bytes], None],
        hang_up: Callable[[], None],
        arrived: Callable[["Conn", bytes | None], None],
        *,
        on_opened: Callable[["Conn"], bool],
        cutter: Cutter,
        echo: bool = False,
    ) -> None:
        """Made by a device's `connect`.

        Args:
            number: From 1.
            sink: Takes the device's bytes.
            hang_up: Hears that the device ended the connection.
            arrived: Takes one block as the cutter gives it out, or None for the end of the connection.
            on_opened: Hears that somebody has opened the port at the other end; see `opened`.
            cutter: Says where a block ends.
            echo: Everything comes back as it went in.
        """
        self.number = number
        self.outbox = Outbox(sink)
        self.hung_up = False
        self._hang_up = hang_up
        self._arrived = arrived
        self._on_opened = on_opened
        self._cutter = cutter
        self._echo = echo
        self._deaf_until_s = 0.0
        self._idle: asyncio.TimerHandle | None = None
        self._idle_s = 0.0
        self._on_idle: Callable[[], None] | None = None

    def feed(self, data: bytes) -> None:
        """Bytes from the peer, in any pieces."""
        if self.hung_up:
            return
        self._awake()
        if self._deaf_until_s and asyncio.get_running_loop().time() < self._deaf_until_s:
            return
        if self._echo:
            self.outbox.send(data)
        for block in self._cutter.feed(data):
            self._arrived(self, block)

    def opened(self) -> bool:
        """Somebody has opened the port at the other end of a line that lay there before.

        True: the device boots because of it, and what was written before is lost.
        """
        return self._on_opened(self)

    def closed(self) -> None:
        """The peer is gone; what it sent before still counts. May be called again, and after a hang-up."""
        self._sleep()
        self.outbox.close()
        self._arrived(self, None)

    def end(self) -> None:
        """The device ends the connection: nothing more goes out, nothing that still comes in is heard."""
        if not self.hung_up:
            self.hung_up = True
            self._sleep()
            self.outbox.close()
            self._hang_up()

    def refuse(self) -> None:
        """The device has no room for this connection: nothing is heard, and it ends at once."""
        self.hung_up = True
        self.outbox.close()
        asyncio.get_running_loop().call_soon(self._hang_up)

    def deafen(self, seconds: float) -> None:
        """Ignore what comes in during the next seconds."""
        self._deaf_until_s = asyncio.get_running_loop().time() + seconds

    def end_when_idle(self, seconds: float, on_idle: Callable[[], None]) -> None:
        """Call `on_idle` once nothing has come in for so many seconds."""
        self._idle_s, self._on_idle = seconds, on_idle
        self._awake()

    def forget(self) -> None:
        """The device lost what had come in of an unfinished request."""
        self._cutter.rest()

    def _awake(self) -> None:
        self._sleep()
        if self._on_idle is not None:
            self._idle = asyncio.get_running_loop().call_later(self._idle_s, self._on_idle)

    def _sleep(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
