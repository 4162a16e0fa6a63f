"""Has every payload exactly one shape?"""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.native.codes import CONSUMING, LEGAL, REPLAYED, State, Status, Type
from protocol.native.frame import Frame, FrameError
from protocol.native.messages import (
    CloseReply,
    CommandReply,
    CommandRequest,
    HelloReply,
    NopReply,
    OpenReply,
    OpenRequest,
    QueryReply,
    ReadReply,
    ReadRequest,
    Record,
    Reply,
    Spent,
)
from protocol.native.payload import build_reply, parse_reply, parse_request

SESSION = 0x00020001
RECORD = Record(SESSION, 9, 0xDEADBEEF, Status.REFUSED)
SPENT = Spent(0x4C9F0E6B, Status.BAD_ARG, "no")

#: Messages whose payload is of one length only: one byte less or more breaks it.
EXACT: list[tuple[Type, Reply]] = [
    (Type.HELLO, HelloReply("SN-1", "demo", "1.0", 7, 3, 2, 512, 32, None)),
    (Type.HELLO, HelloReply("", "", "", 0xFFFFFFFF, 0xFFFFFFFE, 0, 64, 0, RECORD)),
    (Type.OPEN, OpenReply(Status.OK, SESSION, 2**64 - 1, 7, 3, None)),
    (Type.OPEN, OpenReply(Status.BUSY, 0, 1, 7, 3, RECORD)),
    (Type.OPEN, OpenReply(Status.STALE_EPOCH, 0, 1, 7, 3, RECORD)),
    (Type.CMD, CommandReply(Status.BAD_SESSION, 1, False, boot_id=7)),
    (Type.CMD, CommandReply(Status.MISORDERED, 1, False, last=0xFFF0)),
    (Type.CMD, CommandReply(Status.DONE_UNCACHED, 1, False, uncached=Status.OK)),
    (Type.NOP, NopReply(Status.OK, 1, False)),
    (Type.NOP, NopReply(Status.IN_PROGRESS, 1, False)),
    (Type.NOP, NopReply(Status.BUSY, 1, False)),
    (Type.NOP, NopReply(Status.BAD_SESSION, 1, False, boot_id=7)),
    (Type.NOP, NopReply(Status.MISORDERED, 1, False, last=1)),
    (Type.QUERY, QueryReply(State.NEVER)),
    (Type.QUERY, QueryReply(State.RUNNING)),
    (Type.QUERY, QueryReply(State.GONE)),
    (Type.QUERY, QueryReply(None, boot_id=7)),
    (Type.CLOSE, CloseReply(Status.OK)),
    (Type.CLOSE, CloseReply(Status.BUSY)),
    (Type.CLOSE, CloseReply(Status.BAD_SESSION, 7)),
]

#: Messages that end in text: what remains must be UTF-8, and the part before it must be whole.
ENDING_IN_TEXT: list[tuple[Type, Reply, int]] = [
    *((Type.CMD, CommandReply(status, 1, False, "15"), 1) for status in sorted(CONSUMING)),
    (Type.CMD, CommandReply(Status.IN_PROGRESS, 1, False, "é"), 1),
    (Type.CMD, CommandReply(Status.BUSY, 1, False), 1),
    (Type.CMD, CommandReply(Status.FALSE_RETRY, 1, False, spent=SPENT), 6),
    (Type.NOP, NopReply(Status.FALSE_RETRY, 1, False, spent=SPENT), 6),
    (Type.READ, ReadReply(Status.OK, "15"), 1),
    (Type.READ, ReadReply(Status.BUSY), 1),
    (Type.QUERY, QueryReply(State.DONE, 0x4C9F0E6B, Status.OK, "15"), 6),
]

#: The number of payload bytes of each reply without text, by hand from the paper.
SIZES = {Status.BAD_SESSION: 5, Status.MISORDERED: 3, Status.DONE_UNCACHED: 2}


def frame_of(kind: Type, payload: bytes, *, session: int = SESSION, flags: int = 0) -> Frame:
    """A reply frame, as it would come out of the decoder."""
    return Frame(kind, True, 1, 1, flags, session, 1, payload)


def session_of(reply: Reply) -> int:
    """The header's session that goes with a reply."""
    return reply.session if isinstance(reply, OpenReply) else SESSION


