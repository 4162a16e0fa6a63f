"""What has really happened on a device, and what of it survives a boot or a kill?

`Effects` is the one place where the machine acts. It keeps machine, memory, state file and ledger in step:

1. An effect is in the state file before it is in the ledger, and in both before any reply can leave.
2. Where effect and record are one step (`record_follows`), neither is written before the record comes with
   `store`.
3. What a kill left out of the ledger is entered at the next start.
"""

from protocol.native.actions import Execute
from protocol.native.codes import Status
from protocol.native.memory import Memory
from simulator.equipment import Equipment, Verdict
from simulator.fault_kinds import Fault, Faults
from simulator.ledger import Execution, Ledger
from simulator.state import Saved, StateError, StateFile

_STATUS = {
    Verdict.OK: Status.OK,
    Verdict.BAD_ARGUMENT: Status.BAD_ARG,
    Verdict.BAD_COMMAND: Status.BAD_COMMAND,
    Verdict.REFUSED: Status.REFUSED,
}


class DiskError(Exception):
    """The simulator's own disk refused. What the device claims from now on would be worth nothing: stop it.

    No OSError, which asyncio's transports would take for a broken connection.
    """


class Effects:
    """A machine with its ledger and everything that it keeps without power."""

    def __init__(
        self,
        equipment: Equipment,
        ledger: Ledger,
        memory: Memory,
        state: StateFile | None,
        reply_max: int,
    ) -> None:
        """Switch on, over the state file where it holds anything, else over `memory`.

        Raises:
            StateError: The state belongs to another tier or another machine.
            OSError: The state cannot be read, or the ledger not be written.
        """
        self._equipment = equipment
        self.ledger = ledger
        self.memory = memory
        self._state = state
        self._reply_max = reply_max
        self._last: Execution | None = None
        saved = state.load() if state else None
        if saved is not None and state is not None:
            if saved.memory.tier != memory.tier:
                raise StateError(f"{state.path}: belongs to a device of tier {saved.memory.tier}")
            self.memory = saved.memory
            self._last = saved.last
            try:
                equipment.restore(saved.values)
            except ValueError as problem:
                raise StateError(f"{state.path}: {problem}") from problem
            equipment.boot()
            if ledger.durable and self._last is not None and self._last.n == len(ledger) + 1:
                ledger.append(self._last)
            if self._last is not None and self._last.n > len(ledger):
                self._last = None  # an effect of another ledger's time

    def carry_out(
        self, command: Execute, faults: Faults, *, boot: int, at_s: float, record_follows: bool
    ) -> tuple[Status, str]:
        """Let the machine do one command, with the faults of executions, and say how it ends.

        Args:
            command: Of the responder.
            faults: Those of the exchange that started it.
            boot: The boot_id, for the ledger, as is `at_s` in seconds.
            at_s: See `boot`.
            record_follows: The caller calls `store` before it does anything else; only then is the effect
                durable.

        Raises:
            DiskError: State or ledger cannot be written.
        """
        if Fault.REFUSE in faults:
            return Status.REFUSED, "refused"
        result = self._equipment.execute(command.text)
        if result.verdict is Verdict.OK:
            n = len(self.ledger) + 1
            self._last = Execution(n, command.text, result.text, boot, command.session, command.seq, at_s)
            if not record_follows:
                self._write()
        if Fault.INDETERMINATE in faults:
            return Status.INDETERMINATE, "watchdog"
        text = result.text
        return _STATUS[result.verdict], text.ljust(
            self._reply_max + 1, "."
        ) if Fault.LONG_REPLY in faults else text

    def read(self, text: str) -> tuple[Status, str]:
        """Answer one query; changes nothing."""
        result = self._equipment.read(text)
        return _STATUS[result.verdict], result.text

    def values(self) -> dict[str, int]:
        """Every value of the machine by name."""
        return self._equipment.values()

    def boot(self) -> None:
        """Switch the machine off and on; volatile values fall back."""
        self._equipment.boot()

    def store(self, memory: Memory) -> None:
        """Make the protocol's memory durable, and with it the effect that came before. Raises DiskError."""
        self.memory = memory
        self._write()

    def _write(self) -> None:
        try:
            if self._state is not None:
                self._state.save(Saved(self.memory, self._equipment.durable(), self._last))
            if self._last is not None and self._last.n == len(self.ledger) + 1:
                self.ledger.append(self._last)
        except OSError as problem:
            raise DiskError(f"state or ledger cannot be written: {problem}") from problem
