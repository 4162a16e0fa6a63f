"""What do the bytes of one reply look like by the time they arrive, and at which pace do they arrive?

`disturbed` applies the faults that change bytes; it is pure, its luck comes from the generator it is given.
`deliver` applies those that take time. `Outbox` is one direction of one connection: what it sends stays in
order and whole, however slowly it trickles.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from protocol.native.codes import SESSION_MAX, UNIT_MAX, Status, Type
from protocol.native.frame import decode, encode
from simulator.fault_kinds import Fault, Faults

_JUNK_MIN, _JUNK_MAX = 3, 24
_FOREIGN_TEXT = b"99"


def disturbed(reply: bytes, faults: Faults, *, request: bytes, previous: bytes, rng: random.Random) -> bytes:
    """What comes back on the wire instead of `reply`, in the order in which it comes.

    Args:
        reply: One encoded frame with its closing zero.
        faults: Those of this exchange; faults that do not concern the reply's bytes are ignored.
        request: The encoded request, for `echo`.
        previous: The encoded reply sent before this one, for `stale_reply`; empty where there was none.
        rng: Draws noise and bits.
    """
    front = b""
    if Fault.ECHO in faults:
        front += request
    if Fault.STALE_REPLY in faults:
        front += previous
    if Fault.FOREIGN in faults:
        front += _foreign(reply)
    if Fault.DROP_ACK in faults:
        return front
    own = reply
    if Fault.BIT_FLIP in faults:
        own = _flipped(own, rng)
    if Fault.TRUNCATE in faults:
        own = own[: len(own) // 2]
    if Fault.DUPLICATE in faults:
        own += own
    if Fault.JUNK in faults:
        own = _junk(rng) + own + _junk(rng)
    return front + own


def _foreign(reply: bytes) -> bytes:
    """Two valid replies that are not ours, of another unit and of another session; values differ too."""
    frame = decode(reply.removesuffix(b"\0"))
    if frame.type in (Type.CMD, Type.READ):
        frame = replace(frame, payload=bytes((Status.OK,)) + _FOREIGN_TEXT)
    unit = replace(frame, unit=frame.unit % UNIT_MAX + 1)
    session = replace(frame, session=frame.session ^ SESSION_MAX)
    return encode(unit) + encode(session)


def _flipped(reply: bytes, rng: random.Random) -> bytes:
    bit = rng.randrange(8 * (len(reply) - 1))
    flipped = bytearray(reply)
    flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)


def _junk(rng: random.Random) -> bytes:
    """Noise that ends with a zero, so that the frame after it can still be found."""
    return bytes(rng.randrange(1, 256) for _ in range(rng.randint(_JUNK_MIN, _JUNK_MAX))) + b"\0"


def deliver(outbox: "Outbox", data: bytes, faults: Faults) -> None:
    """Send the bytes of a reply at the time and the pace of its faults, by the running loop's timers."""
    slow = Fault.SPLIT in faults or Fault.TRICKLE in faults
    send = partial(outbox.send, data, piece=1 if slow else None, gap_s=faults.seconds(Fault.TRICKLE))
    if Fault.DELAY in faults:
        asyncio.get_running_loop().call_later(faults.seconds(Fault.DELAY), send)
    else:
        send()


class Outbox:
    """Bytes on their way back on one connection, delivered by the running loop's timers."""

    def __init__(self, sink: Callable[[bytes], None]) -> None:
        self._sink = sink
        self._waiting: deque[tuple[bytes, float]] = deque()
        self._pacing: asyncio.TimerHandle | None = None
        self._held = False
        self._closed = False

    def send(self, data: bytes, *, piece: int | None = None, gap_s: float = 0.0) -> None:
        """Queue bytes behind what is still on its way: in one piece, or in pieces of `piece` bytes.

        Args:
            data: What to deliver.
            piece: Bytes per delivery; None for all at once.
            gap_s: Seconds after each piece.
        """
        size = piece or max(1, len(data))
        if self._closed:
            return
        self._waiting.extend((data[at : at + size], gap_s) for at in range(0, len(data), size))
        self._pump()

    def hold(self, held: bool) -> None:
        """Stop delivering (True), or go on with what has waited (False)."""
        self._held = held
        self._pump()

    def close(self) -> None:
        """Forget what has not been delivered; nothing is delivered from now on."""
        self._closed = True
        self._waiting.clear()
        if self._pacing is not None:
            self._pacing.cancel()

    def _pump(self) -> None:
        while self._waiting and self._pacing is None and not self._held:
            data, gap_s = self._waiting.popleft()
            if gap_s or self._waiting:
                self._pacing = asyncio.get_running_loop().call_later(gap_s, self._go_on)
            self._sink(data)

    def _go_on(self) -> None:
        self._pacing = None
        self._pump()
