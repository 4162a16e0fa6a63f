"""How does a process serve a simulated device, and how is it told to stop?

SIGINT and SIGTERM stop it, SIGHUP reboots the device, and a limit in seconds may end it too. It also stops,
with the cause, when the device itself fails: an oracle that goes on after its disk has refused would lie.
"""

import asyncio
import contextlib
import difflib
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from simulator.device import SimulatedDevice
from simulator.effects import DiskError
from simulator.equipment import EQUIPMENT
from simulator.faults import FaultTextError, parse
from simulator.ledger import Ledger, LedgerError
from simulator.server import serve_tcp
from simulator.state import StateError, StateFile

PORT_MAX = 65_535

DISK_FAILED, USAGE, BAD_FILE, NOT_LISTENING = 1, 2, 3, 7


class SimulateError(Exception):
    """The device cannot be served, or no longer: one sentence for a person, and the exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Setup:
    """One device to serve, as it was asked for on the command line.

    Attributes:
        tcp: `HOST:PORT`.
        profile: Name of the machine.
        serial: What HELLO says, as does `model`.
        model: See `serial`.
        tier: 0 to 2.
        unit: 1 to 247.
        faults: Text of a fault plan.
        seed: Draws noise.
        ledger: File of the ledger; None: in memory.
        state: File of the state; None: none.
        limit_s: Seconds after which to stop; None: no limit.
    """

    tcp: str
    profile: str
    serial: str
    model: str
    tier: int
    unit: int
    faults: str
    seed: int
    ledger: Path | None
    state: Path | None
    limit_s: float | None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of `tcp`, the host of IPv6 given in brackets; raises SimulateError."""
        name, colon, port = self.tcp.rpartition(":")
        name = name[1:-1] if name.startswith("[") and name.endswith("]") else name
        if not colon or not name or not port.isdecimal() or int(port[:6]) > PORT_MAX:
            raise SimulateError(
                f"--tcp {self.tcp!r} is not HOST:PORT with a port from 0 to {PORT_MAX}.", USAGE
            )
        return name, int(port)


def switch_on(setup: Setup, draw: Callable[[], int], observe: Callable[[str, str], None]) -> SimulatedDevice:
    """Make the device of a setup; raises SimulateError with the cause."""
    if setup.profile not in EQUIPMENT:
        close = difflib.get_close_matches(setup.profile, EQUIPMENT, n=1)
        hint = f"Did you mean '{close[0]}'?" if close else f"There is: {', '.join(EQUIPMENT)}."
        raise SimulateError(f"--profile: no machine '{setup.profile}' is simulated. {hint}", USAGE)
    try:
        plan = parse(setup.faults)
    except FaultTextError as problem:
        raise SimulateError(f"--faults: {problem}", USAGE) from problem
    try:
        ledger = Ledger(setup.ledger)
    except OSError as problem:
        raise SimulateError(f"--ledger {setup.ledger}: {_why(problem)}.", USAGE) from problem
    except LedgerError as problem:
        raise SimulateError(f"--ledger: {problem}.", BAD_FILE) from problem
    try:
        return SimulatedDevice(
            EQUIPMENT[setup.profile](setup.serial),
            serial=setup.serial,
            model=setup.model,
            tier=setup.tier,
            plan=plan,
            ledger=ledger,
            seed=setup.seed,
            draw=draw,
            unit=setup.unit,
            state=StateFile(setup.state) if setup.state else None,
            observe=observe,
        )
    except StateError as problem:
        raise SimulateError(f"--state: {problem}.", BAD_FILE) from problem
    except OSError as problem:
        raise SimulateError(f"--state {setup.state}: {_why(problem)}.", USAGE) from problem
    except DiskError as problem:
        raise SimulateError(f"{problem}.", USAGE) from problem
    except ValueError as problem:
        raise SimulateError(f"{problem}.", USAGE) from problem


def serve(setup: Setup, device: SimulatedDevice, listening: Callable[[str], None]) -> None:
    """Serve until a signal, the limit or a failure; `listening` is called once with the URL.

    Raises:
        SimulateError: The address cannot be listened on, or the disk refused.
    """
    try:
        asyncio.run(_serve(device, setup.address, setup.limit_s, listening))
    except OSError as problem:
        raise SimulateError(f"Cannot listen on {setup.tcp}: {_why(problem)}.", NOT_LISTENING) from problem
    except DiskError as problem:
        raise SimulateError(f"Stopped: {problem}.", DISK_FAILED) from problem


async def _serve(
    device: SimulatedDevice,
    address: tuple[str, int],
    limit_s: float | None,
    listening: Callable[[str], None],
) -> None:
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    failures: list[Exception] = []

    def failed(_loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        cause = context.get("exception")
        failures.append(cause if isinstance(cause, Exception) else RuntimeError(context["message"]))
        told.set()

    loop.set_exception_handler(failed)
    loop.add_signal_handler(signal.SIGINT, told.set)
    loop.add_signal_handler(signal.SIGTERM, told.set)
    loop.add_signal_handler(signal.SIGHUP, device.reboot)
    server = await serve_tcp(device, *address)
    name, port = server.sockets[0].getsockname()[:2]
    listening(f"tcp://[{name}]:{port}" if ":" in name else f"tcp://{name}:{port}")
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            await told.wait()
    server.close()
    device.hang_up()
    if failures:
        raise failures[0]


def _why(problem: OSError) -> str:
    return problem.strerror or str(problem)
