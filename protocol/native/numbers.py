"""Is this number new, repeated, spent or out of order?

The heart of last-seq deduplication (WIRE.md section 3, CMD and NOP, QUERY) as two functions without effect:
what the device remembers and the request go in, the answer comes out. The order of the questions is the
paper's.
"""

from collections.abc import Hashable
from dataclasses import dataclass

from protocol.native.codes import SEQ_MAX, State, Status
from protocol.native.frame import Frame, digest
from protocol.native.memory import LiveMemory, Slot
from protocol.native.messages import CommandReply, QueryReply, Spent


@dataclass(frozen=True, slots=True)
class Running:
    """The command that is being executed: the copy that started it, and where that came from."""

    conn: Hashable
    request: Frame
    digest: int


def numbered(live: LiveMemory, running: Running | None, request: Frame, boot_id: int) -> CommandReply | None:
    """The answer to a CMD or NOP that must not be executed; None: it is new, execute it.

    A NOP's answers have the shapes of a CMD's, without text.
    """
    content = digest(request.type, request.payload)
    if not live.is_open(request.session):
        return CommandReply(Status.BAD_SESSION, request.attempt, False, boot_id=boot_id)
    if running:
        same = (request.seq, content) == (running.request.seq, running.digest)
        return CommandReply(Status.IN_PROGRESS if same else Status.BUSY, request.attempt, False)
    if live.slot and request.seq == live.last:
        return _spent(live.slot, content, request.attempt)
    if request.seq == live.last + 1 and request.seq <= SEQ_MAX:
        return None
    return CommandReply(Status.MISORDERED, request.attempt, False, last=live.last)


def state(live: LiveMemory, running: Running | None, request: Frame, boot_id: int) -> QueryReply:
    """What became of a number; a text that was not kept is empty."""
    if not live.is_open(request.session):
        return QueryReply(None, boot_id=boot_id)
    if running and request.seq == running.request.seq:
        return QueryReply(State.RUNNING)
    if live.slot and request.seq == live.last:
        return QueryReply(State.DONE, live.slot.digest, live.slot.status, live.slot.text or "")
    return QueryReply(State.NEVER if request.seq > live.last else State.GONE)


def _spent(slot: Slot, content: int, attempt: int) -> CommandReply:
    """The number is spent: by this very content, whose answer comes again, or by another."""
    if content != slot.digest:
        spent = Spent(slot.digest, slot.status, slot.text or "")
        return CommandReply(Status.FALSE_RETRY, attempt, False, spent=spent)
    if slot.text is None:
        return CommandReply(Status.DONE_UNCACHED, attempt, False, uncached=slot.status)
    return CommandReply(slot.status, attempt, True, slot.text)
