"""What happens to every device between its connections and its machine, whatever tongue it speaks?

A `BaseDevice` keeps the connections, brings what arrives into order, suffers the faults of a plan and enters every
effect into a ledger. What a request is and how it is answered is said by the device of a tongue: `device.py`
(LSQ1), `text_device.py` (plain lines), `modbus_device.py`. It lives on the running asyncio loop's timers alone.

1. A message is counted, and its faults drawn, when it reaches the device; they hold for its whole exchange,
   also where the ack comes much later. The second copy of `duplicate_request` has no faults of its own.
2. Faults happen in the order of `Fault`: on the way in, in the device, on the way back.
3. A boot loses the running command, what waits and what was still to happen, and falls back to what was
   stored. It ends all connections, or else (`hangs_up_on_boot` false: a serial line outlives its device) says
   so on them. What was already on its way, there or back, still arrives.
4. A message that executes nothing has no inside: `reboot_before` comes before it was handled (for a
   command: after), the other two before its reply leaves.
"""

import asyncio
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from simulator.conn import Conn
from simulator.delivery import deliver, disturbed
from simulator.effects import Effects, Origin
from simulator.equipment import Result, Verdict
from simulator.fault_kinds import REBOOTS, Fault
from simulator.fault_terms import NO_FAULTS, Faults
from simulator.faults import FaultPlan
from simulator.habits import Habits
from simulator.inbox import Inbox
from simulator.ledger import Ledger
from simulator.tongues import Tongue

COPIES_MAX = 100_000

Request = TypeVar("Request")


@dataclass(frozen=True, slots=True)
class Message(Generic[Request]):
    """One request to a device: the bytes as they came, what they say, and what goes wrong with it."""

    conn: Conn
    data: bytes
    kind: str
    request: Request
    faults: Faults


