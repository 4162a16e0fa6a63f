"""What can be known about one operation? Each kind of fact is a class here.

Facts are append-only, in the order in which they were learnt, and are all that the policy sees. They survive in the
journal as (kind, fields), so every field is a plain value.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from agent.operation import Cause

NOP_DIGEST = 0xA2681B02
"""The digest of a number that was spent on a NOP (WIRE.md 2)."""


class Record(NamedTuple):
    """The last number that a device consumed, as HELLO and OPENED show it (WIRE.md 2)."""

    session: int
    seq: int
    digest: int
    status: int


class Why(StrEnum):
    """What a reading is for."""

    BASELINE = "baseline"
    VERIFY = "verify"


class Owner(StrEnum):
    """Whose content a spent number carries."""

    OURS = "ours"
    NOP = "nop"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Connected:
    """A link is open and the right device answered on it.

    `conn` counts the connections of this operation. `session` is the one that numbers may be drawn in, None if none was
    asked for. `opening` is the record that OPENED of this session showed; `durable` means that the device's memory
    survives boots (tier 2); `epoch` is the highest one that the device knows, by which a wiped memory shows.
    """

    conn: int
    boot: int | None = None
    session: int | None = None
    record: Record | None = None
    opening: Record | None = None
    durable: bool = False
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class NotSent:
    """Opening the way to the device failed; certainly no byte of the command left in this step."""

    cause: Cause
    why: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A harmless request (`settle`) got no answer."""

    what: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A setting was read; `value` is None where the read failed. A failed read is unknown, never 0.

    `problem`: what the device said where it answered and gave no value; None where it did not answer, so that the
    answer is still owed.
    """

    setting: str
    value: str | None
    conn: int
    why: Why
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """A copy is about to leave: durable before its first byte. `session` and `digest` only on numbering devices."""

    attempt: int
    conn: int
    text: str
    seq: int
    session: int | None = None
    digest: int | None = None


@dataclass(frozen=True, slots=True)
class Acked:
    """The device says that the command was executed; `duplicate`: answered from its memory, not executed again.

    `queued`: it says that it has taken the command, and not that it is done.
    """

    attempt: int
    duplicate: bool
    value: str | None
    queued: bool = False


@dataclass(frozen=True, slots=True)
class Nakked:
    """The device says that it did not execute the command."""

    attempt: int
    text: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """The copy ended without a word: `silence`, `lost` (reset, cut, partial write).

    `indeterminate`: it was answered, and the answer says neither that it was executed nor that it was not. `why`: what
    is known beside that, such as how a program failed; empty where nothing is.
    """

    how: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Unsent:
    """The copy did not leave after all: certainly no byte of it was written. The connection is of no use any more."""

    why: str


@dataclass(frozen=True, slots=True)
class Deferred:
    """The device was alive and busy: `in_progress` with this very copy or `busy` with another command.

    `to`: what it answered so, a copy (`cmd`) or the NOP that settles (`nop`).
    """

    how: str
    waited_s: float
    to: str = "cmd"


@dataclass(frozen=True, slots=True)
class Declined:
    """The device was busy and took nothing of the copy: it has no effect, and may be sent again.

    `waited_s`: the pause that was made since.
    """

    attempt: int
    text: str
    waited_s: float


@dataclass(frozen=True, slots=True)
class BadSession:
    """The device does not know the session, said in a reply to `cmd` or `nop`."""

    to: str
    boot: int


@dataclass(frozen=True, slots=True)
class Burnt:
    """A NOP took the number: the command never ran and never will."""


@dataclass(frozen=True, slots=True)
class Spent:
    """The number was used before. `status` is the stored one, where the device told."""

    by: Owner
    status: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Booted:
    """The device announced a start on this connection."""

    conn: int


@dataclass(frozen=True, slots=True)
class Found:
    """Who answers where the command moves the device: `value` as it was read there, None without one.

    `before`: asked before the first copy. `answered`: somebody did, whoever it is. `text` says it for people.
    """

    before: bool
    answered: bool
    value: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Waited:
    """Time passed on purpose."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Drained:
    """The open connection was listened to until nothing that was asked before could be answered, or arrive, any more.

    `seconds` since the last request; `alive` is False where the connection broke meanwhile.
    """

    conn: int
    seconds: float
    alive: bool = True


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Nobody wants further copies: a person interrupted, or (`UNREACHABLE`) the deadline has passed."""

    why: str
    cause: Cause = Cause.INTERRUPTED


@dataclass(frozen=True, slots=True)
class TakenUp:
    """The operation was taken up again, by a new process or a new question.

    `resend`: whoever asks wants the command done (same key, `resume`); else only its fate is wanted. The effort starts
    anew; connections and waits of before are gone.
    """

    resend: bool


@dataclass(frozen=True, slots=True)
class Person:
    """A person decided."""

    applied: bool
    who: str
    reason: str


Evidence = (
    Connected
    | NotSent
    | Unanswered
    | Reading
    | Sent
    | Acked
    | Nakked
    | Unknown
    | Unsent
    | Deferred
    | Declined
    | BadSession
    | Burnt
    | Spent
    | Booted
    | Found
    | Waited
    | Drained
    | GiveUp
    | TakenUp
    | Person
)

KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in Evidence.__args__}
_ENUMS: dict[str, type[StrEnum]] = {"cause": Cause, "by": Owner}
_DEVICE_TEXTS: dict[type[Any], str] = {
    Acked: "value",
    Declined: "text",
    Found: "text",
    Nakked: "text",
    NotSent: "why",
    Reading: "problem",
    Spent: "text",
    Unknown: "why",
    Unsent: "why",
}
"""Where a fact repeats what the device said, and nothing is decided by it."""


def masked(fact: Evidence, mask: Callable[[str], str]) -> Evidence:
    """A fact with `mask` applied to what it repeats of the device's words, but for the value of a reading."""
    name = _DEVICE_TEXTS.get(type(fact))
    text = getattr(fact, name) if name is not None else None
    if name is None or text is None or mask(text) == text:
        return fact
    one_of_them: Any = fact
    changed: Evidence = replace(one_of_them, **{name: mask(text)})
    return changed


def fields_of(fact: Evidence) -> dict[str, Any]:
    """A fact's fields as JSON-able values."""
    return {name: getattr(fact, name) for name in fact.__slots__}


def fact_of(kind: str, fields: dict[str, Any]) -> Evidence:
    """The fact that `fields_of` took apart. Raises KeyError, TypeError or ValueError on what is none."""
    for name in ("record", "opening"):
        if fields.get(name) is not None:
            fields[name] = Record(*fields[name])
    for name, enum in _ENUMS.items():
        if name in fields:
            fields[name] = enum(fields[name])
    if kind == "Reading":
        fields["why"] = Why(fields["why"])
    fact: Evidence = KINDS[kind](**fields)
    return fact
