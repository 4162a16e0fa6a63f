"""Which devices does a setup of the command line mean?

One, or with several units one for each, on one line: each with its own machine, fault plan, ledger and state.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from simulator.device import SimulatedDevice
from simulator.effects import DiskError
from simulator.equipment import Adder, Controller, EnergyMeter, RegisterMachine, RelayBoard
from simulator.fault_kinds import LSQ, MODBUS, TEXT
from simulator.ledger import Ledger, LedgerError
from simulator.modbus_device import ModbusDevice
from simulator.modbus_frames import Framing
from simulator.setup import USAGE, Setup, SimulateError, plan_of
from simulator.state import StateError, StateFile
from simulator.text_device import TextDevice

BAD_FILE = 3
SERIAL = "SIM-1"
_SERIAL_NUMBER_MAX = 0xFFFF_FFFF
_SERIAL_LENGTH_MAX = 64

Device = SimulatedDevice | TextDevice | ModbusDevice
Draw = Callable[[], int]
Observer = Callable[[str, str], None]


def switch_on(setup: Setup, draw: Draw, observe: Observer) -> tuple[Device, ...]:
    """Make the devices of a setup; raises SimulateError with the cause.

    Args:
        setup: What was asked for.
        draw: Random 32-bit numbers for the boot ids and sessions of LSQ1.
        observe: Told of every fault, command and boot.
    """
    _check_place(setup)
    if setup.profile not in _MAKERS:
        close = difflib.get_close_matches(setup.profile, _MAKERS, n=1)
        hint = f"Did you mean '{close[0]}'?" if close else f"There is: {', '.join(_MAKERS)}."
        raise SimulateError(f"--profile: no machine '{setup.profile}' is simulated. {hint}", USAGE)
    try:
        return _MAKERS[setup.profile](setup, draw, observe)
    except StateError as problem:
        raise SimulateError(f"--state: {problem}.", BAD_FILE) from problem
    except OSError as problem:
        raise SimulateError(f"--state {setup.state}: {_why(problem)}.", USAGE) from problem
    except DiskError as problem:
        raise SimulateError(f"{problem}.", USAGE) from problem
    except ValueError as problem:
        raise SimulateError(f"{problem}.", USAGE) from problem


def _check_place(setup: Setup) -> None:
    of_tcp = {
        "--tcp": setup.tcp is not None,
        "--slots": setup.habits.slots is not None,
        "--idle-close": setup.habits.idle_close_s is not None,
        "--framing tcp": setup.framing == "tcp",
    }
    for option, given in of_tcp.items():
        if setup.pty and given:
            raise SimulateError(f"{option} concerns TCP; leave out {option} or --pty.", USAGE)
    if setup.link is not None and not setup.pty:
        raise SimulateError("--link names a serial port; add --pty.", USAGE)


def _only(setup: Setup, speaks: str, tongue: str, options: Mapping[str, object]) -> None:
    """Refuse options that concern another tongue than this machine's."""
    for option, value in options.items():
        if value is not None:
            raise SimulateError(
                f"{option} concerns {tongue}, and {setup.profile} speaks {speaks}; leave it out.", USAGE
            )


def _lsq(setup: Setup, draw: Draw, observe: Observer) -> tuple[Device, ...]:
    _only(setup, "LSQ1", "Modbus", {"--framing": setup.framing})
    if len(setup.units) > 1:
        raise SimulateError(f"--unit {setup.unit}: only Modbus machines share a line; give one.", USAGE)
    serial = SERIAL if setup.serial is None else setup.serial
    device = SimulatedDevice(
        Controller(serial),
        serial=serial,
        model="demo" if setup.model is None else setup.model,
        tier=1 if setup.tier is None else setup.tier,
        plan=plan_of("--faults", setup.faults, LSQ),
        ledger=_ledger(setup.ledger),
        seed=setup.seed,
        draw=draw,
        unit=setup.units[0],
        state=StateFile(setup.state) if setup.state else None,
        observe=observe,
        hangs_up_on_boot=not setup.pty,
        echo=setup.echo,
        habits=setup.habits,
    )
    return (device,)


def _text(setup: Setup, _draw: Draw, observe: Observer) -> tuple[Device, ...]:
    _only(setup, "plain text", "LSQ1", {"--model": setup.model, "--tier": setup.tier, "--unit": setup.unit})
    _only(setup, "plain text", "Modbus", {"--framing": setup.framing})
    device = TextDevice(
        Controller(SERIAL if setup.serial is None else setup.serial),
        plan=plan_of("--faults", setup.faults, TEXT),
        ledger=_ledger(setup.ledger),
        seed=setup.seed,
        state=StateFile(setup.state) if setup.state else None,
        observe=observe,
        hangs_up_on_boot=not setup.pty,
        echo=setup.echo,
        habits=setup.habits,
    )
    return (device,)


