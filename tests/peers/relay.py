"""What crossed the wire? A relay between agent and adder that writes down every Modbus request, and loses some frames.

It is the witness of how many writes were sent, so it shares nothing with our codecs: it finds the ends of frames by
the length in the MBAP header, or by the few lengths that the functions of these tests have in RTU. Frames go through
as they come, but those that are to be lost, or held back: as at a terminal server, whoever is connected when a held
answer is let go gets it.
"""

import os
import selectors
import socket
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Framing = Literal["tcp", "rtu"]
HOST = "127.0.0.1"
CHUNK = 4096
PATIENCE_S = 20.0
WRITES = {5, 6, 15, 16, 22, 23}
PDU_OF = {"tcp": slice(7, None), "rtu": slice(1, -2)}
"""Where in a frame the PDU stands."""
COUNTED_REQUESTS = {15: 7, 16: 7, 23: 11}
COUNTED_REPLIES = {1: 3, 2: 3, 3: 3, 4: 3, 23: 3, 43: 10}
"""RTU frames whose length is in them: how many bytes stand up to the byte count, with it. (43: of one object.)"""
FIXED_REQUESTS = {22: 10, 43: 7}
FIXED_REPLIES = {22: 10}
"""How long RTU frames are that have another length than the usual 8 bytes."""


@dataclass(frozen=True, slots=True)
class Mishap:
    """What goes wrong on the way. Writes are counted from 1; requests are named by their PDU.

    Attributes:
        lose_writes: these never reach the adder.
        lose_replies: the answers to these writes are lost.
        hold: the first answer to this request is held back,
        until: until this request has crossed,
        hold_max_s: or so long.
    """

    lose_writes: Collection[int] = ()
    lose_replies: Collection[int] = ()
    hold: bytes = b""
    until: bytes = b""
    hold_max_s: float = 0.0


@dataclass(slots=True)
class _Way:
    """One direction of one connection."""

    to: int
    is_to_adder: bool
    data: bytes = b""


