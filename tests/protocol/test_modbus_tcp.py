"""Which frame over TCP answers a request?"""

import pytest

from protocol.modbus.requester import ModbusRequester, Replied, Stray
from tests.protocol.modbus_bytes import READ_TEXT, WRITE_TEXT, asking, briefly, h

READING = h("000000050103 02001E")
"""An answer behind its transaction: 30 of unit 1."""
FIRST, SECOND = h("0001") + READING, h("0002") + READING


def test_a_published_session() -> None:
    """A session with a gateway, printed by its client: an answer, and a gateway that reaches nobody."""
    requester = ModbusRequester("tcp", 2, first_transaction=0)
    assert requester.ask("fc04 0x0290 u64") == h("000000000006 0204 02900004")
    (event,) = requester.receive(h("00000000000b 0204 08 03eb020802080000"))
    assert event == Replied("done", str(0x03EB020802080000), "fc04 0x0290: 03EB 0208 0208 0000")

    requester = ModbusRequester("tcp", 4, first_transaction=0)
    requester.ask("fc04 656 u64")
    assert requester.receive(h("000000000003 0484 0a")) == [
        Replied("unreached", None, "fc04 0x0290: exception 10 (gateway path unavailable)")
    ]


def test_transactions() -> None:
    """Each request has the next id; an earlier one of ours is late, any other foreign, and neither is believed."""
    requester = asking(READ_TEXT, "tcp")
    assert requester.ask(READ_TEXT)[:2] == h("0002")
    assert requester.receive(FIRST + h("0003") + READING + SECOND) == [
        Stray("late", "unit 1, transaction 1, fc03: 4 bytes", FIRST, 3),
        Stray("foreign", "unit 1, transaction 3, fc03: 4 bytes", h("0003") + READING, 3),
        Replied("done", "30", "fc03 0x0010: 001E"),
    ]
    assert briefly(requester.receive(SECOND)) == ["late"]


def test_nothing_is_late_where_nothing_was_asked() -> None:
    """On a new stream every answer is foreign, whatever its id."""
    requester = ModbusRequester("tcp", 1, first_transaction=0)
    assert briefly(requester.receive(h("FFFF") + READING + h("0000") + READING)) == ["foreign", "foreign"]


def test_swapped_transactions() -> None:
    """A device that swaps the bytes of ids is not believed, and the log says what it does."""
    requester = asking(READ_TEXT, "tcp")
    (event,) = requester.receive(h("0100") + READING)
    assert isinstance(event, Stray)
    assert (event.why, event.line) == (
        "foreign",
        "unit 1, transaction 256, fc03: 4 bytes; our 1 with its bytes swapped",
    )


def test_ids_wrap() -> None:
    """After 65535 comes 0, and what was asked before is late."""
    requester = ModbusRequester("tcp", 1, first_transaction=65535)
    assert requester.ask(READ_TEXT)[:2] == h("FFFF")
    assert requester.ask(READ_TEXT)[:2] == h("0000")
    assert briefly(requester.receive(h("FFFF") + READING + h("FFFE") + READING)) == ["late", "foreign"]
    assert briefly(requester.receive(h("0000") + READING)) == ["done 30"]


def test_a_lap_later_only_the_newest_counts() -> None:
    """With every id used, every answer but that of the newest request is late."""
    requester = ModbusRequester("tcp", 1, first_transaction=7)
    requester.ask(READ_TEXT)
    requester._asked_count = 0x10000  # a lap of ids, without the time that it takes
    assert briefly(requester.receive(h("0008") + READING)) == ["late"]
    assert briefly(requester.receive(h("0007") + READING)) == ["done 30"]


@pytest.mark.parametrize("first", [-1, 65536])
def test_no_ids(first: int) -> None:
    """Ids have sixteen bits."""
    with pytest.raises(ValueError, match="is not within 0 to 65535"):
        ModbusRequester("tcp", 1, first_transaction=first)


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        ("000100000005 0203 02001E", "unit"),
        ("000100000005 0104 02001E", "foreign"),  # another function
        ("000100000007 0103 0441F00000", "foreign"),  # another length
        ("000100000003 0184 02", "foreign"),
    ],
)
def test_the_right_id_is_not_enough(frame: str, why: str) -> None:
    """Under the right id the answer of another unit, function or length is not the answer."""
    requester = asking(READ_TEXT, "tcp")
    assert briefly(requester.receive(h(frame))) == [why]
    assert briefly(requester.receive(FIRST)) == ["done 30"]


def test_acks() -> None:
    """The ack of a single write is its request, id and all; of another value it is none."""
    requester = asking(WRITE_TEXT, "tcp")
    assert briefly(requester.receive(h("000100000006 0106 0010001F"))) == ["foreign"]
    assert briefly(requester.receive(h("000100000006 0106 0010001E"))) == ["done"]


@pytest.mark.parametrize(
    "header",
    [
        "0001 0001 0005",  # another protocol
        "0001 0000 0001",  # a length without a function
        "0001 0000 00FF",  # longer than any frame
        "0001 0000 0006",  # longer than what it carries
        "0001 0000 0004",  # shorter
    ],
)
def test_headers_that_are_none(header: str) -> None:
    """A header that cannot be right is junk, and hides nothing behind it."""
    requester = asking(READ_TEXT, "tcp")
    assert briefly(requester.receive(h(header) + h("0103 02001E") + FIRST)) == ["junk", "done 30"]


def test_last_byte_apart() -> None:
    """The inverter that always sends the last byte separately is understood."""
    requester = ModbusRequester("tcp", 3)
    requester.ask("fc03 0x0000 u32")
    assert requester.receive(h("0001 0000 0007 03 03 04 00 00 03")) == []
    assert briefly(requester.receive(h("71"))) == ["done 881"]


def test_a_truncated_answer_spoils_one_request() -> None:
    """An answer that was cut off answers nothing; the next request begins anew."""
    requester = asking(READ_TEXT, "tcp")
    assert requester.receive(FIRST[:-1]) == []
    requester.ask(READ_TEXT)
    assert briefly(requester.receive(SECOND)) == ["junk", "done 30"]
