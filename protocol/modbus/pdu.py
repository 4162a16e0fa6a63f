"""Which bytes are a request or an answer of a Modbus function (Application Protocol 1.1b3, section 6)?

Rules:

* The layouts are declared once, in construct, and compiled. Sizes are checked before a layout is applied: compiled
  layouts do not notice that bytes are missing.
* An answer counts only if it is the answer to that request: function, length, and whatever it repeats of the request.
* The device's side takes requests apart and answers them; it judges counts, not addresses or values.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from construct import Byte, Bytes, GreedyBytes, Int16ub, Prefixed, Struct

from protocol.modbus.requests import WRITTEN_MAX, Request
from protocol.modbus.sizes import EXCEPTION, IDENTIFICATION, MEI, answer_size, request_size

EXCEPTIONS: Final[Mapping[int, str]] = MappingProxyType(
    {
        1: "illegal function",
        2: "illegal data address",
        3: "illegal data value",
        4: "server device failure",
        5: "acknowledge: accepted, takes a while",
        6: "server device busy",
        7: "negative acknowledge",
        8: "memory parity error",
        10: "gateway path unavailable",
        11: "gateway target device failed to respond",
    }
)
"""What exception codes mean (section 7; 7 is of older editions)."""

_ILLEGAL_FUNCTION: Final = 1
_ILLEGAL_VALUE: Final = 3
_INDIVIDUAL: Final = 4
"""The code that reads one object of the device identification."""
_CONFORMITY: Final = 0x83
"""Basic, regular and extended identification, also one object at a time."""
_READ_MAX: Final = {1: 2000, 2: 2000, 3: 125, 4: 125, 23: 125}
"""Coils or registers that one request reads at most."""

_FUNCTION: Final = "function" / Byte
_SPAN: Final = Struct(_FUNCTION, "address" / Int16ub, "count" / Int16ub).compile()
_SINGLE: Final = Struct(_FUNCTION, "address" / Int16ub, "data" / Bytes(2)).compile()
_MASKS: Final = Struct(_FUNCTION, "address" / Int16ub, "data" / Bytes(4)).compile()
_CONTENT: Final = Struct(_FUNCTION, "data" / Prefixed(Byte, GreedyBytes)).compile()
_MULTIPLE: Final = Struct(
    _FUNCTION, "address" / Int16ub, "count" / Int16ub, "data" / Prefixed(Byte, GreedyBytes)
).compile()
_READ_WRITE: Final = Struct(
    _FUNCTION,
    "read_address" / Int16ub,
    "read_count" / Int16ub,
    "address" / Int16ub,
    "count" / Int16ub,
    "data" / Prefixed(Byte, GreedyBytes),
).compile()
_OBJECT_ASKED: Final = Struct(_FUNCTION, "mei" / Byte, "code" / Byte, "address" / Byte).compile()
_OBJECT: Final = Struct(
    _FUNCTION,
    "mei" / Byte,
    "code" / Byte,
    "conformity" / Byte,
    "more_follows" / Byte,
    "next_object" / Byte,
    "objects" / Byte,
    "address" / Byte,
    "data" / Prefixed(Byte, GreedyBytes),
).compile()
_EXCEPTION: Final = Struct(_FUNCTION, "code" / Byte).compile()

_REQUESTS: Final = {
    **dict.fromkeys((1, 2, 3, 4), _SPAN),
    **dict.fromkeys((5, 6), _SINGLE),
    **dict.fromkeys((15, 16), _MULTIPLE),
    22: _MASKS,
    23: _READ_WRITE,
    IDENTIFICATION: _OBJECT_ASKED,
}
_ANSWERS: Final = {
    **dict.fromkeys((1, 2, 3, 4, 23), _CONTENT),
    **dict.fromkeys((5, 6), _SINGLE),
    **dict.fromkeys((15, 16), _SPAN),
    22: _MASKS,
    IDENTIFICATION: _OBJECT,
}
_ONE_OBJECT: Final = {
    "mei": MEI,
    "code": _INDIVIDUAL,
    "conformity": _CONFORMITY,
    "more_follows": 0,
    "next_object": 0,
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What an answer says: an exception code, or None and the content read (empty for the ack of a write)."""

    exception: int | None
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, as a device sees it.

    `address` and `count` are of what is written, of a read what is read; for function 43 `address` is the object's id.
    `data` is what is written, as on the wire. `read_address` and `read_count`: of function 23 only.
    """

    function: int
    address: int
    count: int
    data: bytes = b""
    read_address: int = 0
    read_count: int = 0


class BadPdu(ValueError):  # noqa: N818 - a request is bad, no error of ours
    """A request that no device carries out; `exception` is the code to answer with."""

    def __init__(self, why: str, exception: int) -> None:
        super().__init__(why)
        self.exception = exception


# --- the agent's side -------------------------------------------------------------------------------------------------


def request_pdu(request: Request) -> bytes:
    """The PDU of a request."""
    return _built(
        _REQUESTS[request.function],
        function=request.function,
        address=request.address,
        count=request.count,
        data=request.data,
        read_address=request.address,
        read_count=request.count,
        **_ONE_OBJECT,
    )


def answer_head(request: Request) -> bytes:
    """How each normal answer to a request begins; the ack of a write is no more than that."""
    if request.function == IDENTIFICATION:
        return bytes([IDENTIFICATION, MEI, _INDIVIDUAL])
    if request.cell is not None:
        return bytes([request.function, _content_size(request.function, request.count)])
    fields = {"address": request.address, "count": request.count, "data": request.data}
    return _built(_ANSWERS[request.function], function=request.function, **fields)


def answer_of(request: Request, pdu: bytes) -> Reply:
    """What a PDU says as the answer to a request.

    Raises:
        ValueError: it does not answer this request; one sentence.
    """
    if not pdu or answer_size(pdu) != len(pdu):
        raise ValueError(f"{len(pdu)} bytes are no answer of a known function")
    if pdu[0] == request.function | EXCEPTION:
        return Reply(_EXCEPTION.parse(pdu).code)
    if not pdu.startswith(answer_head(request)):
        raise ValueError(f"it does not answer fc{request.function:02} 0x{request.address:04X}")
    if request.cell is None:
        return Reply(None)
    answer = _ANSWERS[request.function].parse(pdu)
    if request.function == IDENTIFICATION and (answer.objects, answer.address) != (1, request.address):
        raise ValueError(f"it has other objects than {request.address}")
    return Reply(None, answer.data)


# --- the device's side ------------------------------------------------------------------------------------------------


def asked_of(pdu: bytes) -> Asked:
    """One request taken apart.

    Raises:
        BadPdu: the function is not known here (exception 1), or lengths and counts are wrong (exception 3).
    """
    function = pdu[0] if pdu else 0
    if function not in _REQUESTS or (function == IDENTIFICATION and pdu[1:2] != bytes([MEI])):
        raise BadPdu(f"function {function} is not known here", _ILLEGAL_FUNCTION)
    if request_size(pdu) != len(pdu):
        raise BadPdu(f"{len(pdu)} bytes are no request of function {function}", _ILLEGAL_VALUE)
    fields = _REQUESTS[function].parse(pdu)
    if function == IDENTIFICATION and fields.code != _INDIVIDUAL:
        raise BadPdu("objects of the identification are read one at a time here", _ILLEGAL_VALUE)
    asked = Asked(
        function,
        fields.address,
        fields.get("count", 1),
        fields.get("data", b""),
        fields.get("read_address", 0),
        fields.get("read_count", 0),
    )
    _check_counts(asked)
    return asked


def reply_pdu(asked: Asked, data: bytes = b"") -> bytes:
    """The normal answer to a request: with the content read (packed coils, registers, an object), or as an ack."""
    return _built(
        _ANSWERS[asked.function],
        function=asked.function,
        address=asked.address,
        count=asked.count,
        data=asked.data if asked.function in (5, 6, 22) else data,
        objects=1,
        **_ONE_OBJECT,
    )


def exception_pdu(function: int, code: int) -> bytes:
    """The answer that a function was not carried out."""
    return _built(_EXCEPTION, function=function | EXCEPTION, code=code)


def _check_counts(asked: Asked) -> None:
    function = asked.function
    read = asked.read_count if function == 23 else asked.count
    if function in _READ_MAX and not 1 <= read <= _READ_MAX[function]:
        raise BadPdu(f"function {function} reads 1 to {_READ_MAX[function]}, not {read}", _ILLEGAL_VALUE)
    if function in WRITTEN_MAX and not 1 <= asked.count <= WRITTEN_MAX[function]:
        raise BadPdu(
            f"function {function} writes 1 to {WRITTEN_MAX[function]}, not {asked.count}", _ILLEGAL_VALUE
        )
    if function in (15, 16, 23) and len(asked.data) != _content_size(function, asked.count):
        raise BadPdu(f"{len(asked.data)} bytes for {asked.count} coils or registers", _ILLEGAL_VALUE)


def _content_size(function: int, count: int) -> int:
    """Bytes that so many coils or registers take."""
    return (count + 7) // 8 if function in (1, 2, 15) else 2 * count


def _built(layout: Any, **fields: object) -> bytes:  # noqa: ANN401 - construct has no types
    return bytes(layout.build(fields))
