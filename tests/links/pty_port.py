"""How do tests hold both ends of a serial line? A pseudo terminal: its slave is the port, its master the equipment."""

import asyncio
import os
import pty
import tty
from contextlib import suppress
from pathlib import Path

from agent.address import Address, parse_url
from agent.links.serial_port import SerialLink, open_serial
from tests.links.check_link import WAIT_S

_PIECE = 65_536


class PtyPort:
    """A serial port with equipment behind it. `path` is what the agent opens."""

    def __init__(self) -> None:
        self._master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        os.set_blocking(self._master, False)
        self.path = os.ttyname(self.slave)
        self._open = True
        self._out = bytearray()
        self._heard = bytearray()
        self._arrived = asyncio.Event()

    @property
    def master(self) -> int:
        """The equipment's descriptor."""
        return self._master

    def address(self, options: str = "") -> Address:
        """The port as the inventory has it."""
        return parse_url(f"serial:{self.path}{options}")

    async def link(self, options: str = "") -> SerialLink:
        """The agent's end."""
        return await open_serial(self.address(options), WAIT_S)

    def listen(self) -> None:
        """Read from now on; before, nothing is drained."""
        asyncio.get_running_loop().add_reader(self._master, self._read)

    async def receive(self, size: int) -> bytes:
        """Everything that came in, once it is at least `size` bytes."""
        while len(self._heard) < size:
            self._arrived.clear()
            await self._arrived.wait()
        return bytes(self._heard)

    def waiting(self) -> bytes:
        """What came in and was not read yet, to the last byte."""
        found = bytearray()
        with suppress(BlockingIOError):
            while True:
                found += os.read(self._master, _PIECE)
        return bytes(found)

    def feed(self, data: bytes) -> None:
        """Send bytes."""
        if self._open:
            self._out += data
            self._write()

    def cut(self) -> None:
        """Pull the plug."""
        if self._open:
            self._open = False
            with suppress(RuntimeError):  # outside of a loop
                asyncio.get_running_loop().remove_reader(self._master)
                asyncio.get_running_loop().remove_writer(self._master)
            os.close(self._master)
            os.close(self.slave)

    def _read(self) -> None:
        self._heard += os.read(self._master, _PIECE)
        self._arrived.set()

    def _write(self) -> None:
        with suppress(BlockingIOError):
            del self._out[: os.write(self._master, self._out)]
        if self._out:
            asyncio.get_running_loop().add_writer(self._master, self._write)
        else:
            asyncio.get_running_loop().remove_writer(self._master)


def open_files() -> set[str]:
    """The descriptors of this process."""
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}
