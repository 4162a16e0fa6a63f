"""Which values does a machine hold, within which limits, and what is left of them after a boot?

Every value is a whole number. What survives a boot is what is saved, and only that may be restored.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a machine.

    Attributes:
        start: Where it begins, and where it falls back to at a boot unless it is durable.
        low: The smallest it can be.
        high: The largest; None: no limit.
        durable: It survives a boot.
        clamps: A change beyond its limits stops there; else it has no effect.
    """

    start: int
    low: int
    high: int | None
    durable: bool = True
    clamps: bool = False

    def holds(self, number: int) -> bool:
        """Whether it can be this number."""
        return self.low <= number and (self.high is None or number <= self.high)

    def clamped(self, number: int) -> int:
        """The nearest number that it can be."""
        return max(self.low, number if self.high is None else min(self.high, number))


class Values:
    """The values of one machine by name, fresh from the factory; every boot counts up the one named `boots`."""

    def __init__(self, machine: str, table: Mapping[str, Value]) -> None:
        """`machine` is what complaints call it; `table` has every value, `boots` among them."""
        self._machine = machine
        self._table = table
        self._now = {name: value.start for name, value in table.items()}

    def __getitem__(self, name: str) -> int:
        return self._now[name]

    def __setitem__(self, name: str, number: int) -> None:
        """The machine itself sets a value, within its limits."""
        self._now[name] = number

    def put(self, name: str, number: int) -> None:
        """Move a value as far as its limits allow; raises KeyError where there is none of that name."""
        self._now[name] = self._table[name].clamped(number)

    def boot(self) -> None:
        """What is not durable falls back to its start."""
        for name, value in self._table.items():
            if not value.durable:
                self._now[name] = value.start
        self._now["boots"] += 1

    def all(self) -> dict[str, int]:
        """Every value by name."""
        return dict(self._now)

    def durable(self) -> dict[str, int]:
        """The values that survive a boot."""
        return {name: self._now[name] for name, value in self._table.items() if value.durable}

    def restore(self, saved: Mapping[str, int]) -> None:
        """Take over what `durable` gave.

        Raises:
            ValueError: Not exactly the durable values, or one out of its limits.
        """
        if saved.keys() != self.durable().keys():
            raise ValueError(f"a {self._machine} saves {', '.join(self.durable())}")
        for name, number in saved.items():
            if not self._table[name].holds(number):
                raise ValueError(f"{name} cannot be {number}")
        self._now.update(saved)
