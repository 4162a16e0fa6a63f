"""What does a device do with everything that reaches it, and what goes wrong on the way?

`SimulatedDevice` puts a machine (`equipment/`) behind the device's side of LSQ1
(`protocol.native.responder`), suffers the faults of a plan and enters every effect into a ledger. It lives
on the running asyncio loop's timers alone.

1. A message is counted, and its faults drawn, when it reaches the device; they hold for its whole exchange,
   also where the ack comes much later. The second copy of `duplicate_request` has no faults of its own.
2. Faults happen in the order of `Fault`: on the way in, in the device, on the way back.
3. A boot ends all connections and the running command, falls back to what was stored, and gets a new boot_id.
4. Effect and record are one step where the tier is 2 and `atomic` holds. Else the effect comes first, and a
   boot `inside` falls between the two.
5. A message that executes nothing has no inside: `reboot_before` comes before it was handled (for a
   command: after), the other two before its reply leaves.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from protocol.native.codes import MAX_BODY_LIMIT, Type
from protocol.native.frame import Frame, FrameError, decode
from protocol.native.responder import Action, Execute, HangUp, Identity, Memory, Reply, Responder, Store, boot
from simulator.conn import Conn, Copy, copy_of
from simulator.delivery import deliver, disturbed
from simulator.effects import Effects
from simulator.equipment import Equipment
from simulator.fault_kinds import NO_FAULTS, REBOOTS, Fault, Faults
from simulator.faults import FaultPlan
from simulator.inbox import Inbox
from simulator.ledger import Ledger
from simulator.state import StateFile

FIRMWARE = "1.0"
COPIES_MAX = 100_000
_TIER_OF_RECORDS = 2


@dataclass(frozen=True, slots=True)
class _Message:
    """One request to this device, as it came, and what goes wrong with it."""

    conn: Conn
    data: bytes
    frame: Frame
    faults: Faults


class SimulatedDevice:
    """One LSQ1 device with a ledger.

    Attributes:
        copies: Every copy of a command that was sent to the device, the first COPIES_MAX.
        counts: Messages by kind, faults by name, and `boots`, `connections`, `overrun`.
    """

    def __init__(
        self,
        equipment: Equipment,
        *,
        serial: str = "SIM-1",
        model: str = "demo",
        tier: int = 1,
        plan: FaultPlan | None = None,
        ledger: Ledger | None = None,
        clock: Callable[[], float] | None = None,
        seed: int = 0,
        draw: Callable[[], int] | None = None,
        unit: int = 1,
        reply_max: int = 32,
        max_body: int = MAX_BODY_LIMIT,
        atomic: bool = True,
        memory: Memory | None = None,
        state: StateFile | None = None,
        observe: Callable[[str, str], None] | None = None,
    ) -> None:
        """Switch the device on; that is a boot.

        Args:
            equipment: The machine behind the wire.
            serial: What HELLO says, as do `model` and the fixed firmware.
            model: See `serial`.
            tier: 0 to 2, what survives a boot (WIRE.md section 3).
            plan: Faults; none where absent.
            ledger: Where effects are entered; a new one in memory where absent.
            clock: Seconds for the ledger; the running loop's clock where absent.
            seed: Draws noise and, without `draw`, boot ids and sessions.
            draw: Random 32-bit numbers for boot ids and sessions; a device that is started again with the
                same seed would repeat them, which no real one does.
            unit: The device's address, 1 to 247.
            reply_max: Bytes of the longest text kept for repeats.
            max_body: Bytes of the largest body, 64 to 512.
            atomic: Tier 2: effect and record are one step.
            memory: What the device remembers from earlier boots; blank where absent.
            state: A file that outlives the process; what it holds wins over `memory`.
            observe: Told of every `fault`, executed `command` and `boot`, with a line about it.

        Raises:
            ValueError: A value is out of its range.
            StateError: The state belongs to another kind of device.
            OSError: The state cannot be read.
            DiskError: State or ledger cannot be written.
        """
        self.copies: list[Copy] = []
        self.counts: Counter[str] = Counter()
        self.unit = unit
        self._max_body = max_body
        self._atomic = tier == _TIER_OF_RECORDS and atomic
        self._plan = plan or FaultPlan()
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._rng = random.Random(seed)
        self._observe = observe or _unobserved
        self._conns: dict[Hashable, Conn] = {}
        self._inbox = Inbox(on_thaw=partial(self._hold, False))
        self._executing: asyncio.TimerHandle | None = None
        self._previous = b""
        self._effects = Effects(
            equipment, Ledger() if ledger is None else ledger, memory or Memory.blank(tier), state, reply_max
        )
        self._start = partial(
            boot,
            Identity(serial, model, FIRMWARE),
            draw=draw or partial(self._rng.getrandbits, 32),
            read=self._effects.read,
            unit=unit,
            max_body=max_body,
            reply_max=reply_max,
            atomic=atomic,
        )
        self._responder = self._booted()

    @property
    def ledger(self) -> Ledger:
        """Every effect so far."""
        return self._effects.ledger

    @property
    def memory(self) -> Memory:
        """What the device would still know after a boot now."""
        return self._effects.memory

    @property
    def boot_id(self) -> int:
        """The boot_id since the last boot."""
        return self._responder.boot_id

    @property
    def dropped(self) -> Counter[str]:
        """Why input was dropped unanswered since the last boot."""
        return self._responder.dropped

    @property
    def connected(self) -> int:
        """How many connections are open."""
        return len(self._conns)

    def values(self) -> dict[str, int]:
        """Every value of the machine by name."""
        return self._effects.values()

    def connect(self, sink: Callable[[bytes], None], hang_up: Callable[[], None]) -> Conn:
        """A new connection: `sink` takes the device's bytes, `hang_up` hears that the device ended it."""
        self.counts["connections"] += 1
        conn = Conn(self.counts["connections"], sink, hang_up, self._arrived)
        self._conns[conn.number] = conn
        self._responder.connected(conn.number)
        return conn

    def hang_up(self) -> None:
        """End every connection."""
        for conn in list(self._conns.values()):
            self._end(conn)

    def reboot(self) -> None:
        """Switch off and on now: connections, the running command and what is not stored are lost."""
        self.hang_up()
        self._inbox.clear()
        if self._executing is not None:
            self._executing.cancel()
            self._executing = None
        self._effects.boot()
        self._responder = self._booted()
        self.counts["boots"] += 1
        self._observe("boot", f"boot_id {self.boot_id}")

    # What arrives

    def _arrived(self, conn: Conn, data: bytes | None) -> None:
        if not self._inbox.put(partial(self._hear, conn, data)):
            self.counts["overrun"] += 1

    def _hear(self, conn: Conn, data: bytes | None) -> None:
        if conn.hung_up:
            return
        if data is None:
            self._responder.disconnected(conn.number)
            self._conns.pop(conn.number, None)
            return
        frame = self._request(data)
        if frame is None:
            self._responder.receive(conn.number, data)  # drops and counts it
            return
        kind = frame.type.name.lower()
        self.counts[kind] += 1
        message = _Message(conn, data, frame, self._plan.next(kind))
        if frame.type is Type.CMD and len(self.copies) < COPIES_MAX:
            self.copies.append(copy_of(conn, frame, data))
        for fault in message.faults.armed:
            self.counts[fault] += 1
            self._observe("fault", f"{fault} at {kind} {self.counts[kind]}")
        self._let_in(message)

    def _request(self, data: bytes) -> Frame | None:
        try:
            frame = decode(data.removesuffix(b"\0"), self._max_body)
        except FrameError:
            return None
        return None if frame.reply or frame.unit != self.unit or not data.endswith(b"\0") else frame

    def _let_in(self, message: _Message) -> None:
        """The faults of the way in."""
        faults, handle = message.faults, partial(self._handle, message)
        if Fault.DROP_REQUEST in faults:
            return
        if Fault.LATE_REQUEST in faults:
            late_s = faults.seconds(Fault.LATE_REQUEST)
            asyncio.get_running_loop().call_later(late_s, self._inbox.put, handle)
        elif Fault.FREEZE in faults:
            self._inbox.freeze(faults.seconds(Fault.FREEZE), handle)
            self._hold(True)
        else:
            handle()

    def _hold(self, held: bool) -> None:
        for conn in self._conns.values():
            conn.outbox.hold(held)

    # What the device does

    def _handle(self, message: _Message) -> None:
        conn, faults = message.conn, message.faults
        if conn.hung_up:
            return
        if Fault.CUT_BEFORE in faults:
            self._end(conn)
        elif Fault.REBOOT_BEFORE in faults and message.frame.type is not Type.CMD:
            self.reboot()
        else:
            self._take(message)
            if Fault.DUPLICATE_REQUEST in faults and not conn.hung_up:
                self._take(replace(message, faults=NO_FAULTS))

    def _take(self, message: _Message) -> None:
        number = message.conn.number
        gone = number not in self._conns  # a late copy outlives its connection
        if gone:
            self._responder.connected(number)
        actions = self._responder.receive(number, message.data)
        if gone:
            self._responder.disconnected(number)
        self._perform(actions, message)

    def _perform(self, actions: Iterable[Action], message: _Message) -> None:
        for action in actions:
            match action:
                case Store(memory=memory):
                    self._effects.store(memory)
                case Execute():
                    self._begin(action, message)
                case HangUp(conn=number) if number in self._conns:
                    self._end(self._conns[number])
                case Reply(conn=number, data=data):
                    self._answer(number, data, message)

    def _begin(self, command: Execute, message: _Message) -> None:
        if Fault.REBOOT_BEFORE in message.faults:
            self.reboot()
        elif Fault.BUSY in message.faults:
            busy_s = message.faults.seconds(Fault.BUSY)
            self._executing = asyncio.get_running_loop().call_later(busy_s, self._execute, command, message)
        else:
            self._execute(command, message)

    def _execute(self, command: Execute, message: _Message) -> None:
        """Effect, record and reply of one command, with a boot in between where planned."""
        faults = message.faults
        self._executing = None
        if Fault.REBOOT_INSIDE in faults and self._atomic:
            self.reboot()
            return
        status, text = self._effects.carry_out(
            command, faults, boot=self.boot_id, at_s=self._clock(), record_follows=self._atomic
        )
        self._observe("command", f"{command.text}: {status.name} {text}".rstrip())
        if Fault.REBOOT_INSIDE in faults:
            self.reboot()
            return
        responder = self._responder
        self._perform(responder.finish(status, text), message)
        if Fault.REBOOT_AFTER in faults and self._responder is responder:
            self.reboot()  # nobody was left to answer to

    # What leaves

    def _answer(self, number: Hashable, data: bytes, message: _Message) -> None:
        faults = message.faults
        if REBOOTS & faults.armed.keys():
            self.reboot()
            return
        conn = self._conns.get(number)
        if Fault.CUT in faults and conn is not None:
            self._end(conn)
            return
        arriving = disturbed(data, faults, request=message.data, previous=self._previous, rng=self._rng)
        self._previous = data
        if conn is not None:
            deliver(conn.outbox, arriving, faults)

    def _end(self, conn: Conn) -> None:
        self._conns.pop(conn.number, None)
        self._responder.disconnected(conn.number)
        conn.end()

    def _booted(self) -> Responder:
        responder = self._start(memory=self._effects.memory)
        self._effects.store(responder.memory)
        return responder


def _unobserved(_word: str, _line: str) -> None:
    """Nobody looks."""
