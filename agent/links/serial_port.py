"""How are bytes carried over a serial port? pyserial opens and configures it, asyncio watches its file descriptor.

Rule 1. A pulled plug is one thing, whichever call meets it (SerialException, OSError, termios.error, an empty read):
        `lost` once; in `write` also LinkLost; while opening, Unreachable.
Rule 2. Nothing blocks the event loop and nothing waits for ever: what the operating system does not take at once goes
        out when there is room, within WRITE_TIMEOUT_S, or the link is lost.
Rule 3. A port that another program has open is left alone: two readers would each get part of the answers.
Rule 4. Bytes pass unchanged: no flow control by characters, no translation of line ends.

What opening does to the equipment: the operating system raises DTR (and RTS) when it opens a port and drops it when the
last program closes it. Boards that start anew at that edge, as many with a USB adapter do, boot when we open; pyserial
only repeats the level that already stands, so that there is no second edge. No break is ever sent.
"""

import asyncio
import errno
import fcntl
import os
import termios
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

import serial

from agent.address import Address
from agent.links.link import LinkLost, Receiver, Unreachable
from agent.links.port_trouble import held, unopened, unsuitable
from agent.links.ports import holder_of, is_pseudo_terminal
from logs.text import escape

WRITE_TIMEOUT_S = 2.0
"""How long the operating system may take over bytes of one frame before the line counts as dead."""

_PIECE = 4096
_TROUBLE = (OSError, ValueError, termios.error)
"""What pyserial raises; its own SerialException is an OSError. ValueError: settings that it or the driver refuses."""


