"""What really happens to a command? A device and a network so small that every play can be played.

Written from WIRE.md 3 and CATALOG.md 2, without `protocol/` and `simulator/`. A `World` is a value: the device's
memory, the copies that are still under way, and how often the command was executed. `moves` gives every world and
the facts that one step of the agent can lead to. Copies may be lost or late, never doubled; the device may start anew
between any two messages; a quiet time ends all copies that are under way. On a stream that opening anew does not cut,
answers may be late too, and then answer whatever is asked next, unless their form tells them apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from agent.evidence import (
    NOP_DIGEST,
    Acked,
    BadSession,
    Burnt,
    Connected,
    Declined,
    Drained,
    Evidence,
    Found,
    NotSent,
    Owner,
    Reading,
    Record,
    Sent,
    Spent,
    Unanswered,
    Unknown,
    Waited,
    Why,
)
from agent.operation import BOOT, Cause
from agent.steps import Connect, Drain, Find, Read, Send, Session, Settle, Step, Wait
from tests.agent.game import DIGEST, Setup

BEFORE, DELTA = 10, 5
Number = tuple[int, int]


@dataclass(frozen=True, slots=True)
class World:
    """The truth.

    `session` 0 is none, `last` the number consumed in it, `record` as in WIRE.md 2; `late` are the copies under way,
    `life` is the session that the agent was last told. `answers` are late ones on a surviving stream, oldest first: an
    ack is None, a reading its value. `cut`: the open connection did not outlive a start of the device. Only where
    somebody reads on the connection of an unanswered copy does that matter. `first`: no copy was written yet.
    """

    executed: int = 0
    value: int = BEFORE
    boot: int = 7
    session: int = 0
    last: int = 0
    opened: int = 0
    record: Record | None = None
    late: tuple[Number | None, ...] = ()
    boots_left: int = 1
    conn: int = 0
    life: int | None = None
    answers: tuple[str | None, ...] = ()
    cut: bool = False
    first: bool = True


Move = tuple[World, tuple[Evidence, ...]]


def moves(setup: Setup, world: World, step: Step) -> Iterator[Move]:
    """Every way in which the world can answer a step."""
    for before in _meanwhile(setup, world):
        match step:
            case Connect():
                yield from _connect(setup, before, step)
            case Send():
                yield from _send(setup, before, step)
            case Settle():
                yield from _settle(before, step)
            case Read():
                yield from _read(setup, before, step)
            case Drain():
                for quiet in _quieted(setup, before):
                    yield quiet, (Drained(quiet.conn, step.quiet_s),)
            case Find():
                yield before, (_found(setup, before),)
            case Wait(seconds=seconds):
                long = seconds >= setup.terms.late_max_s
                for after in _quieted(setup, before) if long else (before,):
                    yield after, (Waited(seconds),)


def endings(setup: Setup, world: World) -> Iterator[World]:
    """The worlds after everything that is under way has arrived or got lost."""
    yield from (w for w in _meanwhile(setup, world) if not w.late)


def _meanwhile(setup: Setup, world: World) -> Iterator[World]:
    """Before each message: late copies may arrive, and the device may start anew, in either order."""
    for some in _arrivals(setup, world):
        yield some
        if some.boots_left:
            yield from _arrivals(setup, _booted(setup, some))


def _arrivals(setup: Setup, world: World) -> Iterator[World]:
    yield world
    if world.late:
        first, rest = world.late[0], world.late[1:]
        yield from _arrivals(setup, _take(setup, replace(world, late=rest), first)[0])


def _booted(setup: Setup, w: World) -> World:
    cut = setup.terms.apart and not setup.terms.survives_reopen
    w = replace(w, boot=w.boot + 1, boots_left=w.boots_left - 1, cut=cut)
    if not setup.durable:
        w = replace(w, session=0, last=0, record=None)
    back = setup.terms.readback
    return replace(w, value=BEFORE) if back is not None and not back.durable else w


def _execute(setup: Setup, w: World) -> World:
    absolute = setup.terms.idempotent or setup.terms.form is not None
    return replace(w, executed=w.executed + 1, value=BEFORE + DELTA if absolute else w.value + DELTA)


def _take(setup: Setup, w: World, number: Number | None) -> tuple[World, Evidence]:
    """A copy reaches the device (WIRE.md 3): what it does, and its reply."""
    if number is None:
        return _execute(setup, w), Acked(1, False, None)
    session, seq = number
    if session != w.session:
        return w, BadSession("cmd", w.boot)
    if seq == w.last and w.record is not None:
        if w.record.digest == DIGEST:
            return w, Acked(1, True, None)
        return w, Spent(Owner.NOP if w.record.digest == NOP_DIGEST else Owner.OTHER, w.record.status)
    if seq != w.last + 1:
        return w, Spent(Owner.OTHER)
    return replace(_execute(setup, w), last=seq, record=Record(session, seq, DIGEST, 0)), Acked(
        1, False, None
    )


def _connect(setup: Setup, w: World, step: Connect) -> Iterator[Move]:
    quiet: tuple[Evidence, ...] = ()
    worlds = [w]
    if step.quiesce_s > 0:
        quiet = (Waited(step.quiesce_s),)
        worlds = list(_quieted(setup, w))
    elif not setup.terms.survives_reopen:
        worlds = [replace(w, answers=())]
    for x in worlds:
        yield x, (*quiet, NotSent(Cause.UNREACHABLE, "refused"))
        x = replace(x, conn=x.conn + 1, cut=False)
        if not setup.numbered:
            yield x, (*quiet, Connected(x.conn))
            continue
        opening = None
        if step.session is Session.FRESH or (step.session is Session.KEEP and x.session == 0):
            opening = x.record
            x = replace(x, opened=x.opened + 1, session=100 * x.boot + x.opened + 1, last=0)
        session = None if step.session is Session.NONE else x.session
        yield x, (*quiet, Connected(x.conn, x.boot, session, x.record, opening, setup.durable))


def _send(setup: Setup, w: World, step: Send) -> Iterator[Move]:
    number = step.number
    if number is None and setup.numbered:
        number = (w.life or 0, 1)
    seq, session, digest = (number[1], number[0], DIGEST) if number else (0, None, None)
    sent = Sent(step.attempt, w.conn, step.text, seq, session, digest)
    w = replace(w, first=False)
    if w.cut:
        yield w, (sent, Unknown("lost"))
        return
    done, reply = _take(setup, w, number)
    stale = _first(setup, w, ack=True)
    if stale is not None:
        yield _without(w, stale), (sent, Acked(step.attempt, False, None))
        later = replace(_without(done, stale), answers=(*_without(done, stale).answers, None))
        yield later, (sent, Acked(step.attempt, False, None))
        return
    yield done, (sent, reply)
    yield done, (sent, Unknown("silence"))
    if not setup.numbered:
        yield replace(done, answers=(*done.answers, None)), (sent, Unknown("silence"))
    yield w, (sent, Unknown("lost"))
    yield replace(w, late=(*w.late, number)), (sent, Unknown("silence"))
    if setup.tells_more:
        yield w, (sent, Declined(step.attempt, "busy", setup.terms.busy_max_s / 2))
        taken = Acked(step.attempt, False, None, queued=True)
        yield replace(w, late=(*w.late, number)), (sent, taken)
        for then in (w, done):
            yield then, (sent, Unknown("indeterminate"))


def _found(setup: Setup, w: World) -> Evidence:
    """At its other address the device answers once it has been moved there."""
    place = setup.terms.elsewhere
    there = w.executed > 0 and place is not None
    return Found(w.first, there, place.expect if there and place is not None else None, "")


def _settle(w: World, step: Settle) -> Iterator[Move]:
    """NOP under the command's own number (WIRE.md 4.5)."""
    yield w, (Unanswered("settle"),)
    if step.session != w.session:
        yield w, (BadSession("nop", w.boot),)
    elif step.seq == w.last and w.record is not None:
        ours = w.record.digest == step.digest
        spent = w.record.digest == NOP_DIGEST
        yield w, (Burnt() if spent else Spent(Owner.OURS if ours else Owner.OTHER, w.record.status),)
    elif step.seq == w.last + 1:
        burnt = replace(w, last=step.seq, record=Record(step.session, step.seq, NOP_DIGEST, 0))
        yield burnt, (Burnt(),)
        yield burnt, (Unanswered("settle"),)
    else:
        yield w, (Spent(Owner.OTHER),)


