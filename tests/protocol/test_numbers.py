"""Does the device execute each number once, and say the truth about every other one?

WIRE.md section 3, CMD and NOP. Numbers in brackets are the known edge cases of sequence rules.
"""

from dataclasses import replace

import pytest

from protocol.native.codes import SEQ_MAX, State, Status, Type
from protocol.native.frame import NOP_DIGEST, REPLAYED, digest
from protocol.native.messages import CommandReply, NopReply, QueryReply, Record, Spent
from tests.protocol.pair import (
    ADJUST,
    ADJUST_DIGEST,
    LONG_TEXT,
    Device,
    Pair,
    reply,
    request,
)


@pytest.fixture
def pair() -> Pair:
    """A device of tier 1 and its agent."""
    return Pair()


@pytest.fixture
def session(pair: Pair) -> int:
    """The open session of `pair`."""
    return pair.open()


def test_repeat_is_answered_from_memory(pair: Pair, session: int) -> None:
    """A repeat is not executed; it gets the stored answer, marked REPLAYED, with its own attempt (1, 9)."""
    first = pair.ask(pair.requester.command(session, 1, 1, ADJUST))
    second = pair.ask(pair.requester.command(session, 1, 2, ADJUST))

    assert first == CommandReply(Status.OK, 1, False, "15")
    assert second == CommandReply(Status.OK, 2, True, "15")
    assert pair.device.executed == [(1, ADJUST)]


def test_first_copy_lost(pair: Pair, session: int) -> None:
    """When the first copy was lost, the second is executed and its answer is not marked (2)."""
    pair.requester.command(session, 1, 1, ADJUST)

    assert pair.ask(pair.requester.command(session, 1, 2, ADJUST)) == CommandReply(Status.OK, 2, False, "15")
    assert pair.device.executed == [(1, ADJUST)]


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        (ADJUST, b"\x0015"),
        ("SET offset high", b"\x01no number"),
        ("DANCE", b"\x02unknown"),
        ("ERASE", b"\x03locked"),
    ],
)
def test_stored_bytes_come_again(pair: Pair, session: int, text: str, payload: bytes) -> None:
    """Every repeat, of refusals too, gets the same bytes but for attempt, flag and CRC (3, 4, 5, 13, 14)."""
    written = [pair.device.receive("main", pair.requester.command(session, 1, 1, text))]
    pair.device.offset = 40
    written += [pair.device.receive("main", pair.requester.command(session, 1, n, text)) for n in (2, 3, 300)]

    assert written == [
        [("main", reply(Type.CMD, session, 1, payload))],
        [("main", reply(Type.CMD, session, 1, payload, attempt=2, flags=REPLAYED))],
        [("main", reply(Type.CMD, session, 1, payload, attempt=3, flags=REPLAYED))],
        [("main", reply(Type.CMD, session, 1, payload, attempt=255, flags=REPLAYED))],
    ]
    assert pair.device.executed == [(1, text)]


@pytest.mark.parametrize("seq", [0, 1, 4, SEQ_MAX, SEQ_MAX + 1, 0xFFFF])
def test_neither_last_nor_next(pair: Pair, session: int, seq: int) -> None:
    """An older number, a gap, 0 and the numbers beyond the end are MISORDERED; nothing moves (6, 7, 16, 21)."""
    for number in (1, 2):
        pair.ask(pair.requester.command(session, number, 1, ADJUST))
    for kind, payload in ((Type.CMD, ADJUST.encode()), (Type.NOP, b"")):
        written = pair.device.receive("main", request(kind, session, seq, payload))
        assert written == [("main", reply(kind, session, seq, b"\x13\x00\x02"))]

    assert pair.ask(pair.requester.command(session, 3, 1, ADJUST)) == CommandReply(Status.OK, 1, False, "25")
    assert [seq for seq, _ in pair.device.executed] == [1, 2, 3]


@pytest.mark.parametrize("seq", [0, 2])
def test_a_session_begins_at_1(pair: Pair, session: int, seq: int) -> None:
    """After OPEN last is 0: number 0 is no repeat and 2 no first command; 1 is executed (17)."""
    written = pair.device.receive("main", request(Type.CMD, session, seq, ADJUST.encode()))

    assert written == [("main", reply(Type.CMD, session, seq, b"\x13\x00\x00"))]
    assert pair.ask(pair.requester.command(session, 1, 1, ADJUST)) == CommandReply(Status.OK, 1, False, "15")


def test_number_spent_by_another_content(pair: Pair, session: int) -> None:
    """The same number with another text is FALSE_RETRY with the stored digest, status and text (8)."""
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))

    answer = pair.ask(pair.requester.command(session, 1, 1, "ADJUST offset +7"))

    assert answer == CommandReply(Status.FALSE_RETRY, 1, False, spent=Spent(ADJUST_DIGEST, Status.OK, "15"))
    assert pair.device.executed == [(1, ADJUST)]


def test_the_same_text_twice_is_executed_twice(pair: Pair, session: int) -> None:
    """The next number with the same text is a new command (10)."""
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))

    assert pair.ask(pair.requester.command(session, 2, 1, ADJUST)) == CommandReply(Status.OK, 1, False, "20")


