"""Which rule of the papers makes which step? One row per rule: what is known, and what follows.

Each row's name is the rule in words. `LSQ1` rows stand for WIRE.md 4.5 to 4.7 and 4.9, the others for CATALOG.md 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

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
    Person,
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
from agent.operation import BOOT, Cause, Elsewhere, Numbering, Outcome, Terms
from agent.policy import next_step
from agent.steps import Connect, Drain, Find, Finish, Read, Send, Session, Settle, Step, Wait
from devices.kinds import Policy
from tests.agent.game import AS_OPENED, DIGEST, KEPT, OPENED
from tests.agent.setups import ADJUST, LATE_S, OFFSET, SET, SETTLE_S, TARGET, unnumbered


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in words, the terms that it needs, what is known, and the step or the word that follows."""

    words: str
    terms: Terms
    facts: Sequence[Evidence]
    follows: Step | Outcome


def life(session: int, conn: int = 1, *, boot: int = 7, durable: bool = False) -> Connected:
    """A connection with a session that was opened now, or that goes on."""
    return Connected(conn, boot, session, AS_OPENED, AS_OPENED if session == OPENED[0] else None, durable)


def hello(conn: int, record: Record | None, *, boot: int = 7, durable: bool = False) -> Connected:
    """A connection on which only HELLO was asked."""
    return Connected(conn, boot, None, record, None, durable)


def copy(attempt: int, conn: int, number: tuple[int, int], text: str = ADJUST.text) -> Sent:
    """A numbered copy."""
    return Sent(attempt, conn, text, number[1], number[0], DIGEST)


def plain(attempt: int, conn: int, text: str = ADJUST.text) -> Sent:
    """A copy without a number."""
    return Sent(attempt, conn, text, 0)


def baseline(value: str | None, conn: int = 1, setting: str = "offset") -> Reading:
    """A reading before the first copy."""
    return Reading(setting, value, conn, Why.BASELINE)


def verify(value: str | None, conn: int = 2, setting: str = "offset") -> Reading:
    """A reading after a copy."""
    return Reading(setting, value, conn, Why.VERIFY)


SILENCE, LOST, STOP = Unknown("silence"), Unknown("lost"), GiveUp("Ctrl-C")
REFUSED = NotSent(Cause.UNREACHABLE, "refused")
SENT: list[Evidence] = [life(OPENED[0]), copy(1, 1, OPENED)]
SENT_KEPT: list[Evidence] = [life(KEPT[0]), copy(1, 1, KEPT)]
QUIET = Connect(Session.NONE, LATE_S)
TURNED_AWAY: list[Evidence] = [*SENT, BadSession("cmd", 8)]
ENDED: list[Evidence] = [*SENT_KEPT, SILENCE, STOP, BadSession("nop", 7)]
ONCE = replace(ADJUST, policy=Policy.NO_RETRY)
VERIFIED = replace(ADJUST, policy=Policy.GET_VERIFY, readback=replace(OFFSET, durable=True))
VERIFIED_VOLATILE = replace(VERIFIED, readback=replace(OFFSET, durable=False))
RESET = replace(ADJUST, text="RESET counter", args={}, readback=replace(OFFSET, expect="0"))
SHOWS_TARGET: list[Evidence] = [verify("15")]
SHOWS_BEFORE: list[Evidence] = [verify("10")]

IN_MODE = replace(ADJUST, mode=("offset", "10"))

