"""What do the facts of an operation amount to?

One pass over the evidence, no decisions: counts and last words, in the terms in which the policy's rules are written.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.evidence import (
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
from agent.operation import BOOT


@dataclass(frozen=True, slots=True)
class Look:
    """One reading of the read-back: its value, its connection, and the waits since the last copy when it was asked.

    `owed`: the answer to a copy was still owed on the connection.
    """

    value: str | None
    conn: int
    waits: int
    waited_s: float
    owed: bool = False


@dataclass(slots=True)
class Number:
    """One number that was drawn for the command: its copies, and the connection whose session it belongs to.

    What has been learnt of it beside the replies (WIRE.md 4.6): `shown` is the device's record of this very number,
    `turned_away` says that its only copy met no session, `unused` that the session ended before the number was used.
    """

    session: int
    seq: int
    digest: int
    life: Connected
    copies: int = 0
    shown: Record | None = None
    turned_away: bool = False
    unused: bool = False


@dataclass(slots=True)
class View:
    """The state of knowledge.

    `unsent` counts copies that did not leave after all; they are not among the `copies`; `why_unsent` is that of the
    last. `declined` counts copies that met a busy device which took nothing of them; `taken` are all others, which may
    have had an effect. `silent` counts copies that ended without a word in this round of effort, `silent_here` those on
    the open connection; `why_unheard` is what was learnt of why the last one did. `conn` is the open connection, None
    when there is none; `owes_copy` and `owes_read`: it still owes the answer to a copy, or to a read. `failed_reads`
    counts readings before the first copy that got no answer; `baseline_waits` is how many waits the last one before it
    had behind it. `problem`: what the device said to the last reading of all, where it gave no value. `readings` are
    those of the read-back since the last copy; a failed reading of the boot count is among them, because it leaves the
    look before it unproven. `earlier_open`: a number before the newest may have been executed. `hello_is_news`:
    something happened since the last HELLO, so that the device's record may say more than it did. `same_session`: a new
    session turned out to be the old one. `person_questioned`: the device is asked once more after a person's word.
    `there_before` and `there`: who answered where the command moves the device, before the first copy and after the
    last one.
    """

    connected: Connected | None = None
    conn: int | None = None
    opening_failed: NotSent | None = None
    copies: list[Sent] = field(default_factory=list)
    number: Number | None = None
    numbers: int = 0
    earlier_open: bool = False
    word: Acked | Nakked | Burnt | Spent | None = None
    unsent: int = 0
    why_unsent: str = ""
    declined: int = 0
    last_declined: bool = False
    silent: int = 0
    silent_here: int = 0
    why_unheard: str = ""
    deferred_s: float = 0.0
    bad_session: BadSession | None = None
    hello_since_bad_session: bool = False
    settles_lost: int = 0
    settle_lost_here: bool = False
    settle_held: bool = False
    hello_is_news: bool = False
    same_session: bool = False
    baselines: dict[str, str | None] = field(default_factory=dict)
    baseline_conn: int | None = None
    baseline_waits: int = 0
    readings: list[Look] = field(default_factory=list)
    boot_after: str | None = None
    owes_copy: bool = False
    owes_read: bool = False
    failed_reads: int = 0
    problem: str | None = None
    booted: bool = False
    there_before: Found | None = None
    there: list[Found] = field(default_factory=list)
    waited_s: float = 0.0
    waits: int = 0
    given_up: GiveUp | None = None
    person: Person | None = None
    person_questioned: bool = False

    @property
    def taken(self) -> int:
        """How many copies may have had an effect."""
        return len(self.copies) - self.declined


def reckon(facts: Iterable[Evidence]) -> View:
    """Fold the facts, oldest first."""
    v = View()
    for fact in facts:
        _FOLDS[type(fact)](v, fact)
    return v


def _connected(v: View, fact: Connected) -> None:
    v.connected = fact
    v.conn = fact.conn
    v.opening_failed = None
    v.silent_here = 0
    v.settle_lost_here = False
    v.owes_copy = v.owes_read = False
    if not v.copies:
        v.baselines.clear()  # one connection shows one state of the device
        v.booted = False
    v.hello_since_bad_session = v.bad_session is not None
    v.hello_is_news = False
    if v.number is not None:
        v.same_session = fact.session == v.number.session
        _record_shown(v, v.number, fact)


def _record_shown(v: View, n: Number, seen: Connected) -> None:
    """What the device's record says of a number; that it was not used only once its session has ended (WIRE.md 4.6)."""
    last = (seen.record.session, seen.record.seq) if seen.record is not None else None
    if last == (n.session, n.seq):
        n.shown = seen.record
    elif v.bad_session is not None and (_remembers(seen, n.life) or seen.boot == n.life.boot):
        as_opened = n.seq == 1 and seen.record == n.life.opening
        n.unused = n.unused or as_opened or last == (n.session, n.seq - 1)


def _remembers(seen: Connected, before: Connected) -> bool:
    """The device's memory survives boots, and was not wiped since: its epoch never falls (WIRE.md 3)."""
    return seen.durable and (seen.epoch is None or before.epoch is None or seen.epoch >= before.epoch)