def accepted(frame: Frame) -> bool:
    """Whether the payload has a shape that its type knows."""
    try:
        parse_reply(frame)
    except FrameError:
        return False
    return True


@pytest.mark.parametrize(("kind", "reply"), EXACT)
def test_exact_shape(kind: Type, reply: Reply) -> None:
    """A reply is read back as built; truncated at any byte or extended by one it is refused."""
    payload = build_reply(reply)
    session = session_of(reply)

    assert parse_reply(frame_of(kind, payload, session=session)) == reply
    for broken in (payload + b"\0", payload + b"x", *(payload[:size] for size in range(len(payload)))):
        with pytest.raises(FrameError):
            parse_reply(frame_of(kind, broken, session=session))


@pytest.mark.parametrize(("kind", "reply", "fixed"), ENDING_IN_TEXT)
def test_shape_ending_in_text(kind: Type, reply: Reply, fixed: int) -> None:
    """A reply with text is read back as built; without its fixed part, or with text no UTF-8, refused."""
    payload = build_reply(reply)

    assert parse_reply(frame_of(kind, payload)) == reply
    for broken in (payload + b"\xff", payload + b"\xc3", *(payload[:size] for size in range(fixed))):
        with pytest.raises(FrameError):
            parse_reply(frame_of(kind, broken))


@pytest.mark.parametrize("kind", [Type.CMD, Type.NOP, Type.CLOSE])
@pytest.mark.parametrize("status", sorted(SIZES))
def test_sizes_of_the_paper(kind: Type, status: Status) -> None:
    """The bytes after a status are as many as the paper says, for each type that may carry it."""
    if status in LEGAL[kind]:
        assert accepted(frame_of(kind, bytes((status,)) + bytes(SIZES[status] - 1)))
    for size in {1, 2, 3, 4, 5, 6} - {SIZES[status]}:
        with pytest.raises(FrameError):
            parse_reply(frame_of(kind, bytes((status,)) + bytes(size - 1)))


#: The first bytes of a reply of each type, by hand from the paper.
FIRST_BYTES = {
    Type.OPEN: {0, 17, 21},
    Type.CMD: {0, 1, 2, 3, 4, 16, 17, 18, 19, 20, 22},
    Type.READ: {0, 1, 2, 3, 4, 17},
    Type.NOP: {0, 16, 17, 18, 19, 20},
    Type.QUERY: {18, 32, 33, 34, 35},
    Type.CLOSE: {0, 17, 18},
}


@pytest.mark.parametrize(("kind", "legal"), FIRST_BYTES.items())
def test_illegal_first_byte(kind: Type, legal: set[int]) -> None:
    """A first byte that is no status (of QUERY: no state) of the type makes the reply malformed."""
    tails = [bytes(size) for size in (0, 1, 2, 4, 5, 17)]
    for first in range(256):
        frames = [
            frame_of(kind, bytes((first,)) + tail, session=session) for tail in tails for session in (0, 1)
        ]
        assert any(map(accepted, frames)) == (first in legal), first


@pytest.mark.parametrize("code", sorted(set(range(256)) - CONSUMING))
def test_stored_status_must_consume(code: int) -> None:
    """A status that consumes no number cannot be the stored one, wherever it is named."""
    stored = struct.pack(">IB", 1, code)
    record = b"\1" + struct.pack(">IH", SESSION, 1) + stored
    for kind, payload in (
        (Type.CMD, bytes((Status.FALSE_RETRY,)) + stored),
        (Type.CMD, bytes((Status.DONE_UNCACHED, code))),
        (Type.QUERY, bytes((State.DONE,)) + stored),
        (Type.OPEN, struct.pack(">BQII", 0, 1, 7, 3) + record),
        (Type.HELLO, bytes(3) + struct.pack(">IIBHB", 7, 3, 1, 512, 32) + record),
    ):
        with pytest.raises(FrameError):
            parse_reply(frame_of(kind, payload))