LSQ1 = [
    Rule("CATALOG 1: a mode is read before anything is sent", IN_MODE, [life(OPENED[0])], Read("offset", Why.BASELINE)),
    Rule("CATALOG 1: in its mode the command goes out", IN_MODE, [life(OPENED[0]), baseline("10")],
         Send(ADJUST.text, 1)),
    Rule("CATALOG 1: in another mode nothing is sent", IN_MODE, [life(OPENED[0]), baseline("11")], Outcome.NOT_SENT),
    Rule("CATALOG 1: nor where the mode is not known", IN_MODE, [life(OPENED[0]), baseline(None)], Outcome.NOT_SENT),
    Rule("LSQ1: a number is drawn in the stored session where it may go on", ADJUST, [], Connect(Session.KEEP)),
    Rule("LSQ1: the first copy draws a number", ADJUST, [life(OPENED[0])], Send(ADJUST.text, 1)),
    Rule("LSQ1: silence: the same number and bytes", ADJUST, [*SENT, SILENCE], Send(ADJUST.text, 2, OPENED)),
    Rule("LSQ1: a second silence on a connection: another one", ADJUST, [*SENT, SILENCE, copy(2, 1, OPENED), SILENCE],
         Connect()),
    Rule("LSQ1: a lost connection is opened anew", ADJUST, [*SENT, LOST], Connect()),
    Rule("LSQ1: BUSY uses up no attempt", replace(ADJUST, attempts_max=1), [*SENT, Deferred("busy", 1.0)],
         Send(ADJUST.text, 2, OPENED)),
    Rule("LSQ1: BUSY has a deadline of its own, then the number is settled", ADJUST, [*SENT, Deferred("busy", 60.0)],
         Settle(*OPENED, DIGEST, 1)),
    Rule("4.5: giving up settles", ADJUST, [*SENT, SILENCE, STOP], Settle(*OPENED, DIGEST, 1)),
    Rule("4.5: a dead command that nobody asks for is settled, not sent",
         ADJUST, [*SENT, TakenUp(resend=False), hello(2, AS_OPENED)], Settle(*OPENED, DIGEST, 1)),
    Rule("4.5: whoever asks for it resends", ADJUST, [*SENT, TakenUp(resend=True), hello(2, AS_OPENED)],
         Send(ADJUST.text, 2, OPENED)),
    Rule("4.5: no-retry settles after its only copy", ONCE, [*SENT, SILENCE], Settle(*OPENED, DIGEST, 1)),
    Rule("4.5: a lost NOP is asked again on a new connection", ONCE, [*SENT, SILENCE, Unanswered("settle")], Connect()),
    Rule("4.5: NOP taken: it never ran", ADJUST, [*SENT, SILENCE, STOP, Burnt()], Outcome.NOT_APPLIED),
    Rule("4.5: our digest, OK: applied", ADJUST, [*SENT, SILENCE, STOP, Spent(Owner.OURS, 0)], Outcome.APPLIED),
    Rule("4.5: our digest, 1 to 3: refused", ADJUST, [*SENT, SILENCE, STOP, Spent(Owner.OURS, 2)], Outcome.REFUSED),
    Rule("4.5: our digest, INDETERMINATE: in doubt", ADJUST,
         [*SENT, SILENCE, STOP, Spent(Owner.OURS, 4), hello(2, Record(*OPENED, DIGEST, 4))], Outcome.IN_DOUBT),
    Rule("4.6: but not before the record was seen once more", ADJUST,
         [*SENT, SILENCE, STOP, Spent(Owner.OURS, 4)], Connect()),
    Rule("4.6: which may be final by now", ADJUST,
         [*SENT, SILENCE, STOP, Spent(Owner.OURS, 4), hello(2, Record(*OPENED, DIGEST, 0))], Outcome.APPLIED),
    Rule("3: INDETERMINATE in a record may be the mark of a running command: settle", ADJUST,
         [*SENT, LOST, STOP, hello(2, Record(*OPENED, DIGEST, 4))], Settle(*OPENED, DIGEST, 1)),
    Rule("4.4: a NOP that the device is too busy for is asked again", ADJUST,
         [*SENT, SILENCE, STOP, Deferred("busy", 1.0, "nop")], Settle(*OPENED, DIGEST, 1)),
    Rule("4.4: but not for ever", ADJUST,
         [*SENT, SILENCE, STOP, hello(2, AS_OPENED), Deferred("busy", 60.0, "nop"), hello(3, AS_OPENED)],
         Outcome.IN_DOUBT),
    Rule("4.6: a device that was busy may have finished: its record is looked at before a doubt", ADJUST,
         [*SENT, SILENCE, STOP, hello(2, AS_OPENED), Deferred("busy", 60.0, "nop")], Connect()),
    Rule("a person's word ends a doubt", ADJUST, [*SENT, SILENCE, STOP, Person(False, "ana", "looked")],
         Outcome.NOT_APPLIED),
    Rule("the device is asked once more after a person's word", ADJUST,
         [*SENT, SILENCE, STOP, Person(False, "ana", "looked"), TakenUp(False), hello(2, AS_OPENED)],
         Settle(*OPENED, DIGEST, 1)),
    Rule("and may prove the person wrong", ADJUST,
         [*SENT, SILENCE, STOP, Person(False, "ana", "looked"), TakenUp(False), hello(2, AS_OPENED),
          Spent(Owner.OURS, 0)], Outcome.APPLIED),
    Rule("where it cannot tell, the person's word stands", ADJUST,
         [*SENT, SILENCE, STOP, Person(False, "ana", "looked"), TakenUp(False), hello(2, None, boot=8)],
         Outcome.NOT_APPLIED),
    Rule("4.5: an earlier settle's NOP: it never ran", ADJUST, [*SENT, Spent(Owner.NOP, 0)], Outcome.NOT_APPLIED),
    Rule("4.5: somebody else's digest: in doubt", ADJUST, [*SENT, SILENCE, STOP, Spent(Owner.OTHER), hello(2, None)],
         Outcome.IN_DOUBT),
    Rule("4.6: BAD_SESSION to the only copy: a new session", ADJUST, TURNED_AWAY, Connect(Session.FRESH)),
    Rule("4.6: and the command under a new number", ADJUST, [*TURNED_AWAY, life(5, 2, boot=8)], Send(ADJUST.text, 2)),
    Rule("4.6: but once only", ADJUST,
         [*TURNED_AWAY, life(5, 2, boot=8), copy(2, 2, (5, 1)), BadSession("cmd", 9)], Outcome.NOT_APPLIED),
    Rule("4.6: and not when nobody wants it", ADJUST, [*TURNED_AWAY, STOP], Outcome.NOT_APPLIED),
    Rule("4.6: BAD_SESSION to a second copy proves nothing", ADJUST,
         [*SENT, SILENCE, copy(2, 1, OPENED), BadSession("cmd", 8), hello(2, None, boot=8)], Outcome.IN_DOUBT),
    Rule("4.6: BAD_SESSION to a NOP proves nothing: HELLO is asked", ADJUST, ENDED, Connect()),
    Rule("4.6: afterwards the number before ours: it never ran", ADJUST,
         [*ENDED, hello(2, Record(KEPT[0], KEPT[1] - 1, 3, 0))], Outcome.NOT_APPLIED),
    Rule("4.6: the number before ours says nothing while the session lives", ADJUST,
         [*SENT_KEPT, SILENCE, STOP, LOST, hello(2, Record(KEPT[0], KEPT[1] - 1, 3, 0))], Settle(*KEPT, DIGEST, 1)),
    Rule("4.6: nor over a boot", ADJUST,
         [*ENDED, hello(2, Record(KEPT[0], KEPT[1] - 1, 3, 0), boot=8)], Outcome.IN_DOUBT),
    Rule("4.6: tier 2 keeps its record over a boot", ADJUST,
         [life(KEPT[0], durable=True), *ENDED[1:], hello(2, Record(KEPT[0], KEPT[1] - 1, 3, 0), boot=8, durable=True)],
         Outcome.NOT_APPLIED),
    Rule("4.6: for seq 1 the very record of OPENED: it never ran", ADJUST,
         [*SENT, SILENCE, STOP, BadSession("nop", 7), hello(2, AS_OPENED)], Outcome.NOT_APPLIED),
    Rule("4.6: another record: in doubt", ADJUST, [*ENDED, hello(2, Record(9, 9, 9, 0))], Outcome.IN_DOUBT),
    Rule("4.6: a record with our digest is as good as the reply", ADJUST,
         [*SENT, LOST, STOP, hello(2, Record(*OPENED, DIGEST, 0))], Outcome.APPLIED),
    Rule("4.6: whenever it was seen", ADJUST,
         [*SENT, LOST, hello(2, Record(*OPENED, DIGEST, 0)), copy(2, 2, OPENED), BadSession("cmd", 7), hello(3, None)],
         Outcome.APPLIED),
    Rule("4.6: a record with NOP's digest: it never ran", ADJUST,
         [*SENT, LOST, STOP, hello(2, Record(*OPENED, NOP_DIGEST, 0))], Outcome.NOT_APPLIED),
    Rule("4.9: a boot between copies: in doubt", ADJUST, [*SENT, LOST, hello(2, None, boot=8)], Outcome.IN_DOUBT),
    Rule("4.9: unless a baseline was read and the setting is durable: read back", VERIFIED,
         [life(OPENED[0]), baseline("10"), copy(1, 1, OPENED), LOST, hello(2, None, boot=8)],
         Read("offset", Why.VERIFY)),
    Rule("4.9: the expected value: applied", VERIFIED,
         [life(OPENED[0]), baseline("10"), copy(1, 1, OPENED), LOST, hello(2, None, boot=8), *SHOWS_TARGET],
         Outcome.APPLIED),
    Rule("4.9: the baseline: it had no effect and, the session being over, never will", VERIFIED,
         [life(OPENED[0]), baseline("10"), copy(1, 1, OPENED), LOST, hello(2, None, boot=8), *SHOWS_BEFORE],
         Outcome.NOT_APPLIED),
    Rule("4.9: tier 2 answers over a boot: resend", ADJUST,
         [life(OPENED[0], durable=True), copy(1, 1, OPENED), LOST, hello(2, AS_OPENED, boot=8, durable=True)],
         Send(ADJUST.text, 2, OPENED)),
    Rule("LSQ1: an idempotent command may take a new number", SET,
         [life(OPENED[0]), copy(1, 1, OPENED, SET.text), LOST, hello(2, None, boot=8)], Connect(Session.FRESH)),
    Rule("LSQ1: an earlier number that may have run forbids `refused`", SET,
         [life(OPENED[0]), copy(1, 1, OPENED, SET.text), LOST, life(5, 2, boot=8), copy(2, 2, (5, 1), SET.text),
          Nakked(2, "no"), hello(3, None, boot=8)], Outcome.IN_DOUBT),
    Rule("LSQ1: a new session with the old number is no new session", SET,
         [life(OPENED[0]), copy(1, 1, OPENED, SET.text), LOST, life(OPENED[0], 2, boot=8)], Outcome.IN_DOUBT),
    Rule("LSQ1: where an earlier number may have run the device is asked who it is before anything is read",
         replace(SET, readback=TARGET, attempts_max=2),
         [life(OPENED[0]), copy(1, 1, OPENED, SET.text), LOST, life(5, 2, boot=8), copy(2, 2, (5, 1), SET.text),
          BadSession("cmd", 9)], Connect()),
    Rule("4.9: a volatile setting proves nothing over a boot that HELLO shows", VERIFIED_VOLATILE,
         [life(OPENED[0]), baseline("10"), copy(1, 1, OPENED), LOST, hello(2, None, boot=8)], Outcome.IN_DOUBT),
    Rule("4.9: a volatile setting is read where the session ended without a boot", VERIFIED_VOLATILE,
         [life(OPENED[0]), baseline("10"), copy(1, 1, OPENED), LOST, STOP, BadSession("nop", 7), hello(2, None)],
         Read("offset", Why.VERIFY)),
    Rule("4.9: without a baseline a target that is there proves nothing of a cumulative command", RESET,
         [life(OPENED[0]), copy(1, 1, OPENED, RESET.text), LOST, hello(2, None, boot=8)], Outcome.IN_DOUBT),
]  # fmt: skip

