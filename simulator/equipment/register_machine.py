"""What do all machines with coils and registers have in common?

They take orders (`orders.py`) and answer a query with the bytes of coils, registers or text in hexadecimal; a
command with what it changed, for the ledger. What cannot be taken is said by cause, as Modbus tells them apart:
a function that the machine has not, an address that it has not, a value that it does not take.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from simulator.equipment.machine import Result, Verdict
from simulator.equipment.orders import Order, order_of
from simulator.equipment.values import Value, Values


class NotTakenError(Exception):
    """An order cannot be carried out, and has not been."""

    def __init__(self, verdict: Verdict, why: str) -> None:
        super().__init__(why)
        self.verdict = verdict


def no_address(order: Order) -> NotTakenError:
    """There is nothing at that address, or not with that function."""
    return NotTakenError(Verdict.BAD_ADDRESS, f"nothing for {order}")


def no_value(why: str) -> NotTakenError:
    """What is written is not taken."""
    return NotTakenError(Verdict.BAD_ARGUMENT, why)


class RegisterMachine(ABC):
    """A machine with coils and registers."""

    functions: frozenset[int]
    """The numbers of the functions that it has."""

    def __init__(self, name: str, table: Mapping[str, Value], serial: str | None = None) -> None:
        """`name` is what complaints call it, `table` has its values; `serial` None: it has none."""
        self.serial = serial
        self._now = Values(name, table)

    @property
    @abstractmethod
    def unit(self) -> int:
        """The address to which it listens now."""

    def asked(self) -> None:  # noqa: B027 (most machines do not care)
        """A request for this machine has come, whatever it says and whatever becomes of it."""

    @abstractmethod
    def names(self, text: str) -> tuple[str, ...]:
        """The values that a query asks for."""

    @abstractmethod
    def _write(self, order: Order) -> str:
        """Carry out an order completely, and say what it changed; raises NotTakenError, and nothing has changed."""

    @abstractmethod
    def _read(self, order: Order) -> bytes:
        """What stands at that address; raises NotTakenError."""

    def execute(self, text: str) -> Result:
        """Carry out one order that writes."""
        order = order_of(text)
        if order is None or not order.writes or order.function not in self.functions:
            return Result(Verdict.BAD_COMMAND, "no such function")
        try:
            return Result(Verdict.OK, self._write(order))
        except NotTakenError as problem:
            return Result(problem.verdict, str(problem))

    def read(self, text: str) -> Result:
        """Answer one order that reads, in hexadecimal."""
        order = order_of(text)
        if order is None or order.writes or order.function not in self.functions:
            return Result(Verdict.BAD_COMMAND, "no such function")
        try:
            return Result(Verdict.OK, self._read(order).hex())
        except NotTakenError as problem:
            return Result(problem.verdict, str(problem))

    def is_query(self, text: str) -> bool:
        """Whether it asks."""
        order = order_of(text)
        return order is not None and not order.writes

    def put(self, name: str, number: int) -> None:
        """Move a value, as far as its limits allow; raises KeyError where there is none of that name."""
        self._now.put(name, number)

    def boot(self) -> None:
        """Switch off and on."""
        self._now.boot()

    def values(self) -> dict[str, int]:
        """Every value by name."""
        return self._now.all()

    def durable(self) -> dict[str, int]:
        """The values that survive a boot."""
        return self._now.durable()

    def restore(self, saved: Mapping[str, int]) -> None:
        """Take over saved values; raises ValueError where they are not those of this machine."""
        self._now.restore(saved)
