"""Which frame answers the request that is outstanding, and what are all the others?

The agent's side of one stream of Modbus, without waiting or deciding: bytes to write come out of `ask`, events out of
`receive`, the same ones however the bytes were cut. Rules:

* One request is outstanding at most. A frame answers it if it comes from that unit, is of that function, has the length
  that was asked for and repeats what an ack has to repeat; over TCP it also has its transaction. On a serial line an
  answer to an earlier read of the same size looks the same, so nothing else may be owed there when a request is made.
* The transaction only tells which request an answer belongs to. A device never recognises a repeat by it.
* The ack of functions 5, 6 and 22 is the request byte for byte, and so is what a local echo gives back. Where the line
  echoes, the first of them is the echo and only a second one the ack; where that is not known, the first is believed
  as little. A line is known to echo once it gives back a request that is no ack. It is known not to once two answers
  were the first thing to come in: an echo may get lost once, and damaged input may have been one, but not each time.
* What an exception proves: 1, 2, 3 refused; 5 accepted and not done yet; 6 nothing taken; 10 never reached the device;
  4, 11 and all others nothing.
* Texts of events hold what was read, never what was written: that may be a secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from protocol.modbus.cells import NoValue, decode
from protocol.modbus.framing import (
    TRANSACTIONS,
    Adu,
    adu_of_mbap,
    adu_of_rtu,
    mbap,
    mbap_answers,
    mbap_scanner,
    rtu,
    rtu_answers,
    rtu_scanner,
)
from protocol.modbus.pdu import EXCEPTIONS, Reply, answer_of, request_pdu
from protocol.modbus.requests import Request, request_of
from protocol.modbus.scanner import Piece
from protocol.modbus.sizes import EXCEPTION, IDENTIFICATION

UNIT_MIN: Final = 1
UNIT_MAX: Final = 247
_UNITS: Final = {
    "rtu": (UNIT_MIN, UNIT_MAX),
    "tcp": (0, 255),
}  # a device without a line behind it may be 0 or 255
_ACK_IS_REQUEST: Final = frozenset({5, 6, 22})
_SENT_MAX: Final = 8
"""Own frames that are remembered, to know them when they come back."""
UNTOUCHED_ENOUGH: Final = 2
"""So many answers that were the first thing to come in: one whole echo may get lost."""
UNECHOED_ENOUGH: Final = 3
"""So many answers with damaged input, and no whole echo, in front of them: the adapter is noisy and does not echo."""

How = Literal["done", "refused", "queued", "busy", "unknown", "unreached", "no_value"]
Why = Literal["answer", "late", "foreign", "unit", "echo", "junk"]

_PROVES: Final[Mapping[int, How]] = MappingProxyType(
    {1: "refused", 2: "refused", 3: "refused", 5: "queued", 6: "busy", 10: "unreached"}
)


@dataclass(frozen=True, slots=True)
class Replied:
    """The outstanding request has its answer.

    `done`: the ack of a write, or a reading with its `value` (function 23 has both). `no_value`: a reading that says
    that there is none. All others are exceptions; see the file's head. `line` is for people.
    """

    how: How
    value: str | None
    line: str


@dataclass(frozen=True, slots=True)
class Stray:
    """Input that answers nothing asked now.

    `why`: `answer` a frame of our unit on a serial line; `late` an earlier transaction of ours, `foreign` one that was
    never ours, or one that does not answer what it names; `unit` another unit; `echo` our own request; `junk` all else.
    `data` is what came in. `function` is that of the frame, `refused` whether it is an exception; junk has neither.
    """

    why: Why
    line: str
    data: bytes
    function: int | None = None
    refused: bool = False


Event = Replied | Stray


class ModbusRequester:
    """The agent's side of one stream to one unit; a new connection gets a new one.

    `echoes`: whether the stream gives our own requests back; None: not known yet. TCP is taken not to.
    """

    def __init__(self, framing: Literal["tcp", "rtu"], unit: int, *, first_transaction: int = 1) -> None:
        """A requester of a new stream.

        Args:
            framing: `rtu` also where it goes over TCP.
            unit: 1 to 247, over TCP 0 to 255. A broadcast has no answer and is not asked here.
            first_transaction: the id of the first request, 0 to 65535; they wrap.
        """
        low, high = _UNITS[framing]
        if not low <= unit <= high:
            raise ValueError(f"unit {unit} is not within {low} to {high}")
        if not 0 <= first_transaction < TRANSACTIONS:
            raise ValueError(f"transaction {first_transaction} is not within 0 to {TRANSACTIONS - 1}")
        self.echoes: bool | None = False if framing == "tcp" else None
        self._is_tcp = framing == "tcp"
        self._unit = unit
        self._scanner = mbap_scanner() if self._is_tcp else rtu_scanner()
        self._transaction = (first_transaction - 1) % TRANSACTIONS
        self._asked_count = 0
        self._asked: Request | None = None
        self._outstanding = False
        self._sent: dict[bytes, bool] = {}  # own frames, and whether the echo of each may still come
        self._untouched = False  # nothing has come in since the request
        self._came_first = 0  # answers that were the first thing to come in
        self._unechoed = 0  # answers in front of which no whole echo came
        self._told: list[Event] = []

    def ask(self, text: str) -> bytes:
        """The frame of a request, which is outstanding from now on. What came in before answers nothing.

        Raises:
            ValueError: the text is no request; nothing has changed.
        """
        request = request_of(text)
        pdu = request_pdu(request)
        transaction = (self._transaction + 1) % TRANSACTIONS
        frame = mbap(transaction, self._unit, pdu) if self._is_tcp else rtu(self._unit, pdu)
        self.abandon()
        before = self._scanner.expect(mbap_answers(frame) if self._is_tcp else rtu_answers(frame, request))
        self._told += [self._event(piece) for piece in before]
        self._transaction = transaction
        self._asked, self._asked_count = request, self._asked_count + 1
        self._outstanding = self._untouched = True
        self._remember(frame)
        return frame

    def abandon(self) -> None:
        """Nothing is outstanding any more."""
        self._outstanding = False

    @property
    def undecided(self) -> bytes:
        """What came in and is no frame so far: where an answer is missing, perhaps somebody else's words."""
        return self._scanner.undecided

    @property
    def function(self) -> int | None:
        """The function of the last request."""
        return None if self._asked is None else self._asked.function

    def receive(self, data: bytes) -> list[Event]:
        """What came in, in any pieces, as events. What a request cut off is told here too."""
        events, self._told = self._told, []
        events += [self._event(piece) for piece in self._scanner.feed(data)]
        return events

    # --- whose is it? -------------------------------------------------------------------------------------------------

    def _event(self, piece: Piece) -> Event:
        untouched, self._untouched = self._untouched, False
        if not piece.is_frame:
            return _junk(piece.data)
        adu = adu_of_mbap(piece.data) if self._is_tcp else adu_of_rtu(piece.data)
        if self._is_echo(adu):
            return _stray("echo", adu, "our own request, or an ack that looks like it")
        if self._is_tcp and not self._is_current(adu):
            return self._of_another_transaction(adu)
        if adu.unit != self._unit:
            return _stray("unit", adu)
        return self._answer(adu, untouched=untouched) or self._of_no_use(adu)

    def _is_current(self, adu: Adu) -> bool:
        return self._asked is not None and adu.transaction == self._transaction

    def _of_another_transaction(self, adu: Adu) -> Stray:
        behind = (self._transaction - (adu.transaction or 0)) % TRANSACTIONS
        if behind < self._asked_count:
            return _stray("late", adu)
        swapped = int.from_bytes(self._transaction.to_bytes(2), "little")
        hint = f"our {self._transaction} with its bytes swapped" if adu.transaction == swapped else ""
        return _stray("foreign", adu, hint)

    def _is_echo(self, adu: Adu) -> bool:
        """Whether the frame is one of our own, and believed to be no ack."""
        if adu.data not in self._sent:
            return False
        if adu.pdu[0] not in _ACK_IS_REQUEST:
            self.echoes = True
            return True
        due, self._sent[adu.data] = self._sent[adu.data], False
        return due and self.echoes is not False

    def _remember(self, frame: bytes) -> None:
        self._sent.pop(frame, None)  # so that it becomes the newest
        self._sent[frame] = True
        if len(self._sent) > _SENT_MAX:
            del self._sent[next(iter(self._sent))]

    def _of_no_use(self, adu: Adu) -> Stray:
        if not self._is_tcp:
            return _stray("answer", adu)
        if not self._outstanding:
            return _stray("late", adu)
        return _stray("foreign", adu, "it does not answer what was asked")

    # --- what does it say? --------------------------------------------------------------------------------------------

    def _answer(self, adu: Adu, *, untouched: bool) -> Replied | None:
        """The answer to the outstanding request, if the frame is it."""
        if self._asked is None or not self._outstanding:
            return None
        try:
            reply = answer_of(self._asked, adu.pdu)
        except ValueError:
            return None
        self._outstanding = False
        self._unechoed += self._asked.function not in _ACK_IS_REQUEST
        self._came_first += untouched
        if self.echoes is None and (
            self._came_first >= UNTOUCHED_ENOUGH or self._unechoed >= UNECHOED_ENOUGH
        ):
            self.echoes = False
        return _said(self._asked, reply)


