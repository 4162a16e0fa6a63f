"""Which things can go wrong in one exchange between an agent and a device?

The vocabulary of devices' fault plans (`faults.py`), of the devices that suffer them and of the command's
help. Faults of one message happen in the order of `Fault`: on the way in, in the device, on the way back.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from simulator.fault_terms import Entry, Parameter, Vocabulary


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
    EXCEPTION = "exception"
    REFUSE = "refuse"
    IGNORE = "ignore"
    APPLY_LATE = "apply_late"
    REVERT = "revert"
    OTHER_WRITER = "other_writer"
    DRIFT = "drift"
    NAK_AFTER_EFFECT = "nak_after_effect"
    EXCEPTION_AFTER = "exception_after"
    LONG_REPLY = "long_reply"
    INDETERMINATE = "indeterminate"
    CUT = "cut"
    DROP_ACK = "drop_ack"
    DELAY = "delay"
    HOLD = "hold"
    DUPLICATE = "duplicate"
    BIT_FLIP = "bit_flip"
    TRUNCATE = "truncate"
    JUNK = "junk"
    ECHO = "echo"
    NOTICE = "notice"
    STALE_REPLY = "stale_reply"
    FOREIGN = "foreign"
    WRONG_UNIT = "wrong_unit"
    SPLIT = "split"
    TRICKLE = "trickle"


_CODE = Parameter("N", 4, "code", 255)


def _after(meaning: str, usual_s: float) -> Entry:
    return Entry(meaning, (Parameter("S", usual_s),))


FAULTS: Mapping[str, Entry] = MappingProxyType(
    {
        Fault.DROP_REQUEST: Entry("the request never arrives"),
        Fault.LATE_REQUEST: _after("this copy arrives S seconds later, overtaken by what follows it", 1.5),
        Fault.DUPLICATE_REQUEST: Entry("the request arrives twice in a row"),
        Fault.CUT_BEFORE: Entry(
            "the connection ends (a pty: the plug is pulled) and the request is lost with it"
        ),
        Fault.FREEZE: _after(
            "the device hangs for S seconds, then works off what has piled up, this request first", 2.0
        ),
        Fault.REBOOT_BEFORE: Entry("the device boots after it took the request, before any effect"),
        Fault.REBOOT_INSIDE: Entry(
            "the device boots after the effect, before it is recorded as done"
            " (where both are one write: neither happened)"
        ),
        Fault.REBOOT_AFTER: Entry("the device boots after effect and record, before the ack"),
        Fault.BUSY: _after("the execution takes S seconds, with the effect at its end", 0.5),
        Fault.EXCEPTION: Entry("the device answers exception N, without an effect", (_CODE,)),
        Fault.REFUSE: Entry("the device refuses the command, without an effect"),
        Fault.IGNORE: Entry("the device acks the command, without an effect"),
        Fault.APPLY_LATE: _after("the ack comes at once, the effect S seconds later", 1.5),
        Fault.REVERT: _after("what the command changed is put back S seconds after the effect", 1.5),
        Fault.OTHER_WRITER: Entry("somebody else changes the same value right after the effect"),
        Fault.DRIFT: Entry("the value moves by itself just before it is read"),
        Fault.NAK_AFTER_EFFECT: Entry("the effect takes place, but the answer refuses the command"),
        Fault.EXCEPTION_AFTER: Entry(
            "the effect takes place, or with apply_late will, but the answer is exception N", (_CODE,)
        ),
        Fault.LONG_REPLY: Entry("the answer is longer than the device can keep"),
        Fault.INDETERMINATE: Entry(
            "the effect takes place, but the watchdog ends the command as indeterminate"
        ),
        Fault.CUT: Entry("the connection ends instead of the ack (a pty: the plug is pulled)"),
        Fault.DROP_ACK: Entry("the ack is lost"),
        Fault.DELAY: _after("the ack comes S seconds later", 1.5),
        Fault.HOLD: _after(
            "the ack comes glued in front of the answer to the next command, at the latest S seconds later",
            3.0,
        ),
        Fault.DUPLICATE: Entry("the ack comes twice"),
        Fault.BIT_FLIP: Entry("one bit of the ack is wrong"),
        Fault.TRUNCATE: Entry("the second half of the ack is missing"),
        Fault.JUNK: Entry("noise before and after the ack"),
        Fault.ECHO: Entry("the request's own bytes come back before the ack"),
        Fault.NOTICE: Entry("a line that nobody asked for comes before the ack"),
        Fault.STALE_REPLY: Entry("the answer before this one comes again, before the ack"),
        Fault.FOREIGN: Entry("answers to somebody else's requests come before the ack"),
        Fault.WRONG_UNIT: Entry("the ack carries the address of another unit"),
        Fault.SPLIT: Entry("the ack arrives byte by byte"),
        Fault.TRICKLE: _after("the ack arrives one byte every S seconds", 0.02),
    }
)
REBOOTS = frozenset({Fault.REBOOT_BEFORE, Fault.REBOOT_INSIDE, Fault.REBOOT_AFTER})

_OF_COMMANDS = (
    Fault.BUSY,
    Fault.REFUSE,
    Fault.IGNORE,
    Fault.APPLY_LATE,
    Fault.REVERT,
    Fault.OTHER_WRITER,
    Fault.NAK_AFTER_EFFECT,
    Fault.EXCEPTION_AFTER,
    Fault.LONG_REPLY,
    Fault.INDETERMINATE,
)
ONLY: Mapping[str, str] = MappingProxyType(
    {**{str(fault): "cmd" for fault in _OF_COMMANDS}, str(Fault.DRIFT): "read"}
)


def _vocabulary(of: str, kinds: tuple[str, ...], without: frozenset[Fault] = frozenset()) -> Vocabulary:
    faults = {name: entry for name, entry in FAULTS.items() if name not in without}
    return Vocabulary(of, kinds, faults, ONLY)


_KINDS = ("hello", "open", "cmd", "read", "nop", "query", "close")
_OF_LSQ = frozenset({Fault.LONG_REPLY, Fault.INDETERMINATE})
_OF_MODBUS = frozenset({Fault.EXCEPTION, Fault.EXCEPTION_AFTER})
LSQ = _vocabulary("LSQ1", _KINDS, frozenset({Fault.NOTICE}) | _OF_MODBUS)
TEXT = _vocabulary("plain text", ("cmd", "read"), frozenset({Fault.WRONG_UNIT}) | _OF_LSQ | _OF_MODBUS)
MODBUS = _vocabulary("Modbus", ("cmd", "read"), frozenset({Fault.NOTICE}) | _OF_LSQ)
DEVICE = _vocabulary("any device", _KINDS)
