"""Does the decoder take exactly the frames, whatever surrounds them and however they are cut?"""

import random
import zlib
from dataclasses import replace
from itertools import pairwise

import construct
import pytest
from cobs import cobs
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.native.codes import HEADER_SIZE, MAX_BODY_LIMIT, REPLY_BIT, Type
from protocol.native.frame import LAYOUT, Decoder, Frame, FrameError, Junk, decode, encode, parse_body

FRAME = Frame(Type.CMD, False, 1, 1, 0, 0x00020001, 1, b"ADJUST offset +5")
NEXT = Frame(Type.READ, False, 1, 1, 0, 0, 9, b"GET offset")

frames = st.builds(
    Frame,
    type=st.sampled_from(Type),
    reply=st.booleans(),
    unit=st.integers(1, 247),
    attempt=st.integers(0, 255),
    flags=st.just(0),
    session=st.integers(0, 0xFFFFFFFF),
    seq=st.integers(0, 0xFFFF),
    payload=st.binary(max_size=MAX_BODY_LIMIT - HEADER_SIZE),
)


def sealed(body: bytes) -> bytes:
    """The block of a body, its CRC right, without the closing zero."""
    block: bytes = cobs.encode(body + zlib.crc32(body).to_bytes(4, "big"))
    return block


def by_construct(body: bytes) -> Frame | None:
    """What the declaration itself, interpreted, makes of a body."""
    try:
        header = LAYOUT.parse(body)
    except construct.ConstructError:
        return None
    kind, reply = Type(header.type & ~REPLY_BIT), bool(header.type & REPLY_BIT)
    rest = body[HEADER_SIZE:]
    return Frame(kind, reply, header.unit, header.attempt, header.flags, header.session, header.seq, rest)


def by_struct(body: bytes) -> Frame | None:
    """What the fast path makes of a body."""
    try:
        return parse_body(body)
    except FrameError:
        return None


@settings(derandomize=True, max_examples=300)
@given(st.one_of(st.binary(min_size=11, max_size=40), frames.map(lambda f: cobs.decode(encode(f)[:-1])[:-4])))
def test_fast_path_equals_the_declaration(body: bytes) -> None:
    """The generated struct parses every body as plain construct does, rejections included."""
    assert by_struct(body) == by_construct(body)


@pytest.mark.parametrize("offset", range(HEADER_SIZE))
def test_fast_path_equals_the_declaration_in_every_header_byte(offset: int) -> None:
    """Each header byte in turn takes all 256 values, in a request and in a reply."""
    for first in (bytes((1, 3, 1, 1, 0)), bytes((1, 0x83, 1, 1, 1))):
        for value in range(256):
            body = bytearray(first + bytes(6) + b"x")
            body[offset] = value
            assert by_struct(bytes(body)) == by_construct(bytes(body)), body.hex(" ")


@settings(derandomize=True, max_examples=200)
@given(frames)
def test_encode_equals_the_declaration(frame: Frame) -> None:
    """The bytes of a frame are those that plain construct builds, sealed with CRC, COBS and a zero."""
    kind = frame.type | (REPLY_BIT if frame.reply else 0)
    fields = {"version": 1, "type": kind, "unit": frame.unit, "attempt": frame.attempt}
    fields |= {"flags": frame.flags, "session": frame.session, "seq": frame.seq}

    assert encode(frame) == sealed(LAYOUT.build(fields) + frame.payload) + b"\0"
    assert decode(encode(frame)[:-1]) == frame


@pytest.mark.parametrize(
    "broken",
    [
        {"unit": 0},
        {"unit": 248},
        {"flags": 1},
        {"flags": 2},
        {"attempt": 256},
        {"attempt": -1},
        {"session": 1 << 32},
        {"seq": 0x10000},
        {"payload": bytes(502)},
    ],
)
def test_encode_refuses_what_may_not_be_on_the_wire(broken: dict[str, int | bytes]) -> None:
    """A field out of its range is an error before any byte."""
    fields = {"type": Type.CMD, "reply": False, "unit": 1, "attempt": 1, "flags": 0, "session": 1, "seq": 1}
    with pytest.raises(FrameError):
        encode(Frame(**(fields | broken)))  # type: ignore[arg-type]


def reason_of(block: bytes, max_body: int = MAX_BODY_LIMIT) -> str | None:
    """Why a block is no frame; None if it is one."""
    try:
        decode(block, max_body)
    except FrameError as error:
        return error.reason
    return None


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\x02" + bytes(10), "version"),
        (b"\x01\x08\x01" + bytes(8), "type"),
        (b"\x01\x00\x01" + bytes(8), "type"),
        (b"\x01\x01\x00" + bytes(8), "unit"),
        (b"\x01\x01\xf8" + bytes(8), "unit"),
        (b"\x01\x01\x01\x01\x01" + bytes(6), "flags"),
        (b"\x01\x81\x01\x01\x02" + bytes(6), "flags"),
        (b"\x01\x81\x01\x01\x80" + bytes(6), "flags"),
        (b"\x01\x01\x01" + bytes(7), "size"),
        (b"\x01\x01\x01" + bytes(510), "size"),
        (b"", "size"),
    ],
)
def test_reason_for_each_rejection(body: bytes, reason: str) -> None:
    """Each rule of the header has its own reason, so that drops can be counted."""
    assert reason_of(sealed(body)) == reason


