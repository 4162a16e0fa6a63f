"""What a requester and a responder do back to back, over a wire that misbehaves as it is told.

`Device` hosts a responder as the paper says and keeps the ledger of executions, the oracle of these tests.
`Wire` is one direction of a stream; `Pair` is both sides on one connection.
"""

import random
from collections import deque
from collections.abc import Hashable
from typing import Literal

from protocol.native.codes import Status, Type
from protocol.native.frame import Frame, decode, digest, encode
from protocol.native.messages import HelloReply, OpenReply, Record, Reply
from protocol.native.payload import build_open, parse_reply
from protocol.native.requester import Answered, Event, Requester
from protocol.native.responder import (
    Action,
    Execute,
    HangUp,
    Identity,
    Memory,
    Responder,
    Store,
    boot,
)
from protocol.native.responder import Reply as ReplyAction

IDENTITY = Identity("SN-1", "demo", "1.0")
LONG_TEXT = "x" * 33
AGENT = 0x0102030405060708

ADJUST = "ADJUST offset +5"
ADJUST_DIGEST = digest(Type.CMD, ADJUST.encode())

Fault = Literal["pass", "drop", "twice", "bytes", "hold"]


def request(kind: Type, session: int, seq: int, payload: bytes = b"", attempt: int = 1) -> bytes:
    """A request, also one that the agent's side would refuse to write."""
    return encode(Frame(kind, False, 1, attempt, 0, session, seq, payload))


def opening(epoch: int, nonce: int, agent: int = AGENT, attempt: int = 1) -> bytes:
    """An OPEN, also one that the agent's side would refuse to write."""
    return request(Type.OPEN, 0, 0, build_open(agent, epoch, nonce), attempt)


def reply(kind: Type, session: int, seq: int, payload: bytes, *, attempt: int = 1, flags: int = 0) -> bytes:
    """The bytes of a reply, put together by hand."""
    return encode(Frame(kind, True, 1, attempt, flags, session, seq, payload))


def never(text: str) -> tuple[Status, str]:
    """A reader that is not asked."""
    raise AssertionError(text)


class Device:
    """A host around a responder: one offset, a ledger, storage that survives `reboot`."""

    def __init__(
        self, tier: int = 1, *, seed: int = 1, atomic: bool = True, unit: int = 1, max_body: int = 512
    ) -> None:
        self.offset = 10
        self.ledger: list[Execute] = []
        self.actions: list[Action] = []
        self.slow = False
        self.stored = Memory.blank(tier)
        self._random = random.Random(seed)
        self._atomic = atomic
        self._unit = unit
        self._max_body = max_body
        self.responder = self._boot()

    def _boot(self) -> Responder:
        responder = boot(
            IDENTITY,
            memory=self.stored,
            draw=lambda: self._random.getrandbits(32),
            read=self._read,
            unit=self._unit,
            max_body=self._max_body,
            atomic=self._atomic,
        )
        self.stored = responder.memory
        return responder

    def reboot(self) -> None:
        """Power off and on: connections, decoders and what was not stored are gone; the offset is kept."""
        self.responder = self._boot()

    def connect(self, conn: Hashable) -> None:
        self.responder.connected(conn)

    @property
    def executed(self) -> list[tuple[int, str]]:
        """The ledger in short: number and text of what was executed, in order."""
        return [(execution.seq, execution.text) for execution in self.ledger]

    def receive(self, conn: Hashable, data: bytes) -> list[tuple[Hashable, bytes]]:
        """What the device writes because of `data`: (connection, bytes), in order."""
        return self.perform(self.responder.receive(conn, data))

    def finish(self, status: Status = Status.OK, text: str = "") -> list[tuple[Hashable, bytes]]:
        """End a slow command."""
        return self.perform(self.responder.finish(status, text))

    def perform(self, actions: list[Action]) -> list[tuple[Hashable, bytes]]:
        written: list[tuple[Hashable, bytes]] = []
        for action in actions:
            self.actions.append(action)
            match action:
                case ReplyAction(conn, data):
                    written.append((conn, data))
                case Store(memory):
                    self.stored = memory
                case Execute():
                    self.ledger.append(action)
                    if not self.slow:
                        written += self.finish(*self.execute(action.text))
                case HangUp():
                    pass
        return written

    def execute(self, text: str) -> tuple[Status, str]:
        match text.split():
            case ["ADJUST", "offset", delta]:
                self.offset += int(delta)
                return Status.OK, str(self.offset)
            case ["SET", "offset", value] if not value.isdecimal():
                return Status.BAD_ARG, "no number"
            case ["SET", "offset", value]:
                self.offset = int(value)
                return Status.OK, value
            case ["ERASE"]:
                return Status.REFUSED, "locked"
            case ["LIST"]:
                return Status.OK, LONG_TEXT
            case _:
                return Status.BAD_COMMAND, "unknown"

    def _read(self, text: str) -> tuple[Status, str]:
        return (Status.OK, str(self.offset)) if text == "GET offset" else (Status.BAD_COMMAND, "unknown")