def test_last_number_of_a_session() -> None:
    """0xFFF0 is executed and repeated like any other; after it nothing is taken in this session (16)."""
    device, session = Device(2), 0x00020001
    device.stored = replace(device.stored, session=session, last=SEQ_MAX - 1)
    device.reboot()
    pair = Pair(device)

    assert pair.ask(pair.requester.command(session, SEQ_MAX, 1, ADJUST)) == CommandReply(
        Status.OK, 1, False, "15"
    )
    assert pair.ask(pair.requester.command(session, SEQ_MAX, 2, ADJUST)) == CommandReply(
        Status.OK, 2, True, "15"
    )
    written = device.receive("main", request(Type.CMD, session, SEQ_MAX + 1, ADJUST.encode()))
    assert written == [("main", reply(Type.CMD, session, SEQ_MAX + 1, b"\x13\xff\xf0"))]


@pytest.mark.parametrize("payload", [b"", b"\xff\xfe", b"ADJUST \xc3"])
def test_text_that_is_none(pair: Pair, session: int, payload: bytes) -> None:
    """An empty or non-UTF-8 command is BAD_COMMAND, consumes its number and is stored like any answer."""
    ((_, first),) = pair.device.receive("main", request(Type.CMD, session, 1, payload))
    ((_, again),) = pair.device.receive("main", request(Type.CMD, session, 1, payload, attempt=2))
    text = b"no UTF-8" if payload else b"empty"

    assert first == reply(Type.CMD, session, 1, b"\x02" + text)
    assert again == reply(Type.CMD, session, 1, b"\x02" + text, attempt=2, flags=REPLAYED)
    assert pair.device.executed == []
    assert pair.ask(pair.requester.command(session, 2, 1, ADJUST)) == CommandReply(Status.OK, 1, False, "15")


def test_text_too_long_to_keep(pair: Pair, session: int) -> None:
    """A text beyond reply_max is answered once; its repeat is DONE_UNCACHED with the status that was stored (18)."""
    first = pair.ask(pair.requester.command(session, 1, 1, "LIST"))
    second = pair.ask(pair.requester.command(session, 1, 2, "LIST"))
    other = pair.ask(pair.requester.command(session, 1, 1, ADJUST))

    assert first == CommandReply(Status.OK, 1, False, LONG_TEXT)
    assert second == CommandReply(Status.DONE_UNCACHED, 2, False, uncached=Status.OK)
    spent = Spent(digest(Type.CMD, b"LIST"), Status.OK, "")
    assert other == CommandReply(Status.FALSE_RETRY, 1, False, spent=spent)
    assert pair.ask(pair.requester.query(session, 1)) == QueryReply(State.DONE, spent.digest, Status.OK, "")


def test_reply_max_counts_bytes(pair: Pair, session: int) -> None:
    """A text of exactly reply_max bytes is kept, one byte more is not: é counts twice."""
    pair.device.slow = True
    for seq, text, kept in ((1, "é" * 16, True), (2, "é" * 16 + "x", False)):
        pair.send(pair.requester.command(session, seq, 1, "BEEP"))
        pair.deliver(pair.device.finish(Status.REFUSED, text))
        again = pair.ask(pair.requester.command(session, seq, 2, "BEEP"))
        if kept:
            assert again == CommandReply(Status.REFUSED, 2, True, text)
        else:
            assert again == CommandReply(Status.DONE_UNCACHED, 2, False, uncached=Status.REFUSED)


# NOP


def test_nop_burns_a_number(pair: Pair, session: int) -> None:
    """NOP consumes the number: a late copy of the command is never executed, and a repeat of NOP is OK again."""
    burnt = pair.ask(pair.requester.nop(session, 1, 1))
    again = pair.ask(pair.requester.nop(session, 1, 2))
    late = pair.ask(pair.requester.command(session, 1, 1, ADJUST))

    assert burnt == NopReply(Status.OK, 1, False)
    assert again == NopReply(Status.OK, 2, True)
    assert late == CommandReply(Status.FALSE_RETRY, 1, False, spent=Spent(NOP_DIGEST, Status.OK, ""))
    assert pair.device.executed == []
    assert pair.ask(pair.requester.command(session, 2, 1, ADJUST)) == CommandReply(Status.OK, 1, False, "15")


def test_nop_learns_what_spent_the_number(pair: Pair, session: int) -> None:
    """NOP under the number of an executed command names that command's digest, status and text."""
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))

    answer = pair.ask(pair.requester.nop(session, 1, 2))

    assert answer == NopReply(Status.FALSE_RETRY, 2, False, spent=Spent(ADJUST_DIGEST, Status.OK, "15"))


def test_session_0_is_never_known() -> None:
    """With no session open, session 0 is as unknown as any (and no number 1 is executed)."""
    pair = Pair()
    boot_id = pair.device.responder.boot_id.to_bytes(4, "big")

    written = pair.device.receive("main", request(Type.CMD, 0, 1, ADJUST.encode()))

    assert written == [("main", reply(Type.CMD, 0, 1, b"\x12" + boot_id))]
    assert pair.device.executed == []


def test_record_is_the_last_number_consumed(pair: Pair, session: int) -> None:
    """HELLO's record follows each consumed number, NOP and refusals included, and nothing else."""
    assert pair.record() is None
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))
    first = Record(session, 1, ADJUST_DIGEST, Status.OK)
    assert pair.record() == first
    pair.ask(pair.requester.command(session, 3, 1, "BEEP"))
    pair.ask(pair.requester.command(session, 1, 1, "BEEP"))
    pair.device.slow = True
    pair.send(pair.requester.command(session, 2, 1, "BEEP"))
    assert pair.record() == first
    pair.device.finish(Status.REFUSED)
    assert pair.record() == Record(session, 2, digest(Type.CMD, b"BEEP"), Status.REFUSED)
    pair.ask(pair.requester.nop(session, 3, 1))
    assert pair.record() == Record(session, 3, NOP_DIGEST, Status.OK)