class SerialLink:
    """An open serial port. Made by `open_serial`, in the event loop that uses it."""

    def __init__(self, port: serial.Serial, path: str) -> None:
        self._port = port
        self._path = escape(path)
        self._fd: int = port.fileno()
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver | None = None
        self._unsent = bytearray()
        self._overdue: asyncio.TimerHandle | None = None
        self._end: str | None = None

    def attach(self, receiver: Receiver) -> None:
        """Deliver what comes in to this receiver; what came since opening is delivered too."""
        self._receiver = receiver
        if self._end is None:
            self._loop.add_reader(self._fd, self._readable)

    def write(self, data: bytes) -> None:
        """Write one whole frame. Raises LinkLost if the port is known to be gone."""
        if self._end is not None:
            raise LinkLost(self._end, left=False)
        waiting = bool(self._unsent)
        self._unsent += data
        if waiting:
            return
        self._send()
        if self._end is not None:
            raise LinkLost(self._end)
        if self._unsent:
            self._loop.add_writer(self._fd, self._send)
            self._overdue = self._loop.call_later(WRITE_TIMEOUT_S, self._too_late)

    def close(self, *, abort: bool = False) -> None:
        """Close at once.

        Args:
            abort: drop what the driver has not sent. Without it the operating system sends that first, and this call
                takes as long as the line does.
        """
        self._receiver = None
        self._end_with("the connection is closed", drop=abort)

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, _PIECE)
        except BlockingIOError:  # somebody else's wake-up
            return
        except OSError as problem:
            self._gone(problem)
            return
        if not data:  # with VMIN 1 an empty read means hung up, and nothing else
            self._gone(OSError(errno.EIO, os.strerror(errno.EIO)))
        elif self._receiver is not None:
            self._receiver.heard(data)

    def _send(self) -> None:
        """Give the operating system as much as it takes."""
        try:
            taken = os.write(self._fd, self._unsent)
        except BlockingIOError:
            return
        except OSError as problem:
            self._gone(problem)
            return
        del self._unsent[:taken]
        if not self._unsent:
            self._stop_sending()

    def _stop_sending(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
            self._loop.remove_writer(self._fd)

    def _too_late(self) -> None:
        left = len(self._unsent)
        self._lose(
            f"the line takes no bytes: {left} still unsent on {self._path} after {WRITE_TIMEOUT_S:g} s"
        )

    def _gone(self, problem: OSError) -> None:
        self._lose(f"the serial port {self._path} is gone, as if unplugged: {problem.strerror or problem}")

    def _lose(self, why: str) -> None:
        receiver = self._receiver
        self._end_with(why, drop=True)
        if receiver is not None:
            # In a turn of its own: whoever is in the middle of `write` is not called back from there.
            self._loop.call_soon(self._tell, receiver, why)

    def _tell(self, receiver: Receiver, why: str) -> None:
        if self._receiver is receiver:  # not closed meanwhile
            receiver.lost(why)

    def _end_with(self, why: str, *, drop: bool) -> None:
        if self._end is not None:
            return
        self._end = why
        self._loop.remove_reader(self._fd)
        self._stop_sending()
        if drop:
            with suppress(OSError, termios.error):
                termios.tcflush(self._fd, termios.TCOFLUSH)
        with suppress(*_TROUBLE):
            self._port.close()


async def open_serial(address: Address, timeout_s: float) -> SerialLink:
    """Open the port that a `serial:` address names; 9600 8N1 where it says nothing else. Its input buffer is emptied.

    Raises:
        PortHeld: another program has it open.
        Unreachable: it cannot be opened for another reason.
        Both: certainly nothing was sent.
    """
    path = address.path
    options = {"baud": "9600", "bits": "8", "parity": "N", "stop": "1"} | dict(address.options)
    if (why := unsuitable(path, options)) is not None:
        raise Unreachable(why)
    # Before opening: to open is to change the speed and to empty the buffer of whoever has it now.
    if (holder := holder_of(path)) is not None:
        raise held(path, holder)
    try:
        port = await _in_a_thread(lambda: _opened(path, options), timeout_s)
    except TimeoutError as late:
        why = f"{escape(path)} did not open within {timeout_s:g} s: its driver hangs. Unplug the adapter and plug it in"
        raise Unreachable(why) from late
    except _TROUBLE as problem:
        settings = "{baud} {bits}{parity}{stop}".format_map(options)
        raise unopened(path, settings, problem) from problem
    return SerialLink(port, path)


def _opened(path: str, options: Mapping[str, str]) -> serial.Serial:
    # A pseudo terminal has no wire: it carries whole bytes. Asked for anything else it agrees once and then refuses.
    pseudo = is_pseudo_terminal(path)
    port = serial.Serial(
        port=path,
        baudrate=int(options["baud"]),
        bytesize=8 if pseudo else int(options["bits"]),
        parity="N" if pseudo else options["parity"],
        stopbits=float(options["stop"]),
        timeout=0,
        write_timeout=WRITE_TIMEOUT_S,
        inter_byte_timeout=0,  # VMIN becomes 1: only so does an empty read mean hung up rather than nothing there
        xonxoff=False,
        rtscts=False,
        dsrdtr=False,
        exclusive=True,
    )
    try:
        # The lock of `exclusive` keeps out those who ask for it, this keeps out everybody but root. On a pseudo
        # terminal it would outlive us, and after a kill nobody could open it again before its master's end.
        if not pseudo:
            fcntl.ioctl(port.fileno(), termios.TIOCEXCL)
    except OSError:
        port.close()
        raise
    return port


async def _in_a_thread(work: Callable[[], serial.Serial], timeout_s: float) -> serial.Serial:
    """Open in a thread, since a driver may hang in there where nothing can interrupt it.

    The thread is a daemon of its own rather than one of the loop's pool, which is waited for at exit. A port that comes
    too late is closed.

    Raises:
        TimeoutError: it took too long.
        OSError, ValueError, termios.error: as pyserial has it.
    """
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[serial.Serial] = loop.create_future()

    def run() -> None:
        try:
            port = work()
        except _TROUBLE as problem:
            with suppress(RuntimeError):  # the loop has ended: nobody asks any more
                loop.call_soon_threadsafe(opened.set_exception, problem)
            return
        try:
            loop.call_soon_threadsafe(opened.set_result, port)
        except RuntimeError:
            port.close()

    threading.Thread(target=run, name="open serial port", daemon=True).start()
    try:
        async with asyncio.timeout(timeout_s):
            return await asyncio.shield(opened)
    except (TimeoutError, asyncio.CancelledError):
        opened.add_done_callback(_unwanted)
        raise


def _unwanted(opened: "asyncio.Future[serial.Serial]") -> None:
    if not opened.cancelled() and opened.exception() is None:
        opened.result().close()
