"""What does a Modbus device do with every frame that reaches it?

1. A frame for another unit is not its business. Unit 0 is everybody's: a broadcast write is executed and never
   answered, a broadcast read is nothing. On RTU a frame with a wrong CRC is no frame.
2. There is no memory of what was done: every copy that arrives is executed and entered into the ledger, in the
   words of `equipment/orders.py`. A transaction number comes back with the answer and means nothing else.
3. What cannot be taken is answered with the exception of its cause: 1 no such function, 2 no such address, 3 a
   value that is not taken, or a command that is refused.
4. A request is one unit of work: function 23 reads behind its own write, and writes nothing where it cannot read.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from protocol.modbus.framing import Adu
from protocol.modbus.pdu import Asked, BadPdu, asked_of, exception_pdu, reply_pdu
from simulator.base_device import COPIES_MAX, BaseDevice, Message
from simulator.conn import Conn, TextCopy
from simulator.effects import Effects, Origin
from simulator.equipment import RegisterMachine, Result, Verdict
from simulator.equipment.orders import READ_HOLDING, WRITE_AND_READ, WRITES, Order
from simulator.fault_kinds import Fault
from simulator.faults import FaultPlan
from simulator.habits import Habits
from simulator.ledger import Ledger
from simulator.modbus_frames import BROADCAST, Framing, adu_of, framed
from simulator.modbus_tongues import TONGUES
from simulator.state import StateFile

_FUNCTION = 0x7F
_EXCEPTIONS: Mapping[Verdict, int] = MappingProxyType(
    {Verdict.BAD_COMMAND: 1, Verdict.BAD_ADDRESS: 2, Verdict.BAD_ARGUMENT: 3, Verdict.REFUSED: 3}
)


@dataclass(frozen=True, slots=True)
class Request:
    """A frame for this device, and what it asks; where it cannot be read, the exception that says so."""

    adu: Adu
    asked: Asked | None
    exception: int | None

    @property
    def order(self) -> Order | None:
        """What the machine is told; None where nobody can tell."""
        asked = self.asked
        return None if asked is None else Order(asked.function, asked.address, asked.count, asked.data)

    def __str__(self) -> str:
        return str(self.order or f"fc{self.adu.pdu[0] & _FUNCTION:02d} ?")


class ModbusDevice(BaseDevice[Request]):
    """One unit with a ledger.

    Attributes:
        copies: Every write that was sent to the unit or to all, the first COPIES_MAX.
        reads: Every other request to the unit, the first COPIES_MAX.
        counts: `cmd`, `read`, faults by name, and `boots`, `connections`, `refused`, `overrun`.
        serial: What the machine is known by; None: nothing.
        framing: tcp or rtu.
    """

    def __init__(
        self,
        machine: RegisterMachine,
        *,
        framing: Framing = "rtu",
        plan: FaultPlan | None = None,
        ledger: Ledger | None = None,
        clock: Callable[[], float] | None = None,
        seed: int = 0,
        state: StateFile | None = None,
        observe: Callable[[str, str], None] | None = None,
        hangs_up_on_boot: bool = True,
        echo: bool = False,
        habits: Habits | None = None,
    ) -> None:
        """Switch the device on; that is a boot.

        Args:
            machine: What is behind the wire; it knows its unit.
            framing: tcp (MBAP) or rtu, on any stream.
            plan: Faults; none where absent.
            ledger: Where effects are entered; a new one in memory where absent.
            clock: Seconds for ledger and copies; the running loop's clock where absent.
            seed: Draws noise.
            state: A file that outlives the process; what it holds wins over the machine's unit.
            observe: Told of every `fault`, executed `command` and `boot`, with a line about it.
            hangs_up_on_boot: A boot ends all connections (TCP). Else they survive it (a serial line).
            echo: Whatever comes in goes back as it is, before anything else happens to it.
            habits: How it treats its connections.

        Raises:
            StateError: The state belongs to another kind of device.
            OSError: The state cannot be read.
            DiskError: State or ledger cannot be written.
        """
        super().__init__(
            Effects(machine, Ledger() if ledger is None else ledger, None, state),
            TONGUES[framing],
            plan=plan,
            clock=clock,
            rng=random.Random(seed),
            observe=observe,
            habits=habits,
            hangs_up_on_boot=hangs_up_on_boot,
            echo=echo,
        )
        self.copies: list[TextCopy] = []
        self.reads: list[TextCopy] = []
        self.serial = machine.serial
        self.framing = framing
        self._machine = machine
        self._effects.save()

    @property
    def unit(self) -> int:
        """The address to which it listens now."""
        return self._machine.unit

    @property
    def boot(self) -> int:
        """Which boot this is, by the machine's own count."""
        return self.values()["boots"]

    def _request(self, conn: Conn, data: bytes) -> tuple[str, Request] | None:  # noqa: ARG002 (see BaseDevice)
        adu = adu_of(self.framing, data)
        if adu is None or adu.unit not in (self.unit, BROADCAST):
            return None
        kind = "cmd" if adu.pdu[0] in WRITES else "read"
        if adu.unit == BROADCAST and kind == "read":
            return None
        try:
            return kind, Request(adu, asked_of(adu.pdu), None)
        except BadPdu as problem:
            return kind, Request(adu, None, problem.exception)

    def _note(self, message: Message[Request]) -> None:
        noted = self.reads if message.kind == "read" else self.copies
        if len(noted) < COPIES_MAX:
            noted.append(TextCopy(message.conn.number, str(message.request), self._clock()))

    def _take(self, message: Message[Request]) -> None:
        faults = message.faults
        self._machine.asked()
        if Fault.REBOOT_BEFORE in faults:
            self._boot_instead(faults)
        elif Fault.EXCEPTION in faults:
            self._except(faults.count(Fault.EXCEPTION), message)
        elif Fault.BUSY in faults:
            self._inbox.freeze(faults.seconds(Fault.BUSY), partial(self._execute, message))
        else:
            self._execute(message)

    def _execute(self, message: Message[Request]) -> None:
        asked, order = message.request.asked, message.request.order
        if asked is None or order is None:
            self._except(message.request.exception or 1, message)
            return
        result = self._written(asked, order, message) if order.writes else self._read(order, message)
        if result.verdict is not Verdict.OK:
            self._except(_EXCEPTIONS[result.verdict], message)
        elif Fault.EXCEPTION_AFTER in message.faults:
            self._except(message.faults.count(Fault.EXCEPTION_AFTER), message)
        else:
            self._say(reply_pdu(asked, bytes.fromhex(result.text)), message)

    def _read(self, order: Order, message: Message[Request]) -> Result:
        if Fault.DRIFT in message.faults:
            self._effects.drift(self._machine.names(str(order)))
        return self._effects.read(str(order))

    def _written(self, asked: Asked, order: Order, message: Message[Request]) -> Result:
        """How a write ends; where it went well, the text is what the answer carries."""
        back = _read_back(asked)
        if back is not None and (unreadable := self._effects.read(str(back))).verdict is not Verdict.OK:
            return unreadable
        result = self._carry_out(str(order), Origin(self.boot, None, None), message.faults)
        if result.verdict is not Verdict.OK:
            return result
        return Result(Verdict.OK, "") if back is None else self._effects.read(str(back))

    def _except(self, code: int, message: Message[Request]) -> None:
        self._say(exception_pdu(message.request.adu.pdu[0], code), message)

    def _say(self, pdu: bytes, message: Message[Request]) -> None:
        adu = message.request.adu
        answer = None if adu.unit == BROADCAST else framed(adu.unit, pdu, adu.transaction)
        self._answer(message.conn.number, answer, message)

    def _joined(self, conn: Conn) -> None:
        """Nothing is known about a connection."""

    def _left(self, conn: Conn) -> None:
        """Nothing was known about it."""

    def _restart(self) -> str:
        self._effects.save()
        return f"boot {self.boot}"


def _read_back(asked: Asked) -> Order | None:
    """What function 23 reads behind its write."""
    if asked.function != WRITE_AND_READ:
        return None
    return Order(READ_HOLDING, asked.read_address, asked.read_count)
