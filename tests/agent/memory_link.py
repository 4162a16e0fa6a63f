"""How do tests hold both ends of a link? A stream in memory: a `MemoryLink` for the agent, a `FarEnd` for the test.

Bytes arrive in a later turn of the event loop than the one in which they were written, as on a real link.
"""

import asyncio
from collections.abc import Callable

from agent.links.link import LinkLost, Receiver


class MemoryLink:
    """The agent's end."""

    def __init__(self) -> None:
        self.far = FarEnd(self)
        self._receiver: Receiver | None = None
        self._end: str | None = None

    def attach(self, receiver: Receiver) -> None:
        """Deliver what comes in to this receiver."""
        self._receiver = receiver

    def write(self, data: bytes) -> None:
        """Write one whole frame. Raises LinkLost if the stream is known to be broken."""
        if self._end is not None:
            raise LinkLost(self._end)
        self.far.take(bytes(data))

    def close(self, *, abort: bool = False) -> None:
        """Close at once; nothing is delivered afterwards. Nothing is under way in memory that `abort` could drop."""
        self.far.aborted = abort
        self._end = self._end or "the connection is closed"
        self._receiver = None
        self.far.take(None)

    def deliver(self, data: bytes) -> None:
        """Bytes come in."""
        if self._receiver is not None and self._end is None:
            self._receiver.heard(data)

    def end(self, why: str) -> None:
        """The stream ends."""
        if self._end is None:
            self._end = why
            if self._receiver is not None:
                self._receiver.lost(why)


class FarEnd:
    """The equipment's end: `frames` is what was written, one entry per write, `closed` whether the agent has closed.

    `aborted`: it asked to take back what had not left.

    `on_frame`, where it is set, is called with every write, `on_close` when the agent closes.
    """

    def __init__(self, link: MemoryLink) -> None:
        self.frames: list[bytes] = []
        self.closed = False
        self.aborted = False
        self.on_frame: Callable[[bytes], None] | None = None
        self.on_close: Callable[[], None] | None = None
        self._link = link
        self._arrived = asyncio.Event()

    def take(self, data: bytes | None) -> None:
        """Bytes were written; None: the agent has closed."""
        if data is None:
            self.closed = True
            if self.on_close is not None:
                asyncio.get_running_loop().call_soon(self.on_close)
            return
        self.frames.append(data)
        self._arrived.set()
        if self.on_frame is not None:
            asyncio.get_running_loop().call_soon(self.on_frame, data)

    async def receive(self, size: int) -> bytes:
        """Everything that was written, once it is at least `size` bytes."""
        while sum(map(len, self.frames)) < size:
            self._arrived.clear()
            await self._arrived.wait()
        return b"".join(self.frames)

    def feed(self, data: bytes) -> None:
        """Send bytes to the agent."""
        asyncio.get_running_loop().call_soon(self._link.deliver, data)

    def cut(self, why: str = "the device closed the connection") -> None:
        """End the stream; what was fed before still arrives."""
        asyncio.get_running_loop().call_soon(self._link.end, why)


def memory_pair() -> tuple[MemoryLink, FarEnd]:
    """A new stream."""
    link = MemoryLink()
    return link, link.far