def test_every_flipped_bit_is_noticed() -> None:
    """No single flipped bit yields a frame, let alone another one (cases 21, 46)."""
    wire = encode(FRAME)[:-1]
    for bit in range(len(wire) * 8):
        damaged = bytearray(wire)
        damaged[bit // 8] ^= 1 << bit % 8
        assert not any(isinstance(item, Frame) for item in Decoder().feed(bytes(damaged) + b"\0")), bit


def without_zeros(size: int) -> Frame:
    """A frame whose body and CRC together are `size` bytes, none of them zero."""
    for filler in range(1, 256):
        payload = bytes((filler,)) * (size - HEADER_SIZE - 4)
        frame = Frame(Type.CMD, True, 1, 1, 1, 0x01010101, 0x0101, payload)
        if 0 not in cobs.decode(encode(frame)[:-1]):
            return frame
    raise AssertionError("no filler does")


@pytest.mark.parametrize(("size", "max_body"), [(254, 512), (254, 250), (508, 512), (508, 504)])
def test_both_cobs_forms_of_a_full_block(size: int, max_body: int) -> None:
    """After a full block of 254 bytes an encoder may or may not begin another, empty one."""
    frame = without_zeros(size)
    short = encode(frame)[:-1]

    assert len(short) == size + size // 254
    assert Decoder(max_body).feed(short + b"\0") == [frame]
    assert Decoder(max_body).feed(short + b"\x01\0") == [frame]


@pytest.mark.parametrize("max_body", [64, 249, 250, 251, 504, 511, 512])
def test_longest_body(max_body: int) -> None:
    """A body of max_body passes, one byte more is junk, and the next frame is not harmed."""
    decoder = Decoder(max_body)

    assert decoder.feed(encode(without_zeros(max_body + 4))) == [without_zeros(max_body + 4)]
    if max_body < MAX_BODY_LIMIT:
        (junk,) = decoder.feed(encode(without_zeros(max_body + 5)))
        assert isinstance(junk, Junk)
    assert decoder.feed(encode(FRAME)) == [FRAME]


@pytest.mark.parametrize("max_body", [504, 511])
def test_longer_body_that_encodes_short(max_body: int) -> None:
    """A body of one byte too many is refused by its size, also where its encoding is no longer than others."""
    beyond = replace(FRAME, payload=bytes(max_body + 1 - HEADER_SIZE))

    assert Decoder(max_body).feed(encode(beyond)) == [Junk(encode(beyond)[:-1], "size")]


@pytest.mark.parametrize("max_body", [0, 63, 513])
def test_max_body_has_limits(max_body: int) -> None:
    """max_body lies between 64 and 512."""
    with pytest.raises(ValueError, match="max_body"):
        Decoder(max_body)


@settings(derandomize=True, max_examples=100)
@given(st.lists(st.one_of(st.binary(max_size=30), frames.map(encode)), max_size=6), st.randoms())
def test_pieces_do_not_matter(writes: list[bytes], shuffled: random.Random) -> None:
    """Any garbage and any cutting gives the same frames and junk as the stream in one piece (case 50)."""
    stream = b"".join(writes)
    cuts = sorted(shuffled.choices(range(len(stream) + 1), k=8))
    decoder = Decoder()

    whole = Decoder().feed(stream)
    pieces = [item for a, b in pairwise([0, *cuts, len(stream)]) for item in decoder.feed(stream[a:b])]

    assert pieces == whole


def test_every_single_cut() -> None:
    """Two frames cut in two at any place arrive as two frames (case 50)."""
    stream = encode(FRAME) + encode(NEXT)
    for cut in range(len(stream) + 1):
        decoder = Decoder()
        assert decoder.feed(stream[:cut]) + decoder.feed(stream[cut:]) == [FRAME, NEXT]


@pytest.mark.parametrize("stray", range(256))
def test_stray_byte_before_a_frame(stray: int) -> None:
    """A zero is harmless; another stray byte costs the frame it touches and no other, and invents none."""
    first = Decoder().feed(bytes((stray,)) + encode(FRAME))
    decoder = Decoder()
    separated = decoder.feed(bytes((stray, 0)) + encode(FRAME))
    following = Decoder().feed(bytes((stray,)) + encode(FRAME) + encode(NEXT))

    if stray == 0:
        assert first == separated == [FRAME]
        assert following == [FRAME, NEXT]
    else:
        assert [type(item) for item in first] == [Junk]
        assert [type(item) for item in separated] == [Junk, Frame]
        assert separated[-1] == FRAME
        assert following[1:] == [NEXT]


def test_empty_frames_leave_no_trace() -> None:
    """Zeros in a row are skipped, before, between and after frames."""
    assert Decoder().feed(b"\0\0" + encode(FRAME) + b"\0\0\0" + encode(NEXT) + b"\0") == [FRAME, NEXT]


@pytest.mark.parametrize("piece_size", [1, 7, 600, 5000])
def test_endless_input_is_given_up_until_the_next_zero(piece_size: int) -> None:
    """Input longer than any frame is reported once, cut short; a frame behind the next zero gets through."""
    noise = b"\x55" * 4000
    stream = noise + b"\0" + encode(FRAME)
    decoder = Decoder()

    found = [
        item
        for at in range(0, len(stream), piece_size)
        for item in decoder.feed(stream[at : at + piece_size])
    ]

    assert found == [Junk(noise[:519], "too long"), FRAME]


def test_agents_accept_519_bytes() -> None:
    """The longest block, 519 bytes, is collected; the 520th makes it too long."""
    assert Decoder().feed(b"\x01" * 519 + b"\0") == [Junk(b"\x01" * 519, "size")]
    assert Decoder().feed(b"\x01" * 520) == [Junk(b"\x01" * 519, "too long")]


@settings(derandomize=True, max_examples=300)
@given(st.binary(max_size=700), st.sampled_from((64, 512)))
def test_nothing_but_frame_error(data: bytes, max_body: int) -> None:
    """Whatever the bytes, decode raises FrameError or nothing, and feed nothing at all."""
    Decoder(max_body).feed(data)

    assert reason_of(data, max_body) in {None, "cobs", "size", "crc"}
