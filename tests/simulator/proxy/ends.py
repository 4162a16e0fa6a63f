"""What do the two ends of a passage see? Sides in memory that note bytes and times under virtual time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from simulator.faults import parse
from simulator.loop import run
from simulator.proxy.faults import PROXY
from simulator.proxy.passage import Passage, Traffic


class End:
    """One side of a passage."""

    def __init__(self) -> None:
        self.pieces: list[tuple[float, bytes]] = []
        self.ended = ""

    @property
    def heard(self) -> bytes:
        """Every byte so far."""
        return b"".join(data for _, data in self.pieces)

    def write(self, data: bytes) -> None:
        assert not self.ended
        self.pieces.append((asyncio.get_running_loop().time(), data))

    def end(self) -> None:
        self._ends("ended")

    def cut(self) -> None:
        self._ends("cut")

    def reset(self) -> None:
        self._ends("reset")

    def _ends(self, how: str) -> None:
        assert not self.ended
        self.ended = how


class Ends:
    """A passage whose device is there at once, unless `reached` is false."""

    def __init__(self, traffic: Traffic, *, reached: bool = True) -> None:
        self.traffic = traffic
        self.client, self.device = End(), End()
        self.over = 0
        self.passage = Passage(traffic, self.client, self._over)
        if reached:
            self.passage.reached(self.device)

    async def ask(self, request: bytes, answer: bytes, wait_s: float = 0.5) -> tuple[bytes, bytes]:
        """What the device heard of a request and the client of its answer, each within `wait_s` seconds."""
        heard = len(self.device.heard), len(self.client.heard)
        self.passage.client_said(request)
        await asyncio.sleep(wait_s)
        self.passage.device_said(answer)
        await asyncio.sleep(wait_s)
        return self.device.heard[heard[0] :], self.client.heard[heard[1] :]

    def _over(self) -> None:
        self.over += 1


def traffic(plan: str = "", frame: str = "raw", seen: list[str] | None = None) -> Traffic:
    """What the passages of a test share; `seen` collects what is observed."""
    noted = [] if seen is None else seen
    return Traffic(
        parse(plan, PROXY),
        frame,
        lambda word, line, data: noted.append(f"{word} {line} {data.decode(errors='replace')}".strip()),
    )


def passing(
    scenario: Callable[[Ends], Coroutine[Any, Any, None]],
    plan: str = "",
    *,
    frame: str = "raw",
    reached: bool = True,
) -> Traffic:
    """Run a scenario with one passage under virtual time."""
    shared = traffic(plan, frame)

    async def main() -> None:
        await scenario(Ends(shared, reached=reached))

    run(main)
    return shared
