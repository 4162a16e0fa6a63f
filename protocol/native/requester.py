"""Which reply answers the request that is outstanding on one byte stream?

The agent's side of LSQ1 (WIRE.md section 4, rules 3, 4 and 7), without waiting, retrying or deciding: bytes
to write come out of the request methods, events out of `receive`. Rules:

* One request is outstanding at most. A further copy of it is the same request with another attempt.
* A reply counts only if unit, direction, type, session and seq (of OPEN: the nonce) fit the outstanding
  request. Everything else is `Ignored` with the reason, and never ends the wait.
* IN_PROGRESS and BUSY are `Waiting`: they do not end the wait either.
* A request that cannot be sent as asked is a ValueError before any byte.
"""

from dataclasses import dataclass
from typing import Final, Literal

from protocol.native import payload
from protocol.native.codes import (
    ATTEMPT_MAX,
    EPOCH_MAX,
    HEADER_SIZE,
    ID_MAX,
    MAX_BODY_LIMIT,
    MAX_BODY_MIN,
    SEQ_MAX,
    SESSION_MAX,
    UNIT_MAX,
    UNIT_MIN,
    WAITING,
    Status,
    Type,
)
from protocol.native.frame import NOP_DIGEST, Decoder, Frame, FrameError, Junk, digest, encode
from protocol.native.messages import HelloReply, OpenReply, QueryReply, Reply

EARLIER_MAX: Final = 32
"""How many requests of this stream are remembered, to tell a late reply from a foreign one."""

U64_MAX: Final = 2**64 - 1

Why = Literal["late", "foreign", "echo", "junk"]