def _bad_session(v: View, fact: BadSession) -> None:
    v.bad_session = fact
    v.hello_is_news = True
    v.hello_since_bad_session = False
    if v.number is not None and v.number.copies == 1 and fact.to == "cmd":
        v.number.turned_away = True


def _sent(v: View, fact: Sent) -> None:
    if fact.session is not None and fact.digest is not None and v.connected is not None:
        if v.number is None or (v.number.session, v.number.seq) != (fact.session, fact.seq):
            if v.number is not None:
                v.earlier_open = v.earlier_open or not (v.number.turned_away or v.number.unused)
            v.number = Number(fact.session, fact.seq, fact.digest, v.connected)
            v.numbers += 1
            v.word = None
            v.bad_session = None
        v.number.copies += 1
    v.hello_is_news = True
    v.copies.append(fact)
    v.there.clear()
    v.readings.clear()
    v.last_declined = False
    v.boot_after = None
    v.waited_s = 0.0


def _unheard(v: View, fact: Unknown) -> None:
    v.silent += 1
    v.silent_here += 1
    v.why_unheard = fact.why
    v.owes_copy = v.owes_copy or fact.how != "indeterminate"
    if fact.how == "lost":
        v.conn = None


def _unsent(v: View, fact: Unsent) -> None:
    """The copy is none; but a number whose earlier copies left stays in use, and this one counts as lost."""
    if v.number is not None and len(v.copies) > 1:
        _unheard(v, Unknown("lost"))
        return
    v.copies.pop()
    v.unsent += 1
    v.why_unsent = fact.why
    v.conn = None
    v.number, v.numbers = None, 0


def _drained(v: View, fact: Drained) -> None:
    v.waited_s += fact.seconds
    v.waits += 1
    v.owes_copy = v.owes_read = False
    if not v.copies:
        v.baselines = {name: value for name, value in v.baselines.items() if value is not None}
    if not fact.alive:
        v.conn = None


def _reading(v: View, fact: Reading) -> None:
    if fact.value is None and fact.problem is None:
        v.owes_read = True
        v.failed_reads += fact.why is Why.BASELINE
    v.problem = fact.problem
    if fact.why is Why.BASELINE:
        v.baselines[fact.setting] = fact.value
        v.baseline_conn = fact.conn
        v.baseline_waits = v.waits
    elif fact.setting == BOOT and fact.value is not None:
        v.boot_after = fact.value
    else:
        v.readings.append(Look(fact.value, fact.conn, v.waits, v.waited_s, v.owes_copy))


def _taken_up(v: View, fact: TakenUp) -> None:
    v.conn = None
    v.opening_failed = None
    v.unsent = 0
    v.silent = 0
    v.numbers = 0
    v.settles_lost = 0
    v.settle_held = False
    v.hello_is_news = True
    v.person_questioned = v.person is not None
    v.deferred_s = 0.0
    v.hello_since_bad_session = False
    if not v.copies:
        v.baselines.clear()
        v.baseline_conn = None
        v.booted = False
        v.failed_reads = 0
        v.there_before = None
    v.there.clear()
    v.readings.clear()
    v.boot_after = None
    v.waited_s = 0.0
    v.given_up = None if fact.resend else GiveUp("nobody asks for it any more")


def _heard(v: View, fact: Acked | Nakked | Burnt | Spent) -> None:
    v.word = fact
    v.hello_is_news = True


def _not_sent(v: View, fact: NotSent) -> None:
    v.opening_failed = fact
    v.conn = None


def _deferred(v: View, fact: Deferred) -> None:
    v.deferred_s += fact.waited_s
    v.hello_is_news = True
    v.owes_copy = True
    v.settle_held = v.settle_held or fact.to == "nop"


def _declined(v: View, fact: Declined) -> None:
    v.declined += 1
    v.last_declined = True
    v.deferred_s += fact.waited_s


def _unanswered(v: View, _fact: Unanswered) -> None:
    v.settles_lost += 1
    v.settle_lost_here = True
    v.hello_is_news = True


def _booted(v: View, _fact: Booted) -> None:
    v.booted = v.booted or bool(v.copies) or any(each is not None for each in v.baselines.values())


def _found(v: View, fact: Found) -> None:
    v.conn = None
    if fact.before:
        v.there_before = fact
    else:
        v.there.append(fact)


def _waited(v: View, fact: Waited) -> None:
    v.waited_s += fact.seconds
    v.waits += 1


def _given_up(v: View, fact: GiveUp) -> None:
    v.given_up = fact


def _decided(v: View, fact: Person) -> None:
    v.person = fact


_FOLDS: Mapping[type[Evidence], Callable[[View, Any], None]] = {
    Connected: _connected,
    Sent: _sent,
    Acked: _heard,
    Nakked: _heard,
    Burnt: _heard,
    Spent: _heard,
    Unknown: _unheard,
    Unsent: _unsent,
    Reading: _reading,
    Deferred: _deferred,
    Declined: _declined,
    BadSession: _bad_session,
    NotSent: _not_sent,
    Unanswered: _unanswered,
    Booted: _booted,
    Found: _found,
    Waited: _waited,
    Drained: _drained,
    GiveUp: _given_up,
    TakenUp: _taken_up,
    Person: _decided,
}
