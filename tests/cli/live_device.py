"""A simulated device on a real TCP port, served by a thread of the test's own process: up within milliseconds.

What the device did is asked of the device itself: its ledger, its count of messages and connections.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Self, TypeVar

from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.faults import parse
from simulator.server import serve_tcp

T = TypeVar("T")
PATIENCE_S = 30.0


class LiveDevice:
    """One LSQ1 device; `url` stays the same from the first `plug_in` on."""

    def __init__(self, faults: str = "", *, tier: int = 1, serial: str = "SIM-1", **settings: Any) -> None:
        """Switch the device on and plug it in.

        Args:
            faults: a fault plan (`simulator.faults`).
            tier: what it remembers across boots.
            serial: who it says it is.
            settings: further arguments of `SimulatedDevice`.
        """
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"device {serial}", daemon=True)
        self._thread.start()
        self._server: asyncio.Server | None = None
        self._port = 0
        self.device: SimulatedDevice = self.do(
            lambda: SimulatedDevice(
                Controller(serial),
                serial=serial,
                tier=tier,
                plan=parse(faults),
                clock=self._loop.time,
                **settings,
            )
        )
        self.plug_in()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where it listens, plugged in or not."""
        return f"tcp://127.0.0.1:{self._port}"

    @property
    def executed(self) -> list[str]:
        """Every command that took effect, oldest first."""
        return [entry.text for entry in self.device.ledger.entries]

    @property
    def copies(self) -> list[str]:
        """Every copy of a command that reached the device, oldest first."""
        return [copy.text for copy in self.device.copies]

    @property
    def connections(self) -> int:
        """How many connections it has ever accepted."""
        return self.device.counts["connections"]

    def do(self, work: Callable[[], T]) -> T:
        """Run something in the device's thread."""

        async def called() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result(PATIENCE_S)

    def plug_in(self) -> None:
        """Listen, at the port of before if there was one."""
        self._server = asyncio.run_coroutine_threadsafe(
            serve_tcp(self.device, "127.0.0.1", self._port), self._loop
        ).result(PATIENCE_S)
        self._port = self._server.sockets[0].getsockname()[1]

    def unplug(self) -> None:
        """End all connections and refuse new ones."""
        server, self._server = self._server, None
        if server is not None:
            self.do(server.close)
        self.do(self.device.hang_up)

    def reboot(self) -> None:
        """Switch it off and on."""
        self.do(self.device.reboot)

    def suffer(self, faults: str) -> None:
        """Another fault plan from now on; its counting begins anew."""
        plan = parse(faults)
        self.do(lambda: setattr(self.device, "_plan", plan))

    def close(self) -> None:
        """Switch it off for good."""
        self.unplug()
        asyncio.run_coroutine_threadsafe(self._drain(), self._loop).result(PATIENCE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    @staticmethod
    async def _drain() -> None:
        """Turn the loop until closed transports are gone."""
        for _ in range(5):
            await asyncio.sleep(0)
