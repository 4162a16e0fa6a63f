"""How does a simulated device answer on a serial port?

One line for good, whoever has its port open (`pty_port.py`): late answers reach the next client, and a boot
does not end it. Where the device ends the connection (`cut`), the plug is pulled and put back: whoever had the
port open loses it, and a new one stands at the same link; without a link it has another name.

An opening comes before whatever its client writes: banner and greeting are the first that it can read, and a board
that an opening boots has lost what was written before the opening was noticed, as it hears nothing while it boots.
"""

from collections.abc import Callable
from pathlib import Path

from simulator.bus import Plug, Served
from simulator.pty_port import PtyPort


class PtyServer:
    """A device on a port; made by `serve_pty`."""

    def __init__(self, device: Served, link: Path | None, replugged: Callable[[str], None]) -> None:
        self._device = device
        self._replugged = replugged
        self._closing = False
        self._conn: Plug | None = None
        self._port = PtyPort(self._heard, self._opened, link)
        self._connect()

    @property
    def url(self) -> str:
        """`serial:PATH` of the link, else of the port."""
        return self._port.url

    def pull(self) -> None:
        """Take the plug out: the port vanishes, and what is under way is lost."""
        conn, self._conn = self._conn, None
        self._port.pull()
        if conn is not None:
            conn.closed()

    def plug_in(self) -> None:
        """Put the plug back, unless it is in. Raises OSError."""
        if not self._port.plugged_in:
            self._port.plug_in()
            self._connect()
            self._replugged(self.url)

    def toggle_plug(self) -> None:
        """Pull the plug, or put it back."""
        if self._port.plugged_in:
            self.pull()
        else:
            self.plug_in()

    def close(self) -> None:
        """Pull the plug for good."""
        self._closing = True
        self.pull()

    def _connect(self) -> None:
        self._conn = self._device.connect(self._port.write, self._hung_up, opened=False)

    def _hung_up(self) -> None:
        self._conn = None
        self._port.pull()
        if not self._closing:
            self.plug_in()

    def _opened(self) -> bool:
        return self._conn is not None and self._conn.opened()

    def _heard(self, data: bytes) -> None:
        if self._conn is not None:
            self._conn.feed(data)


def serve_pty(
    device: Served, link: Path | None = None, replugged: Callable[[str], None] = lambda _: None
) -> PtyServer:
    """Serve `device` on a new serial port, on the running loop, until the server is closed.

    Args:
        device: Made with `hangs_up_on_boot=False`, or else its boots pull the plug.
        link: A name for the port that stays the same when the plug is pulled and put back.
        replugged: Told the URL each time the plug has been put back.

    Raises:
        OSError: There is no pseudo terminal, or the link cannot be made.
    """
    return PtyServer(device, link, replugged)