class Wire:
    """One direction of a stream. Each write meets the next fault of the plan; afterwards all passes."""

    def __init__(self, *plan: Fault) -> None:
        self.plan = deque(plan)
        self._held: list[bytes] = []

    def carry(self, data: bytes) -> list[bytes]:
        """The pieces that arrive because of this write; what was held arrives behind the next one."""
        fault = self.plan.popleft() if self.plan else "pass"
        if fault == "drop":
            return []
        if fault == "hold":
            self._held.append(data)
            return []
        pieces = {"pass": [data], "twice": [data, data], "bytes": [bytes((byte,)) for byte in data]}[fault]
        pieces, self._held = pieces + self._held, []
        return pieces


class Pair:
    """A requester and a device on one connection, named `conn`."""

    def __init__(
        self,
        device: Device | None = None,
        *,
        conn: str = "main",
        there: Wire | None = None,
        back: Wire | None = None,
    ) -> None:
        self.conn = conn
        self.device = device or Device()
        self.there = there or Wire()
        self.back = back or Wire()
        self.requester = Requester()
        self.device.connect(self.conn)

    def reconnect(self) -> None:
        """A new connection in place of the old one, as after any link failure."""
        self.device.responder.disconnected(self.conn)
        self.device.connect(self.conn)
        self.requester = Requester()

    def send(self, data: bytes) -> list[Event]:
        """Write a request; the events of everything that comes back at once."""
        replies = [
            written for piece in self.there.carry(data) for written in self.device.receive(self.conn, piece)
        ]
        return self.deliver(replies)

    def deliver(self, replies: list[tuple[Hashable, bytes]]) -> list[Event]:
        pieces = [piece for _, data in replies for piece in self.back.carry(data)]
        return [event for piece in pieces for event in self.requester.receive(piece)]

    def ask(self, data: bytes) -> Reply:
        """Write a request over a wire that is expected to deliver, and return the one answer."""
        (answer,) = [event.reply for event in self.send(data) if isinstance(event, Answered)]
        return answer

    def ask_raw(self, data: bytes) -> Reply:
        """As `ask`, for bytes that the requester would not write: the one reply, parsed."""
        ((_, written),) = self.device.receive(self.conn, data)
        return self.parsed(written)

    @staticmethod
    def parsed(written: bytes) -> Reply:
        """The message in the bytes of a reply frame."""
        return parse_reply(Pair.frame(written))

    @staticmethod
    def frame(written: bytes) -> Frame:
        """The frame in the bytes of one write."""
        return decode(written[:-1])

    def record(self) -> Record | None:
        """What HELLO shows as the last number consumed."""
        hello = self.ask(self.requester.hello(0))
        assert isinstance(hello, HelloReply)
        return hello.record

    def open(self, epoch: int = 1, nonce: int = 1) -> int:
        """Open a session; its number."""
        opened = self.ask(self.requester.open(AGENT, epoch, nonce))
        assert isinstance(opened, OpenReply)
        assert opened.status is Status.OK
        return opened.session
