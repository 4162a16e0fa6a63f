"""What happens next to a command?

Rule 1: all decisions to send anything again live in this file; nothing else of the agent ever repeats a command.
Rule 2: `next_step` is a pure, total function of the terms and the evidence so far: no clock, no I/O, no hidden state.
Rule 3: silence is not failure. A word is given only where evidence proves it; else the command is in doubt.

Numbering devices follow WIRE.md 4, the others CATALOG.md 2.
"""

from collections.abc import Sequence
from decimal import Decimal

from agent import readback
from agent.evidence import NOP_DIGEST, Acked, Burnt, Evidence, Nakked, Owner, Person, Spent, Why
from agent.operation import BOOT, Cause, Elsewhere, Numbering, Outcome, Proof, Terms
from agent.reckoning import Number, View, reckon
from agent.steps import Connect, Drain, Find, Finish, Read, Send, Session, Settle, Step, Wait
from devices.expressions import evaluate
from devices.kinds import Policy
from devices.templates import render
from devices.values import same, text_of

SILENCES_PER_CONNECTION = 2
"""A numbering device is asked again on the same connection once; then a new connection is tried."""

LOOKS_ELSEWHERE = 2
"""A device that changes its link is looked for at once, and when it has had time to restart."""

_WITH_BASELINE = (Policy.GET_VERIFY, Policy.READ_THEN_SET)
_AS_BEFORE = "the setting is as before, on a path on which nothing is under way any more"
OK, INDETERMINATE = 0, 4
"""Stored statuses (WIRE.md 2); those between them say that the command certainly had no effect."""


def next_step(terms: Terms, facts: Sequence[Evidence]) -> Step:
    """The one step that the evidence allows.

    Args:
        terms: what was fixed when the command was submitted.
        facts: everything learnt since, oldest first.

    Returns:
        A step to perform, or `Finish`. After `Finish` only facts that settle a doubt change the word.
    """
    return decide(terms, reckon(facts))


def decide(terms: Terms, v: View) -> Step:
    """As `next_step`, where the facts have been reckoned already."""
    if v.person is not None:
        return _after_a_person(terms, v, v.person)
    if not v.copies:
        return _before_first_copy(terms, v)
    if v.number is not None:
        return _with_a_last_look(terms, v, v.number)
    return _unnumbered(terms, v)


def _after_a_person(t: Terms, v: View, person: Person) -> Step:
    """A person's word ends a doubt. Only a numbering device's own memory of the command is stronger."""
    outcome = Outcome.APPLIED if person.applied else Outcome.NOT_APPLIED
    word = Finish(outcome, Proof.PERSON, f"{person.who} decided: {person.reason}")
    if v.number is None:
        return word
    step = _with_a_last_look(t, v, v.number)
    proven = isinstance(step, Finish) and step.outcome is not Outcome.IN_DOUBT
    asking = v.person_questioned and not isinstance(step, Finish | Send)
    return step if proven or asking else word


# --- before anything was sent -------------------------------------------------------------------------------


def _before_first_copy(t: Terms, v: View) -> Step:
    if t.if_needed and readback.stands_already(t, v):
        return Finish(Outcome.UNCHANGED, Proof.VERIFIED, f"it reads {readback.expected(t, v)} already")
    if v.given_up is not None:
        return Finish(Outcome.NOT_SENT, None, v.given_up.why, v.given_up.cause)
    if v.opening_failed is not None:
        return Finish(Outcome.NOT_SENT, None, v.opening_failed.why, v.opening_failed.cause)
    if v.unsent >= t.attempts_max:
        why = f"it never reached the device: {v.why_unsent}"
        return Finish(Outcome.NOT_SENT, None, why, Cause.UNREACHABLE)
    if t.elsewhere is not None and v.there_before is None:
        return Find(t.elsewhere.at)
    if t.elsewhere is not None and v.there_before is not None and v.there_before.answered:
        why = f"somebody answers at {t.elsewhere.at} already: {v.there_before.text}"
        return Finish(Outcome.NOT_SENT, None, why, Cause.UNFIT)
    numbered = t.numbering is Numbering.LSQ1
    if v.conn is None or v.connected is None or (numbered and v.connected.session is None):
        return Connect(Session.KEEP)
    outside = _outside_its_mode(t, v)
    if outside is not None:
        return outside
    if t.policy in _WITH_BASELINE:
        for name in readback.settings_needed(t):
            if v.baselines.get(name) is None:
                return _baseline(t, v, name)
    look = readback.look_first(t, v) if t.if_needed else None
    if look is not None:
        return look
    if t.policy is not Policy.READ_THEN_SET:
        return Send(t.text, 1)
    text = _absolute_text(t, v)
    return Send(text, 1) if isinstance(text, str) else text


