"""How do bytes travel between the processes of a world and its devices?

Two sorts of roads lead to a device. On `tcp` each opening is a connection of its own: closing cuts what the device
would still say on it, but bytes that are on their way may still arrive, also behind those of a newer connection. A
`serial` road is one line that outlives every opening: one process at a time has it open, and late answers reach
whoever opens it next.

Bytes of one direction of one connection stay in order. What befalls them is thrown by the weather, message by message:
`lost` (on tcp all later ones of the connection, too), `stall` (this one and those behind it come later), `hang_up`
(the connection ends, the message with it; a serial plug is pulled and put back), `half` (the message's second half is
lost with the connection; on serial only that), `deaf` (the answer is lost), `no_answer` (nobody answers the dial).
"""

import asyncio
from collections.abc import Callable

from agent.links.link import Link, LinkLost, PortHeld, Receiver, Unreachable
from simulator.conn import Conn
from simulator.device import SimulatedDevice
from worlds.history import History
from worlds.loop import NOBODY
from worlds.machines import ModbusMachine, TextMachine
from worlds.process import Process
from worlds.store import Crash, Moment
from worlds.tongues import Tongue
from worlds.weather import Weather

Device = SimulatedDevice | TextMachine | ModbusMachine
DIAL_S = 2.0
"""How long nobody answers a dial that leads nowhere."""
_NEXT_S = 1e-7
"""What keeps two messages of one direction apart in time, so that they stay in order."""


class Direction:
    """Bytes on their way in one direction; in order, however late."""

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._free_s = 0.0
        self.broken = False

    def carry(self, deliver: Callable[[], None], stall_s: float = 0.0) -> None:
        """Something leaves, and is delivered after all that left before."""
        loop = asyncio.get_running_loop()
        at_s = max(loop.time() + self._latency_s + stall_s, self._free_s + _NEXT_S)
        self._free_s = at_s
        loop.call_at(at_s, deliver, context=NOBODY)


class Road:
    """The way to one device. `down`: nobody reaches it now; what is on its way still arrives."""

    def __init__(
        self,
        name: str,
        device: Device,
        weather: Weather,
        history: History,
        *,
        sort: str,
        tongue: Tongue,
        serial: bool,
        latency_s: float,
    ) -> None:
        self.name = name
        self.sort = sort
        self.tongue = tongue
        self.device = device
        self.weather = weather
        self.history = history
        self.serial = serial
        self.latency_s = latency_s
        self.down = False
        self._line: Wire | None = None

    async def dial(self, process: Process) -> Link:
        """Open a link for a process. Raises Unreachable."""
        if self.weather.on_the_way("dial") is not None or self.down:
            await asyncio.sleep(DIAL_S if self.down else 0.0)
            raise Unreachable(f"nobody answers at {self.name}")
        await asyncio.sleep(self.latency_s)
        if not self.serial:
            return Wire(self).open(process)
        if self._line is None:
            self._line = NOBODY.copy().run(Wire, self)
        return self._line.open(process)

    def feed(self, conn: Conn, data: bytes, mark: int | None) -> None:
        """Bytes arrive at the device; over a connection that has ended they come in as a stranger's."""
        if not isinstance(self.device, SimulatedDevice):
            self.device.mark = mark
        if not conn.hung_up:
            conn.feed(data)
            return
        stranger = self.device.connect(_unheard, _unheard)
        stranger.feed(data)
        stranger.closed()


