"""Each fault: what a plain client sees of it, and what the ledger says really happened."""

import asyncio
import itertools

import pytest

from protocol.native.codes import Status, Type
from protocol.native.frame import decode, digest
from protocol.native.messages import CommandReply
from simulator.faults import Fault
from tests.simulator.bench import ADJUST, Client, bench


def test_without_faults_a_command_takes_effect_once() -> None:
    """The answer carries the value, a repeat the same value without a second effect."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        first = await client.command(session, 1)
        again = await client.command(session, 1, attempt=2)
        assert first is not None
        assert again is not None
        assert (first.status, first.text, first.replayed) == (Status.OK, "15", False)
        assert (again.status, again.text, again.replayed) == (Status.OK, "15", True)
        assert await client.read() == "15"

    device = bench(scenario)
    (entry,) = device.ledger.entries
    assert (entry.n, entry.text, entry.value_after, entry.seq) == (1, ADJUST, "15", 1)
    assert entry.boot == device.boot_id
    assert device.counts == {"connections": 1, "open": 1, "cmd": 2, "read": 1}


def test_refused_commands_are_not_in_the_ledger() -> None:
    """Bad arguments and unknown commands consume their number and have no effect."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        for seq, (text, status) in enumerate(
            [("SET offset 101", Status.BAD_ARG), ("DANCE", Status.BAD_COMMAND)], start=1
        ):
            reply = await client.command(session, seq, text)
            assert reply is not None
            assert reply.status is status

    assert bench(scenario).ledger.entries == ()


def test_hello_names_the_device() -> None:
    """HELLO carries identity, tier and sizes as the device was made."""

    async def scenario(client: Client) -> None:
        reply = await client.hello()
        assert reply is not None
        assert (reply.serial, reply.model, reply.nv_tier, reply.reply_max) == ("SIM-1", "demo", 1, 32)
        assert (reply.boot_id, reply.record) == (client.device.boot_id, None)

    bench(scenario)


def test_drop_request_has_no_effect_and_no_answer() -> None:
    """The lost copy never ran; the next one runs as the first."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1) is None
        assert client.device.ledger.entries == ()
        reply = await client.command(session, 1, attempt=2)
        assert reply is not None
        assert not reply.replayed

    assert bench(scenario, "cmd 1: drop_request").ledger.count(ADJUST) == 1


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


def test_duplicate_request_is_one_copy_of_the_agent() -> None:
    """The device answers twice, acts once, and notes one copy."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        reply = await client.command(session, 1)
        assert reply is not None
        assert not reply.replayed
        assert client.ignored() == ["late"]

    device = bench(scenario, "cmd 1: duplicate_request")
    assert (device.ledger.count(ADJUST), len(device.copies), device.counts["cmd"]) == (1, 1, 1)


def test_second_copy_of_a_duplicated_request_has_no_faults() -> None:
    """With the first ack lost, the network's own copy still brings an answer."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        reply = await client.command(session, 1)
        assert reply is not None
        assert reply.replayed

    assert bench(scenario, "cmd 1: duplicate_request, drop_ack").ledger.count(ADJUST) == 1


def test_late_request_is_overtaken() -> None:
    """The delayed copy arrives after a NOP has burnt its number, and finds it spent."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1, timeout_s=0.5) is None
        burnt = await client.nop(session, 1)
        assert burnt is not None
        assert (burnt.status, burnt.replayed) == (Status.OK, False)
        await asyncio.sleep(2)
        assert client.ignored() == ["late"]  # FALSE_RETRY to the copy

    assert bench(scenario, "cmd 1: late_request 1.5").ledger.entries == ()


def test_late_request_outlives_its_connection() -> None:
    """A copy that is still under way when its sender hangs up takes effect all the same."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1, timeout_s=0.5) is None
        client.conn.closed()
        await asyncio.sleep(2)
        assert client.device.ledger.count(ADJUST) == 1
        client.connect()
        reply = await client.command(session, 1, attempt=2)
        assert reply is not None
        assert reply.replayed

    assert bench(scenario, "cmd 1: late_request 1.5").ledger.count(ADJUST) == 1


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


def test_cut_loses_what_was_sent_behind() -> None:
    """A second command in the same piece of bytes goes down with the connection."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        first = client.requester.command(session, 1, 1, ADJUST)
        assert await client.ask(first + client.requester.command(session, 2, 1, "BEEP"), CommandReply) is None
        assert client.device.connected == 0

    device = bench(scenario, "cmd 1: cut")
    assert [entry.text for entry in device.ledger.entries] == [ADJUST]


