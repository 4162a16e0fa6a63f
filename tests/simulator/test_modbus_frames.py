"""Where Modbus frames begin and end, in whatever way they arrive and whatever stands around them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.cutter import Cutter
from simulator.modbus_frames import MbapCutter, RtuCutter, adu_of
from tests.simulator.modbus_bench import rtu, tcp

# Published bytes: relay board, meter manual, exceptions and answers of two units.
PUBLISHED = [
    "01 05 00 00 55 00 F2 9A",
    "01 01 00 00 00 08 3D CC",
    "01 01 01 41 91 B8",
    "01 10 00 02 00 02 04 42 70 00 00 67 D5",
    "01 10 00 02 00 02 E0 08",
    "01 90 01 8D C0",
    "01 03 00 10 00 01 85 CF",
    "01 03 02 00 1E 38 4C",
    "02 03 02 00 1E 7C 4C",
    "00 06 00 10 00 1E 09 D6",
]
PDUS = [
    "01 0000 0008", "01 01 41", "05 0000 5500", "10 0002 0002 04 42700000", "10 0002 0002", "90 01", "03 0010 0001",
    "03 04 00010002", "16 0005 F7FF 0008", "17 0002 0002 0002 0002 04 42700000", "17 04 42700000", "2B 0E 04 01",
    "2B 0E 04 81 00 00 01 01 05 6164646572", "2B 0E 01 81 FF 04 02 00 01 61 01 02 6262", "AB 02",
    "0F 0000 0009 02 FF01",
]  # fmt: skip


def pieces(cutter: Cutter, data: bytes, size: int) -> list[bytes]:
    """What comes out of bytes that come so many at a time, but for what is still kept."""
    return [piece for at in range(0, len(data), size) for piece in cutter.feed(data[at : at + size])]


@pytest.mark.parametrize("text", PUBLISHED)
def test_published_frames_are_whole(text: str) -> None:
    """Found with their last byte, not before; noise in front is a piece of its own."""
    frame = bytes.fromhex(text)
    assert pieces(RtuCutter(), frame, 1) == [frame]
    assert pieces(RtuCutter(), frame[:-1], 1) == []
    assert pieces(RtuCutter(), b"\xff\xff\xff" + frame, 100) == [b"\xff\xff\xff", frame]
    assert adu_of("rtu", frame) is not None


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_frames_of_every_function_in_either_direction(size: int) -> None:
    """One behind the other, cut anywhere."""
    of_line, of_tcp = [rtu(pdu) for pdu in PDUS], [tcp(pdu) for pdu in PDUS]
    assert pieces(RtuCutter(), b"".join(of_line), size) == of_line
    assert pieces(MbapCutter(), b"".join(of_tcp), size) == of_tcp


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PDUS), min_size=1, max_size=4), st.randoms(), st.integers(1, 40))
def test_noise_hides_no_rtu_frame(pdus: list[str], rng: object, size: int) -> None:
    """Whatever stands before a frame, and looks like the beginning of another: it is found, and no byte is lost."""
    noise = getattr(rng, "randbytes")  # noqa: B009 (hypothesis has no type for its generator)
    frames = [rtu(pdu, 1 + at) for at, pdu in enumerate(pdus)]
    data = b"".join(noise(size % 13) + frame for frame in frames)
    cutter = RtuCutter()
    out = pieces(cutter, data, size)
    assert [piece for piece in out if piece in frames] == frames
    assert b"".join(out) + cutter.rest() == data


@pytest.mark.parametrize("noise", ["00", "01 10", "01 03 FA 00", "FF 00 12", "0A 10 00 00 00 7B F6 01 02 03"])
def test_the_beginning_of_a_frame_that_never_ends_hides_nothing(noise: str) -> None:
    """A byte count that promises more than ever comes is not waited for once a whole frame is there."""
    frame = rtu("05 0000 5500")
    assert pieces(RtuCutter(), bytes.fromhex(noise) + frame, 1)[-1] == frame


def test_a_wrong_crc_makes_no_frame() -> None:
    """It comes out as something else, and the next frame is whole."""
    frame = rtu("05 0000 5500")
    broken = frame[:-1] + bytes((frame[-1] ^ 1,))
    out = pieces(RtuCutter(), broken + frame, 1)
    assert (out[-1], b"".join(out)) == (frame, broken + frame)
    assert adu_of("rtu", broken) is None


def test_what_cannot_become_a_frame_is_not_kept() -> None:
    """Noise leaves as it came; only what may be a beginning waits, and `rest` gives it back."""
    cutter = RtuCutter()
    assert list(cutter.feed(b"\xff\xfe\xfd")) == [b"\xff\xfe\xfd"]
    assert list(cutter.feed(b"\xff\x01\x10\x00")) == [b"\xff"]
    assert cutter.rest() == b"\x01\x10\x00"
    assert cutter.rest() == b""
    assert list(cutter.feed(rtu("90 01"))) == [rtu("90 01")]


@pytest.mark.parametrize(
    "noise",
    [
        "07",
        "FF FF",
        "00 07 00 01 00 06",
        "00 07 00 00 00 01",
        "00 07 00 00 00 FF 01 03",
        "00 07 00 00 01 06 01 03",
    ],
)
def test_a_header_that_none_can_be_is_noise(noise: str) -> None:
    """Another protocol, a length of nothing or of more than a frame has: the next header counts."""
    frame = tcp("03 0010 0001", transaction=0x1234)
    out = pieces(MbapCutter(), bytes.fromhex(noise) + frame, 1)
    assert (out[-1], b"".join(out)) == (frame, bytes.fromhex(noise) + frame)


def test_largest_frames_fit() -> None:
    """A PDU has at most 253 bytes."""
    largest = "10 0000 007B F6" + "00" * 246
    assert pieces(RtuCutter(), rtu(largest), 50) == [rtu(largest)]
    assert pieces(MbapCutter(), tcp("03 FA" + "00" * 251), 50) == [tcp("03 FA" + "00" * 251)]


@pytest.mark.parametrize("data", [b"", b"\0", b"\x01\x03", tcp("03")[:7], tcp("03 0010 0001") + b"\0"])
def test_other_bytes_are_no_frame(data: bytes) -> None:
    """Too short, or with something behind it."""
    assert adu_of("tcp", data) is None
    assert adu_of("rtu", data) is None
