"""Where do Modbus frames begin and end in a stream, and what do they carry?

MBAP (TCP) has a header with a length. RTU has neither: a frame is over when the line is silent, and silence does
not survive operating systems and networks. So it is found as what a frame has to be, in either direction: the
length that its function and its own count give it, and a right CRC.

1. A whole RTU frame wins over everything that stands before it; so noise never hides one, whatever it looks like.
2. What may still become a frame waits for the rest, at most FRAME_MAX bytes. All else is given out as it came.
3. MBAP has no checksum. A header counts where its protocol is 0 and its length is one that a frame can have.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from protocol.modbus.framing import Adu, adu_of_mbap, adu_of_rtu, mbap, rtu

Framing = Literal["tcp", "rtu"]

BROADCAST, UNIT_MAX = 0, 247
FRAME_MAX = 260
_HEADER, _PDU_MAX, _CRC = 7, 253, 2
_APART: Mapping[Framing, tuple[Callable[[bytes], Adu], int]] = MappingProxyType(
    {"tcp": (adu_of_mbap, _HEADER + 1), "rtu": (adu_of_rtu, 2 + _CRC)}
)
"""What takes a frame apart, and the bytes of the shortest one."""
_EXCEPTION, _EXCEPTION_SIZE = 0x80, 5
_IDENTIFY, _OBJECTS_FROM = 43, 8


def framed(unit: int, pdu: bytes, transaction: int | None) -> bytes:
    """A frame; `transaction` None: RTU."""
    return rtu(unit, pdu) if transaction is None else mbap(transaction, unit, pdu)


def adu_of(framing: Framing, data: bytes) -> Adu | None:
    """The frame that these bytes are, all of them; None where they are none."""
    take_apart, least = _APART[framing]
    if len(data) < least:
        return None
    adu = take_apart(data)
    return adu if framed(adu.unit, adu.pdu, adu.transaction) == data else None


@dataclass(frozen=True, slots=True)
class _Shape:
    """The length of a frame: `fixed` bytes, and as many as the byte at `counted` says."""

    fixed: int
    counted: int | None = None


_WORD_FRAME, _BARE, _LIST = _Shape(8), _Shape(4), _Shape(5, 2)
_REQUESTS: Mapping[int, _Shape] = MappingProxyType(
    {
        **dict.fromkeys((1, 2, 3, 4, 5, 6, 8), _WORD_FRAME),
        **dict.fromkeys((7, 11, 12, 17), _BARE),
        **dict.fromkeys((15, 16), _Shape(9, 6)),
        22: _Shape(10),
        23: _Shape(13, 10),
        _IDENTIFY: _Shape(7),
    }
)
_REPLIES: Mapping[int, _Shape] = MappingProxyType(
    {
        **dict.fromkeys((1, 2, 3, 4, 12, 17, 23), _LIST),
        **dict.fromkeys((5, 6, 8, 11, 15, 16), _WORD_FRAME),
        7: _Shape(5),
        22: _Shape(10),
    }
)


class _FrameCutter(ABC):
    """Cuts a stream into frames and what lies between them."""

    def __init__(self) -> None:
        self._begun = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """See Cutter."""
        self._begun += data
        while found := self._next(self._begun):
            start, length = found
            if start:
                yield self._take(start)
            if not length:
                return
            yield self._take(length)

    def rest(self) -> bytes:
        """See Cutter."""
        return self._take(len(self._begun))

    def _take(self, count: int) -> bytes:
        taken, self._begun = self._begun[:count], self._begun[count:]
        return taken

    @abstractmethod
    def _next(self, data: bytes) -> tuple[int, int] | None:
        """Where the first frame begins and how long it is; 0: it is not complete. None: there are no bytes."""


class MbapCutter(_FrameCutter):
    """Frames with an MBAP header."""

    def _next(self, data: bytes) -> tuple[int, int] | None:
        for start in range(len(data)):
            length = _mbap_length(data[start : start + _HEADER])
            if length is not None:
                return start, length if length <= len(data) - start else 0
        return (len(data), 0) if data else None


def _mbap_length(header: bytes) -> int | None:
    """The length of the frame with that header, more than there can be where too little of it is there; None: none."""
    if any(header[2:4]) or header[4:5] not in (b"", b"\0"):
        return None
    if len(header) < _HEADER:
        return FRAME_MAX + 1
    length = int.from_bytes(header[4:6])
    return length + _HEADER - 1 if 1 < length <= _PDU_MAX + 1 else None


class RtuCutter(_FrameCutter):
    """RTU frames of either direction."""

    def _next(self, data: bytes) -> tuple[int, int] | None:
        waiting = len(data)
        for start in range(len(data)):
            for length in _rtu_lengths(data[start:]):
                if length > len(data) - start:
                    waiting = min(waiting, start)
                elif adu_of("rtu", data[start : start + length]) is not None:
                    return start, length
        return (waiting, 0) if data else None


def _rtu_lengths(data: bytes) -> tuple[int, ...]:
    """The lengths that a frame that begins so can have; more than is there where that cannot be told yet."""
    if data[0] > UNIT_MAX:
        return ()
    if len(data) == 1:
        return (FRAME_MAX + 1,)
    function = data[1]
    if function & _EXCEPTION:
        return (_EXCEPTION_SIZE,) if function ^ _EXCEPTION in _REQUESTS else ()
    shapes = [table[function] for table in (_REPLIES, _REQUESTS) if function in table]
    lengths = {_length(shape, data) for shape in shapes}
    if function == _IDENTIFY:
        lengths.add(_identification_length(data))
    return tuple(sorted(length for length in lengths if length <= FRAME_MAX + 1))


def _length(shape: _Shape, data: bytes) -> int:
    if shape.counted is None:
        return shape.fixed
    return shape.fixed + data[shape.counted] if shape.counted < len(data) else FRAME_MAX + 1


def _identification_length(data: bytes) -> int:
    """The length of an answer to function 43/14: behind its header each object has its own."""
    if len(data) < _OBJECTS_FROM:
        return FRAME_MAX + 1
    at = _OBJECTS_FROM
    for _ in range(data[_OBJECTS_FROM - 1]):
        if at + 1 >= len(data):
            return FRAME_MAX + 1
        at += 2 + data[at + 1]
    return at + _CRC
