"""What is a machine, once its wire is taken away?

Commands and queries go in as text, answers come out; no frames, no sessions, no timers. What dedups, loses or
delays lives elsewhere: a machine does what it is told as often as it is told.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Verdict(StrEnum):
    """How a machine takes a command or a query; only OK has an effect."""

    OK = "ok"
    BAD_ARGUMENT = "bad_argument"
    BAD_COMMAND = "bad_command"
    BAD_ADDRESS = "bad_address"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Result:
    """A machine's answer: with OK the value (empty where there is none to read), otherwise what was wrong."""

    verdict: Verdict
    text: str


class Equipment(Protocol):
    """The interface of every simulated machine."""

    def execute(self, text: str) -> Result:
        """Carry out one command, completely or not at all."""

    def read(self, text: str) -> Result:
        """Answer one query; never changes a value."""

    def is_query(self, text: str) -> bool:
        """Whether `read` is meant, and not `execute`."""

    def put(self, name: str, number: int) -> None:
        """A value moves by something other than a command, within its range; KeyError: there is none."""

    def boot(self) -> None:
        """Switch off and on: volatile values fall back, durable ones stay."""

    def values(self) -> dict[str, int]:
        """Every value by name."""

    def durable(self) -> dict[str, int]:
        """The values that survive a boot, to be saved."""

    def restore(self, saved: Mapping[str, int]) -> None:
        """Take over values that `durable` gave; raises ValueError where they cannot be."""