def _outside_its_mode(t: Terms, v: View) -> Step | None:
    """The same bytes mean something else in another mode of the device, so it is read first (CATALOG.md 1)."""
    if t.mode is None:
        return None
    name, wanted = t.mode
    seen = v.baselines.get(name)
    if seen is None:
        return _baseline(t, v, name)
    if same(t.types[name], seen, wanted):
        return None
    why = f"the command is only for {name} {wanted}, and the device reads {seen}"
    return Finish(Outcome.NOT_SENT, None, why, Cause.UNFIT)


def _baseline(t: Terms, v: View, name: str) -> Step:
    """Read what must be known before the first copy. Nothing is under way yet, so a lost read may be repeated.

    A numbering device has been asked several times within one read already.
    """
    if name not in v.baselines:
        return Read(name, Why.BASELINE)
    again = v.owes_read and t.numbering is Numbering.NONE and v.failed_reads < t.attempts_max
    if again:
        return Drain(t.late_max_s) if t.survives_reopen else Connect(Session.KEEP)
    what, why = "the boot count" if name == BOOT else name, v.problem or "it does not answer"
    said = f"could not read {what} before the command: {why}"
    return Finish(Outcome.NOT_SENT, None, said, Cause.UNFIT, unread=name)


def _absolute_text(t: Terms, v: View) -> str | Finish:
    """The target of read-then-set, computed once: every later copy reuses the bytes of the first."""
    form = t.form
    if form is None:
        return Finish(Outcome.NOT_SENT, None, "the profile declares no absolute form", Cause.UNFIT)
    try:
        target = text_of(form.type, evaluate(form.value, readback.known_values(t, v)), form.step)
        text = render(form.template, {**t.args, form.argument: target})
    except ValueError as problem:
        return Finish(Outcome.NOT_SENT, None, f"the target cannot be computed: {problem}", Cause.UNFIT)
    low, high = form.min, form.max
    if (low is not None and Decimal(target) < Decimal(low)) or (
        high is not None and Decimal(target) > Decimal(high)
    ):
        why = f"the target {target} lies outside {low or '…'} to {high or '…'}"
        return Finish(Outcome.NOT_SENT, None, why, Cause.UNFIT)
    return text


# --- equipment that numbers its commands (LSQ1) -------------------------------------------------------------


def _with_a_last_look(t: Terms, v: View, n: Number) -> Step:
    """No doubt before the device's record was seen once more: it is as good as a reply whenever it is seen (4.6)."""
    step = _numbered(t, v, n)
    doubtful = isinstance(step, Finish) and step.outcome is Outcome.IN_DOUBT
    return Connect(Session.NONE) if doubtful and v.hello_is_news and v.opening_failed is None else step


def _numbered(t: Terms, v: View, n: Number) -> Step:
    match v.word:
        case Acked(duplicate=duplicate):
            proof = Proof.DUPLICATE_ACK if duplicate else Proof.ACK
            return Finish(Outcome.APPLIED, proof, "the device confirmed it")
        case Nakked(text=text):
            return _had_no_effect(t, v, Outcome.REFUSED, None, f"the device refused: {text}")
        case Burnt():
            return _had_no_effect(t, v, Outcome.NOT_APPLIED, Proof.SETTLED, _NEVER)
        case Spent(by=Owner.NOP):
            return _had_no_effect(t, v, Outcome.NOT_APPLIED, Proof.SETTLED, _NEVER)
        case Spent(by=Owner.OURS, status=status, text=text) if status not in (None, INDETERMINATE):
            return _stored_status(t, v, status or OK, text)

    over, wanted = _session_over(v, n), _wants_more(t, v)
    asking = v.word is None and not over and v.opening_failed is None and (wanted or _provisional(t, v, n))
    if n.shown is not None and not asking:
        if n.shown.digest == n.digest:
            return _stored_status(t, v, n.shown.status, "")
        if n.shown.digest == NOP_DIGEST:
            return _had_no_effect(t, v, Outcome.NOT_APPLIED, Proof.SETTLED, _NEVER)
        return _where_others_write(t, v)
    if isinstance(v.word, Spent):
        return (
            _stored_status(t, v, INDETERMINATE, "") if v.word.by is Owner.OURS else _where_others_write(t, v)
        )
    if over:
        return _after_the_session(t, v, n)
    if v.opening_failed is not None:
        return _doubt(f"no way back to the device to ask: {v.opening_failed.why}")
    if wanted:
        if v.conn is None or v.silent_here >= SILENCES_PER_CONNECTION:
            return Connect(Session.NONE)
        return Send(v.copies[0].text, len(v.copies) + 1, (n.session, n.seq))
    if _may_settle(t, v):
        if v.conn is None or v.settle_lost_here:
            return Connect(Session.NONE)
        return Settle(n.session, n.seq, n.digest, v.settles_lost + 1)
    if v.settle_held:
        return _doubt("the device is busy with a command and does not say whether it is ours")
    return _doubt("the device does not answer, so nobody can tell whether the command arrived")


