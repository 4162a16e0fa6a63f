"""Which words does the evidence allow? Read from the papers, without the policy.

A second opinion on the same facts: WIRE.md 4.5 and 4.6 for numbered commands, the evidence rules of CATALOG.md 2 for
read-backs. It knows no steps and no attempts; it only says which words would be true. Where it allows none, only
`in_doubt` is left; where it allows one, a doubt could have been avoided.
"""

from dataclasses import dataclass, field, replace
from typing import Any

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
    Nakked,
    Owner,
    Reading,
    Record,
    Sent,
    Spent,
    TakenUp,
    Unknown,
    Unsent,
    Waited,
    Why,
)
from agent.operation import BOOT, Outcome, Terms
from devices.kinds import Policy
from tests.agent.game import BASELINE, DIGEST, WANTED


@dataclass(frozen=True, slots=True)
class Fate:
    """What is known of one number of the command. `garbled`: the device could not tell, or somebody else used it."""

    number: tuple[int, int] = field(compare=False)
    opening: Record | None = field(compare=False)
    boot: int | None
    single: bool = True
    ran: bool = False
    refused: bool = False
    never: bool = False
    over: bool = False
    garbled: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """One reading of the read-back. `paused`: on purpose since the look before it. `owed`: an older answer was due.

    `beside`: only the answer to a copy was due, which can be told from this one on a stream that outlives reopening.
    """

    value: str | None
    paused: bool
    quiet: bool
    owed: bool
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Judge:
    """All that the facts so far amount to.

    `here`: no reconnect since the baseline or, without one, the last copy. `behind`: on the connection of the last
    copy, which was refused. `queued`: the device has only taken the command. `taken` are the copies that a busy device
    has not turned away. `moved`: the device answers where the command moves it. What only names a number is left out of
    comparisons, so that games which differ in nothing but names can be told to be the same.
    """

    copies: int = 0
    taken: int = 0
    moved: bool = False
    fates: tuple[Fate, ...] = ()
    boot: int | None = None
    opening: Record | None = field(default=None, compare=False)
    acked: bool = False
    refused: bool = False
    before: str | None = None
    before_paused: bool = False
    boot_before: str | None = None
    boot_after: str | None = None
    looks: tuple[Look, ...] = ()
    here: bool = False
    behind: bool = False
    booted: bool = False
    queued: bool = False
    owed_copy: bool = False
    owed_read: bool = False
    waited_s: float = 0.0
    paused: bool = False


def learn(terms: Terms, j: Judge, fact: Evidence) -> Judge:
    """The judge after one more fact."""
    match fact:
        case Connected():
            owed = (j.owed_copy and terms.survives_reopen, j.owed_read and terms.survives_reopen)
            j = replace(j, boot=fact.boot, here=False, behind=False, opening=fact.opening)
            j = replace(j, owed_copy=owed[0], owed_read=owed[1])
            if not j.copies:
                j = replace(j, before=None, boot_before=None, booted=False)
            return _newest(j, **_record_says(j.fates[-1], fact)) if j.fates else j
        case Sent():
            return _copy(terms, j, fact)
        case Waited(seconds=seconds) | Drained(seconds=seconds):
            j = replace(j, waited_s=min(j.waited_s + seconds, terms.late_max_s), paused=True)
            if isinstance(fact, Drained) and not fact.alive:
                j = replace(j, behind=False)
            return replace(j, owed_copy=False, owed_read=False) if seconds >= terms.late_max_s else j
        case Unknown(how="indeterminate"):
            return replace(j, behind=False)
        case Unknown() | Deferred():
            return replace(j, behind=False, owed_copy=True)
        case Declined():
            return replace(j, behind=False, taken=j.taken - 1)
        case Found(before=False, value=value):
            moved = terms.elsewhere is not None and value == terms.elsewhere.expect
            return replace(j, here=False, behind=False, moved=moved)
        case Unsent():
            if j.fates and j.copies > 1:
                return replace(j, behind=False, owed_copy=True)
            return replace(j, behind=False, copies=j.copies - 1, taken=j.taken - 1, fates=())
        case Reading():
            return _reading(terms, j, fact)
        case Booted():
            return replace(j, booted=j.before is not None or j.boot_before is not None or j.copies > 0)
        case TakenUp():
            kept = j if j.copies else replace(j, before=None, boot_before=None, booted=False)
            return replace(kept, looks=(), boot_after=None, behind=False, waited_s=0.0)
        case Acked() | Nakked() | Burnt() | Spent() | BadSession():
            return _word(terms, j, fact)
    return j


