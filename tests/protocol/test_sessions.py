"""Who may count on a device, and what is left of it after a takeover, a CLOSE or a boot?

WIRE.md section 3, Memory, OPEN, Sessions end. Numbers in brackets are the known edge cases of sessions and boots.
"""

from dataclasses import replace

import pytest

from protocol.native.codes import EPOCH_MAX, Status, Type
from protocol.native.frame import NOP_DIGEST, Frame, digest, encode
from protocol.native.memory import LiveMemory, Memory, next_boot_id
from protocol.native.messages import CloseReply, CommandReply, HelloReply, OpenReply, Record
from protocol.native.payload import build_open
from protocol.native.requester import Waiting
from protocol.native.responder import Execute, HangUp, Identity, Reply, Responder, Slot, Store, boot
from tests.protocol.pair import AGENT, IDENTITY, Device, Pair

ADJUST = "ADJUST offset +5"
ADJUST_DIGEST = digest(Type.CMD, ADJUST.encode())
TIERS = (0, 1, 2)


def opening(epoch: int, nonce: int, agent: int = AGENT, attempt: int = 1) -> bytes:
    """An OPEN, also one that the agent's side would refuse to write."""
    return encode(Frame(Type.OPEN, False, 1, attempt, 0, 0, 0, build_open(agent, epoch, nonce)))


def fenced(pair: Pair, session: int) -> bool:
    """Whether a command in this session is refused as unknown."""
    answer = pair.ask(pair.requester.command(session, 1, 1, ADJUST))
    assert isinstance(answer, CommandReply)
    return answer == CommandReply(Status.BAD_SESSION, 1, False, boot_id=pair.device.responder.boot_id)


def never(text: str) -> tuple[Status, str]:
    """A reader that is not asked."""
    raise AssertionError(text)


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
    request = pair.requester.command(session, 1, 1, ADJUST)
    pair.device.receive("main", request[:9])
    pair.reconnect()

    assert pair.device.receive("main", request[9:]) == []
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


# Boots


@pytest.mark.parametrize("tier", TIERS)
def test_boot_id_differs_at_every_boot(tier: int) -> None:
    """Every boot has another id, never 0, even when nothing happened in between (26)."""
    device = Device(tier)
    ids = [device.responder.boot_id]
    for _ in range(50):
        device.reboot()
        ids.append(device.responder.boot_id)

    assert len(set(ids)) == 51
    assert 0 not in ids
    if tier:
        assert ids == list(range(ids[0], ids[0] + 51))


def test_blank_boot_counter_starts_at_random() -> None:
    """Two blank devices count boots from different, drawn numbers; the counter wraps past 0."""
    drawn = iter((5, 0xABCDEF))
    devices = [boot(IDENTITY, memory=Memory.blank(1), draw=lambda: next(drawn), read=never) for _ in range(2)]

    assert [device.boot_id for device in devices] == [6, 0xABCDF0]
    assert next_boot_id(0xFFFFFFFF) == 1


@pytest.mark.parametrize("tier", [0, 1])
def test_boot_ends_the_session_below_tier_2(tier: int) -> None:
    """A retry over a boot is BAD_SESSION with the new boot id, and no record is left (24, 25)."""
    pair = Pair(Device(tier))
    session = pair.open()
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))
    pair.device.reboot()
    pair.reconnect()

    assert fenced(pair, session)
    assert pair.record() is None
    assert len(pair.device.ledger) == 1


@pytest.mark.parametrize(
    ("tier", "status"), [(0, Status.OK), (1, Status.STALE_EPOCH), (2, Status.STALE_EPOCH)]
)
def test_epoch_survives_from_tier_1_on(tier: int, status: Status) -> None:
    """An old epoch after a boot is stale where epochs are kept; tier 0 has forgotten it (35)."""
    pair = Pair(Device(tier))
    pair.open(epoch=4)
    pair.device.reboot()
    pair.reconnect()

    answer = pair.ask_raw(opening(4, 9))
    assert isinstance(answer, OpenReply)
    assert answer.status is status


def test_tier_2_answers_a_retry_over_a_boot() -> None:
    """In tier 2 the session, its numbers, the stored answer and the record survive the boot (39)."""
    pair = Pair(Device(2))
    session = pair.open()
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))
    pair.device.reboot()
    pair.reconnect()

    assert pair.record() == Record(session, 1, ADJUST_DIGEST, Status.OK)
    assert pair.ask(pair.requester.command(session, 1, 2, ADJUST)) == CommandReply(Status.OK, 2, True, "15")
    assert pair.ask(pair.requester.command(session, 2, 1, ADJUST)) == CommandReply(Status.OK, 1, False, "20")
    pair.ask(pair.requester.close(session, 1))
    pair.device.reboot()
    pair.reconnect()
    assert fenced(pair, session)


def test_atomic_tier_2_stores_with_the_effect() -> None:
    """Execute, then one Store with the final status, then the reply; a cut before leaves the number free."""
    pair = Pair(Device(2))
    session = pair.open()
    pair.device.actions.clear()
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))

    assert [type(action) for action in pair.device.actions] == [Execute, Store, Reply]
    assert pair.device.stored.slot == Slot(ADJUST_DIGEST, Status.OK, "15")

    pair.device.slow = True
    pair.send(pair.requester.command(session, 2, 1, ADJUST))
    pair.device.reboot()
    pair.reconnect()
    pair.device.slow = False
    assert pair.ask(pair.requester.command(session, 2, 2, ADJUST)) == CommandReply(Status.OK, 2, False, "20")