def _may_settle(t: Terms, v: View) -> bool:
    """A lost NOP is asked again a few times; one that the device was too busy for, while patience lasts."""
    return v.settles_lost < t.attempts_max and not (v.settle_held and v.deferred_s >= t.busy_max_s)


def _provisional(t: Terms, v: View, n: Number) -> bool:
    """A record that says INDETERMINATE may be the mark of a command that is still running (WIRE.md 3): settle first."""
    return n.shown is not None and n.shown.status == INDETERMINATE and _may_settle(t, v)


_NEVER = "the command never ran and never will: its number was used up by a NOP"
_OTHERS = "somebody else counts in our session, so its answers prove nothing"


def _where_others_write(t: Terms, v: View) -> Step:
    """Whoever counts in our session writes the settings too: only the value of an absolute command still tells."""
    return _again_or_doubt(t, v, _OTHERS) if t.idempotent else _doubt(_OTHERS)


def _stored_status(t: Terms, v: View, status: int, text: str) -> Step:
    """The device's memory of this very command (WIRE.md 4.5, 4.6)."""
    if status == OK:
        return Finish(Outcome.APPLIED, Proof.SETTLED, "the device's record shows that it was executed")
    if status != INDETERMINATE:
        why = f"the device refused{': ' + text if text else ', as its record shows'}"
        return _had_no_effect(t, v, Outcome.REFUSED, Proof.SETTLED, why)
    return _again_or_doubt(
        t, v, "the device was interrupted and does not know itself whether the effect took place"
    )


def _session_over(v: View, n: Number) -> bool:
    if v.bad_session is not None:
        return True
    seen = v.connected
    return seen is not None and not seen.durable and seen.boot != n.life.boot


def _after_the_session(t: Terms, v: View, n: Number) -> Step:
    """WIRE.md 4.6: what an ended session still proves."""
    if n.turned_away and not v.earlier_open:
        never = "the device had lost the session before the command arrived, so it never ran and never will"
        once_more = n.copies == len(v.copies) or (t.idempotent and v.numbers < t.attempts_max)
        if v.opening_failed is not None or v.same_session or not _wants_more(t, v) or not once_more:
            return _had_no_effect(t, v, Outcome.NOT_APPLIED, Proof.SETTLED, never)
        return _under_a_new_number(v)
    if _may_take_a_new_number(t, v):
        return _under_a_new_number(v)
    if n.unused:
        never = "the device's record shows that the number was not used while the session lived: it never ran"
        return _had_no_effect(t, v, Outcome.NOT_APPLIED, Proof.SETTLED, never)
    if v.bad_session is not None and not v.hello_since_bad_session:
        if v.opening_failed is not None:
            return _doubt(f"the session is over and the device cannot be asked: {v.opening_failed.why}")
        return Connect(Session.NONE)
    return _again_or_doubt(
        t, v, "the device lost its memory of the session (restart or takeover) after the command left"
    )


def _again_or_doubt(t: Terms, v: View, why: str) -> Step:
    """An absolute command may go out under a new number; a cumulative one is in doubt, unless a read-back tells."""
    if _may_take_a_new_number(t, v):
        return _under_a_new_number(v)
    return _read_back_or_doubt(t, v, why)


def _wants_more(t: Terms, v: View) -> bool:
    """Somebody still waits for the command, and its attempts are not used up."""
    used_up = v.silent + v.unsent >= t.attempts_max or v.deferred_s >= t.busy_max_s
    return v.given_up is None and not used_up and t.policy is not Policy.NO_RETRY


