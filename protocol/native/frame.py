"""Which bytes are an LSQ1 frame, and where in a stream does one end?

Rules (WIRE.md section 1):

* `LAYOUT` declares the header once; it is the specification. What runs is one `struct` built from that
  declaration and the same sets of allowed values: many times faster, and equal to it on every input.
* Sizes are checked before a field is looked at: neither construct nor struct is trusted with short input.
* Whatever is not exactly a frame is a `FrameError` with a short fixed reason, so that drops can be counted.
* This is the only file that imports construct.
"""

import struct
import zlib
from dataclasses import dataclass
from typing import Final

import construct
from cobs import cobs

from protocol.native.codes import (
    CRC_SIZE,
    HEADER_SIZE,
    MAX_BODY_LIMIT,
    MAX_BODY_MIN,
    REPLAYED,
    REPLY_BIT,
    UNIT_MAX,
    UNIT_MIN,
    VERSION,
    Type,
)

__all__ = [
    "LAYOUT",
    "NOP_DIGEST",
    "REPLAYED",
    "Decoder",
    "Frame",
    "FrameError",
    "Junk",
    "decode",
    "digest",
    "encode",
]

_KINDS: Final = {kind | bit: (kind, bool(bit)) for kind in Type for bit in (0, REPLY_BIT)}
_UNITS: Final = frozenset(range(UNIT_MIN, UNIT_MAX + 1))
_FLAGS: Final = frozenset({0, REPLAYED})

LAYOUT: Final = construct.Struct(
    "version" / construct.OneOf(construct.Int8ub, {VERSION}),
    "type" / construct.OneOf(construct.Int8ub, _KINDS),
    "unit" / construct.OneOf(construct.Int8ub, _UNITS),
    "attempt" / construct.Int8ub,
    "flags" / construct.OneOf(construct.Int8ub, _FLAGS),
    "session" / construct.Int32ub,
    "seq" / construct.Int16ub,
    construct.Check(lambda header: header.flags == 0 or header.type & REPLY_BIT),
)
"""The header of a body. The payload is what remains of the body, delimited by the frame."""


def _struct_of(layout: construct.Struct) -> struct.Struct:
    """One `struct` for all fixed-width fields of `layout`, in its order (big-endian throughout)."""
    codes: list[str] = []
    for field in layout.subcons:
        while hasattr(field, "subcon"):
            field = field.subcon
        if isinstance(field, construct.FormatField):
            codes.append(field.fmtstr.removeprefix(">"))
    return struct.Struct(">" + "".join(codes))


_HEADER: Final = _struct_of(LAYOUT)


class FrameError(ValueError):
    """These bytes, or these fields, are not what WIRE.md allows. `reason` is one of a few fixed phrases."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Frame:
    """One request or reply: the header of WIRE.md section 1 and the payload that belongs to its type."""

    type: Type
    reply: bool
    unit: int
    attempt: int
    flags: int
    session: int
    seq: int
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class Junk:
    """Input that is no frame: the bytes between two zeros (of over-long input the beginning) and why."""

    data: bytes
    reason: str


def encode(frame: Frame) -> bytes:
    """The bytes of `frame` with the closing zero.

    Raises FrameError where a field is out of its range or the body longer than 512 bytes.
    """
    kind = frame.type | REPLY_BIT if frame.reply else int(frame.type)
    _check(VERSION, kind, frame.unit, frame.flags)
    try:
        header = _HEADER.pack(VERSION, kind, frame.unit, frame.attempt, frame.flags, frame.session, frame.seq)
    except struct.error as error:
        raise FrameError("field out of range") from error
    body = header + frame.payload
    if len(body) > MAX_BODY_LIMIT:
        raise FrameError("size")
    block: bytes = cobs.encode(body + zlib.crc32(body).to_bytes(CRC_SIZE, "big"))
    return block + b"\0"


def decode(block: bytes, max_body: int = MAX_BODY_LIMIT) -> Frame:
    """The frame in `block`, the bytes between two zeros.

    Checked: COBS (both forms of a full block), size, CRC, version, type, unit 1 to 247, flags.
    Not checked here: direction, whose unit it is, and the payload's shape. Raises FrameError.
    """
    try:
        data = cobs.decode(block)
    except cobs.DecodeError as error:
        raise FrameError("cobs") from error
    if not HEADER_SIZE + CRC_SIZE <= len(data) <= max_body + CRC_SIZE:
        raise FrameError("size")
    body = data[:-CRC_SIZE]
    if zlib.crc32(body) != int.from_bytes(data[-CRC_SIZE:], "big"):
        raise FrameError("crc")
    return parse_body(body)


def parse_body(body: bytes) -> Frame:
    """The frame of a body of at least 11 bytes whose CRC was checked. Raises FrameError."""
    version, kind, unit, attempt, flags, session, seq = _HEADER.unpack_from(body)
    _check(version, kind, unit, flags)
    what, reply = _KINDS[kind]
    return Frame(what, reply, unit, attempt, flags, session, seq, body[HEADER_SIZE:])


def _check(version: int, kind: int, unit: int, flags: int) -> None:
    """The rules of `LAYOUT` beyond widths; the reason names the first field that breaks one."""
    if version != VERSION:
        raise FrameError("version")
    if kind not in _KINDS:
        raise FrameError("type")
    if unit not in _UNITS:
        raise FrameError("unit")
    if flags not in _FLAGS or (flags and not kind & REPLY_BIT):
        raise FrameError("flags")


def digest(kind: Type, payload: bytes) -> int:
    """What a device remembers of a request: CRC-32 over the type byte and the payload, attempt excluded."""
    return zlib.crc32(payload, zlib.crc32(bytes((kind,))))


NOP_DIGEST: Final = digest(Type.NOP, b"")


class Decoder:
    """Cuts one byte stream into frames, whatever the pieces in which it arrives.

    Holds at most one frame's worth of bytes; input longer than any frame is given up up to the next zero.
    """

    def __init__(self, max_body: int = MAX_BODY_LIMIT) -> None:
        """`max_body` in bytes, 64 to 512: larger bodies are junk."""
        if not MAX_BODY_MIN <= max_body <= MAX_BODY_LIMIT:
            raise ValueError(f"max_body {max_body} is not within {MAX_BODY_MIN} to {MAX_BODY_LIMIT}")
        self._max_body = max_body
        size = max_body + CRC_SIZE
        self._block_max = size + size // 254 + 1  # the longer of the two COBS forms
        self._block = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> list[Frame | Junk]:
        """What has become complete with `data`, in order. Empty frames leave no trace. Raises nothing."""
        found: list[Frame | Junk] = []
        *ends, rest = data.split(b"\0")
        for piece in ends:
            self._collect(piece, found)
            if self._block:
                found.append(self._finish(bytes(self._block)))
            self._block.clear()
            self._skipping = False
        self._collect(rest, found)
        return found

    def _collect(self, piece: bytes, found: list[Frame | Junk]) -> None:
        if self._skipping:
            return
        self._block += piece
        if len(self._block) > self._block_max:
            found.append(Junk(bytes(self._block[: self._block_max]), "too long"))
            self._block.clear()
            self._skipping = True

    def _finish(self, block: bytes) -> Frame | Junk:
        try:
            return decode(block, self._max_body)
        except FrameError as error:
            return Junk(block, error.reason)