VERIFY = unnumbered(Policy.GET_VERIFY, durable=True)
SETTLED = replace(VERIFY, settle_s=SETTLE_S)
VOLATILE = unnumbered(Policy.GET_VERIFY, durable=False)
COUNTED = unnumbered(Policy.GET_VERIFY, durable=False, boot_query=True)
FORM = unnumbered(Policy.READ_THEN_SET, durable=True)
PLAIN_SET = replace(SET, numbering=Numbering.NONE, readback=TARGET)
SERIAL = replace(VERIFY, survives_reopen=True)
APART = replace(VERIFY, apart=True)
QUEUED = replace(VERIFY, queued=True)
NEEDED = replace(PLAIN_SET, if_needed=True)
SET_COUNTED = replace(PLAIN_SET, readback=replace(TARGET, durable=False), boot_query="GET boots")
BEGUN: list[Evidence] = [Connected(1), baseline("10"), plain(1, 1)]
SILENT: list[Evidence] = [*BEGUN, SILENCE]
BACK: list[Evidence] = [*SILENT, Connected(2)]
AFTER_QUIET: list[Evidence] = [*SILENT, Waited(LATE_S), Connected(2)]
COUNT: list[Evidence] = [
    Connected(1),
    baseline("1", setting=BOOT),
    baseline("10"),
    plain(1, 1),
    SILENCE,
    Waited(LATE_S),
    Connected(2),
]

