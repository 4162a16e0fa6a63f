"""What does an LSQ1 device do with everything that reaches it?

`SimulatedDevice` puts a machine (`equipment/`) behind the device's side of LSQ1
(`protocol.native.responder`); connections, faults and ledger are those of every device (`base_device.py`).

Effect and record are one step where the tier is 2 and `atomic` holds. Else the effect comes first, and a boot
`inside` falls between the two.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

from protocol.native.codes import MAX_BODY_LIMIT, Status, Type
from protocol.native.frame import Frame, FrameError, decode
from protocol.native.responder import Action, Execute, HangUp, Identity, Memory, Reply, Responder, Store, boot
from simulator.base_device import COPIES_MAX, BaseDevice, Message
from simulator.conn import Conn, Copy, copy_of
from simulator.effects import Effects, Origin
from simulator.equipment import Equipment, Result, Verdict
from simulator.fault_kinds import Fault
from simulator.faults import FaultPlan
from simulator.habits import Habits
from simulator.ledger import Ledger
from simulator.state import StateFile
from simulator.tongues import LSQ_FRAMES

FIRMWARE = "1.0"
_TIER_OF_RECORDS = 2
_STATUS = {
    Verdict.OK: Status.OK,
    Verdict.BAD_ARGUMENT: Status.BAD_ARG,
    Verdict.BAD_COMMAND: Status.BAD_COMMAND,
    Verdict.BAD_ADDRESS: Status.BAD_ARG,
    Verdict.REFUSED: Status.REFUSED,
}


class SimulatedDevice(BaseDevice[Frame]):
    """One LSQ1 device with a ledger.

    Attributes:
        copies: Every copy of a command that was sent to the device, the first COPIES_MAX.
        counts: Messages by kind, faults by name, and `boots`, `connections`, `refused`, `overrun`.
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
        hangs_up_on_boot: bool = True,
        echo: bool = False,
        habits: Habits | None = None,
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
            hangs_up_on_boot: A boot ends all connections (TCP). Else they survive it (a serial line).
            echo: Whatever comes in goes back as it is, before anything else happens to it.
            habits: How it treats its connections.

        Raises:
            ValueError: A value is out of its range.
            StateError: The state belongs to another kind of device.
            OSError: The state cannot be read.
            DiskError: State or ledger cannot be written.
        """
        rng = random.Random(seed)
        super().__init__(
            Effects(equipment, Ledger() if ledger is None else ledger, memory or Memory.blank(tier), state),
            LSQ_FRAMES,
            plan=plan,
            clock=clock,
            rng=rng,
            observe=observe,
            habits=habits,
            hangs_up_on_boot=hangs_up_on_boot,
            echo=echo,
        )
        self.copies: list[Copy] = []
        self.model = model
        self.unit = unit
        self._max_body = max_body
        self._reply_max = reply_max
        self._atomic = tier == _TIER_OF_RECORDS and atomic
        self._start = partial(
            boot,
            Identity(serial, model, FIRMWARE),
            draw=draw or partial(rng.getrandbits, 32),
            read=lambda text: _status_of(self._effects.read(text)),
            unit=unit,
            max_body=max_body,
            reply_max=reply_max,
            atomic=atomic,
        )
        self._responder = self._booted()

    @property
    def memory(self) -> Memory:
        """What the device would still know after a boot now."""
        memory = self._effects.memory
        assert memory is not None  # noqa: S101 (it was made with one)
        return memory

    @property
    def boot_id(self) -> int:
        """The boot_id since the last boot."""
        return self._responder.boot_id

    @property
    def dropped(self) -> Counter[str]:
        """Why input was dropped unanswered since the last boot."""
        return self._responder.dropped

    # What arrives

    def _request(self, conn: Conn, data: bytes) -> tuple[str, Frame] | None:
        try:
            frame = decode(data.removesuffix(b"\0"), self._max_body)
        except FrameError:
            frame = None
        if frame is None or frame.reply or frame.unit != self.unit or not data.endswith(b"\0"):
            self._responder.receive(conn.number, data)  # drops and counts it
            return None
        return frame.type.name.lower(), frame

    def _note(self, message: Message[Frame]) -> None:
        if message.request.type is Type.CMD and len(self.copies) < COPIES_MAX:
            self.copies.append(copy_of(message.conn, message.request, message.data))

    # What the device does

    def _take(self, message: Message[Frame]) -> None:
        if Fault.DRIFT in message.faults:
            self._effects.drift((message.request.payload.decode(errors="replace").rpartition(" ")[2],))
        number = message.conn.number
        gone = number not in self._conns  # a late copy outlives its connection
        if gone:
            self._responder.connected(number)
        actions = self._responder.receive(number, message.data)
        if gone:
            self._responder.disconnected(number)
        self._perform(actions, message)

    def _perform(self, actions: Iterable[Action], message: Message[Frame]) -> None:
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

    def _begin(self, command: Execute, message: Message[Frame]) -> None:
        faults = message.faults
        if Fault.REBOOT_BEFORE in faults:
            self._boot_instead(faults)
        elif Fault.BUSY in faults:
            self._after(faults.seconds(Fault.BUSY), partial(self._execute, command, message))
        else:
            self._execute(command, message)

    def _execute(self, command: Execute, message: Message[Frame]) -> None:
        """Effect, record and reply of one command, with a boot in between where planned."""
        faults = message.faults
        if Fault.REBOOT_INSIDE in faults and self._atomic:
            self._boot_instead(faults)
            return
        origin = Origin(self.boot_id, command.session, command.seq)
        status, text = _status_of(self._carry_out(command.text, origin, faults, record_follows=self._atomic))
        if Fault.REBOOT_INSIDE in faults:
            self._boot_instead(faults)
            return
        if Fault.INDETERMINATE in faults:
            status, text = Status.INDETERMINATE, "watchdog"
        elif Fault.LONG_REPLY in faults:
            text = text.ljust(self._reply_max + 1, ".")
        responder = self._responder
        self._perform(responder.finish(status, text), message)
        if Fault.REBOOT_AFTER in faults and self._responder is responder:
            self._boot_instead(faults)  # nobody was left to answer to

    # Connections and boots

    def _joined(self, conn: Conn) -> None:
        self._responder.connected(conn.number)

    def _left(self, conn: Conn) -> None:
        self._responder.disconnected(conn.number)

    def _restart(self) -> str:
        self._responder = self._booted()
        for number in self._conns:
            self._responder.connected(number)
        return f"boot_id {self.boot_id}"

    def _booted(self) -> Responder:
        responder = self._start(memory=self.memory)
        self._effects.store(responder.memory)
        return responder


def _status_of(result: Result) -> tuple[Status, str]:
    return _STATUS[result.verdict], result.text
