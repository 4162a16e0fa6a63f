"""What does the demo controller do with each command?

| value     | starts at | range       | survives a boot | changed by                           |
|-----------|-----------|-------------|-----------------|--------------------------------------|
| interval  | 10        | 1 to 3600   | yes             | `SET interval N`                     |
| offset    | 10        | -100 to 100 | yes             | `SET offset N`, `ADJUST offset +N`   |
| counter   | 42        | 0 and up    | no, back to 42  | `RESET counter`                      |
| resets    | 0         | 0 and up    | yes             | `RESET counter` counts itself        |
| log_files | 3         | 1 and up    | yes             | `ROTATE log` opens one more          |
| level     | 5         | 0 to 10     | no, back to 5   | `SET level N`, `ADJUST level +N`     |
| relay     | 0         | 0 or 1      | no, back to 0   | `SET relay N`, `TOGGLE relay`        |
| boots     | 1         | 1 and up    | yes             | every boot                           |

`BEEP` has an effect that nothing can read back. `GET x` reads any value, and `GET serial` the serial. A
command answers with the value after it. Words are compared letter by letter; numbers are plain decimal
integers, and ADJUST wants its sign. A command that would leave the range has no effect at all, but for the
level, which stops at its ends.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from simulator.equipment.machine import Result, Verdict
from simulator.equipment.values import Value, Values

_NUMBER = re.compile(r"[+-]?[0-9]{1,6}")
_SIGNED = re.compile(r"[+-][0-9]{1,6}")


_VALUES: Mapping[str, Value] = MappingProxyType(
    {
        "interval": Value(start=10, low=1, high=3600),
        "offset": Value(start=10, low=-100, high=100),
        "counter": Value(start=42, low=0, high=None, durable=False),
        "resets": Value(start=0, low=0, high=None),
        "log_files": Value(start=3, low=1, high=None),
        "level": Value(start=5, low=0, high=10, durable=False, clamps=True),
        "relay": Value(start=0, low=0, high=1, durable=False),
        "boots": Value(start=1, low=1, high=None),
    }
)


class Controller:
    """The demo controller; fresh from the factory, in its first boot."""

    def __init__(self, serial: str = "SIM-1") -> None:
        self.serial = serial
        self._now = Values("controller", _VALUES)

    def execute(self, text: str) -> Result:
        """Carry out one command; see the table at the head of the file."""
        match text.split(" "):
            case ["SET", ("interval" | "offset" | "level" | "relay") as name, number]:
                return self._change(name, 0, number, _NUMBER)
            case ["ADJUST", ("offset" | "level") as name, number]:
                return self._change(name, self._now[name], number, _SIGNED)
            case ["TOGGLE", "relay"]:
                self._now["relay"] = 1 - self._now["relay"]
                return Result(Verdict.OK, str(self._now["relay"]))
            case ["RESET", "counter"]:
                self._now["counter"] = 0
                self._now["resets"] += 1
                return Result(Verdict.OK, "0")
            case ["ROTATE", "log"]:
                self._now["log_files"] += 1
                return Result(Verdict.OK, str(self._now["log_files"]))
            case ["BEEP"]:
                return Result(Verdict.OK, "")
        return Result(Verdict.BAD_COMMAND, "no such command")

    def read(self, text: str) -> Result:
        """Answer `GET x`."""
        match text.split(" "):
            case ["GET", "serial"]:
                return Result(Verdict.OK, self.serial)
            case ["GET", name] if name in _VALUES:
                return Result(Verdict.OK, str(self._now[name]))
            case ["GET", _]:
                return Result(Verdict.BAD_ARGUMENT, "no such value")
        return Result(Verdict.BAD_COMMAND, "no such query")

    def is_query(self, text: str) -> bool:
        """Whether it begins with GET."""
        return text.partition(" ")[0] == "GET"

    def put(self, name: str, number: int) -> None:
        """Move a value, as far as its range allows; raises KeyError where there is none of that name."""
        self._now.put(name, number)

    def boot(self) -> None:
        """Switch off and on: volatile values fall back to their start, the rest stays, boots counts it."""
        self._now.boot()

    def values(self) -> dict[str, int]:
        """Every value by name."""
        return self._now.all()

    def durable(self) -> dict[str, int]:
        """The values that survive a boot."""
        return self._now.durable()

    def restore(self, saved: Mapping[str, int]) -> None:
        """Take over saved values.

        Raises:
            ValueError: Not exactly the durable values, or one out of its range.
        """
        self._now.restore(saved)

    def _change(self, name: str, base: int, number: str, form: re.Pattern[str]) -> Result:
        if not form.fullmatch(number):
            return Result(Verdict.BAD_ARGUMENT, "not a number")
        value, after = _VALUES[name], base + int(number)
        if value.clamps:
            after = value.clamped(after)
        if not value.holds(after):
            return Result(Verdict.BAD_ARGUMENT, f"{value.low} to {value.high}")
        self._now[name] = after
        return Result(Verdict.OK, str(after))
