"""Does the device pass what NFSv4.1 servers are tested with?

The sequence, session and reboot tests of pynfs, ported to LSQ1 under their own codes: NFS sessions are the closest
relative of this protocol. What has no counterpart here (bad slot, several slots, requests of many operations) is
left out.
"""

import pytest

from protocol.native.codes import Status, Type
from protocol.native.frame import digest
from protocol.native.messages import CommandReply, NopReply, OpenReply, Spent
from tests.protocol.pair import ADJUST, LONG_TEXT, Device, Pair, opening


@pytest.fixture
def pair() -> Pair:
    """A device of tier 1 and its agent."""
    return Pair()


def twice(pair: Pair, text: str) -> tuple[bytes, bytes]:
    """The replies to a first copy and to its repeat, attempt, flag and CRC taken out."""
    session = pair.open()
    written = []
    for attempt in (1, 2):
        ((_, data),) = pair.device.receive("main", pair.requester.command(session, 1, attempt, text))
        frame = pair.frame(data)
        written.append(bytes((frame.type,)) + frame.session.to_bytes(4, "big") + frame.payload)
    first, second = written
    return first, second


@pytest.mark.parametrize(
    ("code", "text", "executions"),
    [
        ("SEQ9a replay of what succeeded", ADJUST, 1),
        ("SEQ9b replay of what failed", "ERASE", 1),
        ("SEQ9c replay of the idempotent", "SET offset 3", 1),
        ("SEQ9d replay of the non-idempotent", "ADJUST offset -1", 1),
        ("SEQ9e replay of the illegal", "DANCE", 1),
    ],
)
def test_replay(pair: Pair, code: str, text: str, executions: int) -> None:
    """SEQ9a-e: a replay equals the first reply and executes nothing."""
    first, second = twice(pair, text)

    assert first == second, code
    assert len(pair.device.ledger) == executions


def test_replay_of_the_solo_sequence(pair: Pair) -> None:
    """SEQ9f: a request that is nothing but its number, a NOP, is replayed too."""
    session = pair.open()

    assert pair.ask(pair.requester.nop(session, 1, 1)) == NopReply(Status.OK, 1, False)
    assert pair.ask(pair.requester.nop(session, 1, 2)) == NopReply(Status.OK, 2, True)


def test_replay_of_what_was_not_cached(pair: Pair) -> None:
    """SEQ10b: the reply was not kept, so the replay says that it ran and that the answer is gone."""
    session = pair.open()
    pair.ask(pair.requester.command(session, 1, 1, "LIST"))

    assert pair.ask(pair.requester.command(session, 1, 2, "LIST")) == CommandReply(
        Status.DONE_UNCACHED, 2, False, uncached=Status.OK
    )
    assert len(LONG_TEXT) > pair.device.responder.reply_max


@pytest.mark.parametrize("seq", [3, 4, 0xFFF0])
def test_misordered(pair: Pair, seq: int) -> None:
    """SEQ13: a number beyond the next is misordered."""
    session = pair.open()
    pair.ask(pair.requester.nop(session, 1, 1))

    answer = pair.ask(pair.requester.command(session, seq, 1, ADJUST))
    assert answer == CommandReply(Status.MISORDERED, 1, False, last=1)


def test_bad_session(pair: Pair) -> None:
    """SEQ5: a session that the device never made is refused."""
    session = pair.open()

    answer = pair.ask(pair.requester.command(session + 1, 1, 1, ADJUST))
    assert answer == CommandReply(Status.BAD_SESSION, 1, False, boot_id=pair.device.responder.boot_id)


def test_ids_are_echoed(pair: Pair) -> None:
    """SEQ12: a reply carries the session and the number of its request."""
    session = pair.open()
    ((_, data),) = pair.device.receive("main", pair.requester.command(session, 1, 9, ADJUST))
    frame = pair.frame(data)

    assert (frame.session, frame.seq, frame.attempt, frame.unit) == (session, 1, 9, 1)


def test_false_retry(pair: Pair) -> None:
    """RFC 8881 2.10.6.1.3.1: another request under a used number is told so, not served the cached reply."""
    session = pair.open()
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))

    answer = pair.ask(pair.requester.command(session, 1, 2, "SET offset 3"))
    assert answer == CommandReply(
        Status.FALSE_RETRY, 2, False, spent=Spent(digest(Type.CMD, ADJUST.encode()), Status.OK, "15")
    )


def test_create_session_replay(pair: Pair) -> None:
    """CSESS testReplay1, 1a: a replayed OPEN is answered as the first was, before and after the session is used."""
    first = pair.ask_raw(opening(1, 1))
    again = pair.ask_raw(opening(1, 1, attempt=2))
    assert isinstance(first, OpenReply)
    pair.ask(pair.requester.command(first.session, 1, 1, ADJUST))

    assert again == first
    assert pair.ask_raw(opening(1, 1, attempt=3)) == first
    answer = pair.ask(pair.requester.command(first.session, 1, 2, ADJUST))
    assert answer == CommandReply(Status.OK, 2, True, "15")


def test_create_session_replay_of_a_failure(pair: Pair) -> None:
    """CSESS testReplay1b, 2: a refused OPEN is refused again, and opens nothing later."""
    session = pair.open(epoch=5)
    first = pair.ask_raw(opening(4, 2))
    again = pair.ask_raw(opening(4, 2, attempt=2))

    assert first == again
    assert isinstance(first, OpenReply)
    assert first.status is Status.STALE_EPOCH
    assert pair.device.responder.session == session


def test_contrived_replay(pair: Pair) -> None:
    """CSESS testContrivedReplay: before any OPEN there is nothing to replay, not even for epoch 0."""
    answer = pair.ask_raw(opening(0, 0))

    assert answer == OpenReply(Status.STALE_EPOCH, 0, 0, pair.device.responder.boot_id, 0, None)
    assert pair.device.responder.session == 0


@pytest.mark.parametrize("epoch", [1, 4])
def test_bad_sequence_of_create_session(pair: Pair, epoch: int) -> None:
    """CSESS testBadSeqnum1, 2: an opening that is neither new nor the last one is refused."""
    for used in (3, 5):
        pair.open(epoch=used, nonce=used)

    answer = pair.ask_raw(opening(epoch, epoch))
    assert isinstance(answer, OpenReply)
    assert answer.status is Status.STALE_EPOCH
    assert answer.epoch == 5


@pytest.mark.parametrize("tier", [0, 1, 2])
def test_reboot(tier: int) -> None:
    """st_reboot: after a boot the session is unknown, a new one begins at 1; tier 2 goes on in the old one."""
    pair = Pair(Device(tier))
    session = pair.open(epoch=1)
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))
    pair.device.reboot()
    pair.reconnect()

    answer = pair.ask(pair.requester.command(session, 2, 1, ADJUST))
    assert isinstance(answer, CommandReply)
    assert answer.status is (Status.OK if tier == 2 else Status.BAD_SESSION)
    new = pair.open(epoch=2)
    assert pair.ask(pair.requester.command(new, 1, 1, "SET offset 3")) == CommandReply(
        Status.OK, 1, False, "3"
    )


def test_retry_after_reconnect(pair: Pair) -> None:
    """The bug that lived for years in one server: the cache must answer on a new connection, too."""
    session = pair.open()
    pair.device.receive("main", pair.requester.command(session, 1, 1, ADJUST))
    pair.reconnect()

    answer = pair.ask(pair.requester.command(session, 1, 2, ADJUST))
    assert answer == CommandReply(Status.OK, 2, True, "15")
    assert len(pair.device.ledger) == 1