class BaseDevice(ABC, Generic[Request]):
    """A device but for its tongue.

    Attributes:
        counts: Messages by kind, faults by name, and `boots`, `connections`, `refused`, `overrun`.
    """

    def __init__(
        self,
        effects: Effects,
        tongue: Tongue,
        *,
        plan: FaultPlan | None,
        clock: Callable[[], float] | None,
        rng: random.Random,
        observe: Callable[[str, str], None] | None,
        habits: Habits | None,
        hangs_up_on_boot: bool,
        echo: bool,
    ) -> None:
        """Switch it on; see the devices for the arguments."""
        self.counts: Counter[str] = Counter()
        self._effects = effects
        self._tongue = tongue
        self._plan = plan or FaultPlan()
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._rng = rng
        self._observe = observe or _unobserved
        self._habits = habits or Habits()
        self._hangs_up_on_boot = hangs_up_on_boot
        self._echo = echo
        self._conns: dict[Hashable, Conn] = {}
        self._inbox = Inbox(on_thaw=partial(self._hold, False))
        self._timers: set[asyncio.Handle] = set()
        self._previous = b""

    @property
    def ledger(self) -> Ledger:
        """Every effect so far."""
        return self._effects.ledger

    @property
    def connected(self) -> int:
        """How many connections are open."""
        return len(self._conns)

    def values(self) -> dict[str, int]:
        """Every value of the machine by name."""
        return self._effects.values()

    def suffer(self, plan: FaultPlan) -> None:
        """Another fault plan from the next message on."""
        self._plan = plan

    def connect(
        self, sink: Callable[[bytes], None], hang_up: Callable[[], None], *, opened: bool = True
    ) -> Conn:
        """A new connection.

        Args:
            sink: Takes the device's bytes.
            hang_up: Hears that the device ended the connection.
            opened: Somebody is at the other end already. Else it is a line that lies there whether or not
                somebody has its port open, and `opened` is called for every opening.
        """
        self.counts["connections"] += 1
        conn = Conn(
            self.counts["connections"],
            sink,
            hang_up,
            self._arrived,
            on_opened=self.opened,
            cutter=self._tongue.cutter(),
            echo=self._echo,
        )
        if self._habits.slots is not None and len(self._conns) >= self._habits.slots:
            self.counts["refused"] += 1
            conn.refuse()
            return conn
        self._conns[conn.number] = conn
        self._joined(conn)
        if self._habits.idle_close_s is not None:
            conn.end_when_idle(self._habits.idle_close_s, partial(self._end, conn))
        if opened:
            self.opened(conn)
        return conn

    def opened(self, conn: Conn) -> bool:
        """Somebody has opened the port at the other end of a connection; True: so the device boots, see `Plug`."""
        habits = self._habits
        said = habits.greeting
        if habits.opening_boots:
            self._boot()
            said = self._tongue.banner + said
        if habits.deaf_s:
            conn.deafen(habits.deaf_s)
        if said:
            self._after(habits.deaf_s if habits.opening_boots else 0.0, partial(conn.outbox.send, said))
        return habits.opening_boots

    def hang_up(self) -> None:
        """End every connection."""
        for conn in list(self._conns.values()):
            self._end(conn)

    def reboot(self, *, silent: bool = False) -> None:
        """Switch off and on now; see rule 3. `silent`: a line that survives does not hear of it."""
        if self._hangs_up_on_boot:
            self.hang_up()
        self._boot()
        if not silent:
            for conn in self._conns.values():
                conn.outbox.send(self._tongue.banner)

    # What a tongue says

    @abstractmethod
    def _request(self, conn: Conn, data: bytes) -> tuple[str, Request] | None:
        """The kind and the content of a block of bytes; None: not for this device, and dropped."""

    @abstractmethod
    def _note(self, message: Message[Request]) -> None:
        """Keep what an agent sent, whatever becomes of it."""

    @abstractmethod
    def _take(self, message: Message[Request]) -> None:
        """Do and answer one copy of a message."""

    @abstractmethod
    def _joined(self, conn: Conn) -> None:
        """A connection is there."""

    @abstractmethod
    def _left(self, conn: Conn) -> None:
        """A connection has gone."""

    @abstractmethod
    def _restart(self) -> str:
        """Begin anew after the machine has booted; says which boot it is."""

    # What arrives

    def _arrived(self, conn: Conn, data: bytes | None) -> None:
        if not self._inbox.put(partial(self._hear, conn, data)):
            self.counts["overrun"] += 1

    def _hear(self, conn: Conn, data: bytes | None) -> None:
        if conn.hung_up:
            return
        if data is None:
            self._left(conn)
            self._conns.pop(conn.number, None)
            return
        asked = self._request(conn, data)
        if asked is None:
            return
        kind, request = asked
        self.counts[kind] += 1
        message = Message(conn, data, kind, request, self._plan.next(kind))
        self._note(message)
        for fault in message.faults.armed:
            self.counts[fault] += 1
            self._observe("fault", f"{fault} at {kind} {self.counts[kind]}")
        self._let_in(message)

    def _let_in(self, message: Message[Request]) -> None:
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

    def _handle(self, message: Message[Request]) -> None:
        conn, faults = message.conn, message.faults
        if conn.hung_up:
            return
        if Fault.CUT_BEFORE in faults:
            self._end(conn)
        elif Fault.REBOOT_BEFORE in faults and message.kind != "cmd":
            self._boot_instead(faults)
        else:
            if Fault.DUPLICATE_REQUEST in faults:
                self._inbox.put_next(partial(self._handle, replace(message, faults=NO_FAULTS)))
            self._take(message)

    # What the machine does

    def _carry_out(
        self, text: str, origin: Origin, faults: Faults, *, record_follows: bool = False
    ) -> Result:
        """Do a command, at once or (`apply_late`) after the ack; says how it is answered."""
        if Fault.APPLY_LATE in faults:
            self._after(faults.seconds(Fault.APPLY_LATE), partial(self._act, text, origin, faults))
            return Result(Verdict.OK, "")
        return self._act(text, origin, faults, record_follows=record_follows)

    def _act(self, text: str, origin: Origin, faults: Faults, *, record_follows: bool = False) -> Result:
        before = self.values()
        result = self._effects.carry_out(text, faults, origin, self._clock(), record_follows=record_follows)
        self._observe("command", f"{text}: {result.verdict.name} {result.text}".rstrip())
        if Fault.REVERT in faults:
            changed = self._effects.changed_since(before)
            self._after(faults.seconds(Fault.REVERT), partial(self._effects.put, changed))
        return result

    # What leaves

    def _answer(self, number: Hashable, data: bytes | None, message: Message[Request]) -> None:
        """Answer a message on a connection; None: with nothing, and only what else goes wrong then happens."""
        faults, conn = message.faults, self._conns.get(number)
        if REBOOTS & faults.armed.keys():
            self._boot_instead(faults)
            return
        if Fault.CUT in faults and conn is not None:
            self._end(conn)
            return
        if data is None:
            return
        arriving = disturbed(
            data, faults, self._tongue, request=message.data, previous=self._previous, rng=self._rng
        )
        self._previous = data
        if conn is None:
            return
        if Fault.HOLD in faults:
            conn.outbox.keep(arriving, faults.seconds(Fault.HOLD))
            return
        if message.kind == "cmd":
            arriving = conn.outbox.kept() + arriving
        deliver(conn.outbox, arriving, faults)

    def _end(self, conn: Conn) -> None:
        self._conns.pop(conn.number, None)
        self._left(conn)
        conn.end()

    # Time and boots

    def _after(self, seconds: float, step: Callable[[], object]) -> None:
        """Take a step later, unless a boot comes before; after 0 s, before anything that has still to be read."""

        def due() -> None:
            self._timers.discard(timer)
            step()

        loop = asyncio.get_running_loop()
        timer = loop.call_later(seconds, due) if seconds else loop.call_soon(due)
        self._timers.add(timer)

    def _boot_instead(self, faults: Faults) -> None:
        self.reboot(silent=Fault.DROP_ACK in faults)

    def _boot(self) -> None:
        self._inbox.clear()
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        for conn in self._conns.values():
            conn.forget()
        self._hold(False)
        self._effects.boot()
        boot = self._restart()
        self.counts["boots"] += 1
        self._observe("boot", boot)


def _unobserved(_word: str, _line: str) -> None:
    """Nobody looks."""
