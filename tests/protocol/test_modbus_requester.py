"""Which frame answers a request, what does it prove, and what is told of all the others?"""

import pytest

from protocol.modbus.requester import ModbusRequester, Replied, Stray
from tests.protocol.modbus_bytes import (
    BUSY,
    OTHER_UNIT,
    QUEUED,
    READ,
    READ_5,
    READ_30,
    READ_TEXT,
    RTU,
    WRITE,
    WRITE_TEXT,
    Exchange,
    asking,
    briefly,
    h,
    line,
)


@pytest.mark.parametrize("exchange", RTU, ids=lambda exchange: exchange.text)
def test_published_exchanges(exchange: Exchange) -> None:
    """Asked as published, the published answer is an ack or carries its value."""
    requester = ModbusRequester("rtu", exchange.unit)
    requester.echoes = False
    assert requester.ask(exchange.text) == exchange.request
    (event,) = requester.receive(exchange.answer)
    assert isinstance(event, Replied)
    assert (event.how, event.value) == ("done", exchange.value)


@pytest.mark.parametrize(
    ("code", "how", "meaning"),
    [
        (1, "refused", "illegal function"),
        (2, "refused", "illegal data address"),
        (3, "refused", "illegal data value"),
        (4, "unknown", "server device failure"),
        (5, "queued", "acknowledge: accepted, takes a while"),
        (6, "busy", "server device busy"),
        (7, "unknown", "negative acknowledge"),
        (8, "unknown", "memory parity error"),
        (9, "unknown", "not of the standard"),
        (10, "unreached", "gateway path unavailable"),
        (11, "unknown", "gateway target device failed to respond"),
        (12, "unknown", "not of the standard"),
        (0, "unknown", "not of the standard"),
        (255, "unknown", "not of the standard"),
    ],
)
@pytest.mark.parametrize(("text", "function"), [(WRITE_TEXT, 6), (READ_TEXT, 3), ("fc16 0x0010 f32 1", 16)])
def test_exceptions(text: str, function: int, code: int, how: str, meaning: str) -> None:
    """Each exception proves what it proves, for reads and writes; shorter than the normal answer, it ends the wait."""
    requester = asking(text, "tcp")
    assert requester.receive(bytes((0, 1, 0, 0, 0, 3, 1, function | 0x80, code))) == [
        Replied(how, None, f"fc{function:02} 0x0010: exception {code} ({meaning})")  # type: ignore[arg-type] # a word of `How`
    ]


@pytest.mark.parametrize(("frame", "how"), [(QUEUED, "queued"), (BUSY, "busy")])
def test_exceptions_on_a_line(frame: bytes, how: str) -> None:
    """On a serial line an exception answers a write in five bytes."""
    assert briefly(asking(WRITE_TEXT).receive(frame)) == [how]


def test_events_tell_what_was_read() -> None:
    """Lines are for people; what was written is never in them."""
    assert asking(READ_TEXT).receive(READ_30) == [Replied("done", "30", "fc03 0x0010: 001E")]
    assert asking("fc03 0x0010 f32").receive(line("01030441F00000")) == [
        Replied("done", "30", "fc03 0x0010: 41F0 0000")
    ]
    assert asking(WRITE_TEXT).receive(WRITE) == [Replied("done", None, "fc06 0x0010: acknowledged")]
    assert asking("fc43 0x01 text").receive(RTU[8].answer) == [
        Replied("done", "INV-Cappo", "fc43 0x01: INV-Cappo")
    ]
    assert asking(WRITE_TEXT, echoes=True).receive(WRITE) == [
        Stray("echo", "unit 1, fc06: 5 bytes; our own request, or an ack that looks like it", WRITE, 6)
    ]


