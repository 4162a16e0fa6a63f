"""What does a boot leave, in each tier, and what is stored before which answer?

WIRE.md section 3, Memory. Numbers in brackets are the known edge cases of boots.
"""

import pytest

from protocol.native.codes import Status, Type
from protocol.native.frame import NOP_DIGEST
from protocol.native.memory import Memory, next_boot_id
from protocol.native.messages import CommandReply, OpenReply, Record
from protocol.native.responder import Execute, Reply, Slot, Store, boot
from tests.protocol.pair import ADJUST, ADJUST_DIGEST, IDENTITY, Device, Pair, never, opening, request

TIERS = (0, 1, 2)


def fenced(pair: Pair, session: int) -> bool:
    """Whether a command in this session is refused as unknown."""
    answer = pair.ask(pair.requester.command(session, 1, 1, ADJUST))
    assert isinstance(answer, CommandReply)
    return answer == CommandReply(Status.BAD_SESSION, 1, False, boot_id=pair.device.responder.boot_id)


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


@pytest.mark.parametrize("tier", [0, 1])
def test_lower_tiers_store_nothing_with_a_command(tier: int) -> None:
    """Whether or not writes are atomic is no question where nothing of a command survives."""
    pair = Pair(Device(tier, atomic=False))
    session = pair.open()
    pair.device.actions.clear()
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))

    assert [type(action) for action in pair.device.actions] == [Execute, Reply]


@pytest.mark.parametrize("atomic", [True, False])
def test_tier_2_stores_what_has_no_effect_once(atomic: bool) -> None:
    """NOP and a text that is none are stored before their answer, in one write."""
    pair = Pair(Device(2, atomic=atomic))
    session = pair.open()
    for seq, kind, payload in ((1, Type.NOP, b""), (2, Type.CMD, b"\xff")):
        pair.device.actions.clear()
        pair.device.receive("main", request(kind, session, seq, payload))
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