EVIDENCE = [
    Rule("get-verify reads the baseline first", VERIFY, [Connected(1)], Read("offset", Why.BASELINE)),
    Rule("baseline: a lost read is asked again, on a connection that owes nothing", VERIFY,
         [Connected(1), baseline(None)], Connect(Session.KEEP)),
    Rule("baseline: on a serial line only once its answer can no longer come", SERIAL, [Connected(1), baseline(None)],
         Drain(LATE_S)),
    Rule("baseline: then it is read again", SERIAL, [Connected(1), baseline(None), Drained(1, LATE_S)],
         Read("offset", Why.BASELINE)),
    Rule("baseline: after a reconnect everything is read again", COUNTED,
         [Connected(1), baseline("1", setting=BOOT), baseline(None), Connected(2)], Read(BOOT, Why.BASELINE)),
    Rule("a failed baseline is no baseline: nothing is sent", VERIFY,
         [fact for conn in (1, 2, 3) for fact in (Connected(conn), baseline(None, conn))], Outcome.NOT_SENT),
    Rule("an answer without a value is no baseline: nothing is sent", VERIFY,
         [Connected(1), Reading("offset", None, 1, Why.BASELINE, "the device says 'ERR'")], Outcome.NOT_SENT),
    Rule("boots: the boot count is read before the baseline", COUNTED, [Connected(1)], Read(BOOT, Why.BASELINE)),
    Rule("fresh: after silence on a new connection", VERIFY, SILENT, Connect()),
    Rule("fresh: a reading of before the last copy does not count", VERIFY,
         [*AFTER_QUIET, verify("10"), plain(2, 2), Nakked(2, "no")], Read("offset", Why.VERIFY)),
    Rule("expected on a new connection needs no quiet time", VERIFY, [*BACK, verify("15")], Outcome.APPLIED),
    Rule("ordered: baseline counts on a quiet path only", VERIFY, [*BACK, verify("10")], QUIET),
    Rule("ordered: only readings asked on the quiet path", VERIFY,
         [*BACK, verify("10"), Waited(LATE_S), Connected(3)], Read("offset", Why.VERIFY)),
    Rule("quiet: baseline authorises the same bytes again", VERIFY, [*AFTER_QUIET, verify("10")], Send(ADJUST.text, 2)),
    Rule("quiet: baseline after giving up: not applied", VERIFY, [*AFTER_QUIET, STOP, verify("10")],
         Outcome.NOT_APPLIED),
    Rule("settled: one reading is none", SETTLED, [*BACK, verify("15")], Wait(SETTLE_S)),
    Rule("settled: two without the pause are one", SETTLED, [*BACK, verify("15"), verify("15")], Wait(SETTLE_S)),
    Rule("settled: two equal ones that far apart", SETTLED, [*BACK, verify("15"), Waited(SETTLE_S), verify("15")],
         Outcome.APPLIED),
    Rule("settled: unequal: read on", SETTLED, [*BACK, verify("12"), Waited(SETTLE_S), verify("15")], Wait(SETTLE_S)),
    Rule("settled: at most four", VERIFY, [*BACK, *(verify(v) for v in ("11", "12", "13", "14"))], Outcome.IN_DOUBT),
    Rule("settled: the count starts anew on the quiet path", VERIFY,
         [*BACK, verify(None), verify("11"), verify("12"), verify("10"), Waited(LATE_S), Connected(3), verify("11", 3)],
         Read("offset", Why.VERIFY)),
    Rule("another value twice: in doubt", VERIFY, [*BACK, verify("12"), verify("12")], Outcome.IN_DOUBT),
    Rule("another value once: read again", VERIFY, [*BACK, verify("12")], Read("offset", Why.VERIFY)),
    Rule("comparable: within half a step", replace(VERIFY, readback=replace(OFFSET, type="decimal"),
         types={**VERIFY.types, "offset": "decimal"}), [*BACK, verify("15.4")], Outcome.APPLIED),
    Rule("a failed reading is unknown, never 0", VERIFY, [*BACK, verify(None)], Connect()),
    Rule("void: expected equals baseline: no word from reading", replace(VERIFY, args={"delta": "0"}), SILENT,
         Outcome.IN_DOUBT),
    Rule("void: but the command goes out once", replace(VERIFY, args={"delta": "0"}), BEGUN[:2], Send(ADJUST.text, 1)),
    Rule("clamps: a declared clamp is expected",
         replace(VERIFY, readback=replace(OFFSET, expect="clamp(before + delta, 0, 12)")), [*BACK, verify("12")],
         Outcome.APPLIED),
    Rule("clamps: an undeclared stop looks like a lost command",
         replace(VERIFY, readback=replace(OFFSET, min=None, max=None)), [*AFTER_QUIET, verify("10")], Outcome.IN_DOUBT),
    Rule("clamps: an upper stop alone is not enough", replace(VERIFY, readback=replace(OFFSET, min=None)),
         [*AFTER_QUIET, verify("10")], Outcome.IN_DOUBT),
    Rule("clamps: nor a lower one", replace(VERIFY, readback=replace(OFFSET, max=None)),
         [*AFTER_QUIET, verify("10")], Outcome.IN_DOUBT),
    Rule("clamps: no stop at all", replace(VERIFY, readback=replace(OFFSET, min=None, max=None, clamps=False)),
         [*AFTER_QUIET, verify("10")], Send(ADJUST.text, 2)),
    Rule("clamps: expected beyond the stop", replace(VERIFY, readback=replace(OFFSET, max="12")),
         [*AFTER_QUIET, verify("10")], Outcome.IN_DOUBT),
    Rule("boots: a volatile setting proves nothing over a reconnect", VOLATILE, BACK, Outcome.IN_DOUBT),
    Rule("boots: nor after a start that was announced", replace(VOLATILE, nak_may_follow_effect=True),
         [*BEGUN, Nakked(1, "no"), Booted(1)], Outcome.IN_DOUBT),
    Rule("boots: a start before the baseline does not matter", replace(VOLATILE, nak_may_follow_effect=True),
         [Connected(1), Booted(1), *BEGUN[1:], Nakked(1, "no"), verify("15", 1)], Outcome.APPLIED),
    Rule("boots: the count is read again after the verify", COUNTED, [*COUNT, verify("15")], Read(BOOT, Why.VERIFY)),
    Rule("boots: an equal count", COUNTED, [*COUNT, verify("15"), verify("1", setting=BOOT)], Outcome.APPLIED),
    Rule("boots: another count", COUNTED, [*COUNT, verify("15"), verify("2", setting=BOOT)], Outcome.IN_DOUBT),
    Rule("owed answers: a stream that reopening does not cut is waited out", SERIAL, SILENT, Drain(LATE_S)),
    Rule("owed answers: and read on the same connection, whose port stays open", SERIAL,
         [*SILENT, Drained(1, LATE_S)], Read("offset", Why.VERIFY)),
    Rule("owed answers: an unanswered reading is waited out too", SERIAL,
         [*SILENT, Drained(1, LATE_S), verify(None, 1)], Drain(LATE_S)),
    Rule("owed answers: a lost connection is opened again after the quiet time", SERIAL, [*BEGUN, LOST], QUIET),
    Rule("owed answers: one that broke while it was listened to as well", SERIAL,
         [*SILENT, Drained(1, LATE_S, alive=False)], QUIET),
    Rule("owed answers: an absolute command too goes out only when nothing is owed",
         replace(PLAIN_SET, survives_reopen=True), [Connected(1), plain(1, 1, SET.text), SILENCE], Drain(LATE_S)),
    Rule("told apart: read at once beside the owed ack", APART, SILENT, Read("offset", Why.VERIFY)),
    Rule("told apart: expected is the word", APART, [*SILENT, verify("15", 1)], Outcome.APPLIED),
    Rule("told apart: baseline needs the quiet time, on the same connection", APART, [*SILENT, verify("10", 1)],
         Drain(LATE_S)),
    Rule("told apart: only readings asked after it", APART, [*SILENT, verify("10", 1), Drained(1, LATE_S)],
         Read("offset", Why.VERIFY)),
    Rule("told apart: an owed reading cannot be told from the next", APART, [*SILENT, verify(None, 1)], Connect()),
    Rule("told apart: on a serial line one reading is none", replace(APART, survives_reopen=True),
         [*SILENT, verify("15", 1)], Read("offset", Why.VERIFY)),
    Rule("told apart: but two equal ones", replace(APART, survives_reopen=True),
         [*SILENT, verify("15", 1), verify("15", 1)], Outcome.APPLIED),
    Rule("boots: on a serial line a start hides without a reconnect", replace(VOLATILE, survives_reopen=True),
         [*SILENT, Drained(1, LATE_S)], Outcome.IN_DOUBT),
    Rule("boots: an absolute command counts them before its second copy", SET_COUNTED,
         [Connected(1), plain(1, 1, SET.text), SILENCE, Connected(2)], Read(BOOT, Why.BASELINE)),
    Rule("boots: and is sent also where the count cannot be read", SET_COUNTED,
         [Connected(1), plain(1, 1, SET.text), SILENCE, Connected(2), baseline(None, 2, BOOT), Connected(3)],
         Send(SET.text, 2)),
    Rule("queued: an ack that only says so is read back", QUEUED, [*BEGUN, Acked(1, False, None)],
         Read("offset", Why.VERIFY)),
    Rule("queued: the effect may come within the quiet time", QUEUED,
         [*BEGUN, Acked(1, False, None), verify("10", 1)], QUIET),
    Rule("queued: unchanged for longer is in doubt, it may still come", QUEUED,
         [*BEGUN, Acked(1, False, None), verify("10", 1), Waited(LATE_S), Connected(2), verify("10")],
         Outcome.IN_DOUBT),
    Rule("queued: nothing to read back is in doubt", replace(ONCE, numbering=Numbering.NONE, queued=True),
         [Connected(1), plain(1, 1), Acked(1, False, None)], Outcome.IN_DOUBT),
    Rule("an error answering a repeat is about the first copy", VERIFY,
         [*AFTER_QUIET, verify("10"), plain(2, 2), Nakked(2, "no"), verify("15")], Outcome.APPLIED),
    Rule("an answered refusal: no effect", VERIFY, [*BEGUN, Nakked(1, "no")], Outcome.REFUSED),
    Rule("a refusal that may follow the effect is verified", replace(VERIFY, nak_may_follow_effect=True),
         [*BEGUN, Nakked(1, "no")], Read("offset", Why.VERIFY)),
    Rule("a refused command is not sent again", replace(VERIFY, nak_may_follow_effect=True),
         [*BEGUN, Nakked(1, "no"), verify("10", 1)], Outcome.NOT_APPLIED),
    Rule("read-then-set sends the target", FORM, BEGUN[:2], Send("SET offset 15", 1)),
    Rule("read-then-set never computes it again", FORM,
         [*BEGUN[:2], plain(1, 1, "SET offset 15"), SILENCE, Waited(LATE_S), Connected(2), verify("10")],
         Send("SET offset 15", 2)),
    Rule("read-then-set outside the form's range: not sent", replace(FORM, args={"delta": "91"}), BEGUN[:2],
         Outcome.NOT_SENT),
    Rule("read-then-set below the form's range: not sent", replace(FORM, args={"delta": "-111"}), BEGUN[:2],
         Outcome.NOT_SENT),
    Rule("read-then-set up to its end", replace(FORM, args={"delta": "90"}), BEGUN[:2], Send("SET offset 100", 1)),
    Rule("read-then-set down to its end", replace(FORM, args={"delta": "-110"}), BEGUN[:2],
         Send("SET offset -100", 1)),
    Rule("resend: an absolute command at once, on a connection that owes nothing", PLAIN_SET,
         [Connected(1), plain(1, 1, SET.text), SILENCE, Connected(2)], Send(SET.text, 2)),
    Rule("resend: after the last silence the target is read", replace(PLAIN_SET, attempts_max=1),
         [Connected(1), plain(1, 1, SET.text), SILENCE, Connected(2)], Read("offset", Why.VERIFY)),
    Rule("if needed: the setting is read first", NEEDED, [Connected(1)], Read("offset", Why.BASELINE)),
    Rule("if needed: what is there already is not sent", NEEDED, [Connected(1), baseline("15")], Outcome.UNCHANGED),
    Rule("if needed: another value is set", NEEDED, [Connected(1), baseline("10")], Send(SET.text, 1)),
    Rule("if needed: a setting that is refused is set", NEEDED,
         [Connected(1), Reading("offset", None, 1, Why.BASELINE, "the device says 'ERR'")], Send(SET.text, 1)),
    Rule("if needed: a lost answer is no answer", NEEDED, [Connected(1), baseline(None)], Connect()),
    Rule("if needed: a setting that never answers is set, on a connection that owes nothing", NEEDED,
         [fact for conn in (1, 2, 3) for fact in (Connected(conn), baseline(None, conn))] + [Connected(4)],
         Send(SET.text, 1)),
    Rule("if needed: an earlier effect may not show yet", replace(NEEDED, settle_s=SETTLE_S),
         [Connected(1), baseline("15")], Wait(SETTLE_S)),
    Rule("if needed: so it is read again", replace(NEEDED, settle_s=SETTLE_S),
         [Connected(1), baseline("15"), Waited(SETTLE_S)], Read("offset", Why.BASELINE)),
    Rule("if needed: and then it stands", replace(NEEDED, settle_s=SETTLE_S),
         [Connected(1), baseline("15"), Waited(SETTLE_S), baseline("15")], Outcome.UNCHANGED),
    Rule("if needed: a refusal of the second copy says nothing of the first", NEEDED,
         [Connected(1), baseline("10"), plain(1, 1, SET.text), SILENCE, Connected(2), plain(2, 2, SET.text),
          Nakked(2, "no"), verify("10")], QUIET),
    Rule("if needed: a start between two copies may have put a volatile setting back",
         replace(SET_COUNTED, if_needed=True),
         [Connected(1), baseline("10"), plain(1, 1, SET.text), SILENCE, Connected(2), baseline("1", 2, BOOT),
          plain(2, 2, SET.text), SILENCE, STOP, Waited(LATE_S), Connected(3), verify("10", 3),
          verify("1", 3, setting=BOOT)], Outcome.IN_DOUBT),
    Rule("no-retry: silence is in doubt", replace(ONCE, numbering=Numbering.NONE), [Connected(1), plain(1, 1), SILENCE],
         Outcome.IN_DOUBT),
    Rule("a copy that did not leave is none", replace(ONCE, numbering=Numbering.NONE),
         [Connected(1), plain(1, 1), Unsent("cut")], Connect(Session.KEEP)),
    Rule("a copy that did not leave is none, however often", replace(ONCE, numbering=Numbering.NONE, attempts_max=2),
         [Connected(1), plain(1, 1), Unsent("cut"), Connected(2), plain(1, 2), Unsent("cut")], Outcome.NOT_SENT),
    Rule("nothing left: not sent", VERIFY, [REFUSED], Outcome.NOT_SENT),
    Rule("nothing left when nobody wants it", VERIFY, [Connected(1), STOP], Outcome.NOT_SENT),
    Rule("an ack is the word", VERIFY, [*BEGUN, Acked(1, False, None)], Outcome.APPLIED),
    Rule("a person's word ends a doubt", VERIFY, [*SILENT, REFUSED, Person(False, "ann", "saw it")],
         Outcome.NOT_APPLIED),
]  # fmt: skip

