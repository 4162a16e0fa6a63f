"""What can the executor report after each step of the policy?

The game of one operation: the policy moves by a step, the world answers with facts. `answers` lists every kind of
answer that a step can have, `intrusions` what may come in from outside between two steps, each at most once
per game. Nothing is asserted here. A position is a list of facts; `Setup` fixes the rest.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agent import policy, reckoning
from agent.evidence import (
    NOP_DIGEST,
    Acked,
    BadSession,
    Booted,
    Burnt,
    Connected,
    Declined,
    Deferred,
    Drained,
    Evidence,
    Found,
    GiveUp,
    Nakked,
    NotSent,
    Owner,
    Reading,
    Record,
    Sent,
    Spent,
    TakenUp,
    Unanswered,
    Unknown,
    Unsent,
    Waited,
    Why,
)
from agent.operation import BOOT, Cause, Numbering, Terms
from agent.reckoning import View
from agent.steps import Connect, Drain, Find, Finish, Read, Send, Session, Settle, Step, Wait

BASELINE, WANTED, STRANGE = "10", "15", "99"
"""The values of a setting: before, as expected after the command, and neither."""

DIGEST = 0x4C9F0E6B
FIRST_BOOT = 7
KEPT = (0x70001, 5)
"""The number of the first copy in a session that goes on."""
OPENED = (0x70002, 1)
"""The number of the first copy in a session that was opened for it."""
AS_OPENED = Record(0x60001, 9, 1, 0)
"""The record that OPENED showed."""

Facts = Sequence[Evidence]


@dataclass(frozen=True, slots=True)
class Brain:
    """The code under test; mutants bring their own."""

    decide: Callable[[Terms, View], Step] = policy.decide
    reckon: Callable[[Facts], View] = reckoning.reckon

    def next_step(self, terms: Terms, facts: Facts) -> Step:
        """The policy's step after these facts."""
        return self.decide(terms, self.reckon(facts))


@dataclass(frozen=True, slots=True)
class Setup:
    """One command on one kind of equipment.

    `durable`: tier 2. `kept`: the session existed before the command. `disturbed`: played with intrusions.
    `tells_more`: the device may say that it takes nothing now, that it has taken the command, or that it cannot tell.
    """

    name: str
    terms: Terms
    durable: bool = False
    kept: bool = False
    disturbed: bool = True
    tells_more: bool = False

    @property
    def numbered(self) -> bool:
        """Whether the equipment numbers its commands."""
        return self.terms.numbering is Numbering.LSQ1


def left(facts: Facts) -> list[Sent]:
    """The copies that left."""
    copies: list[Sent] = []
    for fact in facts:
        if isinstance(fact, Sent):
            copies.append(fact)
        elif isinstance(fact, Unsent) and (copies[-1].session is None or len(copies) == 1):
            copies.pop()  # a number whose earlier copies left stays in use
    return copies


def answers(setup: Setup, facts: Facts, step: Step) -> Iterator[tuple[Evidence, ...]]:
    """Every answer that the step can have, each as the facts that the executor would add. None to `Finish`."""
    match step:
        case Connect():
            yield from _to_connect(setup, facts, step)
        case Send():
            yield from _to_send(setup, facts, step)
        case Settle():
            told: list[Evidence] = [Burnt(), BadSession("nop", _boot(facts)), Unanswered("settle")]
            told += [Deferred("busy", setup.terms.busy_max_s / 2, "nop")]
            told += [Spent(Owner.OURS, 0), Spent(Owner.OURS, 1), Spent(Owner.OURS, 4), Spent(Owner.OTHER)]
            yield from ((fact,) for fact in told)
        case Drain(quiet_s=quiet_s):
            yield (Drained(_conn(facts), quiet_s),)
            yield (Drained(_conn(facts), quiet_s, alive=False),)
        case Read():
            yield from _to_read(setup, facts, step)
        case Find():
            yield from ((fact,) for fact in _to_find(setup, facts))
        case Wait(seconds=seconds):
            yield (Waited(seconds),)


def _to_find(setup: Setup, facts: Facts) -> Iterator[Evidence]:
    before, place = not left(facts), setup.terms.elsewhere
    yield Found(before, False, None, "nobody")
    yield Found(before, True, None, "somebody")
    if place is not None:
        yield Found(before, True, place.expect, "it")


def intrusions(setup: Setup, facts: Facts, step: Step) -> Iterator[tuple[Evidence, ...]]:
    """What may come from outside instead: giving up, being taken up again, a start of the device; each at most once."""
    if not setup.disturbed:
        return
    ended = isinstance(step, Finish)
    kinds = {type(fact) for fact in facts}
    if not ended and GiveUp not in kinds:
        yield (GiveUp("Ctrl-C"),)
    back = setup.terms.readback
    forgets = back is not None and not back.durable and not setup.numbered
    if not ended and forgets and Booted not in kinds and Connected in kinds:
        yield (Booted(_conn(facts)),)
    for resend in (True, False) if TakenUp not in kinds else ():
        yield (TakenUp(resend),)
        if isinstance(step, Send):
            yield (_drawn(setup, facts, step), TakenUp(resend))


