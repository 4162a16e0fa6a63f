"""What does the device say while a command runs, and how does a command end?

WIRE.md section 3, CMD and NOP. Numbers in brackets are the known edge cases of sequence rules.
"""

import pytest

from protocol.native.codes import CONSUMING, Status, Type
from protocol.native.messages import CommandReply
from tests.protocol.pair import (
    ADJUST,
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


def test_copy_of_the_running_command(pair: Pair, session: int) -> None:
    """A copy of what runs is IN_PROGRESS and is not queued; afterwards it is a repeat (11)."""
    pair.device.slow = True
    pair.send(pair.requester.command(session, 1, 1, ADJUST))
    copy = pair.device.receive("main", request(Type.CMD, session, 1, ADJUST.encode(), attempt=2))

    assert copy == [("main", reply(Type.CMD, session, 1, b"\x10", attempt=2))]
    assert pair.device.finish(Status.OK, "15") == [("main", reply(Type.CMD, session, 1, b"\x0015"))]
    assert pair.ask(pair.requester.command(session, 1, 2, ADJUST)) == CommandReply(Status.OK, 2, True, "15")
    assert pair.device.executed == [(1, ADJUST)]


@pytest.mark.parametrize(
    ("kind", "seq", "payload"),
    [
        (Type.CMD, 2, ADJUST.encode()),
        (Type.CMD, 2, b"BEEP"),
        (Type.CMD, 3, b"ADJUST offset +7"),
        (Type.CMD, 1, b"ADJUST offset +7"),
        (Type.CMD, 3, ADJUST.encode()),
        (Type.CMD, 1, ADJUST.encode()),
        (Type.CMD, 9, b""),
        (Type.NOP, 2, b""),
        (Type.NOP, 3, b""),
    ],
)
def test_anything_else_while_one_runs(pair: Pair, session: int, kind: Type, seq: int, payload: bytes) -> None:
    """Another number or content is BUSY and consumes nothing, whatever it would be otherwise (12, 15)."""
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))
    pair.device.slow = True
    pair.send(pair.requester.command(session, 2, 1, "ADJUST offset +7"))

    written = pair.device.receive("main", request(kind, session, seq, payload))

    assert written == [("main", reply(kind, session, seq, b"\x11"))]
    pair.device.finish(Status.OK, "22")
    pair.device.slow = False
    assert pair.ask(pair.requester.command(session, 3, 1, ADJUST)) == CommandReply(Status.OK, 1, False, "20")


def test_unknown_session_comes_first(pair: Pair, session: int) -> None:
    """An unknown session is BAD_SESSION with the boot id, also while a command runs and whatever the number."""
    boot_id = pair.device.responder.boot_id.to_bytes(4, "big")
    pair.device.slow = True
    for seq in (0, 1, 0xFFFF):
        for kind in (Type.CMD, Type.NOP):
            written = pair.device.receive("main", request(kind, session ^ 1, seq))
            assert written == [("main", reply(kind, session ^ 1, seq, b"\x12" + boot_id))]
        pair.send(pair.requester.command(session, 1, 1, ADJUST))


@pytest.mark.parametrize("status", sorted(CONSUMING))
def test_command_that_takes_its_time(pair: Pair, session: int, status: Status) -> None:
    """A command ends with any consuming status, INDETERMINATE by the watchdog included; it is stored (22)."""
    pair.device.slow = True
    pair.send(pair.requester.command(session, 1, 1, ADJUST))
    pair.deliver(pair.device.finish(status, "why"))

    assert pair.ask(pair.requester.command(session, 1, 2, ADJUST)) == CommandReply(status, 2, True, "why")
    pair.device.slow = False
    assert pair.ask(pair.requester.command(session, 2, 1, ADJUST)) == CommandReply(Status.OK, 1, False, "15")


@pytest.mark.parametrize("status", sorted(set(Status) - CONSUMING))
def test_no_other_status_ends_a_command(pair: Pair, session: int, status: Status) -> None:
    """A host that ends a command with a status that consumes nothing is mistaken, and the command goes on."""
    pair.device.slow = True
    pair.send(pair.requester.command(session, 1, 1, ADJUST))

    with pytest.raises(ValueError, match=status.name):
        pair.device.finish(status)
    assert pair.device.finish(Status.OK)


def test_finish_needs_a_running_command(pair: Pair) -> None:
    """Ending a command when none runs is the host's mistake."""
    with pytest.raises(RuntimeError):
        pair.device.finish(Status.OK)


def test_answer_must_fit_a_frame(pair: Pair, session: int) -> None:
    """The longest text fills max_body; a longer one is the host's mistake, and the command goes on."""
    pair.device.slow = True
    pair.send(pair.requester.command(session, 1, 1, ADJUST))

    with pytest.raises(ValueError, match="fit"):
        pair.device.finish(Status.OK, "x" * 501)
    ((_, written),) = pair.device.finish(Status.OK, "x" * 500)
    assert written == reply(Type.CMD, session, 1, b"\0" + b"x" * 500)


def test_answer_goes_where_the_command_came_from(pair: Pair, session: int) -> None:
    """The end is told to the connection of the starting copy, IN_PROGRESS to the one that asks."""
    pair.device.connect("other")
    pair.device.slow = True
    pair.device.receive("other", request(Type.CMD, session, 1, ADJUST.encode()))
    copy = pair.device.receive("main", request(Type.CMD, session, 1, ADJUST.encode(), attempt=2))

    assert copy == [("main", reply(Type.CMD, session, 1, b"\x10", attempt=2))]
    assert pair.device.finish(Status.OK, "15") == [("other", reply(Type.CMD, session, 1, b"\x0015"))]


def test_command_outlives_its_connection(pair: Pair, session: int) -> None:
    """With the starting connection gone the end is told nobody, and stored all the same."""
    pair.device.slow = True
    pair.send(pair.requester.command(session, 1, 1, ADJUST))
    pair.device.responder.disconnected("main")

    assert pair.device.finish(Status.OK, "15") == []
    pair.device.connect("main")
    assert pair.ask(pair.requester.command(session, 1, 2, ADJUST)) == CommandReply(Status.OK, 2, True, "15")
