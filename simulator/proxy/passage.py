"""What happens to the messages of one connection on their way through the proxy?

A message is what was read at once in one direction, or, with a frame, what is one of those. Each is
counted in its direction, over all connections, and suffers the faults that the plan has for it.

1. Each direction keeps its order. A delayed message delays what follows it.
2. A side that ends in good order has its last bytes delivered first, however late, and then the other side is
   ended. A side that is reset loses what is still under way to the other, which is reset too.
3. `freeze` stops both directions of this connection and their ends, and loses nothing.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Protocol

from simulator.cutter import AsRead, Cutter, EndCutter
from simulator.delivery import Outbox
from simulator.fault_terms import Faults
from simulator.faults import FaultPlan
from simulator.modbus_frames import MbapCutter, RtuCutter
from simulator.proxy.faults import ProxyFault

FRAME_MAX = 4096
FRAMES: Mapping[str, Callable[[], Cutter]] = MappingProxyType(
    {
        "raw": AsRead,
        "line": partial(EndCutter, b"\n", FRAME_MAX),
        "cr": partial(EndCutter, b"\r", FRAME_MAX),
        "zero": partial(EndCutter, b"\0", FRAME_MAX),
        "mbap": MbapCutter,
        "rtu": RtuCutter,
    }
)
WAITING_MAX = 10_000
_CR_ALONE = re.compile(rb"\r[^\r\n]")

Observer = Callable[[str, str, bytes], None]


class Side(Protocol):
    """One end of a passage."""

    def write(self, data: bytes) -> None:
        """Send bytes; after an end they are lost."""

    def end(self) -> None:
        """The other side has ended in good order: so does a connection, while a line of clients stays."""

    def cut(self) -> None:
        """End at once; of a serial port the plug is pulled. May be called again."""

    def reset(self) -> None:
        """As `end`, at once and with a TCP reset; what is under way is lost."""


class Traffic:
    """What all passages of one proxy share.

    Attributes:
        counts: Messages as `to` and `from`, their bytes as `bytes to` and `bytes from`, faults by name, and
            `connections`, `unreachable`, `overrun`.
    """

    def __init__(self, plan: FaultPlan, frame: str, observe: Observer) -> None:
        """Set the rules.

        Args:
            plan: In the words of `proxy.faults.PROXY`.
            frame: One of FRAMES.
            observe: Told of everything: what it is, a line about it, and the bytes of a message.
        """
        self.plan = plan
        self.counts: Counter[str] = Counter()
        self.observe = observe
        self.previous: dict[str, bytes] = {"to": b"", "from": b""}
        self._frame = frame
        self._says_so = frame == "line"

    def cutter(self) -> Cutter:
        """A new one for one direction of one connection."""
        return FRAMES[self._frame]()

    def look_for_cr(self, way: str, data: bytes, *, over: bool = False) -> None:
        """Say once where lines end in CR alone, which wait for an LF that never comes. `over`: nothing follows `data`.

        A CR that ends what has been read so far may be half of a CRLF, so it is not cut there.
        """
        if self._says_so and (_CR_ALONE.search(data) or (over and data.endswith(b"\r"))):
            self._says_so = False
            self.observe(
                "held", f"{way}: a line ends in CR alone and waits for an LF; --frame cr cuts at CR", b""
            )

    def next(self, way: str, data: bytes) -> Faults:
        """Count one message and say what goes wrong with it."""
        self.counts.update({way: 1, f"bytes {way}": len(data)})
        self.observe(way, f"{way} {self.counts[way]}", data)
        faults = self.plan.next(way)
        for fault in faults.armed:
            self.counts[fault] += 1
            self.observe("fault", f"{fault} at {way} {self.counts[way]}", b"")
        return faults


class _Way:
    """One direction: what is on its way, and where the messages are cut."""

    def __init__(self, name: str, cutter: Cutter) -> None:
        self.name = name
        self.cutter = cutter
        self.side: Side | None = None
        self.outbox = Outbox(self._write)
        self.kept = b""
        self.last = b""

    def _write(self, data: bytes) -> None:
        if self.side is not None:
            self.side.write(data)


class Passage:
    """One connection of a client and the one to the device that belongs to it."""

    def __init__(self, traffic: Traffic, client: Side, over: Callable[[], None]) -> None:
        """Begin with the client's side; `over` is called once, when both sides have ended."""
        self._traffic = traffic
        self._over = over
        self._ended = False
        self._thaw: asyncio.TimerHandle | None = None
        self._to = _Way("to", traffic.cutter())
        self._from = _Way("from", traffic.cutter())
        self._from.side = client
        self._to.outbox.hold(True)
        traffic.counts["connections"] += 1

    def reached(self, device: Side) -> None:
        """The device's side is there; what waited for it goes on."""
        self._to.side = device
        if self._ended:
            device.cut()
        elif self._thaw is None:
            self._to.outbox.hold(False)

    def unreachable(self, why: str) -> None:
        """There is no device's side, and so the client's ends; what waited is lost."""
        self._traffic.counts["unreachable"] += 1
        self._traffic.observe("unreachable", why, b"")
        self._finish(_end)

    def client_said(self, data: bytes) -> None:
        """Bytes from the client."""
        self._said(self._to, data)

    def device_said(self, data: bytes) -> None:
        """Bytes from the device."""
        self._said(self._from, data)

    def client_left(self, *, reset: bool = False) -> None:
        """The client's side has ended."""
        self._left(self._to, reset)

    def device_left(self, *, reset: bool = False) -> None:
        """The device's side has ended."""
        self._left(self._from, reset)

    def cut(self) -> None:
        """End both sides at once."""
        self._finish(_cut)

    def _said(self, way: _Way, data: bytes) -> None:
        self._traffic.look_for_cr(way.name, way.last + data)
        way.last = data[-1:]
        for message in way.cutter.feed(data):
            if self._ended:
                return
            self._pass(way, message)

    def _pass(self, way: _Way, message: bytes) -> None:
        faults = self._traffic.next(way.name, message)
        if len(way.outbox) > WAITING_MAX:
            self._traffic.counts["overrun"] += 1
            self._finish(_reset)
        elif ProxyFault.CUT in faults:
            self._finish(_cut)
        elif ProxyFault.RST in faults:
            self._finish(_reset)
        else:
            if ProxyFault.FREEZE in faults:
                self._freeze(faults.seconds(ProxyFault.FREEZE))
            self._send(way, message, faults)
        self._traffic.previous[way.name] = message

    def _send(self, way: _Way, message: bytes, faults: Faults) -> None:
        previous = self._traffic.previous
        if ProxyFault.ECHO in faults and way is self._to:
            self._from.outbox.send(message)
        arriving = disturbed(message, faults, previous=previous[way.name])
        if ProxyFault.ECHO in faults and way is self._from:
            arriving = previous["to"] + arriving
        if ProxyFault.HOLD in faults:
            way.kept += arriving
        elif arriving:
            arriving, way.kept = way.kept + arriving, b""
            _deliver(way.outbox, arriving, faults)

    def _freeze(self, seconds: float) -> None:
        if self._thaw is not None:
            self._thaw.cancel()
        self._thaw = asyncio.get_running_loop().call_later(seconds, self._thawed)
        self._to.outbox.hold(True)
        self._from.outbox.hold(True)

    def _thawed(self) -> None:
        self._thaw = None
        self._from.outbox.hold(False)
        if self._to.side is not None:
            self._to.outbox.hold(False)

    def _left(self, way: _Way, reset: bool) -> None:
        """The side from which `way` comes has gone: deliver what it said, then end the other."""
        if self._ended:
            return
        if reset:
            self._finish(_reset)
            return
        self._traffic.look_for_cr(way.name, way.last, over=True)
        rest = way.cutter.rest()
        if rest:
            self._pass(way, rest)
        way.outbox.then(lambda: self._finish(_end))

    def _finish(self, how: Callable[[Side], None]) -> None:
        if self._ended:
            return
        self._ended = True
        if self._thaw is not None:
            self._thaw.cancel()
        for way in (self._to, self._from):
            way.outbox.close()
            if way.side is not None:
                how(way.side)
        self._over()


