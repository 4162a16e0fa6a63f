"""What do agent and device say to each other?

One typed message per type of WIRE.md section 2, nothing but data; `payload` turns them into bytes and back.
The text of a command or read *request* may be any bytes (the device answers BAD_COMMAND), so those messages
keep the bytes and say `text = None`; every other text is UTF-8, or the frame is dropped.
"""

from dataclasses import dataclass

from protocol.native.codes import State, Status

# What travels inside messages


@dataclass(frozen=True, slots=True)
class Record:
    """The last number consumed on a device in any session, NOP included."""

    session: int
    seq: int
    digest: int
    status: Status


@dataclass(frozen=True, slots=True)
class Spent:
    """What has used a number: the digest of its request and the stored answer (text empty if not kept)."""

    digest: int
    status: Status
    text: str


# Requests


@dataclass(frozen=True, slots=True)
class HelloRequest:
    """Who are you?"""


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A new session for the agent that owns `epoch`; `nonce` names this attempt."""

    agent: int
    epoch: int
    nonce: int


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """Execute the command text; `text` is None where the bytes are empty or no UTF-8."""

    payload: bytes
    text: str | None


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Answer a query that changes nothing; `text` as in `CommandRequest`."""

    payload: bytes
    text: str | None


@dataclass(frozen=True, slots=True)
class NopRequest:
    """Consume the number, do nothing."""


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """What became of this number? Consumes nothing."""


@dataclass(frozen=True, slots=True)
class CloseRequest:
    """End the session."""


Request = HelloRequest | OpenRequest | CommandRequest | ReadRequest | NopRequest | QueryRequest | CloseRequest


# Replies


@dataclass(frozen=True, slots=True)
class HelloReply:
    """Who the device is and what it remembers; `max_body` and `reply_max` in bytes."""

    serial: str
    model: str
    firmware: str
    boot_id: int
    epoch: int
    nv_tier: int
    max_body: int
    reply_max: int
    record: Record | None


@dataclass(frozen=True, slots=True)
class OpenReply:
    """OPENED (status OK, `session` is the new one) or a refusal (`session` 0); `epoch` is the stored one."""

    status: Status
    session: int
    nonce: int
    boot_id: int
    epoch: int
    record: Record | None


@dataclass(frozen=True, slots=True)
class CommandReply:
    """The answer to a CMD; each optional field is present exactly with its status.

    `boot_id`: BAD_SESSION; `last`: MISORDERED; `spent`: FALSE_RETRY; `uncached` (as stored): DONE_UNCACHED.
    """

    status: Status
    attempt: int
    replayed: bool
    text: str = ""
    boot_id: int | None = None
    last: int | None = None
    spent: Spent | None = None
    uncached: Status | None = None


@dataclass(frozen=True, slots=True)
class NopReply:
    """The answer to a NOP; the optional fields as in `CommandReply`."""

    status: Status
    attempt: int
    replayed: bool
    boot_id: int | None = None
    last: int | None = None
    spent: Spent | None = None


@dataclass(frozen=True, slots=True)
class ReadReply:
    """The value (OK), why there is none, or BUSY."""

    status: Status
    text: str = ""


@dataclass(frozen=True, slots=True)
class QueryReply:
    """The state of a number; DONE brings `digest`, `status` and `text`. `state` is None with BAD_SESSION."""

    state: State | None
    digest: int | None = None
    status: Status | None = None
    text: str = ""
    boot_id: int | None = None


@dataclass(frozen=True, slots=True)
class CloseReply:
    """OK, BUSY, or BAD_SESSION with the device's `boot_id`."""

    status: Status
    boot_id: int | None = None


Reply = HelloReply | OpenReply | CommandReply | NopReply | ReadReply | QueryReply | CloseReply