def _to_connect(setup: Setup, facts: Facts, step: Connect) -> Iterator[tuple[Evidence, ...]]:
    quiet = (Waited(step.quiesce_s),) if step.quiesce_s > 0 else ()
    yield (*quiet, NotSent(Cause.UNREACHABLE, "refused"))
    conn = _conn(facts) + 1
    if not setup.numbered:
        yield (*quiet, Connected(conn))
        return
    copy = _last_copy(facts)
    boot = _boot(facts)
    if copy is None or copy.session is None:
        session, opening = (KEPT[0], None) if setup.kept else (OPENED[0], AS_OPENED)
        yield (*quiet, Connected(conn, boot, session, AS_OPENED, opening, setup.durable))
        return
    for now in {boot, FIRST_BOOT + 1}:
        for record in _records(copy.session, copy.seq, _opening(facts, copy.session)):
            fresh = step.session is Session.FRESH
            opened = copy.session + 1 if fresh else None
            yield (*quiet, Connected(conn, now, opened, record, record if fresh else None, setup.durable))


def _records(session: int, seq: int, opening: Record | None) -> Iterator[Record | None]:
    """What HELLO and OPENED can show after a copy with this number."""
    if opening is not None:
        yield opening
    yield from (Record(session, seq, DIGEST, status) for status in (0, 1, 4))
    yield Record(session, seq, NOP_DIGEST, 0)
    yield Record(session, seq, 2, 0)
    if seq > 1:
        yield Record(session, seq - 1, 3, 0)
    yield Record(session + 0x100, 1, 4, 0)
    yield None


def _to_send(setup: Setup, facts: Facts, step: Send) -> Iterator[tuple[Evidence, ...]]:
    sent = _drawn(setup, facts, step)
    words: list[Evidence] = [Acked(step.attempt, False, None), Nakked(step.attempt, "no")]
    words += [Unknown("silence"), Unknown("lost")]
    if step.attempt > 1 and setup.numbered:
        words.append(Acked(step.attempt, True, None))
    if setup.numbered:
        words.append(BadSession("cmd", _boot(facts)))
        words += [Spent(Owner.OURS, 4), Spent(Owner.NOP, 0), Spent(Owner.OTHER)]
    if setup.tells_more:
        words.append(Declined(step.attempt, "busy", setup.terms.busy_max_s / 2))
        words += [Acked(step.attempt, False, None, queued=True), Unknown("indeterminate")]
    words.append(Unsent("the device closed the connection"))
    words.append(Deferred("in_progress", setup.terms.busy_max_s))
    yield from ((sent, word) for word in words)


def _to_read(setup: Setup, facts: Facts, step: Read) -> Iterator[tuple[Evidence, ...]]:
    values: tuple[str | None, ...] = (BASELINE, None, *([WANTED] if setup.terms.if_needed else []))
    if step.setting == BOOT:
        values = ("1", None) if step.why is Why.BASELINE else ("1", "2", None)
    elif step.why is Why.VERIFY:
        read_before = any(isinstance(fact, Reading) and fact.why is Why.BASELINE for fact in facts)
        values = (*((BASELINE,) if read_before else ()), WANTED, STRANGE, None)
    yield from ((Reading(step.setting, value, _conn(facts), step.why),) for value in values)
    if not setup.numbered and (step.why is Why.BASELINE or setup.terms.attempts_max == 1):
        yield (Reading(step.setting, None, _conn(facts), step.why, "the device says 'ERR'"),)


def _drawn(setup: Setup, facts: Facts, step: Send) -> Sent:
    """The copy as the station draws it: a new number is the next of the connection's session."""
    if not setup.numbered:
        return Sent(step.attempt, _conn(facts), step.text, 0)
    number = step.number
    if number is None:
        life = next(fact for fact in reversed(facts) if isinstance(fact, Connected))
        session = life.session or 0
        number = KEPT if session == KEPT[0] and setup.kept else (session, 1)
    return Sent(step.attempt, _conn(facts), step.text, number[1], number[0], DIGEST)


def _opening(facts: Facts, session: int) -> Record | None:
    lives = (fact for fact in facts if isinstance(fact, Connected) and fact.session == session)
    return next((life.opening for life in lives), None)


def _conn(facts: Facts) -> int:
    return next((fact.conn for fact in reversed(facts) if isinstance(fact, Connected)), 0)


def _boot(facts: Facts) -> int:
    boots = (fact.boot for fact in reversed(facts) if isinstance(fact, Connected))
    return next((boot for boot in boots if boot is not None), FIRST_BOOT)


def _last_copy(facts: Facts) -> Sent | None:
    return next(reversed(left(facts)), None)
