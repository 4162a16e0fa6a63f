"""Is everything that is not exactly a request for this device dropped, counted and never answered?

WIRE.md section 1. Numbers in brackets are the known edge cases of framing.
"""

import struct
import zlib
from dataclasses import replace

import pytest
from cobs import cobs
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.native.codes import Status, Type
from protocol.native.frame import Frame, encode
from protocol.native.messages import CommandReply
from tests.protocol.pair import Device, Pair

ADJUST = b"ADJUST offset +5"


def request(kind: Type, session: int, payload: bytes) -> Frame:
    """A request frame with number 1."""
    return Frame(kind, False, 1, 1, 0, session, 1, payload)


def sealed(body: bytes) -> bytes:
    """A body that `encode` would refuse, with its CRC right."""
    block: bytes = cobs.encode(body + struct.pack(">I", zlib.crc32(body)))
    return block + b"\0"


PAYLOADS = {
    Type.HELLO: b"",
    Type.OPEN: struct.pack(">QIQ", 1, 9, 9),
    Type.CMD: ADJUST,
    Type.READ: b"GET offset",
    Type.NOP: b"",
    Type.QUERY: b"",
    Type.CLOSE: b"",
}


@pytest.mark.parametrize("kind", list(Type))
def test_reply_is_no_request(kind: Type) -> None:
    """A frame with the reply bit, as another device on the line writes it, is dropped (47, 54)."""
    pair = Pair()
    frame = replace(request(kind, pair.open(), PAYLOADS[kind]), reply=True)

    assert pair.device.receive("main", encode(frame)) == []
    assert pair.device.responder.dropped == {"direction": 1}


@pytest.mark.parametrize("kind", list(Type))
@pytest.mark.parametrize("unit", [1, 8, 247])
def test_other_units_are_dropped(kind: Type, unit: int) -> None:
    """Only the own unit is answered, and the reply carries it (46)."""
    device = Device(unit=7)
    device.connect("main")
    frame = request(kind, 1, PAYLOADS[kind])

    assert device.receive("main", encode(replace(frame, unit=unit))) == []
    assert device.responder.dropped == {"other unit": 1}
    ((_, written),) = device.receive("main", encode(replace(frame, unit=7)))
    assert cobs.decode(written[:-1])[2] == 7


@pytest.mark.parametrize("unit", [0, *range(248, 256)])
def test_there_is_no_broadcast(unit: int) -> None:
    """Units 0 and 248 to 255 are dropped: a command without an answer does not exist (20)."""
    pair = Pair()
    body = struct.pack(">BBBBBIH", 1, 3, unit, 1, 0, pair.open(), 1) + ADJUST

    assert pair.device.receive("main", sealed(body)) == []
    assert pair.device.responder.dropped == {"unit": 1}
    assert pair.device.ledger == []


@pytest.mark.parametrize("flags", [1, 2, 0x80])
def test_request_with_flags(flags: int) -> None:
    """A request has no flags, REPLAYED included."""
    pair = Pair()
    body = struct.pack(">BBBBBIH", 1, 3, 1, 1, flags, pair.open(), 1) + ADJUST

    assert pair.device.receive("main", sealed(body)) == []
    assert pair.device.responder.dropped == {"flags": 1}


@pytest.mark.parametrize(
    ("kind", "payload"), [(kind, b"x") for kind in (1, 5, 6, 7)] + [(2, b""), (2, bytes(21))]
)
def test_payload_of_another_shape(kind: int, payload: bytes) -> None:
    """A request whose payload has not the shape of its type is dropped."""
    pair = Pair()
    frame = request(Type(kind), pair.open(), payload)

    assert pair.device.receive("main", encode(frame)) == []
    assert pair.device.responder.dropped == {"payload shape": 1}


def test_body_beyond_max_body() -> None:
    """A command of max_body is executed, one byte more is dropped; the number stays free."""
    pair = Pair(Device(max_body=64))
    session = pair.open()
    fits, beyond = (request(Type.CMD, session, b"x" * size) for size in (53, 54))

    assert pair.device.receive("main", encode(beyond)) == []
    assert pair.device.responder.dropped == {"too long": 1}
    assert len(pair.device.receive("main", encode(fits))) == 1


@pytest.mark.parametrize("attempt", range(256))
def test_attempt_is_for_logs(attempt: int) -> None:
    """Any attempt is taken, and repeated in the answer."""
    pair = Pair()
    frame = replace(request(Type.CMD, pair.open(), ADJUST), attempt=attempt)

    assert pair.ask_raw(encode(frame)) == CommandReply(Status.OK, attempt, False, "15")


def test_damaged_command_is_never_executed() -> None:
    """With any bit of the frame flipped nothing is executed and nothing answered; the intact copy is (21)."""
    pair = Pair()
    wire = encode(request(Type.CMD, pair.open(), ADJUST))
    for bit in range((len(wire) - 1) * 8):
        damaged = bytearray(wire)
        damaged[bit // 8] ^= 1 << bit % 8
        assert pair.device.receive("main", bytes(damaged)) == [], bit

    assert pair.device.ledger == []
    assert pair.ask_raw(wire) == CommandReply(Status.OK, 1, False, "15")


@pytest.mark.parametrize("cut", range(1, 32))
def test_partial_write(cut: int) -> None:
    """A frame broken off at any byte is not executed, and what follows a zero is understood (42)."""
    pair = Pair()
    session = pair.open()
    wire = encode(request(Type.CMD, session, ADJUST))

    assert pair.device.receive("main", wire[:cut]) == []
    pair.requester.abandon()
    answer = pair.ask(pair.requester.command(session, 1, 2, ADJUST.decode()))
    assert answer == CommandReply(Status.OK, 2, False, "15")
    assert len(pair.device.ledger) == 1


@settings(derandomize=True, max_examples=300)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=50),
            st.builds(
                lambda kind, payload: encode(request(kind, 1, payload)),
                st.sampled_from(Type),
                st.binary(max_size=30),
            ),
        ),
        max_size=8,
    )
)
def test_nothing_that_arrives_raises(stream: list[bytes]) -> None:
    """Whatever arrives, a device goes on; nothing is executed in a session that is not open (48)."""
    pair = Pair()
    pair.open()
    for data in stream:
        pair.device.receive("main", data)

    assert pair.device.ledger == []
