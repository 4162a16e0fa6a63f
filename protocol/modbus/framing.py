"""How does a PDU travel over TCP and over a serial line, and where in a stream is the answer?

Over TCP a header (MBAP) goes in front: transaction, protocol (0), length, unit (Messaging Implementation Guide 1.0b,
3.1.3). On a serial line (RTU, also over TCP) the unit goes in front and a CRC behind (Serial Line 1.02, 2.5.1). There a
frame ends with a silence, which survives neither operating systems nor networks, so RTU frames are found by their
content: a length that the function gives and a right CRC. Rules:

* RTU: what answers the outstanding request, with its own length, is waited for; any other frame is recognised once it
  is complete. So noise swallows an answer only where it is the head of that very answer, and no more bytes come.
* TCP has no checksum: a header counts only where its protocol is 0, and its length that of a PDU of a known function.
"""

from dataclasses import dataclass
from typing import Final

from fastcrc import crc16

from protocol.modbus.pdu import answer_head
from protocol.modbus.requests import Request
from protocol.modbus.scanner import Scanner, Sizer
from protocol.modbus.sizes import answer_size, request_size

PDU_MAX: Final = 253
TRANSACTIONS: Final = 0x10000
"""How many transaction ids there are."""
_HEADER_SIZE: Final = 7
_COUNTED_FROM: Final = 6  # the length of the header counts the unit
_CRC_SIZE: Final = 2


@dataclass(frozen=True, slots=True)
class Adu:
    """One frame taken apart; `transaction` is None on RTU. `data` is the whole frame."""

    unit: int
    pdu: bytes
    transaction: int | None
    data: bytes


def mbap(transaction: int, unit: int, pdu: bytes) -> bytes:
    """The frame of a PDU over TCP. Raises OverflowError where transaction, unit or length are out of range."""
    return transaction.to_bytes(2) + bytes(2) + (1 + len(pdu)).to_bytes(2) + unit.to_bytes(1) + pdu


def rtu(unit: int, pdu: bytes) -> bytes:
    """The frame of a PDU on a serial line. Raises OverflowError where the unit is no byte."""
    body = unit.to_bytes(1) + pdu
    return body + crc16.modbus(body).to_bytes(_CRC_SIZE, "little")


def adu_of_mbap(frame: bytes) -> Adu:
    """A whole frame of TCP, taken apart."""
    return Adu(frame[_COUNTED_FROM], frame[_HEADER_SIZE:], int.from_bytes(frame[:2]), frame)


def adu_of_rtu(frame: bytes) -> Adu:
    """A whole frame of a serial line, taken apart."""
    return Adu(frame[0], frame[1:-_CRC_SIZE], None, frame)


def mbap_scanner() -> Scanner:
    """What finds frames in a stream of TCP; `expect` it to wait for the `mbap_answers` of each request."""
    scanner = Scanner((), lambda _: True, _HEADER_SIZE + PDU_MAX)
    scanner.expect((_in_mbap(answer_size),))
    return scanner


def mbap_answers(own: bytes) -> tuple[Sizer, ...]:
    """What may come in over TCP once the frame `own` was written: any answer, its header tells whose; the echo."""
    return _in_mbap(answer_size), _beginning(own, lambda _: len(own))


def rtu_scanner() -> Scanner:
    """What finds frames in a stream of RTU; `expect` it to wait for the `rtu_answers` of each request."""
    return Scanner((_in_rtu(answer_size), _in_rtu(request_size)), _has_right_crc, 1 + PDU_MAX + _CRC_SIZE)


def rtu_answers(own: bytes, request: Request) -> tuple[Sizer, ...]:
    """What is waited for on a line once the frame `own` was written: its answer and its echo.

    An exception is too short to hold another frame, so it need not be waited for.
    """
    answer = _beginning(own[:1] + answer_head(request), _in_rtu(answer_size))
    return answer, _beginning(own, lambda _: len(own))


def _has_right_crc(frame: bytes) -> bool:
    return crc16.modbus(frame[:-_CRC_SIZE]) == int.from_bytes(frame[-_CRC_SIZE:], "little")


def _beginning(head: bytes, sizer: Sizer) -> Sizer:
    """Frames with exactly this beginning; a byte that differs is noticed at once."""

    def size(seen: bytes) -> int | None:
        if seen[: len(head)] != head[: len(seen)]:
            return None
        return sizer(seen) if len(seen) >= len(head) else len(seen) + 1

    return size


def _in_rtu(pdu_size: Sizer) -> Sizer:
    def size(seen: bytes) -> int | None:
        if len(seen) < 2:
            return 2
        of_pdu = pdu_size(seen[1:])
        return None if of_pdu is None else 1 + of_pdu + _CRC_SIZE

    return size


def _in_mbap(pdu_size: Sizer) -> Sizer:
    def size(seen: bytes) -> int | None:
        if any(seen[2:4]):
            return None
        if len(seen) <= _HEADER_SIZE:
            return _HEADER_SIZE + 1
        whole = _COUNTED_FROM + int.from_bytes(seen[4:_COUNTED_FROM])
        of_pdu = pdu_size(seen[_HEADER_SIZE:])
        if of_pdu is None:
            return None
        size = _HEADER_SIZE + of_pdu
        return None if len(seen) >= size != whole else size

    return size
