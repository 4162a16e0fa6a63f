"""What did an operation's facts look like from the agent's side: who wrote, who spoke, where was silence?

Facts of the journal in, rows of a picture out (`logs/picture.py`). Nothing is decided and nothing guessed here: what
the device said is an arrow from it, what was not heard is silence, all else is a note in the words of the log. A fact
that this file does not know is told by its name and fields.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from agent.clock import moment
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
    Nakked,
    NotSent,
    Person,
    Reading,
    Sent,
    Spent,
    Unanswered,
    Unknown,
    Unsent,
    Waited,
    fields_of,
)
from agent.narrate import Narrator
from agent.operation import BOOT, Operation
from agent.steps import Settle
from logs.picture import Row, Way

_SAID_BY_THE_DEVICE = (BadSession, Booted, Burnt, Spent)
"""Facts that the log tells in words, and that are answers."""

_SETTLING = f"{Settle.__name__}("
"""How the journal's text of a settling step begins (`steps.step_text`)."""


def rows(operation: Operation, story: Sequence[tuple[str | None, Evidence, str]]) -> list[Row]:
    """The rows of an operation's story as `Journal.story` gives it; the first fact is at 0 seconds."""
    teller = _Teller(operation)
    return [row for step, fact, utc in story for row in teller.told(step, fact, utc)]


def no_way(fact: NotSent, *, sent: bool) -> str:
    """That the device was not reached, in words. `sent`: after a copy, so that it was only to be asked."""
    return f"it could not be asked: {fact.why}" if sent else f"nothing was sent: {fact.why}"


class _Teller:
    """Tells facts in their order; remembers the beginning and the last copy."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._narrator = Narrator(operation, "")
        self._began: datetime | None = None
        self._sent: datetime | None = None

    def told(self, step: str | None, fact: Evidence, utc: str) -> Iterator[Row]:
        """The rows of one fact, learnt at `utc` by `step`."""
        now = moment(utc)
        self._began = self._began or now
        at_s = (now - self._began).total_seconds()
        words = self._narrator.fact(fact, utc)
        if step is not None and step.startswith(_SETTLING):
            yield Row(None, Way.ASK, "NOP under the same number, to settle its fate")
        match fact:
            case Sent():
                self._sent = now
                yield Row(at_s, Way.COPY, fact.text, f"seq={fact.seq} attempt {fact.attempt}")
            case Acked():
                yield Row(at_s, Way.ANSWER, _ack(fact), f"attempt {fact.attempt}")
            case Nakked():
                yield Row(at_s, Way.ANSWER, f"says no: {fact.text}", f"attempt {fact.attempt}")
            case Unknown():
                yield Row(at_s, Way.SILENCE, self._unheard(fact, now))
            case Unsent():
                yield Row(at_s, Way.NOTE, f"the copy did not leave: {fact.why}")
            case Declined():
                yield Row(
                    at_s, Way.ANSWER, f"is busy and takes nothing: {fact.text}", f"attempt {fact.attempt}"
                )
            case Deferred():
                busy = "is busy with something else" if fact.how == "busy" else "is still at it"
                yield Row(at_s, Way.ANSWER, f"{busy} ({_seconds(fact.waited_s)})")
            case Reading():
                yield Row(None, Way.ASK, self._query(fact.setting), fact.why.value)
                if fact.value is None and fact.problem is None:
                    yield Row(at_s, Way.SILENCE, "no answer")
                else:
                    yield Row(at_s, Way.ANSWER, fact.value if fact.value is not None else str(fact.problem))
            case Unanswered():
                yield Row(at_s, Way.SILENCE, "no answer")
            case Waited():
                yield Row(at_s, Way.NOTE, f"waited {_seconds(fact.seconds)}")
            case Drained():
                why = "nothing could be owed any more" if fact.alive else "the connection broke"
                yield Row(
                    at_s, Way.NOTE, f"listened until {why}, {_seconds(fact.seconds)} after the last request"
                )
            case Connected() if words is not None and words.event == "connected":
                session = f"session {fact.session}" if fact.session is not None else ""
                yield Row(at_s, Way.NOTE, f"connection {fact.conn}", session)
            case NotSent():
                yield Row(at_s, Way.NOTE, no_way(fact, sent=self._sent is not None))
            case Person():
                yield Row(at_s, Way.NOTE, f"resolved by {words.text if words is not None else fact.who}")
            case _:
                way = Way.ANSWER if isinstance(fact, _SAID_BY_THE_DEVICE) else Way.NOTE
                yield Row(at_s, way, words.text if words is not None and words.text else _plainly(fact))

    def _unheard(self, fact: Unknown, now: datetime) -> str:
        passed_s = (now - self._sent).total_seconds() if self._sent is not None else -1.0
        time = _seconds(passed_s) if passed_s >= 0 else None  # the clock may have been set back
        if fact.how == "silence":
            return f"{time} silence" if time is not None else "silence"
        how = "connection lost" if fact.how == "lost" else f"no clear word ({fact.how})"
        return f"{how} after {time}" if time is not None else how

    def _query(self, setting: str) -> str:
        terms = self._operation.terms
        query = terms.boot_query if setting == BOOT else terms.queries.get(setting)
        return query or f"reads {setting}"


def _ack(fact: Acked) -> str:
    if fact.queued:
        return "has taken it and is not done yet"
    ack = "ack: duplicate, not executed again" if fact.duplicate else "ack"
    return ack if fact.value is None else f"{ack} ({fact.value})"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds:.2f} s"


def _plainly(fact: Evidence) -> str:
    fields = ", ".join(f"{name} {value}" for name, value in fields_of(fact).items())
    return f"{type(fact).__name__}: {fields}" if fields else type(fact).__name__