def _read(setup: Setup, w: World, step: Read) -> Iterator[Move]:
    """A reading is answered, by a late answer first where there is one; or late, or not at all."""
    if w.cut:
        yield w, (Reading(step.setting, None, w.conn, step.why),)
        return
    value = str(w.boot if step.setting == BOOT else w.value)
    stale = _first(setup, w, ack=False)
    if stale is not None:
        seen = w.answers[stale] or str(w.value)  # an ack carries the value after the command
        left = _without(w, stale)
        yield replace(left, answers=(*left.answers, value)), (Reading(step.setting, seen, w.conn, step.why),)
        return
    yield w, (Reading(step.setting, value, w.conn, step.why),)
    if step.why is Why.VERIFY:
        yield w, (Reading(step.setting, None, w.conn, step.why),)
        yield replace(w, answers=(*w.answers, value)), (Reading(step.setting, None, w.conn, step.why),)


def _quieted(setup: Setup, w: World) -> Iterator[World]:
    """After the quiet time: what was under way has arrived or got lost, and nothing is owed."""
    for each in (*(x for x in _arrivals(setup, w) if not x.late), replace(w, late=())):
        yield replace(each, answers=())


def _first(setup: Setup, w: World, *, ack: bool) -> int | None:
    """Which late answer would be taken for the answer to a command or to a reading."""
    told_apart = setup.terms.apart
    fits = (n for n, answer in enumerate(w.answers) if not told_apart or (answer is None) == ack)
    return next(fits, None)


def _without(w: World, n: int) -> World:
    return replace(w, answers=w.answers[:n] + w.answers[n + 1 :])
