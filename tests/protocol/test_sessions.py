"""Who may count on a device, and what does a takeover or a CLOSE leave?

WIRE.md section 3, OPEN, Sessions end. Numbers in brackets are the known edge cases of sessions.
"""

from dataclasses import replace

import pytest

from protocol.native.codes import EPOCH_MAX, Status
from protocol.native.frame import NOP_DIGEST
from protocol.native.memory import LiveMemory, Memory
from protocol.native.messages import CloseReply, CommandReply, OpenReply, Record
from protocol.native.requester import Waiting
from protocol.native.responder import HangUp, Reply, Responder, Store
from tests.protocol.pair import ADJUST, ADJUST_DIGEST, AGENT, IDENTITY, Device, Pair, never, opening

TIERS = (0, 1, 2)


def fenced(pair: Pair, session: int) -> bool:
    """Whether a command in this session is refused as unknown."""
    answer = pair.ask(pair.requester.command(session, 1, 1, ADJUST))
    assert isinstance(answer, CommandReply)
    return answer == CommandReply(Status.BAD_SESSION, 1, False, boot_id=pair.device.responder.boot_id)


@pytest.mark.parametrize("tier", TIERS)
def test_higher_epoch_opens(tier: int) -> None:
    """A higher epoch makes a new session, ends the old one and begins at 1 again (33)."""
    pair = Pair(Device(tier))
    first = pair.open(epoch=3, nonce=1)
    pair.ask(pair.requester.command(first, 1, 1, ADJUST))
    second = pair.open(epoch=4, nonce=2)

    assert 0 not in {first, second}
    assert first != second
    assert fenced(pair, first)
    assert pair.ask(pair.requester.command(second, 1, 1, ADJUST)) == CommandReply(Status.OK, 1, False, "20")


def test_header_of_opened() -> None:
    """OPENED carries the new session and number 0, the refusal session 0; both the attempt they answer."""
    pair = Pair()
    ((_, opened),) = pair.device.receive("main", opening(1, 1, attempt=3))
    ((_, stale),) = pair.device.receive("main", opening(1, 2, attempt=4))
    headers = [(frame.session, frame.seq, frame.attempt) for frame in map(pair.frame, (opened, stale))]

    assert headers == [(pair.device.responder.session, 0, 3), (0, 0, 4)]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("epoch", [0, 1, 2, 0xFFFFFFFF])
def test_epoch_not_above_is_stale(tier: int, epoch: int) -> None:
    """An epoch that is not above the stored one, and 0xFFFFFFFF, changes nothing (32)."""
    pair = Pair(Device(tier))
    session = pair.open(epoch=2, nonce=1)
    stored = pair.device.stored

    answer = pair.ask_raw(opening(epoch, 2))

    boot_id = pair.device.responder.boot_id
    assert answer == OpenReply(Status.STALE_EPOCH, 0, 2, boot_id, 2, None)
    assert pair.device.stored == stored
    assert not fenced(pair, session)


def test_highest_epoch() -> None:
    """0xFFFFFFFE is the last epoch that opens; above it there is none."""
    pair = Pair()

    assert pair.open(epoch=EPOCH_MAX)
    stale = pair.ask_raw(opening(0xFFFFFFFF, 2))
    assert stale == OpenReply(Status.STALE_EPOCH, 0, 2, pair.device.responder.boot_id, EPOCH_MAX, None)


@pytest.mark.parametrize("tier", TIERS)
def test_lost_opened_comes_again(tier: int) -> None:
    """The same OPEN gets the same OPENED, byte for byte, on any connection; nothing is reset (30)."""
    pair = Pair(Device(tier))
    ((_, opened),) = pair.device.receive("main", opening(1, 7))
    pair.device.connect("new")
    session = pair.device.responder.session
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))
    before = pair.device.stored
    pair.device.actions.clear()

    assert pair.device.receive("new", opening(1, 7)) == [("new", opened)]
    assert pair.device.actions == [Reply("new", opened)]
    assert pair.device.stored == before
    assert pair.ask(pair.requester.command(session, 1, 2, ADJUST)) == CommandReply(Status.OK, 2, True, "15")