def _may_take_a_new_number(t: Terms, v: View) -> bool:
    possible = v.opening_failed is None and not v.same_session and v.numbers < t.attempts_max
    return t.idempotent and possible and _wants_more(t, v)


def _under_a_new_number(v: View) -> Step:
    last, seen = v.number, v.connected
    if v.conn is None or seen is None or last is None or seen.session in (None, last.session):
        return Connect(Session.FRESH)
    return Send(v.copies[0].text, len(v.copies) + 1)


def _had_no_effect(t: Terms, v: View, outcome: Outcome, proof: Proof | None, why: str) -> Step:
    """True of the newest number; of the command only if no earlier number of it can have run."""
    if v.earlier_open:
        return _read_back_or_doubt(
            t, v, "an earlier copy, under a number of an ended session, may have been executed"
        )
    return Finish(outcome, proof, why)


# --- equipment that does not number its commands ------------------------------------------------------------


def _unnumbered(t: Terms, v: View) -> Step:
    if not v.taken and not t.nak_may_follow_effect:
        return _again_when_free(t, v)
    match v.word:
        case Acked(queued=False) if not t.queued:
            return Finish(Outcome.APPLIED, Proof.ACK, "the device confirmed it")
        case Nakked(text=text) if not t.nak_may_follow_effect and v.taken == 1:
            return Finish(Outcome.REFUSED, None, f"the device refused: {text}")
    moved = _found_elsewhere(t.elsewhere, v, t.late_max_s) if t.elsewhere is not None else None
    if moved is not None:
        return moved
    if t.policy is Policy.NO_RETRY or (t.policy is Policy.RESEND and not t.idempotent):
        return _doubt(f"{_heard(v)}, and the command may neither be repeated nor read back")
    wanted = _wants_more(t, v) and v.word is None
    if t.policy is Policy.RESEND:
        return _repeat_absolute(t, v) if wanted else _read_back_or_doubt(t, v, _heard(v))
    if readback.is_void(t, v):
        return _doubt(
            f"{_heard(v)}, and the read-back cannot tell: the expected value is the one from before"
        )
    return _by_read_back(t, v, wanted)


def _found_elsewhere(place: Elsewhere, v: View, late_max_s: float) -> Step | None:
    """Whether the device answers where the command moves it, asked at once and once more later; None: it does not."""
    if v.there and v.there[-1].value == place.expect:
        why = f"it answers at {place.at} now: enter that in the inventory"
        return Finish(Outcome.APPLIED, Proof.VERIFIED, why)
    if len(v.there) == 1 and v.waited_s < late_max_s:
        return Wait(late_max_s)
    return Find(place.at) if len(v.there) < LOOKS_ELSEWHERE else None


def _again_when_free(t: Terms, v: View) -> Step:
    """Each copy met a busy device that took nothing, so that another one is the first, while patience lasts.

    Where the setting can be read back it is looked at before that: an answer may have come twice.
    """
    looked = t.policy in _WITH_BASELINE and not readback.is_void(t, v)
    verdict = readback.look(t, v) if looked else readback.Verdict.UNCLEAR
    if verdict is readback.Verdict.EXPECTED:
        want = readback.expected(t, v)
        return Finish(
            Outcome.APPLIED, Proof.VERIFIED, f"read back {want} = expected, whatever the device said"
        )
    busy = "the device was busy and took nothing"
    if v.given_up is not None:
        return Finish(Outcome.REFUSED, None, f"{busy}; no further copies: {v.given_up.why}")
    if v.conn is None:
        return Finish(Outcome.REFUSED, None, f"{busy}, and the connection did not last")
    if v.deferred_s >= t.busy_max_s:
        return Finish(Outcome.REFUSED, None, f"{busy} for {v.deferred_s:g} s")
    if isinstance(verdict, readback.Verdict):
        return Send(v.copies[0].text, len(v.copies) + 1)
    return verdict


def _heard(v: View) -> str:
    """What the device said to the copies, in words that begin a sentence about a doubt."""
    match v.word:
        case Acked():
            return "the device has taken the command and does not say when it is done"
        case Nakked(text=text):
            return f"the device answered {text}, which may come after the effect"
    heard = "no ack" if len(v.copies) == 1 else "no ack of any copy"
    return f"{heard} ({v.why_unheard})" if v.why_unheard else heard


