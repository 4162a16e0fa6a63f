"""What does a plain client see of a simulated device?

`Client` asks one thing at a time over an in-memory connection, waits a fixed time and never repeats,
settles or decides anything by itself. `bench` runs a test with a fresh device under virtual time.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from protocol.native.codes import Status
from protocol.native.messages import CommandReply, HelloReply, NopReply, OpenReply, ReadReply, Reply
from protocol.native.requester import Answered, Event, Ignored, Requester, Waiting
from simulator.conn import Conn
from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.faults import parse
from simulator.loop import run

TIMEOUT_S = 1.0
OPENS_MAX = 10
ADJUST = "ADJUST offset +5"
AGENT = 0xA1

T = TypeVar("T", bound=Reply)


class Client:
    """One connection at a time to a device."""

    def __init__(self, device: SimulatedDevice) -> None:
        self.device = device
        self.epoch = 0
        self.ids = 0
        self.events: list[Event] = []
        self.pieces: list[tuple[float, bytes]] = []
        self.connect()

    def connect(self) -> None:
        """A new connection; what the old one still carries is not heard."""
        self.requester = Requester()
        self.requester.max_body = 512
        self.cut = False
        self._heard = asyncio.Event()
        conn = self.device.connect(lambda data: self._hear(conn, data), lambda: self._hung_up(conn))
        self.conn: Conn = conn

    async def ask(self, request: bytes, kind: type[T], timeout_s: float = TIMEOUT_S) -> T | None:
        """Write a request and wait for its answer; None after silence or a cut connection."""
        self.conn.feed(request)
        answer = await self.wait(timeout_s)
        if answer is None:
            self.requester.abandon()
            return None
        assert isinstance(answer, kind)
        return answer

    async def wait(self, timeout_s: float = TIMEOUT_S) -> Reply | None:
        """The next answer to what is outstanding; None where none comes in time."""
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    for at, event in enumerate(self.events):
                        if isinstance(event, Answered):
                            del self.events[at]
                            return event.reply
                    if self.cut:
                        return None
                    self._heard.clear()
                    await self._heard.wait()
        except TimeoutError:
            return None

    async def open(self) -> int:
        """Open a session, with a new epoch on a new connection wherever one got no answer."""
        for _ in range(OPENS_MAX):
            reply = await self.open_once()
            if reply is not None:
                assert reply.status is Status.OK
                return reply.session
            self.connect()
        raise AssertionError("no OPEN was answered")

    async def open_once(self) -> OpenReply | None:
        """Ask once for a session."""
        self.epoch = max(self.epoch, self.device.memory.epoch) + 1
        return await self.ask(self.requester.open(AGENT, self.epoch, self.epoch), OpenReply)

    async def hello(self) -> HelloReply | None:
        """Ask who it is."""
        self.ids += 1
        return await self.ask(self.requester.hello(self.ids), HelloReply)

    async def command(
        self, session: int, seq: int, text: str = ADJUST, *, attempt: int = 1, timeout_s: float = TIMEOUT_S
    ) -> CommandReply | None:
        """Send one copy of a command."""
        return await self.ask(self.requester.command(session, seq, attempt, text), CommandReply, timeout_s)

    async def read(self, text: str = "GET offset") -> str | None:
        """Read a value."""
        self.ids += 1
        reply = await self.ask(self.requester.read(self.ids, text), ReadReply)
        return None if reply is None else reply.text

    async def nop(self, session: int, seq: int) -> NopReply | None:
        """Burn a number."""
        return await self.ask(self.requester.nop(session, seq, 1), NopReply)

    def ignored(self) -> list[str]:
        """Why input was ignored so far, in order."""
        return [event.why for event in self.events if isinstance(event, Ignored)]

    def waiting(self) -> list[Status]:
        """The IN_PROGRESS and BUSY so far, in order."""
        return [event.status for event in self.events if isinstance(event, Waiting)]

    def _hear(self, conn: Conn, data: bytes) -> None:
        if conn is self.conn:
            self.pieces.append((asyncio.get_running_loop().time(), data))
            self.events += self.requester.receive(data)
            self._heard.set()

    def _hung_up(self, conn: Conn) -> None:
        if conn is self.conn:
            self.cut = True
            self._heard.set()


Scenario = Callable[[Client], Coroutine[Any, Any, None]]


def bench(
    scenario: Scenario,
    plan: str = "",
    *,
    tier: int = 1,
    atomic: bool = True,
    seed: int = 0,
    reply_max: int = 32,
) -> SimulatedDevice:
    """Run a scenario with a client and a new device under virtual time; returns the device."""
    device = SimulatedDevice(
        Controller(), plan=parse(plan), tier=tier, atomic=atomic, seed=seed, reply_max=reply_max
    )

    async def main() -> None:
        await scenario(Client(device))

    run(main)
    return device
