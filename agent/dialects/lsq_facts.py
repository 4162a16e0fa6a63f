"""What does an LSQ1 reply say, as a fact? Pure translation from the wire's messages to evidence (WIRE.md 2, 4)."""

from agent.evidence import (
    NOP_DIGEST,
    Acked,
    BadSession,
    Burnt,
    Connected,
    Evidence,
    Nakked,
    Owner,
    Record,
    Spent,
)
from agent.exchange import Answer, Held
from agent.leases import Session
from protocol.native.codes import REFUSALS, Status
from protocol.native.messages import CommandReply, HelloReply, NopReply
from protocol.native.messages import Record as WireRecord
from protocol.native.requester import Answered, Ignored, Waiting

DURABLE_TIER = 2
"""From this tier on a device's memory survives a boot (WIRE.md 3)."""


def classify(event: Answered | Waiting | Ignored) -> Answer | Held | None:
    """An event of the stream as an answer, a sign of life, or neither."""
    match event:
        case Answered(reply=reply):
            return Answer(reply)
        case Waiting(status=status):
            return Held("busy" if status is Status.BUSY else "in_progress", 0.0)
    return None


def meaning_of(reply: CommandReply, ours: int | None) -> Evidence:
    """What a reply to our own copy says (WIRE.md 2)."""
    status = (
        reply.uncached
        if reply.status is Status.DONE_UNCACHED and reply.uncached is not None
        else reply.status
    )
    duplicate = reply.replayed or reply.status is Status.DONE_UNCACHED
    if status is Status.OK:
        return Acked(reply.attempt, duplicate, reply.text or None)
    if status in REFUSALS:
        return Nakked(reply.attempt, reply.text or status.name)
    if status is Status.INDETERMINATE:
        return Spent(Owner.OURS, int(status), reply.text)
    if status is Status.BAD_SESSION:
        return BadSession("cmd", reply.boot_id or 0)
    if reply.spent is not None:
        owner = {ours: Owner.OURS, NOP_DIGEST: Owner.NOP}.get(reply.spent.digest, Owner.OTHER)
        return Spent(owner, int(reply.spent.status), reply.spent.text)
    return Spent(Owner.OTHER)


def fate_of(reply: NopReply, ours: int) -> Evidence:
    """What the answer to a NOP under a command's own number says of that command (WIRE.md 4.5)."""
    match reply.status:
        case Status.OK:
            return Burnt()
        case Status.BAD_SESSION:
            return BadSession("nop", reply.boot_id or 0)
        case Status.FALSE_RETRY if reply.spent is not None:
            owner = Owner.OURS if reply.spent.digest == ours else Owner.OTHER
            return Spent(owner, int(reply.spent.status), reply.spent.text)
    return Spent(Owner.OTHER)


def connected(
    conn: int,
    hello: HelloReply,
    session: Session | None,
    record: Record | None,
    boot: int | None = None,
    epoch: int | None = None,
) -> Connected:
    """A connection that answered HELLO, and the session entered on it; `boot`, `epoch` where OPENED told newer ones."""
    return Connected(
        conn,
        hello.boot_id if boot is None else boot,
        session.session if session is not None else None,
        record,
        session.opening if session is not None else None,
        hello.nv_tier >= DURABLE_TIER,
        hello.epoch if epoch is None else epoch,
    )


def record_of(record: WireRecord | None) -> Record | None:
    """A record off the wire as evidence keeps it."""
    return (
        Record(record.session, record.seq, record.digest, int(record.status)) if record is not None else None
    )


def foreign(epoch: int, drawn: int) -> str:
    """Why a device is left alone whose epoch our store has not drawn (WIRE.md 4.7)."""
    return (
        f"another store has used the device (its epoch is {epoch}, ours is {drawn}); "
        "ackonce probe TARGET --take-over --reason TEXT makes it ours"
    )
