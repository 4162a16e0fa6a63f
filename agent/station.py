"""What is one device, as this process works with it? The interface that every dialect implements.

A station performs single steps and reports facts; whether a step is wise was decided before, by the policy.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from agent.clock import Clock
from agent.deadlines import Deadlines
from agent.evidence import Connected, Evidence, NotSent, Sent
from agent.journal import Intent
from agent.leases import Held, Lease, Leases
from agent.links.link import Link, PortHeld, Unreachable
from agent.narrate import Bystander
from agent.operation import Cause
from agent.owed import Owed
from agent.registry import Registry, WrongDevice
from agent.secrets import Veil
from agent.steady_clock import SteadyClock
from agent.steps import Send, Session, Settle
from devices.versions import fits
from logs.text import escape


@dataclass(frozen=True, slots=True)
class Expected:
    """Who must answer, and where. `serial`, `model` and `firmware` (limits) are None where nobody named them."""

    url: str
    unit: int
    serial: str | None
    model: str | None
    firmware: str | None = None


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, in seconds.

    For one answer; in all while the device says that it is busy; and after the link was opened, where the device needs
    that before it hears anything.
    """

    silence_s: float
    busy_max_s: float
    open_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Means:
    """What a station works with.

    `dial` opens a link and raises Unreachable; `stopping` is True when nobody wants further tries; `trace` is told of
    all bytes, None where nobody asked for them; `veil` puts the secrets into what is written; `elsewhere` gives a
    station for reads at another address of the device.
    """

    registry: Registry
    leases: Leases
    owed: Owed
    steady: SteadyClock
    dial: Callable[[], Awaitable[Link]]
    deadlines: Deadlines
    clock: Clock
    told: Bystander
    stopping: Callable[[], bool]
    trace: Callable[[str, bytes], None] | None = None
    veil: Veil = field(default_factory=Veil)
    elsewhere: Callable[[str], "Station"] | None = None


class ReadAnswer(NamedTuple):
    """The answer to a query: its value, or `problem`, what the device said instead. Both None: no answer came.

    `started`: the device announced a start after it had been asked and before it answered.
    """

    value: str | None
    problem: str | None = None
    started: bool = False


class Identity(NamedTuple):
    """Who answered, as far as the device tells."""

    serial: str | None = None
    model: str | None = None
    firmware: str | None = None
    tier: int | None = None
    epoch: int | None = None


class Station(Protocol):
    """One device in the hands of this process."""

    @property
    def lease(self) -> Lease:
        """The right to write to the device. Raises RuntimeError on a station for reads."""

    @property
    def tells_who_it_is(self) -> bool:
        """Whether connecting can find out which device it is."""

    @property
    def veil(self) -> Veil:
        """What hides the secrets of commands to this device."""

    async def connect(self, wanted: Session, conn: int) -> Connected | NotSent:
        """Open anew, check who answers, enter the wanted session. Raises LeaseLost, StoreError."""

    async def take_over(self) -> Connected | NotSent:
        """Make the device ours that another store has used, where it knows whose it is. As `connect`."""

    async def who(self) -> tuple[Identity, float | None]:
        """Who answers on a new connection, and after how many seconds; None where there is nothing to ask.

        Raises Unreachable, WrongDevice, StoreError.
        """

    def elsewhere(self, at: str) -> "Station":
        """A station for reads where a command moves the device. Raises TypeError where no command does."""

    def alive(self) -> bool:
        """Whether a connection is open and has not broken."""

    def noticed(self) -> list[Evidence]:
        """Facts that the device told by itself since this was last asked."""

    def unfit(self, text: str) -> str | None:
        """Why a text can never be carried to this device, or None."""

    def draw(self, step: Send, conn: int, late_s: float) -> Sent:
        """The copy that is to leave, with its number. Without one it may arrive until `late_s` from now."""

    def put_back(self, sent: Sent) -> None:
        """The copy did not get on record."""

    async def copy(self, intent: Intent, silence_s: float) -> Evidence:
        """Write one copy and report what became of it."""

    async def settle(self, step: Settle) -> Evidence:
        """Spend the command's own number on a NOP."""

    async def read(self, query: str, reply: str | None = None) -> ReadAnswer:
        """Ask a query; `reply` is the pattern of its answer where it has one of its own."""

    def close(self) -> None:
        """Close the connection."""


NO_WAY = (Unreachable, WrongDevice, Held)
"""Why a device cannot be worked with; certainly nothing was sent."""


def not_sent(problem: Unreachable | WrongDevice | Held, *, interrupted: bool = False) -> NotSent:
    """The fact that one of `NO_WAY` leaves. `interrupted`: a person ended the effort to reach the device."""
    match problem:
        case WrongDevice():
            return NotSent(Cause.WRONG_DEVICE, f"wrong device: {problem}")
        case Held() | PortHeld(ours=True):
            return NotSent(Cause.HELD, str(problem))
        case PortHeld():
            return NotSent(Cause.UNREACHABLE, str(problem))
    return NotSent(Cause.INTERRUPTED if interrupted else Cause.UNREACHABLE, str(problem))


def check_identity(
    registry: Registry,
    lease: Lease | None,
    want: Expected,
    model: str,
    serial: str,
    firmware: str | None = None,
) -> None:
    """Compare who answered with who must, and pin whom this store has not met before.

    Raises WrongDevice, Held, LeaseLost, StoreError.
    """
    wrong = None
    if want.serial is not None and serial != want.serial:
        wrong = f"serial {escape(serial)} answers at {want.url}, {want.serial} is expected"
    elif want.model is not None and model != want.model:
        wrong = f"model {escape(model)} answers at {want.url}, the profile is for {want.model}"
    elif want.firmware is not None and firmware is not None and not fits(want.firmware, firmware):
        wrong = f"firmware {escape(firmware)} answers at {want.url}, the profile is for {want.firmware}"
    if wrong is not None:
        raise WrongDevice(wrong, serial, model)
    named = want.serial is not None
    if lease is None:
        registry.compare(want.url, want.unit, model, serial, named=named)
    else:
        registry.meet(lease, want.url, want.unit, model, serial, named=named)