def _copy(terms: Terms, j: Judge, fact: Sent) -> Judge:
    j = replace(
        j,
        copies=min(9, j.copies + 1),
        taken=min(9, j.taken + 1),
        moved=False,
        looks=(),
        boot_after=None,
        waited_s=0.0,
        paused=False,
        behind=True,
    )
    if terms.idempotent:
        j = replace(j, here=True)
    if fact.session is None:
        return j
    number = (fact.session, fact.seq)
    if j.fates and j.fates[-1].number == number:
        return _newest(j, single=False)
    return replace(j, fates=(*_summed_up(j.fates), Fate(number, j.opening, j.boot)))


def _summed_up(fates: tuple[Fate, ...]) -> tuple[Fate, ...]:
    """Earlier numbers as one: it never ran if none did, it ran if any did."""
    if len(fates) < 2:
        return fates
    ran, refused = any(f.ran for f in fates), any(f.refused for f in fates)
    never = all(f.never for f in fates)
    garbled = any(f.garbled for f in fates)
    return (Fate((0, 0), None, None, False, ran, refused, never, over=True, garbled=garbled),)


def _word(terms: Terms, j: Judge, fact: Acked | Nakked | Burnt | Spent | BadSession) -> Judge:
    if not j.fates:
        no = isinstance(fact, Nakked) and j.taken == 1 and not terms.nak_may_follow_effect
        acked = isinstance(fact, Acked)
        queued = isinstance(fact, Acked) and (terms.queued or fact.queued)
        behind = isinstance(fact, Nakked) and (j.taken == 1 or not terms.idempotent)
        j = replace(j, refused=no, owed_copy=False, behind=behind)
        return replace(j, acked=j.acked or (acked and not queued), queued=queued)
    match fact:
        case Acked() | Spent(by=Owner.OURS, status=0):
            return _newest(j, ran=True)
        case Nakked() | Spent(by=Owner.OURS, status=1 | 2 | 3):
            return _newest(j, refused=True, never=True)
        case Burnt() | Spent(by=Owner.NOP):
            return _newest(j, never=True)
        case BadSession(to=to):
            turned_away = to == "cmd" and j.fates[-1].single
            return _newest(j, over=True, never=j.fates[-1].never or turned_away)
    return _newest(j, garbled=True)


def _newest(j: Judge, **learnt: bool) -> Judge:
    changes: dict[str, Any] = dict(learnt)
    return replace(j, fates=(*j.fates[:-1], replace(j.fates[-1], **changes)))


def _record_says(fate: Fate, seen: Connected) -> dict[str, bool]:
    record, (session, seq) = seen.record, fate.number
    if record is not None and (record.session, record.seq) == fate.number:
        ours = record.digest == DIGEST
        refused = ours and record.status in (1, 2, 3)
        return {
            "ran": fate.ran or (ours and record.status == 0),
            "refused": fate.refused or refused,
            "never": fate.never or refused or record.digest == NOP_DIGEST,
            "garbled": fate.garbled or record.digest not in (DIGEST, NOP_DIGEST) or record.status == 4,
        }
    one_before = record is not None and (record.session, record.seq) == (session, seq - 1)
    untouched = one_before or (seq == 1 and record == fate.opening)
    alive_till_then = seen.durable or seen.boot == fate.boot
    return {"never": fate.never or (fate.over and alive_till_then and untouched)}