PLAIN_ONCE = replace(ONCE, numbering=Numbering.NONE)
MOVES = replace(PLAIN_ONCE, elsewhere=Elsewhere("unit 5", "GET unit", "5"))
NOBODY, MOVED = Found(True, False, None, "nobody"), Found(False, True, "5", "5")
GONE: list[Evidence] = [NOBODY, Connected(1), plain(1, 1), SILENCE]
STILL_GONE: list[Evidence] = [*GONE, Found(False, False, None, "nobody")]
BUSY = Declined(1, "exception 6", 1.0)

TOLD_MORE = [
    Rule("busy: what took nothing may be sent again, also what is never repeated", PLAIN_ONCE,
         [Connected(1), plain(1, 1), BUSY], Send(ADJUST.text, 2)),
    Rule("busy: it uses up no attempt", replace(VERIFY, attempts_max=1), [*BEGUN, BUSY, verify("10", 1)],
         Send(ADJUST.text, 2)),
    Rule("busy: where the setting can be read it is looked at first", VERIFY, [*BEGUN, BUSY],
         Read("offset", Why.VERIFY)),
    Rule("busy: an effect that is there counts more", VERIFY, [*BEGUN, BUSY, verify("15", 1)], Outcome.APPLIED),
    Rule("busy: a refusal of the only copy that was taken is one", VERIFY,
         [*BEGUN, BUSY, plain(2, 1), Nakked(2, "no")], Outcome.REFUSED),
    Rule("busy: patience ends, and nothing has happened", PLAIN_ONCE,
         [Connected(1), plain(1, 1), replace(BUSY, waited_s=60.0)], Outcome.REFUSED),
    Rule("busy: said to a later copy it says nothing of the first", VERIFY,
         [*SILENT, Connected(2), verify("10"), Waited(LATE_S), Connected(3), verify("10", 3), plain(2, 3),
          replace(BUSY, attempt=2)], Read("offset", Why.VERIFY)),
    Rule("taken, not done: read back, never sent again", VERIFY, [*BEGUN, Acked(1, False, None, queued=True)],
         Read("offset", Why.VERIFY)),
    Rule("taken, not done: nothing to read back, in doubt", PLAIN_ONCE,
         [Connected(1), plain(1, 1), Acked(1, False, None, queued=True)], Outcome.IN_DOUBT),
    Rule("no clear word: an absolute command may be sent again, and nothing is owed", PLAIN_SET,
         [Connected(1), plain(1, 1, SET.text), Unknown("indeterminate")], Send(SET.text, 2)),
    Rule("link: the new address is asked first", MOVES, [], Find("unit 5")),
    Rule("link: nobody may answer there", MOVES, [replace(NOBODY, answered=True)], Outcome.NOT_SENT),
    Rule("link: then it is sent", MOVES, [NOBODY, Connected(1)], Send(ADJUST.text, 1)),
    Rule("link: after silence it is looked for there", MOVES, GONE, Find("unit 5")),
    Rule("link: where it answers it has moved", MOVES, [*GONE, MOVED], Outcome.APPLIED),
    Rule("link: another one there is no proof", MOVES, [*STILL_GONE, Waited(LATE_S), replace(MOVED, value="7")],
         Outcome.IN_DOUBT),
    Rule("link: a device may need time to restart", MOVES, STILL_GONE, Wait(LATE_S)),
    Rule("link: a device that restarts is looked for again", MOVES, [*STILL_GONE, Waited(LATE_S)], Find("unit 5")),
]  # fmt: skip

