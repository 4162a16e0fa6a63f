"""How are bytes read from and written to a terminal's file descriptor without ever waiting for it?

What the other side does not take stays in a queue of at most QUEUE_MAX bytes; beyond that bytes are lost, as
on every serial line without flow control.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

READ_MAX = 4096
QUEUE_MAX = 65_536
DISCARDS_MAX = 16
"""Reads that `discard` makes at most; a terminal holds less than that."""


class FdStream:
    """The bytes of one non-blocking file descriptor on the running loop."""

    def __init__(self, fd: int, heard: Callable[[bytes], None], silent: Callable[[], None]) -> None:
        """Take over `fd`; nothing is read before `resume`.

        Args:
            fd: An open terminal; `close` closes it.
            heard: Takes what comes in.
            silent: Called once when nobody is at the other side (any more); reading stops until `resume`.
        """
        self.fd = fd
        self.lost = 0
        self._heard = heard
        self._silent = silent
        self._loop = asyncio.get_running_loop()
        self._queue = bytearray()
        self._closed = False
        os.set_blocking(fd, False)

    def resume(self) -> None:
        """Read on."""
        self._loop.add_reader(self.fd, self._readable)

    def discard(self) -> None:
        """Lose what has come in and was not read yet."""
        with suppress(OSError):  # nothing more, or nobody at the other side any more
            for _ in range(DISCARDS_MAX):
                os.read(self.fd, READ_MAX)

    def write(self, data: bytes) -> None:
        """Send bytes as soon as they are taken; `lost` counts those beyond QUEUE_MAX."""
        room = QUEUE_MAX - len(self._queue)
        self.lost += max(0, len(data) - room)
        if not self._closed:
            self._queue += data[:room]
            self._writable()

    def close(self) -> None:
        """Close the descriptor; what was not taken is lost. May be called again."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self.fd)
        self._loop.remove_writer(self.fd)
        with suppress(OSError):  # the plug may be out already
            os.close(self.fd)

    def _readable(self) -> None:
        try:
            data = os.read(self.fd, READ_MAX)
        except BlockingIOError:
            return
        except OSError:  # EIO: nobody at the other side
            data = b""
        if data:
            self._heard(data)
        else:
            self._loop.remove_reader(self.fd)
            self._silent()

    def _writable(self) -> None:
        try:
            del self._queue[: os.write(self.fd, self._queue)]
        except BlockingIOError:
            pass
        except OSError:
            self._queue.clear()
        if self._queue:
            self._loop.add_writer(self.fd, self._writable)
        else:
            self._loop.remove_writer(self.fd)
