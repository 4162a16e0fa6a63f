"""What must every link do? One conformance function, whatever carries the bytes."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import pytest

from agent.links.link import Link, LinkLost

WAIT_S = 5.0
SEED = 7019


class Peer(Protocol):
    """The other end of a link under test."""

    async def receive(self, size: int) -> bytes:
        """Everything that came in, once it is at least `size` bytes."""

    def feed(self, data: bytes) -> None:
        """Send bytes."""

    def cut(self) -> None:
        """End the stream as this kind of peer ends it."""


Opener = Callable[[], Awaitable[tuple[Link, Peer]]]


class Listener:
    """A receiver that notes everything."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.lost_why: list[str] = []
        self._something = asyncio.Event()

    def heard(self, data: bytes) -> None:
        """Bytes came in."""
        assert data, "an empty piece was delivered"
        assert not self.lost_why, "bytes were delivered after the end"
        self.pieces.append(data)
        self._something.set()

    @property
    def data(self) -> bytes:
        """Everything that was heard, from the pieces as they are now."""
        return b"".join(self.pieces)

    def lost(self, why: str) -> None:
        """The stream ended."""
        self.lost_why.append(why)
        self._something.set()

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait until something is true of what was heard."""
        async with asyncio.timeout(WAIT_S):
            while not done():
                self._something.clear()
                await self._something.wait()


@dataclass(frozen=True, slots=True)
class Ends:
    """How the links of one kind end. `in_order`: what was sent before still arrives; a pulled plug takes it along."""

    why: str = "the device closed the connection"
    in_order: bool = True


async def check_link(open_pair: Opener, ends: Ends = Ends()) -> None:
    """Run every check on a link of its own."""
    await _peer_ends(open_pair, ends)
    for check in (_bytes_both_ways, _we_close, _we_abort, _we_close_with_bytes_on_the_way, _two_at_once):
        await check(open_pair)


async def _attached(open_pair: Opener) -> tuple[Link, Peer, Listener]:
    link, peer = await open_pair()
    listener = Listener()
    link.attach(listener)
    return link, peer, listener


async def _bytes_both_ways(open_pair: Opener) -> None:
    """All bytes of both ways arrive whole and in order, however they are cut."""
    link, peer, listener = await _attached(open_pair)
    dice = random.Random(SEED)
    stream = dice.randbytes(100_000)
    rest = stream
    while rest:
        size = dice.choice((1, 2, 63, 600, 5000))
        peer.feed(rest[:size])
        rest = rest[size:]
    frames = [dice.randbytes(dice.randint(1, 519)) for _ in range(50)]
    for frame in frames:
        link.write(frame)
    sent = b"".join(frames)
    async with asyncio.timeout(WAIT_S):
        assert await peer.receive(len(sent)) == sent, f"seed {SEED}"
    await listener.until(lambda: len(listener.data) >= len(stream))
    assert listener.data == stream, f"seed {SEED}"
    assert listener.lost_why == []
    link.close()


async def _peer_ends(open_pair: Opener, ends: Ends) -> None:
    """The end is told once, after the last bytes, with a reason; writing is LinkLost from then on."""
    link, peer, listener = await _attached(open_pair)
    peer.feed(b"goodbye")
    if not ends.in_order:
        await listener.until(lambda: listener.data == b"goodbye")
    peer.cut()
    await listener.until(lambda: bool(listener.lost_why))
    assert listener.data == b"goodbye"
    for _ in range(2):
        with pytest.raises(LinkLost, match=ends.why):
            link.write(b"x")
    link.close()
    link.close(abort=True)
    await _turns()
    [why] = listener.lost_why
    assert re.fullmatch(ends.why, why)


async def _we_close(open_pair: Opener) -> None:
    """Closing is at once and silent; writing is LinkLost from then on."""
    link, _, listener = await _attached(open_pair)
    link.close()
    with pytest.raises(LinkLost, match="closed"):
        link.write(b"x")
    link.close()
    await _turns()
    assert (listener.data, listener.lost_why) == (b"", [])


async def _we_abort(open_pair: Opener) -> None:
    """Aborting is closing: at once, silent, and more than once if need be."""
    link, _, listener = await _attached(open_pair)
    link.write(b"on its way")
    link.close(abort=True)
    with pytest.raises(LinkLost, match="closed"):
        link.write(b"x")
    link.close(abort=True)
    link.close()
    await _turns()
    assert (listener.data, listener.lost_why) == (b"", [])


async def _we_close_with_bytes_on_the_way(open_pair: Opener) -> None:
    """Nothing is delivered after closing, also not what was on its way."""
    link, peer, listener = await _attached(open_pair)
    peer.feed(b"late")
    link.close()
    peer.feed(b"later")
    peer.cut()
    await _turns()
    assert (listener.data, listener.lost_why) == (b"", [])


async def _two_at_once(open_pair: Opener) -> None:
    """Two open links never see each other's bytes, nor do kept pieces change when more comes in."""
    one, two = await _attached(open_pair), await _attached(open_pair)
    for _ in range(20):
        one[1].feed(b"1" * 50)
        two[1].feed(b"2" * 50)
        await asyncio.sleep(0)
    for link, _, listener in (one, two):
        await listener.until(lambda listener=listener: len(listener.data) == 1000)  # type: ignore[misc]
        link.close()
    assert (one[2].data, two[2].data) == (b"1" * 1000, b"2" * 1000)


async def _turns() -> None:
    """Let the event loop and, where there is one, the operating system deliver what they have."""
    for _ in range(20):
        await asyncio.sleep(0)
