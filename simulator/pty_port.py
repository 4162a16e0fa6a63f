"""How does a pseudo terminal behave like a serial port with a plug?

1. Whoever opens the port (a path such as /dev/pts/7, or a link to it that stays the same) reads and writes
   bytes as they are: raw, without echo or translation of line ends.
2. The port survives its clients. What is sent while nobody has it open waits for the next one, as on a
   terminal server. An opening is noticed within POLL_S, unless the port was closed for less than that.
3. `pull` takes the plug out: the terminal is gone, whoever had it open reads an error, the link leads nowhere.
   `plug_in` makes a new terminal, and the link leads to it.
4. All descriptors are in this process, and the other end of the terminal (the slave) is open in none of them.
"""

import asyncio
import errno
import os
import select
import tty
from collections.abc import Callable
from pathlib import Path

from simulator.fd_stream import FdStream

POLL_S = 0.005


class LinkTakenError(OSError):
    """Something that is no link to a terminal like ours stands where the link should be."""


class PtyPort:
    """One serial port made of a pseudo terminal."""

    def __init__(
        self, heard: Callable[[bytes], None], opened: Callable[[], bool], link: Path | None = None
    ) -> None:
        """Plug it in, on the running loop.

        Args:
            heard: Takes what clients write.
            opened: Called for each opening by a client, before anything that the client writes is heard. True:
                what it has written until now is lost.
            link: Where a stable name is made; one that another simulator has left there is replaced.

        Raises:
            LinkTakenError: Something else is at the link's place.
            OSError: There is no pseudo terminal, or the link cannot be made.
        """
        self.path = ""
        self._heard = heard
        self._opened = opened
        self._link = link
        self._stream: FdStream | None = None
        self._polling: asyncio.TimerHandle | None = None
        self.plug_in()

    @property
    def url(self) -> str:
        """How a client is told where the port is: the link if there is one."""
        return f"serial:{self._link.absolute() if self._link else self.path}"

    @property
    def plugged_in(self) -> bool:
        """Whether there is a terminal."""
        return self._stream is not None

    def write(self, data: bytes) -> None:
        """Bytes for whoever has the port open, or will; lost while the plug is out."""
        if self._stream is not None:
            self._stream.write(data)

    def plug_in(self) -> None:
        """Make the terminal, unless there is one. Raises as the constructor does."""
        if self._stream is not None:
            return
        master, slave = os.openpty()
        try:
            tty.setraw(slave)
            self.path = os.ttyname(slave)
            self._point_link()
        except BaseException:
            os.close(master)
            raise
        finally:
            os.close(slave)
        self._stream = FdStream(master, self._heard, self._poll)
        self._poll()

    def pull(self) -> None:
        """Take the plug out; whatever is under way is lost. May be called again."""
        stream, self._stream = self._stream, None
        if stream is None:
            return
        if self._polling is not None:
            self._polling.cancel()
        # The name goes first: whoever reads the error and opens the link again must not find the old port.
        if self._link is not None and self._link.is_symlink() and str(self._link.readlink()) == self.path:
            self._link.unlink()
        stream.close()

    def _poll(self) -> None:
        """Look whether somebody has opened the port: a terminal does not tell, it only stops hanging up."""
        if self._stream is None:
            return
        poll = select.poll()
        poll.register(self._stream.fd, select.POLLIN)
        events = dict(poll.poll(0)).get(self._stream.fd, 0)
        if events & select.POLLHUP and not events & select.POLLIN:
            self._polling = asyncio.get_running_loop().call_later(POLL_S, self._poll)
            return
        lost = self._opened()
        if self._stream is not None:
            if lost:
                self._stream.discard()
            self._stream.resume()

    def _point_link(self) -> None:
        """Let the link lead to the terminal, replaced in one step so that it never leads nowhere."""
        link = self._link
        if link is None:
            return
        ours = link.is_symlink() and link.readlink().parent == Path(self.path).parent
        if not ours and (link.is_symlink() or link.exists()):
            raise LinkTakenError(errno.EEXIST, "Something else is there already")
        beside = link.with_name(f".{link.name}.{os.getpid()}")
        beside.unlink(missing_ok=True)
        beside.symlink_to(self.path)
        beside.replace(link)