RULES = [*LSQ1, *EVIDENCE, *TOLD_MORE]


def check_rule(rule: Rule, step: Step) -> None:
    """Assert that the step, or the word, is the one that the rule names."""
    if isinstance(rule.follows, Outcome):
        assert isinstance(step, Finish), (rule.words, step)
        assert step.outcome is rule.follows, (rule.words, step)
    else:
        assert step == rule.follows, rule.words


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.words)
def test_rule(rule: Rule) -> None:
    """What is known leads to the step that the rule names."""
    check_rule(rule, next_step(rule.terms, rule.facts))


OFF = "the device says 'ERR sensor off' to 'GET offset'"


@pytest.mark.parametrize(
    ("readings", "end"),
    [
        ([replace(verify(None, 1), problem=OFF)] * 4, f"and the setting could not be read back: {OFF}"),
        ([verify("12", 1), verify("12", 1)], "; the setting does not show the target"),
        ([verify("12", 1), replace(verify(None, 1), problem=OFF)] * 2, f"could not be read back: {OFF}"),
        ([verify("10", 1), verify("12", 1)] * 2, "and the setting could not be read back reliably"),
    ],
    ids=["never", "another value", "not any more", "never the same"],
)
def test_a_doubt_says_what_the_readings_showed(readings: list[Evidence], end: str) -> None:
    """That a setting does not show the target is said only where it was read."""
    terms = replace(PLAIN_SET, settle_s=SETTLE_S)
    said = [each for reading in readings for each in (Waited(SETTLE_S), reading)]
    facts = [Connected(1), plain(1, 1, SET.text), Unknown("indeterminate"), STOP, *said]
    step = next_step(terms, facts)
    assert isinstance(step, Finish), step
    assert step.outcome is Outcome.IN_DOUBT
    assert step.why.endswith(end)
