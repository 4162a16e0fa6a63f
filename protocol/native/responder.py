"""What does a device answer, and what may it execute?

The device's side of LSQ1, WIRE.md section 3, in all three tiers. Bytes in, actions out; the host performs
them in the order given and executes the commands. Rules:

* Whether a number is new, repeated, spent or out of order is decided in `numbers`; nothing is queued.
* `finish` is the only place that consumes a number.
* State is tied to the session, never to a connection; of a connection only its decoder is kept.
* What must survive is stored before the reply that depends on it.
* A malformed request is counted in `dropped` and never answered.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from protocol.native import messages, numbers
from protocol.native.actions import Action, Execute, HangUp, Reply, Store
from protocol.native.codes import (
    CONSUMING,
    EPOCH_MAX,
    LEGAL,
    MAX_BODY_LIMIT,
    UNIT_MAX,
    UNIT_MIN,
    Status,
    Type,
)
from protocol.native.frame import REPLAYED, Decoder, Frame, FrameError, Junk, digest, encode
from protocol.native.identity import TEXT_OFFSET, Identity, check_sizes
from protocol.native.memory import TIERS, LiveMemory, Memory, Slot, next_boot_id
from protocol.native.messages import (
    CloseReply,
    CloseRequest,
    CommandReply,
    CommandRequest,
    HelloReply,
    HelloRequest,
    NopRequest,
    OpenReply,
    OpenRequest,
    QueryRequest,
    ReadReply,
    ReadRequest,
)
from protocol.native.numbers import Running
from protocol.native.payload import build_reply, parse_request

__all__ = [
    "Action",
    "Execute",
    "HangUp",
    "Identity",
    "Memory",
    "Reply",
    "Responder",
    "Running",
    "Slot",
    "Store",
    "boot",
]


@dataclass(frozen=True, slots=True)
class _Opening:
    """The OPEN that made the session, and the answer that its repeats get again."""

    request: OpenRequest
    reply: OpenReply


class Responder:
    """One device from one boot to the next; a boot is a new responder over the stored memory (`boot`).

    The host calls `connected`, `receive` and `disconnected`, and `finish` once for every `Execute`; a name
    for a connection is any hashable, not used again. A host that cannot listen while it executes feeds one
    frame at a time (up to and with each zero) and finishes before the next.
    """

    def __init__(
        self,
        identity: Identity,
        *,
        tier: int,
        memory: Memory,
        boot_id: int,
        draw: Callable[[], int],
        read: Callable[[str], tuple[Status, str]],
        unit: int = 1,
        max_body: int = MAX_BODY_LIMIT,
        reply_max: int = 32,
        atomic: bool = True,
    ) -> None:
        """A device just booted.

        Args:
            identity: its names; a HELLO reply with them must fit `max_body`.
            tier: what survives a boot, 0 to 2; `memory` is of the same tier.
            memory: what survived. `self.memory` then counts this boot: store it before the first `receive`.
            boot_id: different at every boot; in tiers 1 and 2 the boot counter.
            draw: a random 32-bit number, for the sessions of tier 0.
            read: answers a query at once and without side effects: OK or why not, and a text.
            unit: its own address, 1 to 247.
            max_body: 64 to 512 bytes, both ways.
            reply_max: the longest text that is kept for repeats, in UTF-8 bytes.
            atomic: whether tier 2 can write effect and record in one write: the host then does the effect
                together with the `Store` of `finish`. Otherwise INDETERMINATE is stored before `Execute`.

        Raises:
            ValueError: these contradict each other or the paper.
        """
        if memory.tier != tier or tier not in TIERS:
            raise ValueError(f"tier {tier} over memory of tier {memory.tier}")
        if not UNIT_MIN <= unit <= UNIT_MAX:
            raise ValueError(f"unit {unit} is not within {UNIT_MIN} to {UNIT_MAX}")
        check_sizes(identity, max_body, reply_max)
        self.identity = identity
        self.tier = tier
        self.unit = unit
        self.max_body = max_body
        self.reply_max = reply_max
        self.boot_id = boot_id
        self._live = LiveMemory(memory, boot_id, draw)
        self.memory = self._live.surviving()
        self.running: Running | None = None
        self.dropped: Counter[str] = Counter()
        self._read = read
        self._atomic = atomic
        self._opening: _Opening | None = None
        self._decoders: dict[Hashable, Decoder] = {}

    @property
    def epoch(self) -> int:
        """The highest epoch that has opened a session."""
        return self._live.epoch

    @property
    def session(self) -> int:
        """The open session, 0 if none is."""
        return self._live.session

    @property
    def text_max(self) -> int:
        """The longest text of an answer, in UTF-8 bytes."""
        return self.max_body - TEXT_OFFSET

    def connected(self, conn: Hashable) -> None:
        """A byte stream begins; what an earlier one of the same name left half received is gone."""
        self._decoders[conn] = Decoder(self.max_body)

    def disconnected(self, conn: Hashable) -> None:
        """A byte stream has ended. Sessions and a running command go on."""
        self._decoders.pop(conn, None)

    def receive(self, conn: Hashable, data: bytes) -> list[Action]:
        """What to do about `data`, in order; nothing, if the connection is unknown or was hung up."""
        decoder = self._decoders.get(conn)
        if decoder is None:
            self.dropped["not connected"] += 1
            return []
        return [action for item in decoder.feed(data) for action in self._take(conn, item)]

    def finish(self, status: Status, text: str = "") -> list[Action]:
        """The running command has ended; its watchdog says INDETERMINATE.

        Consumes the number. The answer goes to the connection of the copy that started the command, if that
        is still connected.

        Raises:
            RuntimeError: nothing runs.
            ValueError: a status that consumes no number, or a text longer than `text_max`.
        """
        running = self.running
        if running is None:
            raise RuntimeError("no command is running")
        if status not in CONSUMING:
            raise ValueError(f"{status.name} cannot end a command")
        size = self._fitting(text)
        self.running = None
        kept = text if size <= self.reply_max else None
        self._live.consume(running.request.seq, running.digest, status, kept)
        reply = CommandReply(status, running.request.attempt, False, text)
        return [*self._stored(), *self._answer(running.conn, running.request, reply)]

    # Requests

    def _take(self, conn: Hashable, item: Frame | Junk) -> list[Action]:
        try:
            frame = self._addressed(item)
            request = parse_request(frame)
        except FrameError as error:
            self.dropped[error.reason] += 1
            return []
        match request:
            case OpenRequest():
                return self._open(conn, frame, request)
            case CommandRequest() | NopRequest():
                return self._numbered(conn, frame, request)
            case CloseRequest():
                return self._close(conn, frame)
            case HelloRequest():
                return self._answer(conn, frame, self._hello())
            case ReadRequest():
                return self._answer(conn, frame, self._value(request.text))
            case QueryRequest():
                state = numbers.state(self._live, self.running, frame, self.boot_id)
                return self._answer(conn, frame, state)

    def _addressed(self, item: Frame | Junk) -> Frame:
        """The request, if it is one for this unit; FrameError otherwise."""
        if isinstance(item, Junk):
            raise FrameError(item.reason)
        if item.reply:
            raise FrameError("direction")
        if item.unit != self.unit:
            raise FrameError("other unit")
        return item

    def _hello(self) -> HelloReply:
        names = self.identity
        return HelloReply(
            names.serial,
            names.model,
            names.firmware,
            self.boot_id,
            self.epoch,
            self.tier,
            self.max_body,
            self.reply_max,
            self._live.record,
        )

    def _open(self, conn: Hashable, frame: Frame, request: OpenRequest) -> list[Action]:
        if self.running:
            return self._answer(conn, frame, self._opened(Status.BUSY, request))
        if self._opening and request == self._opening.request:
            return self._answer(conn, frame, self._opening.reply)
        if not self.epoch < request.epoch <= EPOCH_MAX:
            return self._answer(conn, frame, self._opened(Status.STALE_EPOCH, request))
        self._live.open(request.epoch)
        reply = self._opened(Status.OK, request)
        self._opening = _Opening(request, reply)
        others = [other for other in self._decoders if other != conn]
        self._decoders = {conn: self._decoders[conn]}
        stored = self._stored(from_tier=1)
        return [*stored, *map(HangUp, others), *self._answer(conn, frame, reply)]

    def _opened(self, status: Status, request: OpenRequest) -> OpenReply:
        session = self.session if status is Status.OK else 0
        return OpenReply(status, session, request.nonce, self.boot_id, self.epoch, self._live.record)

    def _numbered(self, conn: Hashable, frame: Frame, request: CommandRequest | NopRequest) -> list[Action]:
        reply = numbers.numbered(self._live, self.running, frame, self.boot_id)
        if reply is not None:
            return self._answer(conn, frame, reply)
        return self._begin(Running(conn, frame, digest(frame.type, frame.payload)), request)

    def _begin(self, running: Running, request: CommandRequest | NopRequest) -> list[Action]:
        self.running = running
        if isinstance(request, NopRequest):
            return self.finish(Status.OK)
        if request.text is None:
            return self.finish(Status.BAD_COMMAND, "no UTF-8" if request.payload else "empty")
        frame = running.request
        execute = Execute(frame.session, frame.seq, running.digest, frame.attempt, request.text)
        if self.tier < 2 or self._atomic:
            return [execute]
        self.memory = self._live.forewarned(frame.seq, running.digest)
        return [Store(self.memory), execute]

    def _value(self, text: str | None) -> ReadReply:
        if self.running:
            return ReadReply(Status.BUSY)
        if text is None:
            return ReadReply(Status.BAD_COMMAND, "empty or no UTF-8")
        status, value = self._read(text)
        if status not in LEGAL[Type.READ]:
            raise ValueError(f"{status.name} is no answer to a query")
        self._fitting(value)
        return ReadReply(status, value)

    def _close(self, conn: Hashable, frame: Frame) -> list[Action]:
        if not self._live.is_open(frame.session):
            return self._answer(conn, frame, CloseReply(Status.BAD_SESSION, self.boot_id))
        if self.running:
            return self._answer(conn, frame, CloseReply(Status.BUSY))
        self._live.close()
        self._opening = None
        return [*self._stored(), *self._answer(conn, frame, CloseReply(Status.OK))]

    # Parts

    def _stored(self, from_tier: int = 2) -> list[Action]:
        """What survives, to be stored now, where the tier keeps this kind of change."""
        if self.tier < from_tier:
            return []
        self.memory = self._live.surviving()
        return [Store(self.memory)]

    def _fitting(self, text: str) -> int:
        size = len(text.encode())
        if size > self.text_max:
            raise ValueError(f"an answer of {size} bytes does not fit {self.text_max}")
        return size

    def _answer(self, conn: Hashable, frame: Frame, reply: messages.Reply) -> list[Action]:
        if conn not in self._decoders:
            return []
        session, seq, flags = frame.session, frame.seq, 0
        match reply:
            case OpenReply():
                session, seq = reply.session, 0
            case HelloReply() | ReadReply():
                session = 0
            case CommandReply(replayed=True):
                flags = REPLAYED
        answer = Frame(frame.type, True, self.unit, frame.attempt, flags, session, seq, build_reply(reply))
        return [Reply(conn, encode(answer))]


def boot(
    identity: Identity,
    *,
    memory: Memory,
    draw: Callable[[], int],
    read: Callable[[str], tuple[Status, str]],
    unit: int = 1,
    max_body: int = MAX_BODY_LIMIT,
    reply_max: int = 32,
    atomic: bool = True,
) -> Responder:
    """The device after power came on: a new `boot_id`, from the boot counter in `memory` or (tier 0) drawn.

    The counter of blank memory starts at a drawn number. Make `memory` of the result durable before its first
    `receive`, or the next boot might go by the same number. Arguments and errors as for `Responder`.
    """
    return Responder(
        identity,
        tier=memory.tier,
        memory=memory,
        boot_id=next_boot_id(draw() if memory.boots is None else memory.boots),
        draw=draw,
        read=read,
        unit=unit,
        max_body=max_body,
        reply_max=reply_max,
        atomic=atomic,
    )