@pytest.mark.parametrize(
    ("text", "answer", "said"),
    [
        ("fc03 0x0010 f32", line("0103047FC00000"), "no_value"),
        ("fc03 0x0010 u16!001E", READ_30, "no_value"),
        ("fc23 0x0010 u16!0005 30", line("0117020005"), "done"),
        ("fc23 0x0010 u16 30", line("011702001E"), "done 30"),
    ],
)
def test_readings_without_a_value(text: str, answer: bytes, said: str) -> None:
    """Content that says that there is no value is no value; the write of function 23 is done all the same."""
    assert briefly(asking(text).receive(answer)) == [said]


def test_wrong_unit() -> None:
    """The answer of another unit is told, and does not end the wait."""
    requester = asking(READ_TEXT)
    assert requester.receive(OTHER_UNIT) == [Stray("unit", "unit 2, fc03: 4 bytes", OTHER_UNIT, 3)]
    assert briefly(requester.receive(READ_30)) == ["done 30"]


@pytest.mark.parametrize(
    "late",
    [
        line("010402000A"),  # of another function
        line("01030441F00000"),  # of the same function with another length
        line("018402"),
        line("010500ACFF00"),
        line("01060010001F"),  # the ack of another write
    ],
    ids=["function", "length", "exception", "coil", "value"],
)
def test_late_answers_on_a_line(late: bytes) -> None:
    """A late answer that shows that it is one is never the answer to what is asked now."""
    requester = asking(READ_TEXT)
    assert briefly(requester.receive(late)) == ["answer"]
    assert briefly(requester.receive(READ_30)) == ["done 30"]
    requester.ask(WRITE_TEXT)
    assert briefly(requester.receive(late + WRITE)) == ["answer", "done"]


def test_what_came_in_before_answers_nothing() -> None:
    """A frame that had begun or lay there before the request is not its answer, in whole or in part."""
    requester = asking(READ_TEXT)
    requester.abandon()
    assert briefly(requester.receive(READ_5)) == ["answer"]
    assert requester.receive(READ_5[:4]) == []
    requester.ask(READ_TEXT)
    assert briefly(requester.receive(READ_5[4:])) == ["junk"]
    assert briefly(requester.receive(READ_30)) == ["junk", "done 30"]


def test_one_answer_per_request() -> None:
    """A second answer answers nothing, nor does anything while nothing is asked."""
    requester = asking(READ_TEXT)
    assert briefly(requester.receive(READ_30 + READ_5)) == ["done 30", "answer"]
    fresh = ModbusRequester("rtu", 1)
    assert briefly(fresh.receive(READ_5 + QUEUED)) == ["answer", "answer"]


def test_strays_are_told_apart() -> None:
    """Function and refusal of a stray are known, so that whoever waits for it recognises it."""
    requester = asking(READ_TEXT)
    assert requester.function == 3
    read, refusal = requester.receive(READ_30 + READ_5 + QUEUED)[1:]
    assert isinstance(read, Stray)
    assert isinstance(refusal, Stray)
    assert (read.function, read.refused) == (3, False)
    assert (refusal.function, refusal.refused) == (6, True)
    assert refusal.line == "unit 1, fc06: exception 5 (acknowledge: accepted, takes a while)"


def test_nothing_changes_with_a_bad_text() -> None:
    """A text that is no request is not asked, and what was outstanding still is."""
    requester = asking(READ_TEXT)
    with pytest.raises(ValueError, match="does not fit"):
        requester.ask("fc06 0x0010 u16 65536")
    assert briefly(requester.receive(READ_30)) == ["done 30"]


@pytest.mark.parametrize(
    ("framing", "unit", "why"), [("rtu", 0, "1 to 247"), ("rtu", 248, "1 to 247"), ("tcp", 256, "0 to 255")]
)
def test_units(framing: str, unit: int, why: str) -> None:
    """A broadcast has no answer, so no requester speaks to unit 0 on a line; over TCP a lone device may be 0 or 255."""
    with pytest.raises(ValueError, match=why):
        ModbusRequester(framing, unit)  # type: ignore[arg-type] # a parametrised literal
    assert ModbusRequester("tcp", 255).ask(READ_TEXT) == h("0001 0000 0006 FF 03 0010 0001")
    assert ModbusRequester("rtu", 1).ask(READ_TEXT) == READ