@pytest.mark.parametrize(("agent", "nonce"), [(AGENT, 8), (AGENT + 1, 7)])
def test_equal_epoch_of_another_attempt(agent: int, nonce: int) -> None:
    """An equal epoch with another agent or nonce is STALE_EPOCH."""
    pair = Pair()
    pair.open(epoch=1, nonce=7)

    answer = pair.ask_raw(opening(1, nonce, agent))
    assert isinstance(answer, OpenReply)
    assert answer.status is Status.STALE_EPOCH


def test_opened_is_not_repeated_for_a_session_that_ended() -> None:
    """After CLOSE, after a newer OPEN and after a boot (tier 2 included) the old OPEN is stale."""
    for tier in TIERS[1:]:
        closed, overtaken, booted = Pair(Device(tier)), Pair(Device(tier)), Pair(Device(tier))
        for pair in (closed, overtaken, booted):
            session = pair.open(epoch=1, nonce=7)
        closed.ask(closed.requester.close(session, 1))
        overtaken.open(epoch=2, nonce=8)
        booted.device.reboot()
        booted.reconnect()
        for pair in (closed, overtaken, booted):
            answer = pair.ask_raw(opening(1, 7))
            assert isinstance(answer, OpenReply)
            assert answer.status is Status.STALE_EPOCH


def test_open_and_close_wait_while_a_command_runs() -> None:
    """OPEN, its repeat and CLOSE are BUSY while a command runs, and change nothing."""
    pair = Pair()
    session = pair.open(epoch=1, nonce=7)
    pair.device.slow = True
    pair.send(pair.requester.command(session, 1, 1, ADJUST))
    stored, pair.device.actions = pair.device.stored, []

    for epoch, nonce in ((1, 7), (2, 8), (1, 9)):
        assert pair.send(pair.requester.open(AGENT, epoch, nonce)) == [Waiting(Status.BUSY)]
    assert pair.send(pair.requester.close(session, 1)) == [Waiting(Status.BUSY)]

    assert {type(action) for action in pair.device.actions} == {Reply}
    assert pair.device.stored == stored
    assert pair.device.finish(Status.OK, "15") != []
    assert pair.ask(pair.requester.close(session, 1)) == CloseReply(Status.OK)


def test_busy_open_shows_what_is_stored() -> None:
    """BUSY has OPEN's one layout: session 0, the request's nonce, the stored epoch and the record."""
    pair = Pair()
    session = pair.open(epoch=1, nonce=7)
    pair.ask(pair.requester.nop(session, 1, 1))
    pair.device.slow = True
    pair.send(pair.requester.command(session, 2, 1, ADJUST))

    ((_, written),) = pair.device.receive("main", opening(9, 5))

    record = Record(session, 1, NOP_DIGEST, Status.OK)
    expected = OpenReply(Status.BUSY, 0, 5, pair.device.responder.boot_id, 1, record)
    assert pair.parsed(written) == expected


def test_opening_closes_all_other_connections_first() -> None:
    """Store, then the other connections are closed, then OPENED leaves; bytes of the closed ones are dropped."""
    pair = Pair()
    for conn in ("a", "b"):
        pair.device.connect(conn)
    old = pair.open(epoch=1)
    for conn in ("a", "b"):
        pair.device.connect(conn)
    pair.device.actions.clear()
    pair.open(epoch=2)

    kinds = [type(action) for action in pair.device.actions]
    assert kinds == [Store, HangUp, HangUp, Reply]
    assert pair.device.actions[1:3] == [HangUp("a"), HangUp("b")]
    assert pair.device.receive("a", pair.requester.command(old, 1, 1, ADJUST)) == []
    assert pair.device.responder.dropped == {"not connected": 1}


def test_half_a_frame_does_not_outlive_its_connection() -> None:
    """What a connection left half received is gone with it (43)."""
    pair = Pair()
    session = pair.open()
    copy = pair.requester.command(session, 1, 1, ADJUST)
    pair.device.receive("main", copy[:9])
    pair.reconnect()

    assert pair.device.receive("main", copy[9:]) == []
    pair.device.receive("main", copy[:9])
    pair.device.connect("main")
    assert pair.device.receive("main", copy[9:]) == []
    assert pair.device.ledger == []