@dataclass(frozen=True, slots=True)
class _Sort:
    """A sort of Modbus machine: its usual framing on TCP, and how one is made from serial and unit."""

    framing: Framing
    make: Callable[[str | None, int], RegisterMachine]


def _relay_board(serial: str | None, unit: int) -> RegisterMachine:
    if serial is not None:
        raise SimulateError("--serial: a relay board has no serial; leave it out.", USAGE)
    return RelayBoard(unit)


def _meter(serial: str | None, unit: int) -> RegisterMachine:
    if serial is None:
        return EnergyMeter(unit=unit)
    if not (serial.isascii() and serial.isdecimal() and int(serial[:11]) <= _SERIAL_NUMBER_MAX):
        raise SimulateError(
            f"--serial {serial!r}: the serial of a meter is a number from 0 to {_SERIAL_NUMBER_MAX}.", USAGE
        )
    return EnergyMeter(int(serial), unit)


def _adder(serial: str | None, unit: int) -> RegisterMachine:
    if serial is not None and len(serial) > _SERIAL_LENGTH_MAX:
        raise SimulateError(f"--serial: at most {_SERIAL_LENGTH_MAX} characters fit.", USAGE)
    return Adder(SERIAL if serial is None else serial, unit)


def _modbus(sort: _Sort, setup: Setup, observe: Observer) -> tuple[Device, ...]:
    _only(setup, "Modbus", "LSQ1", {"--model": setup.model, "--tier": setup.tier})
    units = setup.units
    shared = len(units) > 1

    def tell(unit: int, word: str, line: str) -> None:
        observe(word, f"unit {unit}: {line}" if shared else line)

    def device(place: int, unit: int) -> ModbusDevice:
        state = setup.file_of(setup.state, unit)
        return ModbusDevice(
            sort.make(_counted_up(setup.serial, place), unit),
            framing=_framing(setup, sort),
            plan=plan_of("--faults", setup.faults, MODBUS),
            ledger=_ledger(setup.file_of(setup.ledger, unit)),
            seed=setup.seed + place,
            state=StateFile(state) if state else None,
            observe=lambda word, line: tell(unit, word, line),
            hangs_up_on_boot=not setup.pty and not shared,
            echo=setup.echo and place == 0,  # the adapter gives it back once, however many hear it
            habits=setup.habits if place == 0 else replace(setup.habits, greeting=b""),
        )

    return tuple(device(place, unit) for place, unit in enumerate(units))


def _framing(setup: Setup, sort: _Sort) -> Framing:
    match setup.framing:
        case "tcp" | "rtu" as framing:
            return framing
        case None:
            return "rtu" if setup.pty else sort.framing
    raise SimulateError(f"--framing {setup.framing!r} is neither tcp nor rtu.", USAGE)


def _counted_up(serial: str | None, place: int) -> str | None:
    """The serial of the device at a place, from 0: the number at the end of the given one goes up."""
    if serial is None or place == 0:
        return serial
    front, number = re.fullmatch(r"(.*?)(\d{0,9})", serial, re.DOTALL).groups()  # type: ignore[union-attr]  # always
    return f"{front}{int(number or 0) + place:0{len(number)}d}"


_SORTS: Mapping[str, _Sort] = MappingProxyType(
    {
        "demo/adder-modbus": _Sort("tcp", _adder),
        "waveshare/modbus-rtu-relay": _Sort("rtu", _relay_board),
        "eastron/sdm630": _Sort("rtu", _meter),
    }
)


def _maker(sort: _Sort) -> Callable[[Setup, Draw, Observer], tuple[Device, ...]]:
    return lambda setup, _draw, observe: _modbus(sort, setup, observe)


_MAKERS: Mapping[str, Callable[[Setup, Draw, Observer], tuple[Device, ...]]] = MappingProxyType(
    {
        "demo/controller": _lsq,
        "demo/controller-line": _text,
        **{name: _maker(sort) for name, sort in _SORTS.items()},
    }
)


def _ledger(path: Path | None) -> Ledger:
    try:
        return Ledger(path)
    except OSError as problem:
        raise SimulateError(f"--ledger {path}: {_why(problem)}.", USAGE) from problem
    except LedgerError as problem:
        raise SimulateError(f"--ledger: {problem}.", BAD_FILE) from problem


def _why(problem: OSError) -> str:
    return problem.strerror or str(problem)
