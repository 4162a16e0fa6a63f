"""How long is a PDU, as its first bytes say?

A size is told as a lower bound: how many bytes the PDU has at least. Once as many are there, it is whole. None: no PDU
of the functions that this project knows begins like this. Only lengths are looked at, so that a wrong count or address
does not make the end of a frame unknown.
"""

from dataclasses import dataclass
from typing import Final

EXCEPTION: Final = 0x80
"""The bit that an exception adds to the function."""
IDENTIFICATION: Final = 43
MEI: Final = 14
"""The type of encapsulated interface that reads the device identification."""
_OBJECTS_FROM: Final = 7


@dataclass(frozen=True, slots=True)
class _Shape:
    """`fixed` bytes, and as many more as the byte at `counted` says."""

    fixed: int
    counted: int | None = None

    def size(self, pdu: bytes) -> int:
        if self.counted is None:
            return self.fixed
        return self.fixed + (pdu[self.counted] if len(pdu) > self.counted else 0)


_CONTENT: Final = _Shape(2, 1)
_REQUESTS: Final = {
    **dict.fromkeys((1, 2, 3, 4, 5, 6), _Shape(5)),
    **dict.fromkeys((15, 16), _Shape(6, 5)),
    22: _Shape(7),
    23: _Shape(10, 9),
    IDENTIFICATION: _Shape(4),
}
_ANSWERS: Final = {
    **dict.fromkeys((1, 2, 3, 4, 23), _CONTENT),
    **dict.fromkeys((5, 6, 15, 16), _Shape(5)),
    22: _Shape(7),
}
FUNCTIONS: Final = frozenset(_REQUESTS)


def request_size(pdu: bytes) -> int | None:
    """How many bytes a request has at least; `pdu` has its first byte or more."""
    shape = _REQUESTS.get(pdu[0])
    return None if shape is None else shape.size(pdu)


def answer_size(pdu: bytes) -> int | None:
    """How many bytes an answer, normal or exception, has at least; `pdu` has its first byte or more."""
    function = pdu[0]
    if function & EXCEPTION:
        return 2 if function ^ EXCEPTION in FUNCTIONS else None
    if function == IDENTIFICATION:
        return _objects_size(pdu)
    shape = _ANSWERS.get(function)
    return None if shape is None else shape.size(pdu)


def _objects_size(pdu: bytes) -> int | None:
    """An object of the identification has its id, its length and as many bytes."""
    if pdu[1:2] not in (b"", bytes([MEI])):
        return None
    size = _OBJECTS_FROM
    if len(pdu) < size:
        return size
    for _ in range(pdu[_OBJECTS_FROM - 1]):
        if len(pdu) < size + 2:
            return size + 2
        size += 2 + pdu[size + 1]
    return size
