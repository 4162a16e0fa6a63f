"""Which equipment, on which roads, is asked to do what in a world?

Each sort is a profile with the commands that make sense on it and the faults that its papers allow. What nobody can
guard against is not among them: an ack without an effect, a request without a number that arrives twice, answers of
others on plain text and RTU (README, "Limits"). A Modbus road either echoes all the time or never.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from devices.loader import find, load
from devices.profile import Profile, Verify
from simulator.equipment import Adder, Controller
from simulator.fault_kinds import LSQ, MODBUS, TEXT, Fault
from simulator.modbus_frames import Framing
from worlds.exceptions import EXCEPTIONS
from worlds.machines import QUEUED, ModbusMachine, NamingMachine, QueueingMachine, TextMachine
from worlds.tongues import Lines, Modbus, Numbered, Tongue

Words = Callable[[random.Random], str]
Machine = Controller | Adder
ADDER = Path(__file__).parent / "adder.yaml"

_UNBELIEVABLE = {
    Fault.IGNORE,
    Fault.NAK_AFTER_EFFECT,
    Fault.APPLY_LATE,
    Fault.REVERT,
    Fault.OTHER_WRITER,
    Fault.DRIFT,
}
_OF_LSQ = tuple(name for name in LSQ.faults if Fault(name) not in _UNBELIEVABLE)
_OF_TEXT = tuple(
    name
    for name in TEXT.faults
    if Fault(name) not in _UNBELIEVABLE | {Fault.DUPLICATE_REQUEST, Fault.STALE_REPLY, Fault.FOREIGN}
)
_OF_RTU = (
    *(
        name
        for name in MODBUS.faults
        if Fault(name)
        not in _UNBELIEVABLE
        | {
            Fault.DUPLICATE_REQUEST,
            Fault.STALE_REPLY,
            Fault.FOREIGN,
            Fault.ECHO,
            Fault.EXCEPTION,
            Fault.EXCEPTION_AFTER,
        }
    ),
    *EXCEPTIONS,
)
_OF_MODBUS_TCP = (*(name for name in _OF_RTU if name != Fault.BIT_FLIP), Fault.STALE_REPLY, Fault.FOREIGN)
"""Bits that are wrong are the business of TCP's own checksum; a transaction tells answers apart."""


def _number(text: str, low: int, high: int) -> Words:
    return lambda rng: text.format(rng.choice([n for n in range(low, high + 1) if n]))