def _said(request: Request, reply: Reply) -> Replied:
    digits = 2 if request.function == IDENTIFICATION else 4
    where = f"fc{request.function:02} 0x{request.address:0{digits}X}"
    if reply.exception is not None:
        return Replied(
            _PROVES.get(reply.exception, "unknown"), None, f"{where}: {_exception(reply.exception)}"
        )
    if request.cell is None:
        return Replied("done", None, f"{where}: acknowledged")
    try:
        value = decode(request.cell, reply.data)
    except NoValue as why:
        return Replied("done" if request.changes else "no_value", None, f"{where}: {why}")
    shown = value if request.function == IDENTIFICATION else reply.data.hex(" ", -2).upper()
    return Replied("done", value, f"{where}: {shown}")


def _exception(code: int) -> str:
    return f"exception {code} ({EXCEPTIONS.get(code, 'not of the standard')})"


def _stray(why: Why, adu: Adu, hint: str = "") -> Stray:
    function, refused = adu.pdu[0] & ~EXCEPTION, bool(adu.pdu[0] & EXCEPTION)
    said = _exception(adu.pdu[1]) if refused else f"{len(adu.pdu)} bytes"
    transaction = "" if adu.transaction is None else f", transaction {adu.transaction}"
    line = f"unit {adu.unit}{transaction}, fc{function:02}: {said}" + (f"; {hint}" if hint else "")
    return Stray(why, line, adu.data, function, refused)


def _junk(data: bytes) -> Stray:
    return Stray("junk", f"{len(data)} bytes that are no frame", data)
