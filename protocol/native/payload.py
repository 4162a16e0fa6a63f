"""Which payload has exactly the shape of its type?

Between frames and messages, both ways. Rules (WIRE.md section 2):

* One byte more or less than the shape of the type (and of the status, where the shape depends on it) is a
  `FrameError`; so are a status that the type does not know, numbers out of range, and text that is no UTF-8.
* What follows a status stands in `_parse_tail` alone; which status a type may carry stands in `codes.LEGAL`.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from protocol.native.codes import (
    CONSUMING,
    LEGAL,
    MAX_BODY_LIMIT,
    MAX_BODY_MIN,
    REPLAYED,
    State,
    Status,
    Type,
)
from protocol.native.frame import Frame, FrameError
from protocol.native.messages import (
    CloseReply,
    CloseRequest,
    CommandReply,
    CommandRequest,
    HelloReply,
    HelloRequest,
    NopReply,
    NopRequest,
    OpenReply,
    OpenRequest,
    QueryReply,
    QueryRequest,
    ReadReply,
    ReadRequest,
    Record,
    Reply,
    Request,
    Spent,
)

NV_TIER_MAX: Final = 2

_OPEN_REQUEST: Final = struct.Struct(">QIQ")
_OPEN_REPLY: Final = struct.Struct(">BQII")
_HELLO: Final = struct.Struct(">IIBHB")
_RECORD: Final = struct.Struct(">IHIB")
_SPENT: Final = struct.Struct(">IB")
_U8: Final = struct.Struct(">B")
_U32: Final = struct.Struct(">I")
_U16: Final = struct.Struct(">H")


# Requests


def parse_request(frame: Frame) -> Request:
    """The message of a request frame. Raises FrameError where the payload has not the shape of its type."""
    payload = frame.payload
    match frame.type:
        case Type.OPEN:
            return OpenRequest(*_unpack(_OPEN_REQUEST, payload))
        case Type.CMD:
            return CommandRequest(payload, _command_text(payload))
        case Type.READ:
            return ReadRequest(payload, _command_text(payload))
    if payload:
        raise FrameError("payload shape")
    return _BARE_REQUESTS[frame.type]


_BARE_REQUESTS: Final[dict[Type, Request]] = {
    Type.HELLO: HelloRequest(),
    Type.NOP: NopRequest(),
    Type.QUERY: QueryRequest(),
    Type.CLOSE: CloseRequest(),
}


def build_open(agent: int, epoch: int, nonce: int) -> bytes:
    """The payload of an OPEN request."""
    return _OPEN_REQUEST.pack(agent, epoch, nonce)


def _command_text(payload: bytes) -> str | None:
    try:
        return payload.decode() or None
    except UnicodeDecodeError:
        return None


# Replies


def parse_reply(frame: Frame) -> Reply:
    """The message of a reply frame.

    Raises FrameError where the payload is not exactly of the shape of its type and status.
    """
    return _PARSERS[frame.type](frame)


def build_reply(reply: Reply) -> bytes:
    """The payload that `parse_reply` reads as `reply`; session, attempt and REPLAYED travel in the header."""
    match reply:
        case HelloReply():
            names = b"".join(map(_pstr, (reply.serial, reply.model, reply.firmware)))
            numbers = (reply.boot_id, reply.epoch, reply.nv_tier, reply.max_body, reply.reply_max)
            return names + _HELLO.pack(*numbers) + _build_record(reply.record)
        case OpenReply():
            fixed = _OPEN_REPLY.pack(reply.status, reply.nonce, reply.boot_id, reply.epoch)
            return fixed + _build_record(reply.record)
        case QueryReply():
            return _build_query(reply)
        case CommandReply():
            tail = _Tail(reply.text, reply.boot_id, reply.last, reply.spent, reply.uncached)
        case NopReply():
            tail = _Tail("", reply.boot_id, reply.last, reply.spent)
        case ReadReply():
            tail = _Tail(reply.text)
        case CloseReply():
            tail = _Tail("", reply.boot_id)
    return _build_tail(reply.status, tail)


def _build_query(reply: QueryReply) -> bytes:
    if reply.state is None:
        return _build_tail(Status.BAD_SESSION, _Tail(boot_id=reply.boot_id))
    head = bytes((reply.state,))
    if reply.digest is None or reply.status is None:
        return head
    return head + _build_spent(Spent(reply.digest, reply.status, reply.text))


@dataclass(frozen=True, slots=True)
class _Tail:
    """What follows the status of a CMD, NOP, READ or CLOSE reply."""

    text: str = ""
    boot_id: int | None = None
    last: int | None = None
    spent: Spent | None = None
    uncached: Status | None = None


def _parse_tail(status: Status, rest: bytes) -> _Tail:
    match status:
        case Status.BAD_SESSION:
            return _Tail(boot_id=_unpack(_U32, rest)[0])
        case Status.MISORDERED:
            return _Tail(last=_unpack(_U16, rest)[0])
        case Status.FALSE_RETRY:
            return _Tail(spent=_parse_spent(rest))
        case Status.DONE_UNCACHED:
            return _Tail(uncached=_consuming(_unpack(_U8, rest)[0]))
        case _:
            return _Tail(text=_text(rest))


def _build_tail(status: Status, tail: _Tail) -> bytes:
    head = bytes((status,))
    match tail:
        case _Tail(boot_id=int(boot_id)):
            return head + _U32.pack(boot_id)
        case _Tail(last=int(last)):
            return head + _U16.pack(last)
        case _Tail(spent=Spent() as spent):
            return head + _build_spent(spent)
        case _Tail(uncached=Status() as stored):
            return head + _U8.pack(stored)
        case _:
            return head + tail.text.encode()


def _parse_hello(frame: Frame) -> HelloReply:
    serial, rest = _split_pstr(frame.payload)
    model, rest = _split_pstr(rest)
    firmware, rest = _split_pstr(rest)
    boot_id, epoch, nv_tier, max_body, reply_max = _unpack(_HELLO, rest[: _HELLO.size])
    if nv_tier > NV_TIER_MAX or not MAX_BODY_MIN <= max_body <= MAX_BODY_LIMIT:
        raise FrameError("payload range")
    record = _parse_record(rest[_HELLO.size :])
    return HelloReply(serial, model, firmware, boot_id, epoch, nv_tier, max_body, reply_max, record)


def _parse_open(frame: Frame) -> OpenReply:
    size = _OPEN_REPLY.size
    code, nonce, boot_id, epoch = _unpack(_OPEN_REPLY, frame.payload[:size])
    status = _legal(Type.OPEN, code)
    if (status is Status.OK) != (frame.session != 0):
        raise FrameError("session")
    return OpenReply(status, frame.session, nonce, boot_id, epoch, _parse_record(frame.payload[size:]))


def _parse_command(frame: Frame) -> CommandReply:
    status, tail = _status_and_tail(frame)
    replayed = bool(frame.flags & REPLAYED)
    return CommandReply(
        status, frame.attempt, replayed, tail.text, tail.boot_id, tail.last, tail.spent, tail.uncached
    )


def _parse_nop(frame: Frame) -> NopReply:
    status, tail = _without_text(frame)
    replayed = bool(frame.flags & REPLAYED)
    return NopReply(status, frame.attempt, replayed, tail.boot_id, tail.last, tail.spent)


def _parse_read(frame: Frame) -> ReadReply:
    status, tail = _status_and_tail(frame)
    return ReadReply(status, tail.text)


def _parse_query(frame: Frame) -> QueryReply:
    code, rest = frame.payload[:1], frame.payload[1:]
    if code == bytes((State.DONE,)):
        spent = _parse_spent(rest)
        return QueryReply(State.DONE, spent.digest, spent.status, spent.text)
    if code in _BARE_STATES:
        if rest:
            raise FrameError("payload shape")
        return QueryReply(_BARE_STATES[code])
    _, tail = _status_and_tail(frame)
    return QueryReply(None, boot_id=tail.boot_id)


def _parse_close(frame: Frame) -> CloseReply:
    status, tail = _without_text(frame)
    return CloseReply(status, tail.boot_id)


_BARE_STATES: Final = {bytes((state,)): state for state in State if state is not State.DONE}
_PARSERS: Final[dict[Type, Callable[[Frame], Reply]]] = {
    Type.HELLO: _parse_hello,
    Type.OPEN: _parse_open,
    Type.CMD: _parse_command,
    Type.READ: _parse_read,
    Type.NOP: _parse_nop,
    Type.QUERY: _parse_query,
    Type.CLOSE: _parse_close,
}


# Parts


def _unpack(layout: struct.Struct, data: bytes) -> tuple[int, ...]:
    if len(data) != layout.size:
        raise FrameError("payload shape")
    return layout.unpack(data)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FrameError("payload not UTF-8") from error


def _legal(kind: Type, code: int) -> Status:
    status = _STATUSES.get(code)
    if status is None or status not in LEGAL[kind]:
        raise FrameError("status")
    return status


def _consuming(code: int) -> Status:
    status = _STATUSES.get(code)
    if status is None or status not in CONSUMING:
        raise FrameError("status")
    return status


_STATUSES: Final = {int(status): status for status in Status}


def _status_and_tail(frame: Frame) -> tuple[Status, _Tail]:
    if not frame.payload:
        raise FrameError("payload shape")
    status = _legal(frame.type, frame.payload[0])
    return status, _parse_tail(status, frame.payload[1:])


def _without_text(frame: Frame) -> tuple[Status, _Tail]:
    status, tail = _status_and_tail(frame)
    if tail.text:
        raise FrameError("payload shape")
    return status, tail


def _parse_spent(data: bytes) -> Spent:
    stored, code = _unpack(_SPENT, data[: _SPENT.size])
    return Spent(stored, _consuming(code), _text(data[_SPENT.size :]))


def _build_spent(spent: Spent) -> bytes:
    return _SPENT.pack(spent.digest, spent.status) + spent.text.encode()


def _parse_record(data: bytes) -> Record | None:
    if data == b"\0":
        return None
    if data[:1] != b"\1":
        raise FrameError("payload shape")
    session, seq, stored, code = _unpack(_RECORD, data[1:])
    return Record(session, seq, stored, _consuming(code))


def _build_record(record: Record | None) -> bytes:
    if record is None:
        return b"\0"
    return b"\1" + _RECORD.pack(record.session, record.seq, record.digest, record.status)


def _split_pstr(data: bytes) -> tuple[str, bytes]:
    size = 1 + data[0] if data else 1
    if len(data) < size:
        raise FrameError("payload shape")
    return _text(data[1:size]), data[size:]


def _pstr(text: str) -> bytes:
    data = text.encode()
    return bytes((len(data),)) + data