class Wire:
    """One connection to a device, or the one line to it."""

    def __init__(self, road: Road) -> None:
        self._road = road
        self._to = Direction(road.latency_s)
        self._back = Direction(road.latency_s)
        self._opening: Opening | None = None
        self._plug = 0
        self._conn = self._plugged_in()

    def open(self, process: Process) -> "Opening":
        """A process opens it. Raises PortHeld where another one has it open."""
        if self._opening is not None:
            raise PortHeld(f"{self._road.name} is open in {self._opening.process.name}", ours=True)
        self._opening = Opening(self, process)
        process.links.append(self._opening)
        if self._road.serial:
            NOBODY.copy().run(self._road.device.opened, self._conn)
        return self._opening

    def leaves(self, process: Process, request: bytes, *, whole: bool) -> None:
        """A process has written a message, or half of one."""
        road = self._road
        data = request if whole else request[: len(request) // 2]
        mark = road.history.leaves(process.name, road.name, request, data, tongue=road.tongue)
        strike = road.weather.on_the_way("to")
        fault = strike.fault if strike is not None else None
        if fault is not None and strike is not None:
            road.history.note(road.name, "strike", f"{fault} {strike.seconds or ''}".rstrip())
        if fault in ("lost", "hang_up") or self._to.broken or road.down:
            self._to.broken = self._to.broken or not road.serial
        else:
            arriving = data[: len(data) // 2] if fault == "half" else data
            stall_s = strike.seconds if strike is not None else 0.0
            self._to.carry(lambda: self._arrives(arriving, mark), stall_s)
        if fault == "hang_up" or (fault == "half" and not road.serial):
            self._hang_up()

    def closed(self) -> None:
        """Whoever had it open has closed it, or is gone."""
        self._opening = None
        if not self._road.serial:
            self._to.carry(self._conn.closed)

    def _arrives(self, data: bytes, mark: int | None) -> None:
        self._road.feed(self._conn, data, mark)

    def _hang_up(self) -> None:
        """The connection ends for both sides, what was on its way arrives before that; a plug is put back at once."""
        if self._road.serial:
            NOBODY.copy().run(self._conn.closed)
        else:
            self._to.carry(self._conn.closed)
        self._ended()

    def _plugged_in(self) -> Conn:
        self._plug += 1
        plug = self._plug

        def said(data: bytes) -> None:
            if plug == self._plug:
                self._said(data)

        def ended() -> None:
            if plug == self._plug:
                self._ended()

        opened = not self._road.serial
        return NOBODY.copy().run(lambda: self._road.device.connect(said, ended, opened=opened))

    def _said(self, data: bytes) -> None:
        road = self._road
        # A single byte of an answer that trickles is never lost alone: nothing on plain text would show that.
        strike = road.weather.on_the_way("back") if len(data) > 1 else None
        if strike is not None:
            road.history.note(road.name, "strike", f"{strike.fault} {strike.seconds or ''}".rstrip())
            if strike.fault == "deaf":
                self._back.broken = not road.serial
                return
        if self._back.broken or road.down or (self._opening is None and not road.serial):
            return
        self._back.carry(lambda: self._heard(data), strike.seconds if strike is not None else 0.0)

    def _heard(self, data: bytes) -> None:
        opening = self._opening
        if opening is not None:
            asyncio.get_running_loop().call_soon(opening.hear, data, context=opening.process.context)

    def _ended(self) -> None:
        """The device has hung up, or the plug was pulled."""
        opening = self._opening
        if opening is not None:
            self._back.carry(lambda: self._end_arrives(opening))
        if self._road.serial:
            self._conn = self._plugged_in()

    def _end_arrives(self, opening: "Opening") -> None:
        if self._opening is opening:
            self._opening = None
            asyncio.get_running_loop().call_soon(opening.ends, context=opening.process.context)


class Opening(Link):
    """One opening of a wire by one process."""

    def __init__(self, wire: Wire, process: Process) -> None:
        self.process = process
        self._wire: Wire | None = wire
        self._receiver: Receiver | None = None

    def attach(self, receiver: Receiver) -> None:
        """Deliver what comes in to this receiver."""
        self._receiver = receiver

    def write(self, data: bytes) -> None:
        """Write one whole frame, if the process lives as long. Raises LinkLost, Crash."""
        moment = self.process.at_write()
        if self._wire is None:
            raise LinkLost("the connection has ended", left=False)
        self._wire.leaves(self.process, data, whole=moment is not Moment.HALF)
        if moment is not None:
            self.process.die()
            raise Crash

    def close(self, *, abort: bool = False) -> None:  # noqa: ARG002 - what is on its way cannot be taken back
        """Close at once."""
        if not self.process.dead:
            self.orphaned()

    def orphaned(self) -> None:
        """Nobody has it open any more."""
        wire, self._wire, self._receiver = self._wire, None, None
        if wire is not None:
            wire.closed()

    def hear(self, data: bytes) -> None:
        """Bytes come in, in the name of the process."""
        if self._receiver is not None and self._wire is not None:
            self._wire._road.history.note(self.process.name, f"from {self._wire._road.name}", data)
            self._receiver.heard(data)

    def ends(self) -> None:
        """The device has ended the connection, or the plug was pulled."""
        receiver, self._wire, self._receiver = self._receiver, None, None
        if receiver is not None:
            receiver.lost("the connection has ended")


def _unheard(*_: bytes) -> None:
    """Nobody listens."""
