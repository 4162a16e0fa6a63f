"""What does a plain client see of a text device?

`LineClient` is one end of an in-memory connection: it writes lines and notes what comes back, and when. It never
repeats anything. `line_bench` runs a test with a fresh device under virtual time.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from simulator.conn import Conn
from simulator.equipment import Controller
from simulator.fault_kinds import TEXT
from simulator.faults import parse
from simulator.habits import Habits
from simulator.loop import run
from simulator.text_device import TextDevice

ADJUST = "ADJUST offset +5"
TIMEOUT_S = 1.0


class LineClient:
    """One connection to a text device."""

    def __init__(self, device: TextDevice, *, opened: bool = True) -> None:
        self.device = device
        self.pieces: list[tuple[float, bytes]] = []
        self.cut = False
        self.conn: Conn = device.connect(self._hear, self._hung_up, opened=opened)

    @property
    def heard(self) -> bytes:
        """Everything that came back so far."""
        return b"".join(data for _, data in self.pieces)

    @property
    def times(self) -> list[float]:
        """When each piece came."""
        return [at_s for at_s, _ in self.pieces]

    async def ask(self, text: str, wait_s: float = TIMEOUT_S) -> bytes:
        """Write one line, and say what came back within a fixed time."""
        before = len(self.heard)
        self.conn.feed(text.encode() + b"\n")
        await asyncio.sleep(wait_s)
        return self.heard[before:]

    def _hear(self, data: bytes) -> None:
        self.pieces.append((asyncio.get_running_loop().time(), data))

    def _hung_up(self) -> None:
        self.cut = True


def line_bench(
    scenario: Callable[[LineClient], Coroutine[Any, Any, None]],
    plan: str = "",
    *,
    surviving: bool = False,
    opened: bool = True,
    eol: bytes = b"\n",
    echo: bool = False,
    habits: Habits | None = None,
) -> TextDevice:
    """Run a scenario with a client and a new device under virtual time; `surviving`: boots do not hang up."""
    device = TextDevice(
        Controller(),
        plan=parse(plan, TEXT),
        hangs_up_on_boot=not surviving,
        eol=eol,
        echo=echo,
        habits=habits,
    )

    async def main() -> None:
        await scenario(LineClient(device, opened=opened))

    run(main)
    return device