def test_a_higher_open_ends_the_other_connections() -> None:
    """A takeover cuts the old agent off before its own session is announced."""

    async def scenario(client: Client) -> None:
        await client.open()
        other = Client(client.device)
        await other.open()
        assert (client.cut, other.cut, client.device.connected) == (True, False, 1)

    bench(scenario)


def test_cut_before_ends_the_connection_without_effect() -> None:
    """The request is lost with its connection; the repeat is the first to run."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1) is None
        assert client.cut
        assert client.device.ledger.entries == ()
        client.connect()
        reply = await client.command(session, 1, attempt=2)
        assert reply is not None
        assert not reply.replayed

    assert bench(scenario, "cmd 1: cut_before").ledger.count(ADJUST) == 1


def test_freeze_answers_nothing_then_works_off_everything() -> None:
    """What was sent to the hanging device, on any connection, is handled in order when it goes on."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1) is None
        assert len(client.device.ledger) == 0
        client.conn.closed()
        client.connect()
        assert await client.command(session, 2, "SET offset 1") is None
        await asyncio.sleep(1)
        assert [entry.at_s for entry in client.device.ledger.entries] == pytest.approx([2.5, 2.5])
        assert client.pieces[-1][0] == pytest.approx(2.5)
        assert await client.read() == "1"

    device = bench(scenario, "cmd 1: freeze 2.5")
    assert [entry.text for entry in device.ledger.entries] == [ADJUST, "SET offset 1"]


def test_freeze_holds_back_answers_already_under_way() -> None:
    """An ack that was delayed into the frozen time comes when that is over."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1, timeout_s=0.2) is None
        assert await client.read() is None
        await asyncio.sleep(3)
        assert [at for at, _ in client.pieces[1:]] == pytest.approx([2.2, 2.2])

    bench(scenario, "cmd 1: delay 0.5; read 1: freeze 2")


def test_busy_answers_in_progress_to_itself_and_busy_to_others() -> None:
    """While a command runs nothing else is taken; the effect comes at the end of the time."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1, timeout_s=0.5) is None
        assert client.device.ledger.entries == ()
        assert await client.command(session, 1, attempt=2, timeout_s=0.1) is None
        assert await client.command(session, 2, timeout_s=0.1) is None
        assert await client.read() is None
        assert client.waiting() == [Status.IN_PROGRESS, Status.BUSY, Status.BUSY]
        await asyncio.sleep(1)
        reply = await client.command(session, 2)
        assert reply is not None
        assert reply.text == "20"

    device = bench(scenario, "cmd 1: busy 2")
    assert [entry.at_s for entry in device.ledger.entries] == pytest.approx([2.0, 2.7], abs=0.2)


def test_busy_answers_the_copy_that_started_it() -> None:
    """The ack goes to the connection of the first copy, whoever asked since."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        reply = await client.command(session, 1, timeout_s=3)
        assert reply is not None
        assert (reply.text, reply.attempt) == ("15", 1)

    bench(scenario, "cmd 1: busy 2")


def test_refuse_consumes_the_number_without_effect() -> None:
    """REFUSED is stored and repeated word for word."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        for _ in range(2):
            reply = await client.command(session, 1)
            assert reply is not None
            assert (reply.status, reply.text) == (Status.REFUSED, "refused")

    assert bench(scenario, "cmd 1: refuse").ledger.entries == ()


@pytest.mark.parametrize("reply_max", [0, 8, 32])
def test_long_reply_is_done_but_not_kept(reply_max: int) -> None:
    """The first answer carries it all, a repeat says DONE_UNCACHED."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        first = await client.command(session, 1)
        again = await client.command(session, 1, attempt=2)
        assert first is not None
        assert again is not None
        assert first.text.startswith("15")
        assert len(first.text) > reply_max
        assert (again.status, again.uncached) == (Status.DONE_UNCACHED, Status.OK)

    assert bench(scenario, "cmd 1: long_reply", reply_max=reply_max).ledger.count(ADJUST) == 1


def test_indeterminate_is_stored_although_the_effect_took_place() -> None:
    """The device does not know; the ledger does."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        for _ in range(2):
            reply = await client.command(session, 1)
            assert reply is not None
            assert reply.status is Status.INDETERMINATE

    assert bench(scenario, "cmd 1: indeterminate").ledger.count(ADJUST) == 1


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


