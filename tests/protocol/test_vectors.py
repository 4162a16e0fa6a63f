"""Are the bytes those of WIRE.md, letter by letter?"""

import pytest

from protocol.native.codes import REPLAYED, Status, Type
from protocol.native.frame import NOP_DIGEST, Frame, decode, digest, encode
from protocol.native.messages import CommandReply, OpenRequest
from protocol.native.payload import build_open, build_reply, parse_reply, parse_request

SESSION = 0x00020001
ADJUST = b"ADJUST offset +5"
OPEN = build_open(0x0102030405060708, 7, 0x1112131415161718)

VECTORS = {
    "HELLO request": (
        Frame(Type.HELLO, False, 1, 1, 0, 0, 0),
        "05 01 01 01 01 01 01 01 01 01 01 05 9e 1a 11 cf 00",
    ),
    "OPEN": (
        Frame(Type.OPEN, False, 1, 1, 0, 0, 0, OPEN),
        """05 01 02 01 01 01 01 01 01 01 01 09 01 02 03 04 05 06 07 08 01 01 0e 07
        11 12 13 14 15 16 17 18 cf 3d e5 58 00""",
    ),
    "CMD seq 1": (
        Frame(Type.CMD, False, 1, 1, 0, SESSION, 1, ADJUST),
        "05 01 03 01 01 01 02 02 02 01 16 01 41 44 4a 55 53 54 20 6f 66 66 73 65 74 20 2b 35 c0 65 bf 17 00",
    ),
    "the same, attempt 2": (
        Frame(Type.CMD, False, 1, 2, 0, SESSION, 1, ADJUST),
        "05 01 03 01 02 01 02 02 02 01 16 01 41 44 4a 55 53 54 20 6f 66 66 73 65 74 20 2b 35 98 7b 16 3f 00",
    ),
    "reply OK to attempt 1": (
        Frame(Type.CMD, True, 1, 1, 0, SESSION, 1, b"\x0015"),
        "05 01 83 01 01 01 02 02 02 01 02 01 07 31 35 aa 14 32 eb 00",
    ),
    "reply OK to attempt 2, REPLAYED": (
        Frame(Type.CMD, True, 1, 2, REPLAYED, SESSION, 1, b"\x0015"),
        "06 01 83 01 02 01 02 02 02 01 02 01 07 31 35 dc 34 3f d4 00",
    ),
    "READ id 9": (
        Frame(Type.READ, False, 1, 1, 0, 0, 9, b"GET offset"),
        "05 01 04 01 01 01 01 01 01 01 10 09 47 45 54 20 6f 66 66 73 65 74 cd b4 50 32 00",
    ),
    "MISORDERED, last = 1, to CMD seq 3": (
        Frame(Type.CMD, True, 1, 1, 0, SESSION, 3, b"\x13\x00\x01"),
        "05 01 83 01 01 01 02 02 02 01 03 03 13 06 01 f9 94 14 4e 00",
    ),
    "NOP seq 2": (
        Frame(Type.NOP, False, 1, 1, 0, SESSION, 2),
        "05 01 05 01 01 01 02 02 02 01 06 02 02 fd e9 ce 00",
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_frame_has_the_bytes_of_the_paper(name: str) -> None:
    """A frame is encoded to the paper's bytes and decoded from them."""
    frame, text = VECTORS[name]
    wire = bytes.fromhex(text)

    assert encode(frame) == wire
    assert decode(wire[:-1]) == frame


def test_digests_of_the_paper() -> None:
    """A digest covers the type byte and the payload, nothing else."""
    assert digest(Type.CMD, ADJUST) == 0x4C9F0E6B
    assert digest(Type.NOP, b"") == NOP_DIGEST == 0xA2681B02


def test_payloads_of_the_vectors() -> None:
    """The vectors' payloads mean what their titles say."""
    replayed, _ = VECTORS["reply OK to attempt 2, REPLAYED"]
    misordered, _ = VECTORS["MISORDERED, last = 1, to CMD seq 3"]
    opening, _ = VECTORS["OPEN"]

    assert parse_reply(replayed) == CommandReply(Status.OK, 2, True, "15")
    assert parse_reply(misordered) == CommandReply(Status.MISORDERED, 1, False, last=1)
    assert build_reply(CommandReply(Status.MISORDERED, 1, False, last=1)) == misordered.payload
    assert parse_request(opening) == OpenRequest(0x0102030405060708, 7, 0x1112131415161718)
