"""What is one operation, and under which terms is it carried out?

An operation is one catalog command for one device. Its *terms* are everything the policy may look at besides the
evidence. They are fixed before anything is sent, written into the journal as JSON and never looked up again: an edited
profile or inventory does not change an operation that is under way.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from devices.kinds import Policy

BOOT = "(boot)"
"""The name under which readings of `boot_read` are kept beside those of settings."""


class Outcome(StrEnum):
    """The word at the end (CATALOG.md 3)."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    NOT_SENT = "not_sent"
    NOT_APPLIED = "not_applied"
    IN_DOUBT = "in_doubt"


class Proof(StrEnum):
    """What an outcome stands on."""

    ACK = "ack"
    DUPLICATE_ACK = "duplicate_ack"
    VERIFIED = "verified"
    SETTLED = "settled"
    PERSON = "person"


class Cause(StrEnum):
    """Why nothing was sent; decides the exit code."""

    UNREACHABLE = "unreachable"
    WRONG_DEVICE = "wrong_device"
    FOREIGN = "foreign"  # another store has used the device (WIRE.md 4.7)
    HELD = "held"  # another process holds the device's lease
    DOUBT = "doubt"  # an earlier operation on the device is in doubt
    STORE = "store"  # the journal cannot be written
    INTERRUPTED = "interrupted"
    KEY = "key"  # the key was used for another command
    UNFIT = "unfit"  # the command cannot be carried out as asked (no baseline, target out of range, text too long)


class Numbering(StrEnum):
    """How the equipment numbers commands, which is what makes a repeat harmless."""

    NONE = "none"
    LSQ1 = "lsq1"


@dataclass(frozen=True, slots=True)
class Readback:
    """How a setting tells whether the command took effect (CATALOG.md 2).

    `expect` is an expression over `before`, the arguments and other settings; for an absolute command it names only
    arguments. `at_start`: what a restart of the device puts the setting to, where that is known. `clamps` is None where
    the profile does not say whether the device has stops. `held_as`: how the device holds the number where that rounds
    it, as a Modbus cell such as f32.
    """

    setting: str
    type: str
    expect: str
    step: str | None = None
    tolerance: str | None = None
    min: str | None = None
    max: str | None = None
    durable: bool = False
    at_start: str | None = None
    clamps: bool | None = None
    held_as: str | None = None


@dataclass(frozen=True, slots=True)
class AbsoluteForm:
    """The absolute command that stands in for a relative one: a text template with `{argument}` and its value."""

    template: str
    argument: str
    type: str
    value: str
    step: str | None = None
    min: str | None = None
    max: str | None = None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Where a device is found again after a command that changes its link (CATALOG.md 4, `confirm`).

    `at` is an address as `stations.moved` takes it; there `query` is answered with `expect`.
    """

    at: str
    query: str
    expect: str


@dataclass(frozen=True, slots=True)
class Terms:
    """What the policy knows of a command before any evidence.

    Times in seconds. `attempts_max` counts copies that may end in silence. `survives_reopen`: opening the link again
    does not cut the stream, so old answers may still come (serial). `types` are those of arguments and settings;
    `queries` maps a setting to the text that reads it, `replies` to the pattern of its answer where it has one of its
    own. `apart`: the read-back's answer surely cannot be an ack that is still owed. `queued`: an ack says that the
    command was taken, not that it is done. `mode`: a setting and the value that it must have before the
    command may be sent at all. `setting`: the one that the command changes, where the profile names it. `if_needed`:
    the setting is read first, and nothing is sent where it has the wanted value already. `elsewhere`: the command moves
    the device there. `secrets`: the references in
    the text, in the place of which the device gets the values.
    """

    policy: Policy
    idempotent: bool
    numbering: Numbering
    text: str
    args: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    queries: Mapping[str, str] = field(default_factory=dict)
    replies: Mapping[str, str] = field(default_factory=dict)
    readback: Readback | None = None
    form: AbsoluteForm | None = None
    elsewhere: Elsewhere | None = None
    boot_query: str | None = None
    mode: tuple[str, str] | None = None
    setting: str | None = None
    attempts_max: int = 3
    settle_s: float = 0.0
    late_max_s: float = 5.0
    reply_s: float = 1.0
    busy_max_s: float = 60.0
    survives_reopen: bool = False
    nak_may_follow_effect: bool = False
    apart: bool = False
    queued: bool = False
    if_needed: bool = False
    secrets: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The terms as one line of JSON, as the journal keeps them."""
        return json.dumps(_plain(self), separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Terms":
        """The inverse of `to_json`."""
        data = json.loads(text)
        data["policy"] = Policy(data["policy"])
        data["numbering"] = Numbering(data["numbering"])
        if data.get("readback") is not None:
            data["readback"] = Readback(**data["readback"])
        if data.get("form") is not None:
            data["form"] = AbsoluteForm(**data["form"])
        if data.get("elsewhere") is not None:
            data["elsewhere"] = Elsewhere(**data["elsewhere"])
        if data.get("mode") is not None:
            data["mode"] = tuple(data["mode"])
        data["secrets"] = tuple(data.get("secrets", ()))
        return cls(**data)


def _plain(part: Terms | Readback | AbsoluteForm | Elsewhere) -> dict[str, Any]:
    """The fields of a part of the terms, its parts taken apart too (`asdict` copies deeply, which costs ten times)."""
    fields = {name: getattr(part, name) for name in part.__slots__}
    fields = {name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items()}
    for name in ("readback", "form", "elsewhere"):
        if fields.get(name) is not None:
            fields[name] = _plain(fields[name])
    return fields


@dataclass(frozen=True, slots=True)
class Operation:
    """One command for one device, as submitted: who asked for what, under which terms."""

    op: str
    device: str
    command: str
    kind: str
    terms: Terms
    profile: str
    profile_digest: str
    route: str
    submitted_by: str
    key: str | None = None
    reason: str | None = None
    run: str | None = None
    step: str | None = None
    engine: str = "agent"

    @property
    def effect_class(self) -> str:
        """`idempotent` or `cumulative`."""
        return "idempotent" if self.terms.idempotent else "cumulative"


@dataclass(frozen=True, slots=True)
class Result:
    """How an operation ended, with the figures of the JSON contract (CLI.md 2). `attempts` counts copies written.

    `unread`: the setting (or `BOOT`) that could not be read before the first copy, where nothing was sent for that.
    """

    outcome: Outcome
    proof: Proof | None
    message: str
    cause: Cause | None = None
    seq: int | None = None
    attempts: int = 0
    before: str | None = None
    expected: str | None = None
    value: str | None = None
    elapsed_s: float | None = None
    unread: str | None = None