_NUMBERED: Mapping[str, Words] = {
    "SET interval": _number("SET interval {}", 1, 3600),
    "SET offset": _number("SET offset {}", -40, 40),
    "ADJUST offset": _number("ADJUST offset {:+d}", -5, 5),
    "RESET counter": lambda _: "RESET counter",
    "ROTATE log": lambda _: "ROTATE log",
    "BEEP": lambda _: "BEEP",
}
_PLAIN: Mapping[str, Words] = {
    **_NUMBERED,
    "SET level": _number("SET level {}", 0, 10),
    "SET relay": lambda rng: f"SET relay {rng.randrange(2)}",
    "ADJUST level": _number("ADJUST level {:+d}", -4, 4),
    "TOGGLE relay": lambda _: "TOGGLE relay",
}
_STOPPING: Mapping[str, Words] = {
    "SET level": _number("SET level {}", 0, 10),
    "ADJUST level": _number("ADJUST level {:+d}", -10, 10),
}
"""What soon stands at a stop."""
_REGISTERS: Mapping[str, Words] = {
    "SET setpoint": _number("SET setpoint {}", 1, 1000),
    "RAISE setpoint": _number("RAISE setpoint {}", -5, 9),
    "ADD": _number("ADD {}", -5, 5),
    "ADD BLINDLY": _number("ADD BLINDLY {}", -5, 5),
    "TOGGLE relay": lambda _: "TOGGLE relay",
}


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort of equipment.

    Attributes:
        name: For people.
        profile: What the agent believes about it.
        commands: By name, what may be asked.
        faults: What may happen in it.
        tiers: LSQ1: of which tiers there are such devices; else empty.
        made: Without numbers: the device around its machine.
        machine: Its machine, from a serial number.
        tongue: How it talks.
        panel: Somebody writes its settings at the device.
        tcp_only: It is never found on a serial line.
        checked: A checksum shows every reading that was damaged.
        last: The command that each device does in the end.
        weight: How often it stands in a world.
    """

    name: str
    profile: Profile
    commands: Mapping[str, Words]
    faults: tuple[str, ...]
    tiers: tuple[int, ...] = ()
    made: Callable[..., TextMachine | ModbusMachine] = TextMachine
    machine: Callable[[str], Machine] = Controller
    tongue: Tongue = Lines()  # noqa: RUF009 - it has no state
    panel: bool = False
    tcp_only: bool = False
    checked: bool = False
    last: str = "SET interval 77"
    weight: int = 1

    @property
    def late_s(self) -> float | None:
        """How late anything may be; None where the equipment numbers its commands."""
        return None if self.tiers else self.profile.timing.late_s


@cache
def sorts() -> tuple[Sort, ...]:
    """All sorts."""
    numbered, plain = find("demo/controller", []), find("demo/controller-line", [])
    return (
        Sort("lsq", numbered, _NUMBERED, _OF_LSQ, tiers=(0, 1, 2), tongue=Numbered(), weight=9),
        Sort("line", plain, _PLAIN, _OF_TEXT),
        Sort("line-nameless", replace(plain, identity=None), _PLAIN, _OF_TEXT, weight=3),
        Sort("line-named", _naming(plain), _PLAIN, _OF_TEXT, made=NamingMachine),
        Sort("line-verify", _without_form(plain), _PLAIN, _OF_TEXT),
        Sort("line-unsettled", _unsettled(plain), _PLAIN, _OF_TEXT),
        Sort("line-queued", _queued(plain), _PLAIN, _OF_TEXT, made=QueueingMachine),
        Sort("line-stop", _with_an_undeclared_stop(plain), _STOPPING, _OF_TEXT),
        Sort("line-late-nak", _late_nak(plain), _PLAIN, (*_OF_TEXT, Fault.NAK_AFTER_EFFECT)),
        Sort(
            "line-panel",
            _with_other_writers(plain),
            _PLAIN,
            (*_OF_TEXT, Fault.OTHER_WRITER, Fault.DRIFT, Fault.REVERT),
            panel=True,
        ),
        _modbus("modbus-tcp", "tcp", weight=2),
        _modbus("modbus-rtu", "rtu", weight=2),
        _modbus("modbus-rtu-echo", "rtu", echoes=True),
    )


def _modbus(name: str, framing: Framing, *, echoes: bool = False, weight: int = 1) -> Sort:
    """Adding machines; those that speak RTU do not say who they are."""
    profile = load(ADDER)
    assert profile.modbus is not None  # noqa: S101 - it is of that dialect
    if framing == "rtu":
        profile = replace(profile, modbus=replace(profile.modbus, framing=framing), identity=None)
    return Sort(
        name,
        profile,
        _REGISTERS,
        _OF_RTU if framing == "rtu" else _OF_MODBUS_TCP,
        made=partial(ModbusMachine, framing=framing, echo=echoes),
        machine=Adder,
        tongue=Modbus(framing, echoes=echoes),
        tcp_only=framing == "tcp",
        checked=True,
        last="SET setpoint 77",
        weight=weight,
    )


def _unsettled(profile: Profile) -> Profile:
    return replace(profile, timing=replace(profile.timing, settle_s=0.0))


def _naming(profile: Profile) -> Profile:
    settings = {
        name: replace(each, reply=f"^{name}=(?P<value>.*)$") for name, each in profile.settings.items()
    }
    return replace(profile, settings=settings, identity=None, boot_read=None)


def _without_form(profile: Profile) -> Profile:
    return replace(profile, commands=tuple(replace(each, absolute_form=None) for each in profile.commands))


def _with_an_undeclared_stop(profile: Profile) -> Profile:
    """The level stops at its ends, and nobody has said so: there an executed command looks like a lost one."""
    level = replace(profile.settings["level"], min=None, max=None, clamps=None)
    goes_on = Verify("level", "before + delta")
    commands = tuple(
        replace(each, verify=goes_on) if each.name == "ADJUST level" else each for each in profile.commands
    )
    return replace(profile, settings={**profile.settings, "level": level}, commands=commands)


def _queued(profile: Profile) -> Profile:
    commands = tuple(
        replace(each, ack_means="queued") if each.name.startswith(QUEUED) else each
        for each in profile.commands
    )
    return replace(profile, commands=commands)


def _late_nak(profile: Profile) -> Profile:
    return replace(
        profile, commands=tuple(replace(each, nak_may_follow_effect=True) for each in profile.commands)
    )


def _with_other_writers(profile: Profile) -> Profile:
    settings = {name: replace(each, other_writers=True) for name, each in profile.settings.items()}
    return replace(profile, settings=settings)