@dataclass(frozen=True, slots=True)
class Answered:
    """The outstanding request has its answer; nothing is outstanding any more."""

    reply: Reply


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not yet: IN_PROGRESS (this very request is being executed) or BUSY (another one is, nothing taken)."""

    status: Status


@dataclass(frozen=True, slots=True)
class Ignored:
    """Input that answers nothing asked now.

    `why`: `late` answers an earlier request of this stream or one already answered, `foreign` none of ours,
    `echo` is a request, `junk` is malformed. `text` is for the log, `frame` None where it was none, `data` the
    bytes.
    """

    why: Why
    text: str
    frame: Frame | None
    data: bytes


Event = Answered | Waiting | Ignored


@dataclass(frozen=True, slots=True)
class _Key:
    """What a reply must carry to answer a request: session and seq, of OPEN the nonce instead."""

    kind: Type
    session: int
    seq: int
    nonce: int = 0


class Requester:
    """The agent's side of one byte stream; a new connection gets a new one.

    `max_body` in bytes limits what is sent: 64 until a HELLO reply on this stream names the device's own
    limit or the caller, who knows it from elsewhere, sets it. Replies up to 512 are always understood.

    The first request, and the first one after `abandon`, begins with a zero: it ends whatever noise or broken
    frame the device has collected so far, and an empty frame costs nothing (WIRE.md section 1).
    """

    def __init__(self, unit: int = 1) -> None:
        """`unit`: the device's address on the line, 1 to 247."""
        self.unit = _within("unit", unit, UNIT_MIN, UNIT_MAX)
        self._max_body = MAX_BODY_MIN
        self._decoder = Decoder(MAX_BODY_LIMIT)
        self._outstanding: _Key | None = None
        self._earlier: dict[_Key, None] = {}
        self._unsure = True  # what the device's decoder has collected

    @property
    def max_body(self) -> int:
        """The longest body that may be sent, in bytes; setting it outside 64 to 512 raises ValueError."""
        return self._max_body

    @max_body.setter
    def max_body(self, size: int) -> None:
        self._max_body = _within("max_body", size, MAX_BODY_MIN, MAX_BODY_LIMIT)

    @property
    def outstanding(self) -> Type | None:
        """The type of the request that waits for its answer."""
        return self._outstanding.kind if self._outstanding else None

    # Requests: bytes to write, in one piece

    def hello(self, seq: int) -> bytes:
        """Ask who the device is. `seq`: a new correlation id for every request, 0 to 0xFFFF."""
        return self._request(_Key(Type.HELLO, 0, _within("seq", seq, 0, ID_MAX)))

    def open(self, agent: int, epoch: int, nonce: int) -> bytes:
        """Ask for a new session. `epoch` and `nonce` are new for every attempt; only the newest counts."""
        _within("agent", agent, 0, U64_MAX)
        _within("epoch", epoch, 0, EPOCH_MAX)
        _within("nonce", nonce, 0, U64_MAX)
        return self._request(_Key(Type.OPEN, 0, 0, nonce), payload.build_open(agent, epoch, nonce))

    def command(self, session: int, seq: int, attempt: int, text: str) -> bytes:
        """One copy of a numbered command. `attempt`: 1 for the first copy; the field stays at 255."""
        body = self._text(text)
        if digest(Type.CMD, body) == NOP_DIGEST:
            raise ValueError("the digest of this text is that of a NOP: settling could not tell them apart")
        return self._numbered(Type.CMD, session, seq, attempt, body)

    def nop(self, session: int, seq: int, attempt: int) -> bytes:
        """Consume `seq` without effect, or learn what has consumed it."""
        return self._numbered(Type.NOP, session, seq, attempt, b"")

    def read(self, seq: int, text: str) -> bytes:
        """Ask a query that changes nothing. `seq`: a new correlation id for every request, 0 to 0xFFFF."""
        return self._request(_Key(Type.READ, 0, _within("seq", seq, 0, ID_MAX)), self._text(text))

    def query(self, session: int, seq: int) -> bytes:
        """Ask what became of `seq`, without consuming it."""
        return self._request(_Key(Type.QUERY, _session(session), _within("seq", seq, 0, ID_MAX)))

    def close(self, session: int, seq: int) -> bytes:
        """End the session. `seq`: a correlation id, 0 to 0xFFFF."""
        return self._request(_Key(Type.CLOSE, _session(session), _within("seq", seq, 0, ID_MAX)))

    def abandon(self) -> None:
        """Wait no longer: after silence or cancellation. What still arrives for the request is late."""
        self._remember()
        self._unsure = True

    # Replies

    def receive(self, data: bytes) -> list[Event]:
        """What `data` completes, in order. Raises nothing: whatever is not understood is `Ignored`."""
        return [self._event(item) for item in self._decoder.feed(data)]

    def _event(self, item: Frame | Junk) -> Event:
        if isinstance(item, Junk):
            return Ignored("junk", item.reason, None, item.data)
        if not item.reply:
            return _ignored("echo", item)
        if item.unit != self.unit:
            return _ignored("foreign", item)
        try:
            reply = payload.parse_reply(item)
        except FrameError as error:
            return Ignored("junk", f"{item.type.name} reply: {error.reason}", item, encode(item))
        key = _key_of(item, reply)
        if key == self._outstanding:
            return self._answer(reply)
        return _ignored("late" if key in self._earlier else "foreign", item)

    def _answer(self, reply: Reply) -> Event:
        if not isinstance(reply, HelloReply | QueryReply) and reply.status in WAITING:
            return Waiting(reply.status)
        if isinstance(reply, HelloReply):
            self.max_body = reply.max_body
        self._remember()
        return Answered(reply)

    # Parts

    def _numbered(self, kind: Type, session: int, seq: int, attempt: int, body: bytes) -> bytes:
        key = _Key(kind, _session(session), _within("seq", seq, 1, SEQ_MAX))
        if attempt < 1:
            raise ValueError(f"attempt {attempt} is below 1")
        return self._request(key, body, min(attempt, ATTEMPT_MAX))

    def _text(self, text: str) -> bytes:
        if not text:
            raise ValueError("an empty text is no command")
        body = text.encode()
        if HEADER_SIZE + len(body) > self.max_body:
            room = self.max_body - HEADER_SIZE
            raise ValueError(f"{len(body)} bytes of text, the device takes {room}")
        return body

    def _request(self, key: _Key, body: bytes = b"", attempt: int = 1) -> bytes:
        if key != self._outstanding:
            self._remember()
        self._outstanding = key
        data = encode(Frame(key.kind, False, self.unit, attempt, 0, key.session, key.seq, body))
        if self._unsure:
            self._unsure = False
            return b"\0" + data
        return data

    def _remember(self) -> None:
        if self._outstanding is None:
            return
        self._earlier.pop(self._outstanding, None)  # so that it becomes the newest
        self._earlier[self._outstanding] = None
        self._outstanding = None
        if len(self._earlier) > EARLIER_MAX:
            del self._earlier[next(iter(self._earlier))]


def _key_of(frame: Frame, reply: Reply) -> _Key:
    if isinstance(reply, OpenReply):
        return _Key(Type.OPEN, 0, 0, reply.nonce)
    return _Key(frame.type, frame.session, frame.seq)


def _ignored(why: Why, frame: Frame) -> Ignored:
    what = "reply" if frame.reply else "request"
    text = f"{frame.type.name} {what}, unit {frame.unit}, session {frame.session:#010x}, seq {frame.seq}"
    return Ignored(why, text, frame, encode(frame))


def _session(session: int) -> int:
    return _within("session", session, 1, SESSION_MAX)


def _within(name: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise ValueError(f"{name} {value} is not within {low} to {high}")
    return value
