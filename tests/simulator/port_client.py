"""How does a test open, read and write a serial port without ever waiting for a fixed time?"""

import asyncio
import os

PATIENCE_S = 10.0  # how long a broken build may hang; nothing here waits for it


class PortClient:
    """A serial port opened as a plain program does it: reads end at a line end, or where the plug is pulled."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        self._readable = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self.fd, self._readable.set)

    def write(self, data: bytes) -> None:
        """Write all of it, which has to fit."""
        assert os.write(self.fd, data) == len(data)

    async def line(self) -> bytes:
        """Up to a line feed; what there was where the port ends before."""
        return await self.until(b"\n")

    async def until(self, end: bytes) -> bytes:
        """Up to these bytes; what there was where the port ends before."""
        data = b""
        async with asyncio.timeout(PATIENCE_S):
            while not data.endswith(end):
                byte = await self._some(1)
                if not byte:
                    break
                data += byte
        return data

    async def take(self, count: int) -> bytes:
        """So many bytes."""
        data = b""
        async with asyncio.timeout(PATIENCE_S):
            while len(data) < count:
                data += await self._some(count - len(data))
        return data

    def close(self) -> None:
        """Close the port."""
        self._loop.remove_reader(self.fd)
        os.close(self.fd)

    async def _some(self, most: int) -> bytes:
        while True:
            self._readable.clear()
            try:
                return os.read(self.fd, most)
            except BlockingIOError:
                await self._readable.wait()
            except OSError:
                return b""
