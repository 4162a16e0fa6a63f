"""What is a fault plan made of, whatever it is about?

A vocabulary names the kinds of messages and the faults, each with its meaning and with what follows its name.
There is one for each tongue of the simulated devices (`fault_kinds.py`) and one for the proxy
(`proxy/faults.py`); `faults.py` reads plans in any of them.
"""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from types import MappingProxyType

SECONDS_MAX = 3600.0
BYTES_MAX = 256
HELP_WIDTH = 56
"""Columns for the meaning of a fault, so that the whole line has 80."""

Value = float | int | bytes


@dataclass(frozen=True, slots=True)
class Parameter:
    """What follows a fault's name in a plan.

    Attributes:
        sign: How the help shows it: `S`.
        usual: What a `seed` clause takes where nothing follows. Its type says what is read: float is seconds
            (0 to SECONDS_MAX), int a whole number from 1, bytes hexadecimal digits (1 to BYTES_MAX bytes).
        what: What a whole number counts or names.
        most: The largest whole number; None: no limit.
    """

    sign: str
    usual: Value
    what: str = "bytes"
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One fault: what it does, in one line, and what follows its name."""

    meaning: str
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of one sort of fault plan.

    Attributes:
        of: Whose plans they are, as people call it: `plain text`.
        kinds: Kinds of messages, besides `any`.
        faults: Every fault by name.
        only: Faults that concern one kind of message alone.
    """

    of: str
    kinds: tuple[str, ...]
    faults: Mapping[str, Entry]
    only: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def help_lines(self) -> list[str]:
        """Each fault with what follows its name and its meaning, which may take a further line."""
        lines = []
        for name, entry in self.faults.items():
            term = " ".join((name, *(parameter.sign for parameter in entry.parameters)))
            meaning = textwrap.wrap(entry.meaning, HELP_WIDTH)
            lines += [f"  {front:<18} {part}" for front, part in zip_longest([term], meaning, fillvalue="")]
        return lines


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong with one message: faults by name, each with the values that follow it."""

    armed: Mapping[str, tuple[Value, ...]]

    def __contains__(self, fault: str) -> bool:
        return fault in self.armed

    def __bool__(self) -> bool:
        return bool(self.armed)

    def __str__(self) -> str:
        return ", ".join(" ".join((fault, *map(_shown, values))) for fault, values in self.armed.items())

    def seconds(self, fault: str) -> float:
        """The seconds of a fault, which are the last of its values; 0 where it is not armed."""
        value = self.armed.get(fault, (0.0,))[-1]
        assert not isinstance(value, bytes)  # noqa: S101 (the vocabulary's types, kept by the parser)
        return value

    def count(self, fault: str) -> int:
        """The whole number of an armed fault, which is the first of its values."""
        value = self.armed[fault][0]
        assert isinstance(value, int)  # noqa: S101 (see above)
        return value

    def data(self, fault: str) -> bytes:
        """The bytes of an armed fault, which are the first of its values."""
        value = self.armed[fault][0]
        assert isinstance(value, bytes)  # noqa: S101 (see above)
        return value


NO_FAULTS = Faults(MappingProxyType({}))


def _shown(value: Value) -> str:
    return value.hex() if isinstance(value, bytes) else f"{value:g}"
