"""What has really happened on a device, and what of it survives a boot or a kill?

`Effects` is the one place where the machine acts. It keeps machine, memory, state file and ledger in step:

1. An effect is in the state file before it is in the ledger, and in both before any reply can leave.
2. Where effect and record are one step (`record_follows`), neither is written before the record comes with
   `store`.
3. What a kill left out of the ledger is entered at the next start.
4. A value that moves without a command (drift, another writer, a revert) changes the state, not the ledger.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from protocol.native.memory import Memory
from simulator.equipment import Equipment, Result, Verdict
from simulator.fault_kinds import Fault
from simulator.fault_terms import Faults
from simulator.ledger import Execution, Ledger
from simulator.state import Saved, StateError, StateFile


class DiskError(Exception):
    """The simulator's own disk refused. What the device claims from now on would be worth nothing: stop it.

    No OSError, which asyncio's transports would take for a broken connection.
    """


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an effect came from, for the ledger; session and seq are None where the equipment has none."""

    boot: int
    session: int | None
    seq: int | None


class Effects:
    """A machine with its ledger and everything that it keeps without power."""

    def __init__(
        self, equipment: Equipment, ledger: Ledger, memory: Memory | None, state: StateFile | None
    ) -> None:
        """Switch on, over the state file where it holds anything, else over `memory` (None: no LSQ1).

        Raises:
            StateError: The state belongs to another tongue, another tier or another machine.
            OSError: The state cannot be read, or the ledger not be written.
        """
        self._equipment = equipment
        self.ledger = ledger
        self.memory = memory
        self._state = state
        self._last: Execution | None = None
        saved = state.load() if state else None
        if saved is not None and state is not None:
            if _tier(saved.memory) != _tier(memory):
                raise StateError(f"{state.path}: belongs to a device of {_tier(saved.memory)}")
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
        self, text: str, faults: Faults, origin: Origin, at_s: float, *, record_follows: bool = False
    ) -> Result:
        """Let the machine do one command, with the faults of executions, and say how it ends.

        Args:
            text: The command.
            faults: Those of the exchange that started it.
            origin: For the ledger.
            at_s: Seconds, for the ledger.
            record_follows: The caller calls `store` before it does anything else; only then is the effect
                durable.

        Raises:
            DiskError: State or ledger cannot be written.
        """
        if Fault.REFUSE in faults:
            return Result(Verdict.REFUSED, "refused")
        if Fault.IGNORE in faults:
            return Result(Verdict.OK, "")
        before = self.values()
        result = self._equipment.execute(text)
        if result.verdict is not Verdict.OK:
            return result
        self._last = Execution(
            len(self.ledger) + 1, text, result.text, origin.boot, origin.session, origin.seq, at_s
        )
        if Fault.OTHER_WRITER in faults:
            self._nudge(self.changed_since(before))
        if not record_follows:
            self._write()
        if Fault.NAK_AFTER_EFFECT in faults:
            return Result(Verdict.REFUSED, "refused")
        return result

    def read(self, text: str) -> Result:
        """Answer one query; changes nothing."""
        return self._equipment.read(text)

    def drift(self, names: Iterable[str]) -> None:
        """Values that a query asks for move by themselves. Raises DiskError."""
        self._nudge(name for name in names if name in self.values())
        self._write()

    def is_query(self, text: str) -> bool:
        """Whether this asks, instead of telling to do something."""
        return self._equipment.is_query(text)

    def values(self) -> dict[str, int]:
        """Every value of the machine by name."""
        return self._equipment.values()

    def changed_since(self, before: Mapping[str, int]) -> dict[str, int]:
        """The values of `before` that are different now, as they were."""
        now = self.values()
        return {name: number for name, number in before.items() if now[name] != number}

    def put(self, values: Mapping[str, int]) -> None:
        """Change values by something other than a command. Raises DiskError."""
        for name, number in values.items():
            self._equipment.put(name, number)
        self._write()

    def boot(self) -> None:
        """Switch the machine off and on; volatile values fall back. What follows is to be saved or stored."""
        self._equipment.boot()

    def save(self) -> None:
        """Make durable what has happened. Raises DiskError."""
        self._write()

    def store(self, memory: Memory) -> None:
        """Make the protocol's memory durable, and with it the effect that came before. Raises DiskError."""
        self.memory = memory
        self._write()

    def _nudge(self, names: Iterable[str]) -> None:
        """Move values by one step: up, or down where they are at their top."""
        for name in names:
            now = self.values()[name]
            self._equipment.put(name, now + 1)
            if self.values()[name] == now:
                self._equipment.put(name, now - 1)

    def _write(self) -> None:
        try:
            if self._state is not None:
                self._state.save(Saved(self.memory, self._equipment.durable(), self._last))
            if self._last is not None and self._last.n == len(self.ledger) + 1:
                self.ledger.append(self._last)
        except OSError as problem:
            raise DiskError(f"state or ledger cannot be written: {problem}") from problem


def _tier(memory: Memory | None) -> str:
    return "no tier" if memory is None else f"tier {memory.tier}"
