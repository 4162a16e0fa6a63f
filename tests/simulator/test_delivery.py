"""Bytes on the way back: which ones, in which pieces, when."""

import asyncio
import random
from types import MappingProxyType

from protocol.native.codes import Type
from protocol.native.frame import Frame, encode
from simulator.delivery import Outbox, disturbed
from simulator.fault_kinds import Fault
from simulator.fault_terms import Faults
from simulator.loop import run
from simulator.tongues import LSQ_FRAMES

REPLY = encode(Frame(Type.CMD, True, 1, 1, 0, 0x20001, 1, b"\x0015"))


def test_bit_flip_never_touches_the_closing_zero() -> None:
    """Whatever the seed, one bit before the zero is wrong."""
    faults = Faults(MappingProxyType({str(Fault.BIT_FLIP): ()}))
    for seed in range(1_000):
        flipped = disturbed(REPLY, faults, LSQ_FRAMES, request=b"", previous=b"", rng=random.Random(seed))
        wrong = [(a ^ b).bit_count() for a, b in zip(flipped, REPLY, strict=True)]
        assert (sum(wrong), wrong[-1]) == (1, 0), f"seed {seed}"


def test_pieces_leave_one_by_one_and_in_order() -> None:
    """Other callbacks run between two pieces, and what is sent later waits for all of them."""
    heard: list[tuple[float, bytes]] = []

    async def main() -> None:
        clock = asyncio.get_running_loop().time
        outbox = Outbox(lambda data: heard.append((clock(), data)))
        outbox.send(b"abc", piece=1)
        outbox.send(b"def")
        assert [data for _, data in heard] == [b"a"]
        await asyncio.sleep(1)
        outbox.send(b"gh", piece=1, gap_s=0.5)
        await asyncio.sleep(5)

    run(main)
    assert heard == [(0, b"a"), (0, b"b"), (0, b"c"), (0, b"def"), (1, b"g"), (1.5, b"h")]


def test_closed_outbox_delivers_nothing() -> None:
    """Neither what waited nor what is sent afterwards."""
    heard: list[bytes] = []

    async def main() -> None:
        outbox = Outbox(heard.append)
        outbox.send(b"ab", piece=1, gap_s=1)
        outbox.close()
        outbox.send(b"c")
        await asyncio.sleep(5)
        idle = Outbox(heard.append)
        idle.close()
        idle.send(b"d")

    run(main)
    assert heard == [b"a"]