def test_faults_hold_for_every_kind_of_message() -> None:
    """OPEN, HELLO, READ and NOP lose their acks like commands do."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.hello() is None
        assert await client.read() is None
        assert await client.nop(session, 1) is None
        burnt = await client.nop(session, 1)
        assert burnt is not None
        assert burnt.replayed

    device = bench(scenario, "hello 1: drop_ack; read 1: bit_flip; nop 1: drop_ack; open 1: cut_before")
    assert (device.counts["open"], device.counts["nop"]) == (2, 2)


def test_copies_are_noted_in_full_also_where_they_are_lost() -> None:
    """Every copy of a command is kept; repeats differ in the attempt alone."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        for attempt in (1, 2, 3):
            await client.command(session, 1, attempt=attempt)

    device = bench(scenario, "cmd 1: drop_request; cmd 2: drop_ack")
    assert [copy.attempt for copy in device.copies] == [1, 2, 3]
    assert {(copy.seq, copy.text, copy.digest) for copy in device.copies} == {
        (1, ADJUST, digest(Type.CMD, ADJUST.encode()))
    }
    assert all(copy.data.endswith(b"\0") and copy.data.count(b"\0") == 1 for copy in device.copies)


def test_counts_tell_messages_and_faults() -> None:
    """Every fault that struck is counted by its name, every message by its kind."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        await client.command(session, 1)
        await client.command(session, 1)

    device = bench(scenario, "cmd *: drop_ack; cmd 2: echo")
    assert device.counts[Fault.DROP_ACK] == 2
    assert device.counts[Fault.ECHO] == 1
    assert (device.counts["cmd"], device.counts["open"]) == (2, 1)


def test_junk_and_strangers_are_dropped_without_an_answer() -> None:
    """Noise, other units' requests, replies and endless input change nothing and count for no fault."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        client.conn.feed(b"\0\0noise\0")
        client.conn.feed(b"\x01" * 5_000)
        assert client.device.dropped["too long"] == 1  # given up before it ends
        client.conn.feed(b"\0" + client.requester.hello(1).replace(b"\x01\x01", b"\x01\x81", 1))
        client.requester.unit = 2
        client.conn.feed(client.requester.command(session, 1, 1, ADJUST))
        client.requester.unit = 1
        assert len(client.pieces) == 1
        assert await client.command(session, 1) is not None

    device = bench(scenario, "cmd 1: echo")
    assert (device.counts["cmd"], len(device.copies), device.counts[Fault.ECHO]) == (1, 1, 1)
    assert device.dropped.total() >= 3


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_requests_may_arrive_in_pieces(size: int) -> None:
    """How a request is cut on its way does not matter."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        data = client.requester.command(session, 1, 1, ADJUST)
        for at in range(0, len(data), size):
            client.conn.feed(data[at : at + size])
        assert await client.wait() is not None

    assert bench(scenario).ledger.count(ADJUST) == 1


def test_seeded_faults_repeat_the_whole_run() -> None:
    """The same seeds give the same bytes at the same times and the same ledger."""

    def once(seed: int) -> tuple[list[tuple[float, bytes]], list[float]]:
        pieces: list[tuple[float, bytes]] = []

        async def scenario(client: Client) -> None:
            session = await client.open()
            for seq in range(1, 30):
                for attempt in range(1, 6):
                    if await client.command(session, seq, "ADJUST offset +1", attempt=attempt) is not None:
                        break
                    client.connect()
            pieces.extend(client.pieces)

        plan = (
            f"seed {seed}: drop_ack 0.2, drop_request 0.1, cut 0.05, delay 0.1 0.7, junk 0.1, bit_flip 0.05"
        )
        device = bench(scenario, plan, seed=seed)
        return pieces, [entry.at_s for entry in device.ledger.entries]

    assert once(11) == once(11)
    assert once(11) != once(12)
