"""Faults on the way back: the effect took place, and what a client sees of the ack."""

import asyncio
import itertools

import pytest

from protocol.native.frame import decode
from tests.simulator.bench import ADJUST, Client, bench


@pytest.mark.parametrize("fault", ["drop_ack", "bit_flip", "truncate"])
def test_a_lost_ack_is_silence_after_the_effect(fault: str) -> None:
    """The command ran although the client heard nothing that counts; a repeat is answered from memory."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1) is None
        assert client.device.ledger.count(ADJUST) == 1
        client.connect()  # half an ack would swallow the beginning of the next one
        reply = await client.command(session, 1, attempt=2)
        assert reply is not None
        assert (reply.text, reply.replayed) == ("15", True)

    assert bench(scenario, f"cmd 1: {fault}").ledger.count(ADJUST) == 1


def test_bit_flip_changes_one_bit() -> None:
    """Exactly one bit differs from the stored answer, and the closing zero stays."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        await client.command(session, 1)
        await client.command(session, 1)  # the same attempt: only the REPLAYED flag and the CRC differ
        await client.command(session, 1)
        flipped, whole = client.pieces[-2][1], client.pieces[-1][1]
        assert sum((a ^ b).bit_count() for a, b in zip(flipped, whole, strict=True)) == 1
        assert flipped[-1] == 0

    bench(scenario, "cmd 2: bit_flip")


def test_truncate_leaves_the_first_half() -> None:
    """What arrives is a beginning of the ack, without its end."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        for _ in range(3):
            await client.command(session, 1)
        half, whole = client.pieces[-2][1], client.pieces[-1][1]
        assert whole.startswith(half)
        assert len(half) == len(whole) // 2

    bench(scenario, "cmd 2: truncate")


def test_delay_brings_the_ack_past_the_next_command() -> None:
    """The ack of the first command comes after the answer to the second, at its own time."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1, timeout_s=0.5) is None
        second = await client.command(session, 2)
        assert second is not None
        assert second.text == "20"
        await asyncio.sleep(1)
        assert client.pieces[-1][0] == pytest.approx(0.8)
        assert client.ignored() == ["late"]

    assert bench(scenario, "cmd 1: delay 0.8").ledger.count(ADJUST) == 2


def test_duplicate_is_one_effect_and_two_acks() -> None:
    """Both copies of the ack are the same bytes."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1) is not None
        data = client.pieces[-1][1]
        assert data[: len(data) // 2] == data[len(data) // 2 :]
        assert client.ignored() == ["late"]

    assert bench(scenario, "cmd 1: duplicate").ledger.count(ADJUST) == 1


def test_junk_stands_before_and_after_the_ack() -> None:
    """The ack is found between two lots of noise."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        reply = await client.command(session, 1)
        assert reply is not None
        assert reply.text == "15"
        assert client.ignored() == ["junk", "junk"]

    bench(scenario, "cmd 1: junk")


def test_junk_repeats_with_its_seed() -> None:
    """Two devices of one seed make the same noise, another seed makes another."""

    def noise(seed: int) -> bytes:
        heard: list[bytes] = []

        async def scenario(client: Client) -> None:
            await client.read()
            heard.append(client.pieces[-1][1])

        bench(scenario, "read 1: junk", seed=seed)
        return heard[0]

    assert noise(3) == noise(3) != noise(4)


@pytest.mark.parametrize(("fault", "gap_s"), [("split", 0.0), ("trickle 0.05", 0.05)])
def test_bytes_come_one_by_one(fault: str, gap_s: float) -> None:
    """The ack arrives in single bytes at an even pace and still counts."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        reply = await client.command(session, 1, timeout_s=10)
        assert reply is not None
        pieces = client.pieces[1:]
        assert {len(data) for _, data in pieces} == {1}
        gaps = [after - before for (before, _), (after, _) in itertools.pairwise(pieces)]
        assert gaps == pytest.approx([gap_s] * len(gaps))

    bench(scenario, f"cmd 1: {fault}")


def test_slow_bytes_are_never_mixed_with_the_next_answer() -> None:
    """An answer that follows a trickling one waits until that is complete."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1, timeout_s=0.3) is None
        assert await client.read() == "15"
        assert client.ignored() == ["late"]

    bench(scenario, "cmd 1: trickle 0.05")


def test_cut_ends_the_connection_after_the_effect() -> None:
    """No ack, a closed connection, and a repeat on a new one is answered from memory."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1) is None
        assert client.cut
        client.conn.feed(b"anything\0")  # nobody hears it
        client.connect()
        reply = await client.command(session, 1, attempt=2)
        assert reply is not None
        assert reply.replayed

    assert bench(scenario, "cmd 1: cut").ledger.count(ADJUST) == 1


def test_foreign_replies_stand_in_front_and_carry_other_values() -> None:
    """A client that took one of them would have the wrong value."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        reply = await client.command(session, 1)
        assert reply is not None
        assert reply.text == "15"
        assert client.ignored() == ["foreign", "foreign"]
        unit, other_session, own = map(decode, client.pieces[-1][1].split(b"\0")[:3])
        assert (unit.unit, unit.session, unit.seq) == (2, own.session, own.seq)
        assert (other_session.unit, other_session.seq) == (1, own.seq)
        assert other_session.session != own.session
        assert unit.payload == other_session.payload != own.payload
        assert await client.read() == "15"
        assert (await client.hello()) is not None

    bench(scenario, "any 2-4: foreign")


def test_echo_brings_the_request_back_first() -> None:
    """The bytes in front of the ack are the client's own."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1) is not None
        assert client.pieces[-1][1].startswith(client.device.copies[0].data)
        assert client.ignored() == ["echo"]

    bench(scenario, "cmd 1: echo")


def test_stale_reply_is_the_answer_before_this_one() -> None:
    """The previous answer comes again, byte for byte, in front."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        await client.command(session, 1)
        before = client.pieces[-1][1].removeprefix(client.device.copies[0].data)
        reply = await client.command(session, 2)
        assert reply is not None
        assert reply.text == "20"
        assert client.pieces[-1][1].startswith(before)
        assert client.ignored() == ["echo", "late"]

    bench(scenario, "cmd 1: echo; cmd 2: stale_reply")


def test_what_stands_in_front_comes_also_without_the_ack() -> None:
    """An echo needs no answer behind it."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1) is None
        assert client.pieces[-1][1] == client.device.copies[0].data

    bench(scenario, "cmd 1: echo, drop_ack")
