"""What was asked for on the command line, and what is wrong with its words?

`makers.py` makes the devices of a `Setup`. Everything that cannot be becomes a `SimulateError` with its cause,
which names the option.
"""

from dataclasses import dataclass
from pathlib import Path

from simulator.fault_terms import Vocabulary
from simulator.faults import FaultPlan, FaultTextError, parse
from simulator.habits import Habits

PORT_MAX = 65_535
USAGE, BAD_FILE = 2, 3
UNIT_MAX = 247
ANYWHERE = "127.0.0.1:0"


class SimulateError(Exception):
    """What was asked for cannot be served, or no longer: one sentence for a person, and the exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Setup:
    """One device to serve, or several on one line, as it was asked for on the command line.

    Attributes:
        tcp: `HOST:PORT`; None: nothing was said.
        pty: On a new serial port instead.
        link: A stable name for that port.
        profile: Name of the profile that describes it.
        serial: Its serial; None: nothing was said.
        model: What HELLO says; None: nothing was said.
        tier: 0 to 2; None: nothing was said.
        unit: Its address, or several behind commas; None: nothing was said.
        framing: tcp or rtu; None: nothing was said.
        faults: Text of a fault plan.
        seed: Draws noise.
        echo: Whatever comes in goes back first.
        habits: How it treats its connections.
        ledger: File of the ledger; None: in memory.
        state: File of the state; None: none. With several units, each has its own of both: see `file_of`.
        limit_s: Seconds after which to stop; None: no limit.
    """

    tcp: str | None
    pty: bool
    link: Path | None
    profile: str
    serial: str | None
    model: str | None
    tier: int | None
    unit: str | None
    framing: str | None
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

    @property
    def units(self) -> tuple[int, ...]:
        """The addresses of `unit`, 1 where nothing was said; raises SimulateError."""
        texts = ("1" if self.unit is None else self.unit).split(",")
        units = tuple(int(text[:4]) for text in texts if text.isascii() and text.isdecimal())
        fit = len(set(units)) == len(texts) and all(1 <= unit <= UNIT_MAX for unit in units)
        if not fit:
            raise SimulateError(
                f"--unit {self.unit!r} is no address from 1 to {UNIT_MAX}, nor several such as 1,3.", USAGE
            )
        return units

    def file_of(self, path: Path | None, unit: int) -> Path | None:
        """The file of one unit: with several units, `ledger.jsonl` is `ledger-3.jsonl` for unit 3."""
        if path is None or len(self.units) == 1:
            return path
        return path.with_name(f"{path.stem}-{unit}{path.suffix}")


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
