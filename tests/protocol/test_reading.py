"""Do QUERY and READ tell what is, and change nothing?

WIRE.md section 3, READ, QUERY. Numbers in brackets are the known edge cases of sequence rules.
"""

import pytest

from protocol.native.codes import State, Status, Type
from protocol.native.messages import CommandReply, QueryReply, ReadReply
from protocol.native.responder import Memory, Responder
from tests.protocol.pair import (
    ADJUST,
    ADJUST_DIGEST,
    IDENTITY,
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


def test_query_never_consumes(pair: Pair, session: int) -> None:
    """QUERY says NEVER, RUNNING, DONE or GONE, and the number stays what it was."""
    query = pair.requester.query
    assert pair.ask(query(session, 0)) == QueryReply(State.GONE)
    assert pair.ask(query(session, 1)) == QueryReply(State.NEVER)
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))
    done = QueryReply(State.DONE, ADJUST_DIGEST, Status.OK, "15")
    assert pair.ask(query(session, 1)) == done
    pair.device.slow = True
    pair.send(pair.requester.command(session, 2, 1, ADJUST))
    assert pair.ask(query(session, 2)) == QueryReply(State.RUNNING)
    assert pair.ask(query(session, 1)) == done
    assert pair.ask(query(session, 3)) == QueryReply(State.NEVER)
    pair.device.finish(Status.OK, "20")
    assert pair.ask(query(session, 1)) == QueryReply(State.GONE)
    assert pair.ask(query(session, 0)) == QueryReply(State.GONE)
    assert pair.ask(query(session, 0xFFFF)) == QueryReply(State.NEVER)
    assert pair.ask(query(session ^ 1, 2)) == QueryReply(None, boot_id=pair.device.responder.boot_id)
    assert [seq for seq, _ in pair.device.executed] == [1, 2]


def test_read_has_no_slot(pair: Pair, session: int) -> None:
    """A READ, with session 0 and its own id, leaves the stored answer of the last command alone (19)."""
    pair.ask(pair.requester.command(session, 1, 1, ADJUST))
    written = pair.device.receive("main", request(Type.READ, session, 77, b"GET offset"))

    assert written == [("main", reply(Type.READ, 0, 77, b"\x0015"))]
    assert pair.ask(pair.requester.read(1, "GET mood")) == ReadReply(Status.BAD_COMMAND, "unknown")
    assert pair.ask(pair.requester.command(session, 1, 2, ADJUST)) == CommandReply(Status.OK, 2, True, "15")


def test_read_is_a_barrier_on_its_connection(pair: Pair, session: int) -> None:
    """A READ behind a command on one connection is answered behind it: BUSY while it runs, else the new value."""
    pair.device.slow = True
    command, read = pair.requester.command(session, 1, 1, ADJUST), pair.requester.read(2, "GET offset")

    assert pair.device.receive("main", command + read) == [("main", reply(Type.READ, 0, 2, b"\x11"))]
    pair.device.finish(*pair.device.execute(ADJUST))
    assert pair.ask(pair.requester.read(3, "GET offset")) == ReadReply(Status.OK, "15")


@pytest.mark.parametrize("payload", [b"", b"\xff"])
def test_query_text_that_is_none(pair: Pair, payload: bytes) -> None:
    """An empty or non-UTF-8 query is BAD_COMMAND; nothing is read."""
    written = pair.device.receive("main", request(Type.READ, 0, 5, payload))

    assert written == [("main", reply(Type.READ, 0, 5, b"\x02empty or no UTF-8"))]


@pytest.mark.parametrize("answer", [(Status.MISORDERED, ""), (Status.OK, "x" * 501)])
def test_reader_must_answer_what_a_read_may(answer: tuple[Status, str]) -> None:
    """A host's reader that answers with a status or a text that no READ can carry is mistaken."""
    responder = Responder(
        IDENTITY, tier=0, memory=Memory.blank(0), boot_id=1, draw=lambda: 1, read=lambda _: answer
    )
    responder.connected("main")

    with pytest.raises(ValueError, match=r"query|fit"):
        responder.receive("main", request(Type.READ, 0, 5, b"GET offset"))
