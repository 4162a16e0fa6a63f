"""Which simulated equipment stands in a world, beside the simulator's own LSQ1 device?

Text and Modbus have no numbers, so their ledgers cannot say which copy they executed. Here each request carries the
mark that the network gave it, and the ledger keeps that mark in place of a number.
"""

from dataclasses import dataclass, replace
from functools import partial

from simulator.base_device import Message
from simulator.conn import Conn
from simulator.effects import Origin
from simulator.equipment import Result, Verdict
from simulator.fault_terms import Faults
from simulator.modbus_device import ModbusDevice, Request
from simulator.text_device import TextDevice

QUEUED = ("ROTATE", "ADJUST level")
"""What a queueing machine acks before it does it."""
QUEUES_S = (0.4, 1.0)
"""How long it lies in the queue. With the longest delay of the way it stays below `late_max_s`, as profiles promise."""


class _Block(bytes):
    """What came in as one block, and the mark of the bytes that ended it."""

    mark: int | None


def _block(data: bytes | None, mark: int | None) -> _Block | None:
    """A block with its mark; None: the end of the connection."""
    if data is None:
        return None
    block = _Block(data)
    block.mark = mark
    return block


class _Text(str):
    """A request, and its mark."""

    __slots__ = ("mark",)
    mark: int | None


class TextMachine(TextDevice):
    """A text device whose ledger names copies; `mark` is that of the bytes that come in now."""

    mark: int | None = None

    def _arrived(self, conn: Conn, data: bytes | None) -> None:
        super()._arrived(conn, _block(data, self.mark))

    def _request(self, conn: Conn, data: bytes) -> tuple[str, str] | None:
        asked = super()._request(conn, data)
        if asked is None or not isinstance(data, _Block):
            return asked
        text = _Text(asked[1])
        text.mark = data.mark
        return asked[0], text

    def _execute(self, message: Message[str]) -> None:
        text = message.request
        mark = text.mark if isinstance(text, _Text) else None
        self._say(self._carry_out(str(text), Origin(self.boot, None, mark), message.faults), message)


class NamingMachine(TextMachine):
    """Equipment that names the value in its answer to a reading: `offset=15`."""

    def _say(self, result: Result, message: Message[str]) -> None:
        if message.kind == "read" and result.verdict is Verdict.OK:
            name = message.request.split()[-1]
            self._answer(message.conn.number, f"{name}={result.text}\n".encode(), message)
        else:
            super()._say(result, message)


class QueueingMachine(TextMachine):
    """Equipment that answers some commands as soon as it has taken them; a start before the effect loses it."""

    def _carry_out(
        self, text: str, origin: Origin, faults: Faults, *, record_follows: bool = False
    ) -> Result:
        if not text.startswith(QUEUED) or faults:
            return super()._carry_out(text, origin, faults, record_follows=record_follows)
        self._after(self._rng.choice(QUEUES_S), partial(self._act, text, origin, faults))
        return Result(Verdict.OK, "")


@dataclass(frozen=True, slots=True)
class _MarkedRequest(Request):
    """A request, and its mark."""

    mark: int | None


class ModbusMachine(ModbusDevice):
    """A Modbus device whose ledger names copies; `mark` is that of the bytes that come in now."""

    mark: int | None = None
    _under_way: int | None = None

    def _arrived(self, conn: Conn, data: bytes | None) -> None:
        super()._arrived(conn, _block(data, self.mark))

    def _request(self, conn: Conn, data: bytes) -> tuple[str, Request] | None:
        found = super()._request(conn, data)
        if found is None or not isinstance(data, _Block):
            return found
        kind, request = found
        return kind, _MarkedRequest(request.adu, request.asked, request.exception, data.mark)

    def _execute(self, message: Message[Request]) -> None:
        request = message.request
        self._under_way = request.mark if isinstance(request, _MarkedRequest) else None
        super()._execute(message)

    def _carry_out(
        self, text: str, origin: Origin, faults: Faults, *, record_follows: bool = False
    ) -> Result:
        origin = replace(origin, seq=self._under_way)
        return super()._carry_out(text, origin, faults, record_follows=record_follows)
