"""Which device was asked for on the command line, and what is wrong with the request?

`switch_on` makes the device of a `Setup`; everything that cannot be becomes a `SimulateError` with its cause.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from simulator.device import SimulatedDevice
from simulator.effects import DiskError
from simulator.equipment import Controller
from simulator.fault_kinds import LSQ, TEXT
from simulator.fault_terms import Vocabulary
from simulator.faults import FaultPlan, FaultTextError, parse
from simulator.habits import Habits
from simulator.ledger import Ledger, LedgerError
from simulator.state import StateError, StateFile
from simulator.text_device import TextDevice

PORT_MAX = 65_535
USAGE, BAD_FILE = 2, 3
ANYWHERE = "127.0.0.1:0"

Device = SimulatedDevice | TextDevice
Observer = Callable[[str, str], None]


class SimulateError(Exception):
    """What was asked for cannot be served, or no longer: one sentence for a person, and the exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Setup:
    """One device to serve, as it was asked for on the command line.

    Attributes:
        tcp: `HOST:PORT`; None: nothing was said.
        pty: On a new serial port instead.
        link: A stable name for that port.
        profile: Name of the profile that describes it.
        serial: Its serial.
        model: What HELLO says.
        tier: 0 to 2; None: nothing was said.
        unit: 1 to 247; None: nothing was said.
        faults: Text of a fault plan.
        seed: Draws noise.
        echo: Whatever comes in goes back first.
        habits: How it treats its connections.
        ledger: File of the ledger; None: in memory.
        state: File of the state; None: none.
        limit_s: Seconds after which to stop; None: no limit.
    """

    tcp: str | None
    pty: bool
    link: Path | None
    profile: str
    serial: str
    model: str | None
    tier: int | None
    unit: int | None
    faults: str
    seed: int
    echo: bool
    habits: Habits
    ledger: Path | None
    state: Path | None
    limit_s: float | None

    @property
    def place(self) -> str:
        """Where it is to be reached, for messages."""
        if self.pty:
            return f"a serial port at {self.link}" if self.link else "a serial port"
        return self.tcp or ANYWHERE

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of `tcp`, the host of IPv6 given in brackets; raises SimulateError."""
        return host_and_port("--tcp", self.tcp or ANYWHERE)


def host_and_port(option: str, text: str) -> tuple[str, int]:
    """Split `HOST:PORT` or `[HOST]:PORT`; raises SimulateError, which names the option."""
    name, colon, port = text.rpartition(":")
    name = name[1:-1] if name.startswith("[") and name.endswith("]") else name
    if not colon or not name or not port.isdecimal() or int(port[:6]) > PORT_MAX:
        raise SimulateError(f"{option} {text!r} is not HOST:PORT with a port from 0 to {PORT_MAX}.", USAGE)
    return name, int(port)


def plan_of(option: str, text: str, vocabulary: Vocabulary) -> FaultPlan:
    """Parse a fault plan; raises SimulateError, which names the option."""
    try:
        return parse(text, vocabulary)
    except FaultTextError as problem:
        raise SimulateError(f"{option}: {problem}", USAGE) from problem


def switch_on(setup: Setup, draw: Callable[[], int], observe: Observer) -> Device:
    """Make the device of a setup; raises SimulateError with the cause.

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
    }
    for option, given in of_tcp.items():
        if setup.pty and given:
            raise SimulateError(f"{option} concerns TCP; leave out {option} or --pty.", USAGE)
    if setup.link is not None and not setup.pty:
        raise SimulateError("--link names a serial port; add --pty.", USAGE)


def _lsq(setup: Setup, draw: Callable[[], int], observe: Observer) -> Device:
    return SimulatedDevice(
        Controller(setup.serial),
        serial=setup.serial,
        model="demo" if setup.model is None else setup.model,
        tier=1 if setup.tier is None else setup.tier,
        plan=plan_of("--faults", setup.faults, LSQ),
        ledger=_ledger(setup.ledger),
        seed=setup.seed,
        draw=draw,
        unit=setup.unit or 1,
        state=StateFile(setup.state) if setup.state else None,
        observe=observe,
        hangs_up_on_boot=not setup.pty,
        echo=setup.echo,
        habits=setup.habits,
    )


def _text(setup: Setup, _draw: Callable[[], int], observe: Observer) -> Device:
    for option, value in {"--model": setup.model, "--tier": setup.tier, "--unit": setup.unit}.items():
        if value is not None:
            raise SimulateError(
                f"{option} concerns LSQ1, and {setup.profile} speaks plain text; leave it out.", USAGE
            )
    return TextDevice(
        Controller(setup.serial),
        plan=plan_of("--faults", setup.faults, TEXT),
        ledger=_ledger(setup.ledger),
        seed=setup.seed,
        state=StateFile(setup.state) if setup.state else None,
        observe=observe,
        hangs_up_on_boot=not setup.pty,
        echo=setup.echo,
        habits=setup.habits,
    )


_MAKERS: Mapping[str, Callable[[Setup, Callable[[], int], Observer], Device]] = {
    "demo/controller": _lsq,
    "demo/controller-line": _text,
}


def _ledger(path: Path | None) -> Ledger:
    try:
        return Ledger(path)
    except OSError as problem:
        raise SimulateError(f"--ledger {path}: {_why(problem)}.", USAGE) from problem
    except LedgerError as problem:
        raise SimulateError(f"--ledger: {problem}.", BAD_FILE) from problem


def _why(problem: OSError) -> str:
    return problem.strerror or str(problem)