def _reading(terms: Terms, j: Judge, fact: Reading) -> Judge:
    owed = j.owed_read or (j.owed_copy and not terms.apart)
    beside = j.owed_copy and terms.survives_reopen
    j = replace(j, owed_read=j.owed_read or (fact.value is None and fact.problem is None))
    if fact.why is Why.BASELINE:
        if fact.setting == BOOT:
            return replace(j, boot_before=fact.value, here=True)
        return replace(j, before=fact.value, before_paused=j.paused, here=True)
    if fact.setting == BOOT:
        return replace(j, boot_after=fact.value)
    quiet = bool(j.fates) or j.behind or j.waited_s >= terms.late_max_s
    seen = Look(fact.value, j.paused, quiet, owed and fact.value is not None, beside)
    return replace(j, looks=(*j.looks, seen)[-2:], paused=False, boot_after=None)


# --- the words --------------------------------------------------------------------------------------------------------


def words(terms: Terms, j: Judge) -> frozenset[Outcome]:
    """Every word, doubt aside, that the evidence allows once something was sent."""
    allowed: set[Outcome] = set()
    if j.acked or j.moved or any(fate.ran for fate in j.fates) or shows(terms, j, WANTED):
        allowed.add(Outcome.APPLIED)
    if (
        j.refused
        or untaken(terms, j)
        or (j.fates and all(f.never for f in j.fates) and any(f.refused for f in j.fates))
    ):
        allowed.add(Outcome.REFUSED)
    if (j.fates and all(fate.never for fate in j.fates)) or shows_baseline(terms, j):
        allowed.add(Outcome.NOT_APPLIED)
    return frozenset(allowed)


def untaken(terms: Terms, j: Judge) -> bool:
    """A busy device has turned every copy away, and it says no before any effect."""
    return bool(j.copies) and not j.taken and not terms.nak_may_follow_effect


def unreliable(j: Judge) -> bool:
    """The device could not tell itself, or said that one number was executed and that it was not."""
    return any(fate.garbled or (fate.ran and fate.never) for fate in j.fates)


def shows(terms: Terms, j: Judge, value: str) -> bool:
    """The read-back shows a value: fresh, settled, correlated and not across an unnoticed boot."""
    back = terms.readback
    if back is None or not j.looks or (j.fates and not terms.idempotent and j.before is None):
        return False
    taken = _taken(terms, j)
    settled = terms.settle_s <= 0 or taken[-1].paused
    if (
        not settled
        or len(taken) < _looks_needed(terms, j)
        or any(look.value != value or look.owed for look in taken)
    ):
        return False
    if back.durable:
        return True
    if j.fates:
        return j.boot == j.fates[-1].boot
    counted = j.boot_before is not None and j.boot_before == j.boot_after
    unbroken = (j.here and not terms.survives_reopen) or back.at_start not in (None, value)
    return not j.booted and (counted if j.boot_before is not None else unbroken)


def _looks_needed(terms: Terms, j: Judge) -> int:
    """Two where the effect shows late, or where another answer was due on a stream that outlives reopening."""
    return 2 if terms.settle_s > 0 or j.looks[-1].beside else 1


def _taken(terms: Terms, j: Judge) -> tuple[Look, ...]:
    return j.looks[-_looks_needed(terms, j) :]


def stands_already(terms: Terms, j: Judge) -> bool:
    """The setting had the wanted value before anything was sent, longer than an earlier effect may take to show."""
    return terms.if_needed and j.before == WANTED and (terms.settle_s <= 0 or j.before_paused)


def is_as_before(terms: Terms, j: Judge) -> bool:
    """The read-back stands where it was before, on a quiet path; a restart may have put it there."""
    back = terms.readback
    if back is None or back.at_start != BASELINE or j.booted:
        return False
    return shows_baseline(replace(terms, readback=replace(back, durable=True)), j)


def shows_baseline(terms: Terms, j: Judge) -> bool:
    """The read-back shows that nothing happened, on a path where nothing can happen any more."""
    back = terms.readback
    if back is None or j.before is None or not shows(terms, j, BASELINE):
        return False
    if not all(fate.over or fate.never or fate.garbled or fate.boot != j.boot for fate in j.fates):
        return False  # a numbered copy may still arrive while its session lives
    if terms.policy is Policy.RESEND and not back.durable:
        return False  # a start of the device between two copies may have put it back
    quiet = all(look.quiet for look in _taken(terms, j)) and not j.queued
    stops_known = back.clamps is False or (back.min is not None and back.max is not None)
    return quiet and (stops_known or terms.policy is Policy.READ_THEN_SET)
