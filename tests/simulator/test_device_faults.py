"""Faults on the way in and in the device: what a client sees, and what the ledger says happened."""

import asyncio

import pytest

from protocol.native.codes import Status
from protocol.native.messages import CommandReply
from tests.simulator.bench import ADJUST, Client, bench


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


def test_cut_loses_what_was_sent_behind() -> None:
    """A second command in the same piece of bytes goes down with the connection."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        first = client.requester.command(session, 1, 1, ADJUST)
        assert await client.ask(first + client.requester.command(session, 2, 1, "BEEP"), CommandReply) is None
        assert client.device.connected == 0

    device = bench(scenario, "cmd 1: cut")
    assert device.counts["cmd"] == 1
    assert [entry.text for entry in device.ledger.entries] == [ADJUST]


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