@pytest.mark.parametrize(
    "numbers",
    [(7, 3, 3, 512, 32), (7, 3, 255, 512, 32), (7, 3, 1, 63, 32), (7, 3, 1, 513, 32), (7, 3, 1, 0, 32)],
)
def test_hello_numbers_within_their_range(numbers: tuple[int, ...]) -> None:
    """A HELLO that names an unknown tier, or a max_body outside 64 to 512, is malformed."""
    with pytest.raises(FrameError):
        parse_reply(frame_of(Type.HELLO, bytes(3) + struct.pack(">IIBHB", *numbers) + b"\0"))


def test_record_flag_is_0_or_1() -> None:
    """`present` is 0 or 1, and 0 ends the payload."""
    fixed = struct.pack(">BQII", 0, 1, 7, 3)
    record = struct.pack(">IHIB", SESSION, 1, 1, 0)

    assert accepted(frame_of(Type.OPEN, fixed + b"\1" + record))
    for broken in (b"\2" + record, b"\0" + record, b"\1", b"\1" + record[:-1], b""):
        with pytest.raises(FrameError):
            parse_reply(frame_of(Type.OPEN, fixed + broken))


@pytest.mark.parametrize(("status", "session"), [(Status.OK, 0), (Status.BUSY, 1), (Status.STALE_EPOCH, 1)])
def test_only_opened_brings_a_session(status: Status, session: int) -> None:
    """OPENED without a session, or a refusal with one, is malformed."""
    with pytest.raises(FrameError):
        parse_reply(
            frame_of(Type.OPEN, build_reply(OpenReply(status, session, 1, 7, 3, None)), session=session)
        )


def test_smallest_max_body_carries_26_bytes_of_names() -> None:
    """Three names of 26 bytes together and a record make a HELLO reply of 64 bytes, header included."""
    reply = HelloReply("s" * 10, "m" * 10, "f" * 6, 1, 1, 1, 64, 32, RECORD)

    assert len(build_reply(reply)) + 11 == 64


def test_replayed_flag_becomes_a_field() -> None:
    """The REPLAYED flag of the header is a field of the answers that can be repeated."""
    command = parse_reply(frame_of(Type.CMD, b"\0", flags=REPLAYED))
    nop = parse_reply(frame_of(Type.NOP, b"\0", flags=REPLAYED))

    assert command == CommandReply(Status.OK, 1, True)
    assert nop == NopReply(Status.OK, 1, True)


@pytest.mark.parametrize("kind", [Type.HELLO, Type.NOP, Type.QUERY, Type.CLOSE])
def test_requests_without_payload(kind: Type) -> None:
    """A request that has no payload is malformed with one."""
    assert parse_request(Frame(kind, False, 1, 1, 0, 1, 1)) is not None
    with pytest.raises(FrameError):
        parse_request(Frame(kind, False, 1, 1, 0, 1, 1, b"\0"))


@pytest.mark.parametrize("size", [0, 19, 21])
def test_open_request_has_20_bytes(size: int) -> None:
    """OPEN carries agent, epoch and nonce, no more and no less."""
    assert parse_request(Frame(Type.OPEN, False, 1, 1, 0, 0, 0, bytes(20))) == OpenRequest(0, 0, 0)
    with pytest.raises(FrameError):
        parse_request(Frame(Type.OPEN, False, 1, 1, 0, 0, 0, bytes(size)))


@pytest.mark.parametrize(
    ("data", "text"), [(b"", None), (b"\xff", None), (b"BEEP", "BEEP"), (b"\xc3\xa9", "é")]
)
def test_command_text_may_be_any_bytes(data: bytes, text: str | None) -> None:
    """A command or query that is empty or no UTF-8 is a message without text, not a malformed frame."""
    assert parse_request(Frame(Type.CMD, False, 1, 1, 0, 1, 1, data)) == CommandRequest(data, text)
    assert parse_request(Frame(Type.READ, False, 1, 1, 0, 0, 1, data)) == ReadRequest(data, text)


@settings(derandomize=True, max_examples=300)
@given(st.sampled_from(Type), st.binary(max_size=60), st.sampled_from((0, SESSION)))
def test_parsing_is_the_inverse_of_building(kind: Type, payload: bytes, session: int) -> None:
    """Whatever is accepted is built to the same bytes again; whatever is not is a FrameError."""
    frame = frame_of(kind, payload, session=session)
    try:
        reply = parse_reply(frame)
    except FrameError:
        return
    assert build_reply(reply) == payload
