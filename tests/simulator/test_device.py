"""What a device does whatever goes wrong: answers, ledger, copies, counts."""

import pytest

from protocol.native.codes import Status, Type
from protocol.native.frame import digest
from simulator.fault_kinds import Fault
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


def test_a_higher_open_ends_the_other_connections() -> None:
    """A takeover cuts the old agent off before its own session is announced."""

    async def scenario(client: Client) -> None:
        await client.open()
        other = Client(client.device)
        await other.open()
        assert (client.cut, other.cut, client.device.connected) == (True, False, 1)

    bench(scenario)


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