def test_tier_2_without_atomic_write_forewarns() -> None:
    """The record says INDETERMINATE before the effect begins; cut half way, that is what a retry is told (39)."""
    pair = Pair(Device(2, atomic=False))
    session = pair.open()
    pair.device.actions.clear()
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))
    assert [type(action) for action in pair.device.actions] == [Store, Execute, Store, Reply]

    pair.device.slow = True
    pair.send(pair.requester.command(session, 2, 1, ADJUST))
    pair.device.reboot()
    pair.reconnect()

    assert pair.record() == Record(session, 2, ADJUST_DIGEST, Status.INDETERMINATE)
    retry = pair.ask(pair.requester.command(session, 2, 2, ADJUST))
    assert retry == CommandReply(Status.INDETERMINATE, 2, True, "")
    assert [execution.seq for execution in pair.device.ledger] == [1, 2]


@pytest.mark.parametrize("atomic", [True, False])
def test_tier_2_stores_what_has_no_effect_once(atomic: bool) -> None:
    """NOP and a text that is none are stored before their answer, in one write."""
    pair = Pair(Device(2, atomic=atomic))
    session = pair.open()
    for seq, kind, payload in ((1, Type.NOP, b""), (2, Type.CMD, b"\xff")):
        pair.device.actions.clear()
        pair.device.receive("main", encode(Frame(kind, False, 1, 1, 0, session, seq, payload)))
        assert [type(action) for action in pair.device.actions] == [Store, Reply]
        assert pair.device.stored.last == seq


@pytest.mark.parametrize("tier", TIERS)
def test_what_each_tier_stores(tier: int) -> None:
    """Tier 0 stores nothing, tier 1 on OPEN only, tier 2 on every change; no more survives than the tier says."""
    pair = Pair(Device(tier))
    session = pair.open(epoch=4)
    pair.ask(pair.requester.nop(session, 1, 1))
    pair.ask(pair.requester.close(session, 1))
    boots = pair.device.responder.boot_id if tier else None
    record = Record(session, 1, NOP_DIGEST, Status.OK) if tier == 2 else None

    assert sum(isinstance(action, Store) for action in pair.device.actions) == (0, 1, 3)[tier]
    assert pair.device.stored == Memory(tier, boots, 4 if tier else 0, record=record)
    assert pair.device.responder.memory == pair.device.stored


def test_local_reset_lowers_the_epoch() -> None:
    """Only blank memory lowers the epoch, and sessions of before stay unknown."""
    pair = Pair()
    old = pair.open(epoch=9)
    pair.device.stored = Memory.blank(1)
    pair.device.reboot()
    pair.reconnect()

    new = pair.open(epoch=1)
    assert new != old
    assert fenced(pair, old)


# Session numbers


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


# HELLO and what contradicts itself


def test_hello_says_who_and_what() -> None:
    """HELLO needs no session and changes nothing, also while a command runs."""
    pair = Pair(Device(2, max_body=128))
    session = pair.open(epoch=3)
    pair.device.slow = True
    pair.send(pair.requester.command(session, 1, 1, ADJUST))
    pair.device.actions.clear()

    hello = pair.ask(pair.requester.hello(9))

    boot_id = pair.device.responder.boot_id
    assert hello == HelloReply("SN-1", "demo", "1.0", boot_id, 3, 2, 128, 32, None)
    assert [type(action) for action in pair.device.actions] == [Reply]


@pytest.mark.parametrize(
    "changed",
    [
        {"tier": 3, "memory": Memory.blank(3)},
        {"tier": 1},
        {"unit": 0},
        {"unit": 248},
        {"max_body": 63},
        {"max_body": 513},
        {"max_body": 64, "identity": Identity("s" * 10, "m" * 10, "f" * 7)},
        {"identity": Identity("s" * 256, "m", "f")},
        {"max_body": 64, "reply_max": 48},
        {"reply_max": 256},
        {"reply_max": -1},
    ],
)
def test_device_that_contradicts_the_paper(changed: dict[str, object]) -> None:
    """A device whose answers could not be framed, or whose memory is of another tier, is refused."""
    fitting = {"tier": 2, "memory": Memory.blank(2), "unit": 1, "max_body": 512, "reply_max": 32}
    arguments = {"identity": IDENTITY, "boot_id": 1, "draw": lambda: 1, "read": never} | fitting | changed

    with pytest.raises(ValueError, match=r"tier|unit|max_body|names"):
        Responder(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changed",
    [
        {"max_body": 64, "identity": Identity("s" * 10, "m" * 10, "f" * 6)},
        {"max_body": 64, "reply_max": 47},
        {"reply_max": 255},
        {"reply_max": 0},
        {"unit": 247},
    ],
)
def test_device_at_the_limits(changed: dict[str, object]) -> None:
    """The limits themselves are allowed."""
    fitting = {"tier": 2, "memory": Memory.blank(2), "unit": 1, "max_body": 512, "reply_max": 32}
    arguments = {"identity": IDENTITY, "boot_id": 1, "draw": lambda: 1, "read": never} | fitting | changed

    assert Responder(**arguments).session == 0  # type: ignore[arg-type]
