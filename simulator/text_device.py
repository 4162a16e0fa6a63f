"""What does a plain text device do with every line that reaches it?

    SET offset 15      OK 15
    GET offset         OK 15
    SET offset 999     ERR -100 to 100
    DANCE              ERR unknown command
                       READY demo controller      after a boot, on a line that outlives it

There are no numbers and no memory of what was done: every copy that arrives is executed and entered into the
ledger. Requests end in CR, LF or both; empty lines mean nothing; a line too long for the device is lost. One
line is done after the other; while a command takes its time (`busy`) the device says BUSY now and then, and
the lines behind it wait.
"""

import random
from collections.abc import Callable
from functools import partial

from simulator.base_device import COPIES_MAX, BaseDevice, Message
from simulator.conn import Conn, TextCopy
from simulator.effects import Effects, Origin
from simulator.equipment import Equipment, Result, Verdict
from simulator.fault_kinds import Fault
from simulator.faults import FaultPlan
from simulator.habits import Habits
from simulator.ledger import Ledger
from simulator.state import StateFile
from simulator.tongues import text_lines

BUSY_EVERY_S = 0.25


class TextDevice(BaseDevice[str]):
    """One plain text device with a ledger.

    Attributes:
        copies: Every command that was sent to the device, the first COPIES_MAX.
        reads: Every query, the first COPIES_MAX.
        counts: `cmd`, `read`, faults by name, and `boots`, `connections`, `refused`, `overrun`, `too_long`.
    """

    def __init__(
        self,
        equipment: Equipment,
        *,
        plan: FaultPlan | None = None,
        ledger: Ledger | None = None,
        clock: Callable[[], float] | None = None,
        seed: int = 0,
        state: StateFile | None = None,
        observe: Callable[[str, str], None] | None = None,
        hangs_up_on_boot: bool = True,
        eol: bytes = b"\n",
        echo: bool = False,
        habits: Habits | None = None,
    ) -> None:
        """Switch the device on; that is a boot.

        Args:
            equipment: The machine behind the wire.
            plan: Faults; none where absent.
            ledger: Where effects are entered; a new one in memory where absent.
            clock: Seconds for ledger and copies; the running loop's clock where absent.
            seed: Draws noise.
            state: A file that outlives the process.
            observe: Told of every `fault`, executed `command` and `boot`, with a line about it.
            hangs_up_on_boot: A boot ends all connections (TCP). Else they survive and hear the banner.
            eol: What ends the device's own lines.
            echo: Whatever comes in goes back as it is, before anything else happens to it.
            habits: How it treats its connections.

        Raises:
            StateError: The state belongs to another kind of device.
            OSError: The state cannot be read.
            DiskError: State or ledger cannot be written.
        """
        super().__init__(
            Effects(equipment, Ledger() if ledger is None else ledger, None, state),
            text_lines(eol),
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
        self._eol = eol
        self._overlong: set[int] = set()
        self._effects.save()

    @property
    def boot(self) -> int:
        """Which boot this is, by the machine's own count."""
        return self.values().get("boots", 1)

    def _request(self, conn: Conn, data: bytes) -> tuple[str, str] | None:
        if not data.endswith((b"\r", b"\n")):
            self._overlong.add(conn.number)
            return None
        if conn.number in self._overlong:
            self._overlong.remove(conn.number)
            self.counts["too_long"] += 1
            return None
        text = data.rstrip(b"\r\n").decode(errors="replace")
        if not text:
            return None
        return "read" if self._effects.is_query(text) else "cmd", text

    def _note(self, message: Message[str]) -> None:
        noted = self.reads if message.kind == "read" else self.copies
        if len(noted) < COPIES_MAX:
            noted.append(TextCopy(message.conn.number, message.request, self._clock()))

    def _take(self, message: Message[str]) -> None:
        faults = message.faults
        if message.kind == "read":
            if Fault.DRIFT in faults:
                self._effects.drift((message.request.rpartition(" ")[2],))
            self._say(self._effects.read(message.request), message)
        elif Fault.REBOOT_BEFORE in faults:
            self._boot_instead(faults)
        elif Fault.BUSY in faults:
            self._keep_busy(message, faults.seconds(Fault.BUSY))
        else:
            self._execute(message)

    def _keep_busy(self, message: Message[str], busy_s: float) -> None:
        """Say BUSY at once and every BUSY_EVERY_S until the command is done; nothing else is taken."""
        self._inbox.freeze(busy_s, partial(self._execute, message))
        self._say_busy(message.conn, busy_s)

    def _say_busy(self, conn: Conn, rest_s: float) -> None:
        conn.outbox.send(b"BUSY" + self._eol)
        if rest_s > BUSY_EVERY_S:
            self._after(BUSY_EVERY_S, partial(self._say_busy, conn, rest_s - BUSY_EVERY_S))

    def _execute(self, message: Message[str]) -> None:
        self._say(self._carry_out(message.request, Origin(self.boot, None, None), message.faults), message)

    def _say(self, result: Result, message: Message[str]) -> None:
        match result:
            case Result(verdict=Verdict.OK, text=text):
                line = f"OK {text}".rstrip()
            case Result(verdict=Verdict.BAD_COMMAND):
                line = "ERR unknown command"
            case _:
                line = f"ERR {result.text}"
        self._answer(message.conn.number, line.encode() + self._eol, message)

    def _joined(self, conn: Conn) -> None:
        """Nothing is known about a connection."""

    def _left(self, conn: Conn) -> None:
        self._overlong.discard(conn.number)

    def _restart(self) -> str:
        self._overlong.clear()
        self._effects.save()
        return f"boot {self.boot}"
