"""What can the policy ask for? Each kind of step is a class here; the executor performs exactly these."""

from dataclasses import dataclass, field
from enum import StrEnum

from agent.evidence import Why
from agent.operation import Cause, Outcome, Proof


class Session(StrEnum):
    """Which session a connection is wanted for (WIRE.md 4.1)."""

    NONE = "none"  # nothing new will be numbered: retries and settling
    KEEP = "keep"  # the stored session where it may go on, else a new one
    FRESH = "fresh"  # a new one in any case


@dataclass(frozen=True, slots=True)
class Connect:
    """Close the old way, wait until `quiesce_s` have passed since the last copy, open anew and check who answers."""

    session: Session = Session.NONE
    quiesce_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Drain:
    """Listen on the open connection until `quiet_s` have passed since the last request; leaves `Drained`."""

    quiet_s: float


@dataclass(frozen=True, slots=True)
class Read:
    """Read a setting."""

    setting: str
    why: Why


@dataclass(frozen=True, slots=True)
class Send:
    """Write one copy. `number` is the (session, seq) of the copies before, None draws the next one."""

    text: str
    attempt: int
    number: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Settle:
    """Spend the number on a NOP, unless it is spent already: either way the fate of the command is known."""

    session: int
    seq: int
    digest: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Find:
    """Close the connection and ask at another address, where the command moves the device; leaves `Found`."""

    at: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Let time pass; leaves `Waited`."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Finish:
    """The word. `why` is a sentence for people; `cause` only where nothing was sent, `unread` as in `Result`."""

    outcome: Outcome
    proof: Proof | None
    why: str
    cause: Cause | None = None
    unread: str | None = field(default=None, repr=False)  # for who tells the end; no part of `step_text`


Step = Connect | Drain | Read | Send | Settle | Find | Wait | Finish


def step_text(step: Step) -> str:
    """A step as one stable line, as the journal keeps it: the kind and its fields in order."""
    return repr(step)
