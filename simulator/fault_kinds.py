"""Which things can go wrong in one exchange between an agent and a device?

The vocabulary of fault plans (`simulator/faults.py`), of the device that suffers them and of the command's
help. Faults of one message happen in the order of `Fault`: on the way in, in the device, on the way back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

KINDS = ("hello", "open", "cmd", "read", "nop", "query", "close")
SECONDS_MAX = 3600.0


class Fault(StrEnum):
    """One thing that goes wrong in one exchange."""

    DROP_REQUEST = "drop_request"
    LATE_REQUEST = "late_request"
    DUPLICATE_REQUEST = "duplicate_request"
    CUT_BEFORE = "cut_before"
    FREEZE = "freeze"
    REBOOT_BEFORE = "reboot_before"
    REBOOT_INSIDE = "reboot_inside"
    REBOOT_AFTER = "reboot_after"
    BUSY = "busy"
    REFUSE = "refuse"
    LONG_REPLY = "long_reply"
    INDETERMINATE = "indeterminate"
    CUT = "cut"
    DROP_ACK = "drop_ack"
    DELAY = "delay"
    DUPLICATE = "duplicate"
    BIT_FLIP = "bit_flip"
    TRUNCATE = "truncate"
    JUNK = "junk"
    ECHO = "echo"
    STALE_REPLY = "stale_reply"
    FOREIGN = "foreign"
    SPLIT = "split"
    TRICKLE = "trickle"


MEANINGS: Mapping[Fault, str] = MappingProxyType(
    {
        Fault.DROP_REQUEST: "the request never arrives",
        Fault.LATE_REQUEST: "this copy arrives S seconds later, overtaken by what follows it",
        Fault.DUPLICATE_REQUEST: "the request arrives twice in a row",
        Fault.CUT_BEFORE: "the connection ends and the request is lost with it",
        Fault.FREEZE: "the device hangs for S seconds, then works off what has piled up, this request first",
        Fault.REBOOT_BEFORE: "the device boots after it took the request, before any effect",
        Fault.REBOOT_INSIDE: "the device boots after the effect, before it is recorded as done"
        " (where both are one write: neither happened)",
        Fault.REBOOT_AFTER: "the device boots after effect and record, before the ack",
        Fault.BUSY: "the execution takes S seconds, with the effect at its end",
        Fault.REFUSE: "the device refuses the command, without an effect",
        Fault.LONG_REPLY: "the answer is longer than the device can keep",
        Fault.INDETERMINATE: "the effect takes place, but the watchdog ends the command as indeterminate",
        Fault.CUT: "the connection ends instead of the ack",
        Fault.DROP_ACK: "the ack is lost",
        Fault.DELAY: "the ack comes S seconds later",
        Fault.DUPLICATE: "the ack comes twice",
        Fault.BIT_FLIP: "one bit of the ack is wrong",
        Fault.TRUNCATE: "the second half of the ack is missing",
        Fault.JUNK: "noise before and after the ack",
        Fault.ECHO: "the request's own bytes come back before the ack",
        Fault.STALE_REPLY: "the answer before this one comes again, before the ack",
        Fault.FOREIGN: "answers of another unit and of another session come before the ack",
        Fault.SPLIT: "the ack arrives byte by byte",
        Fault.TRICKLE: "the ack arrives one byte every S seconds",
    }
)

# Faults that take time, with the seconds a `seed` clause uses when none are given.
USUAL_S: Mapping[Fault, float] = MappingProxyType(
    {Fault.LATE_REQUEST: 1.5, Fault.FREEZE: 2.0, Fault.BUSY: 0.5, Fault.DELAY: 1.5, Fault.TRICKLE: 0.02}
)
OF_EXECUTIONS = frozenset({Fault.BUSY, Fault.REFUSE, Fault.LONG_REPLY, Fault.INDETERMINATE})
REBOOTS = frozenset({Fault.REBOOT_BEFORE, Fault.REBOOT_INSIDE, Fault.REBOOT_AFTER})


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong with one message; the seconds are 0 for faults that take none."""

    armed: Mapping[Fault, float]

    def __contains__(self, fault: Fault) -> bool:
        return fault in self.armed

    def __bool__(self) -> bool:
        return bool(self.armed)

    def __str__(self) -> str:
        return ", ".join(f"{fault} {s:g}" if fault in USUAL_S else fault for fault, s in self.armed.items())

    def seconds(self, fault: Fault) -> float:
        """Seconds of a fault; 0 where it is not armed."""
        return self.armed.get(fault, 0.0)


NO_FAULTS = Faults(MappingProxyType({}))