def _repeat_absolute(t: Terms, v: View) -> Step:
    """The same absolute bytes at once, but never on a connection that owes an answer."""
    if v.opening_failed is not None:
        return _doubt(f"{_heard(v)}, and no way back to the device: {v.opening_failed.why}")
    if v.conn is None or v.owes_copy or v.owes_read:
        return readback.way_back(t, v)
    back = t.readback
    if back is not None and not back.durable and t.boot_query is not None and BOOT not in v.baselines:
        return Read(BOOT, Why.BASELINE)  # without it no later reading of a volatile setting proves anything
    return Send(v.copies[0].text, len(v.copies) + 1)


def _by_read_back(t: Terms, v: View, wanted: bool) -> Step:
    """get-verify and read-then-set: what the setting shows decides, before anything else is sent."""
    verdict = readback.look(t, v)
    if not isinstance(verdict, readback.Verdict):
        return verdict
    if verdict is readback.Verdict.EXPECTED:
        want = readback.expected(t, v)
        return Finish(Outcome.APPLIED, Proof.VERIFIED, f"read back {want} = expected, not sent again")
    if verdict is readback.Verdict.BASELINE:
        if isinstance(v.word, Acked):
            return _doubt(f"{_heard(v)}; the setting is still unchanged")
        if not _baseline_authorises(t, v):
            return _doubt(
                "the setting is unchanged, which a lost command and an undeclared stop would both show"
            )
        if wanted:
            return Send(v.copies[0].text, len(v.copies) + 1)
        return Finish(Outcome.NOT_APPLIED, Proof.VERIFIED, _AS_BEFORE)
    if verdict is readback.Verdict.AT_START:
        if wanted and t.policy is Policy.READ_THEN_SET:
            return Send(
                v.copies[0].text, len(v.copies) + 1
            )  # absolute: what a restart undid is only set again
        return _doubt(
            f"{_heard(v)}, and the setting is as before, which a restart of the device would show too"
        )
    if verdict is readback.Verdict.OTHER:
        return _doubt(
            "the setting shows neither the old nor the expected value: clamped, or someone else wrote"
        )
    return _doubt(f"{_heard(v)}, and {_why_nothing_shows(t, v)}")


# --- doubt --------------------------------------------------------------------------------------------------


def _read_back_or_doubt(t: Terms, v: View, why: str) -> Step:
    """Nothing more will be sent: what stands on the device may still end the matter.

    An absolute target that is there does; so does a baseline, where one was read before the first copy.
    """
    has_baseline = t.policy in _WITH_BASELINE and not readback.is_void(t, v)
    if (
        t.readback is None
        or not (t.idempotent or has_baseline)
        or (v.opening_failed is not None and v.conn is None)
    ):
        return _doubt(why)
    verdict = readback.look(t, v)
    if not isinstance(verdict, readback.Verdict):
        return verdict
    if verdict is readback.Verdict.EXPECTED:
        return Finish(Outcome.APPLIED, Proof.VERIFIED, f"read back {readback.expected(t, v)} = expected")
    if verdict is readback.Verdict.BASELINE and _baseline_authorises(t, v):
        return Finish(Outcome.NOT_APPLIED, Proof.VERIFIED, _AS_BEFORE)
    if verdict is readback.Verdict.UNCLEAR:
        return _doubt(f"{why}, and {_why_nothing_shows(t, v)}")
    return _doubt(f"{why}; the setting does not show the target")


def _why_nothing_shows(t: Terms, v: View) -> str:
    """What keeps the readings from telling anything, in words that end a sentence about a doubt."""
    if v.opening_failed is not None:
        return f"no way back to the device: {v.opening_failed.why}"
    if readback.hidden_by_a_boot(t, v):
        return "a restart of the device may have put the setting back"
    if v.readings and v.readings[-1].value is None and v.problem is not None:
        return f"the setting could not be read back: {v.problem}"
    return "the setting could not be read back reliably"


def _baseline_authorises(t: Terms, v: View) -> bool:
    """Whether an unchanged setting means that no copy took effect.

    The absolute command of read-then-set has no stop to fear; a relative one may have run into an undeclared one. Where
    copies follow each other without a look, a start of the device between two of them may have put the setting back.
    """
    looked_between = t.policy in _WITH_BASELINE or (t.readback is not None and t.readback.durable)
    no_stop = t.policy is Policy.READ_THEN_SET or readback.baseline_authorises(
        t, readback.expected(t, v) or ""
    )
    return looked_between and no_stop


def _doubt(why: str) -> Finish:
    return Finish(Outcome.IN_DOUBT, None, why)
