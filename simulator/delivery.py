"""What do the bytes of one reply look like by the time they arrive, and at which pace do they arrive?

`disturbed` applies the faults that change bytes; it is pure, its luck comes from the generator it is given.
`deliver` applies those that take time. `Outbox` is one direction of one connection: what it sends stays in
order and whole, however slowly it trickles.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable
from functools import partial

from simulator.fault_kinds import Fault
from simulator.fault_terms import Faults
from simulator.tongues import Tongue

_JUNK_MIN, _JUNK_MAX = 3, 24


def disturbed(
    reply: bytes, faults: Faults, tongue: Tongue, *, request: bytes, previous: bytes, rng: random.Random
) -> bytes:
    """What comes back on the wire instead of `reply`, in the order in which it comes.

    Args:
        reply: One answer with its end.
        faults: Those of this exchange; faults that do not concern the reply's bytes are ignored.
        tongue: Of the device.
        request: The bytes of the request, for `echo`.
        previous: The answer sent before this one, for `stale_reply`; empty where there was none.
        rng: Draws noise and bits.
    """
    front = b""
    if Fault.ECHO in faults:
        front += request
    if Fault.NOTICE in faults:
        front += tongue.notice
    if Fault.STALE_REPLY in faults:
        front += previous
    if Fault.FOREIGN in faults:
        front += tongue.strangers(reply)
    if Fault.DROP_ACK in faults:
        return front
    own = tongue.of_another_unit(reply) if Fault.WRONG_UNIT in faults else reply
    if Fault.BIT_FLIP in faults:
        own = _flipped(own, rng)
    if Fault.TRUNCATE in faults:
        own = own[: len(own) // 2]
    if Fault.DUPLICATE in faults:
        own += own
    if Fault.JUNK in faults:
        own = _junk(tongue, rng) + own + _junk(tongue, rng)
    return front + own


def _flipped(reply: bytes, rng: random.Random) -> bytes:
    bit = rng.randrange(8 * (len(reply) - 1))
    flipped = bytearray(reply)
    flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)


def _junk(tongue: Tongue, rng: random.Random) -> bytes:
    """Noise that ends as an answer does, so that the one behind it can still be found."""
    noise = bytes(rng.randrange(1, 256) for _ in range(rng.randint(_JUNK_MIN, _JUNK_MAX)))
    return noise + tongue.end


def deliver(outbox: "Outbox", data: bytes, faults: Faults) -> None:
    """Send the bytes of a reply at the time and the pace of its faults, by the running loop's timers."""
    slow = Fault.SPLIT in faults or Fault.TRICKLE in faults
    send = partial(outbox.send, data, piece=1 if slow else None, gap_s=faults.seconds(Fault.TRICKLE))
    if Fault.DELAY in faults:
        asyncio.get_running_loop().call_later(faults.seconds(Fault.DELAY), send)
    else:
        send()


class Outbox:
    """Bytes on their way in one direction of one connection, delivered by the running loop's timers."""

    def __init__(self, sink: Callable[[bytes], None]) -> None:
        self._sink = sink
        self._waiting: deque[tuple[Callable[[], None], float]] = deque()
        self._pacing: asyncio.TimerHandle | None = None
        self._held = False
        self._closed = False
        self._kept = b""
        self._release: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """How many deliveries wait."""
        return len(self._waiting)

    def send(self, data: bytes, *, piece: int | None = None, gap_s: float = 0.0) -> None:
        """Queue bytes behind what is still on its way: in one piece, or in pieces of `piece` bytes.

        Args:
            data: What to deliver.
            piece: Bytes per delivery; None for all at once.
            gap_s: Seconds after each piece.
        """
        size = piece or max(1, len(data))
        for at in range(0, len(data), size):
            self._put(partial(self._sink, data[at : at + size]), gap_s)
        self._pump()

    def pause(self, seconds: float) -> None:
        """Let so many seconds pass before what is queued from now on."""
        self._put(_nothing, seconds)
        self._pump()

    def then(self, step: Callable[[], None]) -> None:
        """Do something as soon as everything before it is delivered."""
        self._put(step, 0.0)
        self._pump()

    def hold(self, held: bool) -> None:
        """Stop delivering (True), or go on with what has waited (False)."""
        self._held = held
        self._pump()

    def keep(self, data: bytes, seconds: float) -> None:
        """Hold bytes back until `kept` asks for them, at most for so many seconds; then they are sent."""
        self._kept += data
        if self._release is None:
            self._release = asyncio.get_running_loop().call_later(seconds, lambda: self.send(self.kept()))

    def kept(self) -> bytes:
        """What was held back, which is held back no longer."""
        if self._release is not None:
            self._release.cancel()
            self._release = None
        data, self._kept = self._kept, b""
        return data

    def close(self) -> None:
        """Forget what has not been delivered; nothing is delivered from now on."""
        self._closed = True
        self._waiting.clear()
        self.kept()
        if self._pacing is not None:
            self._pacing.cancel()

    def _put(self, step: Callable[[], None], gap_s: float) -> None:
        if not self._closed:
            self._waiting.append((step, gap_s))

    def _pump(self) -> None:
        while self._waiting and self._pacing is None and not self._held:
            step, gap_s = self._waiting.popleft()
            if gap_s or self._waiting:
                self._pacing = asyncio.get_running_loop().call_later(gap_s, self._go_on)
            step()

    def _go_on(self) -> None:
        self._pacing = None
        self._pump()


def _nothing() -> None:
    """A delivery of no bytes, for its time."""
