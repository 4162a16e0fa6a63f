"""Where do one connection's requests begin and end, and what was seen of each command?

`Conn` is what a server or an in-memory link holds: bytes go in by `feed`, the end by `closed`; answers come
out of the `sink` it was made with, and `hang_up` is called when the device ends the connection.
"""

from collections.abc import Callable
from dataclasses import dataclass

from protocol.native.frame import Frame, digest
from simulator.delivery import Outbox

# Longer than any frame; input without a zero is handed on in pieces of this size.
_PIECE_MAX = 1024


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
    ) -> None:
        """Made by `SimulatedDevice.connect`; `arrived` takes one block, or None for the end."""
        self.number = number
        self.outbox = Outbox(sink)
        self.hung_up = False
        self._hang_up = hang_up
        self._arrived = arrived
        self._block = bytearray()

    def feed(self, data: bytes) -> None:
        """Bytes from the peer, in any pieces."""
        *whole, rest = data.split(b"\0")
        for part in whole:
            block = bytes(self._block) + part + b"\0"
            self._block.clear()
            self._arrived(self, block)
        self._block += rest
        if len(self._block) > _PIECE_MAX:
            piece = bytes(self._block)
            self._block.clear()
            self._arrived(self, piece)

    def closed(self) -> None:
        """The peer is gone; what it sent before still counts. May be called again, and after a hang-up."""
        self.outbox.close()
        self._arrived(self, None)

    def end(self) -> None:
        """The device ends the connection: nothing more goes out, nothing that still comes in is heard."""
        if not self.hung_up:
            self.hung_up = True
            self.outbox.close()
            self._hang_up()