class Relay:
    """Stands in front of an adder; `port` is where it listens, unless it has a serial port for a front."""

    def __init__(
        self, framing: Framing, back: int | Path, mishap: Mishap, *, front: Path | None = None
    ) -> None:
        """Begin to relay.

        Args:
            framing: how frames are told apart.
            back: the adder: a TCP port of this machine, or a serial port.
            mishap: what goes wrong.
            front: a serial port to be asked at; None: a free TCP port.
        """
        self._framing, self._mishap = framing, mishap
        self._port = back if isinstance(back, int) else 0
        self._serial = -1
        self._requests: list[bytes] = []
        self._crossed = threading.Condition()
        self._asked_s = 0.0
        self._held: bytes | None = None
        self._let_go_s = 0.0  # when what is held goes on
        self._front = -1  # the client's end that was opened last
        self._ways: dict[int, _Way] = {}
        self._sockets: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._stop, self._stopped = socket.socketpair()
        self._selector.register(self._stopped, selectors.EVENT_READ)
        if isinstance(back, Path):  # kept open, whoever is connected
            self._serial = _open_port(back)
            self._carry_from(self._serial, _Way(self._front, is_to_adder=False))
        self._listener: socket.socket | None = None
        self.port = 0
        if front is None:
            self._listener = socket.create_server((HOST, 0))
            self.port = self._listener.getsockname()[1]
            self._selector.register(self._listener, selectors.EVENT_READ)
        else:
            self._join(_open_port(front))
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)
        self._thread.start()

    @property
    def writes(self) -> list[bytes]:
        """Every write that was sent, as PDU, oldest first; those that were lost on the way too."""
        return [pdu for pdu in self._requests if pdu[0] in WRITES]

    @property
    def reads(self) -> list[bytes]:
        """Every other request that was sent, as PDU, oldest first."""
        return [pdu for pdu in self._requests if pdu[0] not in WRITES]

    def wait_for(self, request: bytes) -> None:
        """Until a request with this PDU has crossed."""
        with self._crossed:
            assert self._crossed.wait_for(lambda: request in self._requests, PATIENCE_S)

    def close(self) -> None:
        """End all connections."""
        self._stop.send(b"!")
        self._thread.join()
        for descriptor in list(self._ways):
            self._drop(descriptor)
        for end in (self._listener, self._stop, self._stopped):
            if end is not None:
                end.close()
        self._selector.close()

    # --- bytes --------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            self._let_go()
            waits = self._held is not None and self._front in self._ways
            left_s = max(0.0, self._let_go_s - time.monotonic()) if waits else None
            for key, _ in self._selector.select(left_s):
                if key.fileobj is self._stopped:
                    return
                if key.fileobj is self._listener:
                    client, _ = self._listener.accept()
                    self._sockets[client.fileno()] = client
                    self._join(client.fileno())
                elif key.fd in self._ways:
                    self._carry(key.fd)

    def _join(self, front: int) -> None:
        """Connect a client's end to the adder."""
        back = self._serial
        if self._port:
            adder = socket.create_connection((HOST, self._port))
            back = adder.fileno()
            self._sockets[back] = adder
        self._front = front
        self._carry_from(front, _Way(back, is_to_adder=True))
        self._carry_from(back, _Way(front, is_to_adder=False))

    def _carry_from(self, descriptor: int, way: _Way) -> None:
        if descriptor not in self._ways:
            self._selector.register(descriptor, selectors.EVENT_READ)
        self._ways[descriptor] = way

    def _carry(self, descriptor: int) -> None:
        way = self._ways[descriptor]
        try:
            data = os.read(descriptor, CHUNK)
        except OSError:
            data = b""
        if not data:
            self._drop(descriptor)
            if way.to != self._serial:
                self._drop(way.to)
            return
        way.data += data
        while len(way.data) >= (length := frame_length(self._framing, way.data, is_request=way.is_to_adder)):
            frame, way.data = way.data[:length], way.data[length:]
            passes = self._passes_request(frame) if way.is_to_adder else self._passes_reply(frame)
            if passes and way.to in self._ways:
                os.write(way.to, frame)

    def _drop(self, descriptor: int) -> None:
        if self._ways.pop(descriptor, None) is None:
            return
        self._selector.unregister(descriptor)
        end = self._sockets.pop(descriptor, None)
        if end is None:
            os.close(descriptor)
        else:
            end.close()

    # --- frames -------------------------------------------------------------------------------------------------------

    def _passes_request(self, frame: bytes) -> bool:
        pdu, self._asked_s = frame[PDU_OF[self._framing]], time.monotonic()
        with self._crossed:
            self._requests.append(pdu)
            self._crossed.notify_all()
        if self._held is not None and pdu == self._mishap.until:
            self._let_go_s = time.monotonic()
        return not (pdu[0] in WRITES and len(self.writes) in self._mishap.lose_writes)

    def _passes_reply(self, frame: bytes) -> bool:
        asked = self._requests[-1]
        if asked == self._mishap.hold and self._let_go_s == 0:
            self._held, self._let_go_s = frame, self._asked_s + self._mishap.hold_max_s
            return False
        return not (asked[0] in WRITES and len(self.writes) in self._mishap.lose_replies)

    def _let_go(self) -> None:
        """Give what is held to whoever is connected, if it is time and somebody is."""
        if self._held is not None and time.monotonic() >= self._let_go_s and self._front in self._ways:
            os.write(self._front, self._held)
            self._held = None


def frame_length(framing: Framing, data: bytes, *, is_request: bool) -> int:
    """How long the frame is that `data` begins with; more than there is where that cannot be seen yet."""
    if framing == "tcp":
        return 6 + int.from_bytes(data[4:6]) if len(data) >= 6 else 6
    function = data[1] if len(data) > 1 else 0
    if not is_request and function & 0x80:
        return 5
    head = (COUNTED_REQUESTS if is_request else COUNTED_REPLIES).get(function)
    if head is None:
        return (FIXED_REQUESTS if is_request else FIXED_REPLIES).get(function, 8)
    return head + data[head - 1] + 2 if len(data) >= head else head + 2


def _open_port(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_NOCTTY)