@pytest.mark.parametrize("tier", TIERS)
def test_state_is_tied_to_the_session_not_the_connection(tier: int) -> None:
    """A retry on a new connection is a retry."""
    pair = Pair(Device(tier))
    session = pair.open()
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))
    pair.reconnect()

    assert pair.ask(pair.requester.command(session, 1, 2, ADJUST)) == CommandReply(Status.OK, 2, True, "15")


@pytest.mark.parametrize("tier", TIERS)
def test_close_ends_the_session_and_keeps_epoch_and_record(tier: int) -> None:
    """After CLOSE nothing counts in the session; epoch and record stay; a second CLOSE is BAD_SESSION."""
    pair = Pair(Device(tier))
    session = pair.open(epoch=5)
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))

    assert pair.ask(pair.requester.close(session, 1)) == CloseReply(Status.OK)
    boot_id = pair.device.responder.boot_id
    assert pair.ask(pair.requester.close(session, 2)) == CloseReply(Status.BAD_SESSION, boot_id)
    assert fenced(pair, session)
    assert pair.device.responder.epoch == 5
    assert pair.record() == Record(session, 1, ADJUST_DIGEST, Status.OK)


@pytest.mark.parametrize("tier", TIERS)
def test_record_is_kept_by_a_takeover(tier: int) -> None:
    """OPENED shows the record of the old session, and its repeat the same, whatever was consumed since."""
    pair = Pair(Device(tier))
    old = pair.open(epoch=1)
    pair.ask(pair.requester.command(old, 1, 1, ADJUST))
    record = Record(old, 1, ADJUST_DIGEST, Status.OK)

    opened = pair.ask_raw(opening(2, 2))
    assert isinstance(opened, OpenReply)
    assert opened.record == record
    pair.ask(pair.requester.nop(opened.session, 1, 1))
    assert pair.ask_raw(opening(2, 2)) == opened


@pytest.mark.parametrize("tier", TIERS)
def test_no_session_is_ever_used_again(tier: int) -> None:
    """Sessions differ over openings and boots, and none is 0."""
    device = Device(tier)
    seen: list[int] = []
    epoch = 0
    for _ in range(6):
        device.reboot()
        pair = Pair(device)
        for _ in range(5):
            epoch += 1
            seen.append(pair.open(epoch, nonce=epoch))

    assert len(set(seen)) == 30
    assert 0 not in seen


def test_session_is_boot_counter_and_open_counter() -> None:
    """Tiers 1 and 2 number sessions as the paper's example does."""
    device = Device(1)
    device.stored = replace(device.stored, boots=1)
    device.reboot()
    pair = Pair(device)

    assert [pair.open(1), pair.open(2)] == [0x00020001, 0x00020002]


def test_more_openings_than_one_counter_holds() -> None:
    """When one boot has used up its open counter, the boot counter moves on; the next boot is above it."""
    live = LiveMemory(Memory(1), 0x1FFFF, draw=int)
    seen = set()
    for epoch in range(1, 0x10003):
        live.open(epoch)
        seen.add(live.session)

    assert len(seen) == 0x10002
    assert live.session == 0x00000003
    assert live.surviving() == Memory(1, 0x20000, 0x10002)


@pytest.mark.parametrize("drawn", [0, 1, 0xFFFFFFFF])
def test_tier_0_never_draws_0_nor_the_present_session(drawn: int) -> None:
    """Whatever the source of randomness gives, a tier 0 session is not 0 and not the one it replaces."""
    responder = Responder(IDENTITY, tier=0, memory=Memory.blank(0), boot_id=1, draw=lambda: drawn, read=never)
    responder.connected("main")
    sessions = []
    for epoch in (1, 2, 3):
        responder.receive("main", opening(epoch, epoch))
        sessions.append(responder.session)

    assert 0 not in sessions
    assert sessions[0] != sessions[1] != sessions[2]