def _end(side: Side) -> None:
    side.end()


def _cut(side: Side) -> None:
    side.cut()


def _reset(side: Side) -> None:
    side.reset()


def disturbed(message: bytes, faults: Faults, *, previous: bytes) -> bytes:
    """What comes instead of a message; `previous` is the one before it in its direction."""
    own = message
    if ProxyFault.REPLACE in faults:
        own = faults.data(ProxyFault.REPLACE)
    if ProxyFault.FLIP in faults:
        own = bytes((own[0] ^ 1,)) + own[1:]
    if ProxyFault.TRUNC in faults:
        own = own[: faults.count(ProxyFault.TRUNC)]
    if ProxyFault.DUP in faults:
        own += own
    if ProxyFault.JUNK in faults:
        own = faults.data(ProxyFault.JUNK) + own
    if ProxyFault.DROP in faults:
        own = b""
    return previous + own if ProxyFault.STALE in faults else own


def _deliver(outbox: Outbox, data: bytes, faults: Faults) -> None:
    if ProxyFault.DELAY in faults:
        outbox.pause(faults.seconds(ProxyFault.DELAY))
    if ProxyFault.TRICKLE in faults:
        outbox.send(data, piece=1, gap_s=faults.seconds(ProxyFault.TRICKLE))
    elif ProxyFault.SPLIT in faults:
        first, gap_s = faults.count(ProxyFault.SPLIT), faults.seconds(ProxyFault.SPLIT)
        outbox.send(data[:first], gap_s=gap_s)
        outbox.send(data[first:])
    else:
        outbox.send(data)
