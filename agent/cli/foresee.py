"""What would each loss of a command lead to?

Found by letting the policy itself decide, step by step, on the evidence that an imagined device would leave. So what
is foretold cannot differ from what the agent does. Pure: terms in, rows out.

The imagined device is otherwise well: only the first copy meets with the loss. It forgets its numbers, and settings
that are not durable, when it restarts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import groupby

from agent import readback
from agent.evidence import (
    Acked,
    BadSession,
    Burnt,
    Connected,
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
from agent.operation import BOOT, Cause, Numbering, Outcome, Proof, Terms
from agent.policy import next_step
from agent.reckoning import reckon
from agent.steps import Connect, Drain, Find, Finish, Read, Send, Session, Settle, Step, Wait
from devices.values import enum_values, normalise, plain

STEPS_MAX = 200
"""A policy that asks for more is broken."""

_DIGEST = 1
"""Stands for the content of the command; any number that is not a NOP's would do."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What happens to the first copy. `takes_effect`: the device executes it before the loss strikes."""

    name: str
    text: str
    takes_effect: bool
    answered: bool = False
    answers_late: bool = False
    cuts: bool = False
    restarts: bool = False
    silent_from_then: bool = False


LOSSES = (
    Loss("none", "nothing is lost", takes_effect=True, answered=True),
    Loss("command_lost", "the command is lost", takes_effect=False),
    Loss("ack_lost", "the ack is lost", takes_effect=True),
    Loss("ack_late", "the ack comes late", takes_effect=True, answers_late=True),
    Loss("cut_before", "the connection is cut before it arrives", takes_effect=False, cuts=True),
    Loss("cut_after", "the connection is cut after the effect", takes_effect=True, cuts=True),
    Loss("restart_before", "the device restarts before the effect", takes_effect=False, restarts=True),
    Loss("restart_after", "the device restarts after the effect", takes_effect=True, restarts=True),
    Loss("nobody_answers", "nobody answers any more", takes_effect=False, silent_from_then=True),
)
"""Every loss that is foretold, the undisturbed course first."""


@dataclass(frozen=True, slots=True)
class Course:
    """One foretold course.

    `does`: what the agent does, in its order; after a loss only what follows the first copy. `outcome`, `proof` and
    `why` are the word at the end. `effects` counts how often the imagined device executed the command.
    """

    loss: Loss
    does: tuple[str, ...]
    outcome: Outcome
    proof: Proof | None
    why: str
    cause: Cause | None
    effects: int


def foresee(terms: Terms) -> tuple[Course, ...]:
    """The course of an operation of these terms under each of `LOSSES`, in their order."""
    values = _imagined_values(terms)
    return tuple(_course(terms, loss, values) for loss in LOSSES)


def _course(terms: Terms, loss: Loss, values: dict[str, str]) -> Course:
    device = _Imagined(terms, loss, dict(values))
    facts: list[Evidence] = []
    done: list[str] = []
    for _ in range(STEPS_MAX):
        step = next_step(terms, facts)
        if isinstance(step, Finish):
            does = tuple(_counted(done))
            return Course(loss, does, step.outcome, step.proof, step.why, step.cause, device.effects)
        left = device.answer(step)
        if loss.answered or reckon(facts).copies:
            done.append(_words(terms, step, left))
        facts += left
    raise RuntimeError(f"no word after {STEPS_MAX} steps")


# --- the imagined device --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Imagined:
    """A device, the way to it, and the loss that strikes once. `values` are those of its settings."""

    terms: Terms
    loss: Loss
    values: dict[str, str]
    effects: int = 0
    boot: int = 1
    conn: int = 0
    struck: bool = False
    session: int | None = None
    sessions: int = 0
    last_seq: int = 0
    record: Record | None = None
    opening: Record | None = None
    copies: int = 0
    at_rest: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.at_rest = dict(self.values)

    def answer(self, step: Step) -> list[Evidence]:
        """The facts that a step leaves."""
        match step:
            case Connect():
                waited: list[Evidence] = [Waited(step.quiesce_s)] if step.quiesce_s > 0 else []
                return [*waited, self._connect(step)]
            case Drain(quiet_s=quiet_s):
                return [Drained(self.conn, quiet_s)]
            case Read(setting=setting, why=why):
                text = str(self.boot) if setting == BOOT else self.values[setting]
                return [Reading(setting, None if self._mute else text, self.conn, why)]
            case Send():
                return self._send(step)
            case Settle():
                return [Unanswered("settle") if self._mute else self._settle(step)]
            case Find():
                return [self._find()]
            case Wait(seconds=seconds):
                return [Waited(seconds)]
            case Finish():
                raise TypeError("a finish is not performed")

    def _find(self) -> Found:
        place = self.terms.elsewhere
        there = self.effects > 0 and not self._mute and place is not None
        return Found(not self.copies, there, place.expect if there and place is not None else None, "nobody")

    @property
    def _mute(self) -> bool:
        return self.struck and self.loss.silent_from_then

    @property
    def _numbered(self) -> bool:
        return self.terms.numbering is Numbering.LSQ1

    def _connect(self, step: Connect) -> Evidence:
        if self._mute:
            return NotSent(Cause.UNREACHABLE, "it does not answer")
        self.conn += 1
        if not self._numbered:
            return Connected(self.conn)
        wanted = step.session is not Session.NONE
        if wanted and (step.session is Session.FRESH or self.session is None):
            self.sessions += 1
            self.session, self.last_seq, self.opening = self.sessions, 0, self.record
        session = self.session if wanted else None
        return Connected(self.conn, self.boot, session, self.record, self.opening if wanted else None)

    def _send(self, step: Send) -> list[Evidence]:
        session = seq = None
        if self._numbered:
            session, seq = step.number or (self.session, self.last_seq + 1)
        self.copies += 1
        digest = _DIGEST if self._numbered else None
        sent = Sent(step.attempt, self.conn, step.text, seq or self.copies, session, digest)
        if self._mute:
            return [sent, Unknown("silence")]
        if self.struck:
            return [sent, self._receive(sent)]
        self.struck = True
        if self.loss.takes_effect:
            self._receive(sent)
        if self.loss.restarts:
            self._restart()
        if self.loss.answered:
            return [sent, Acked(1, duplicate=False, value=None)]
        cut = self.loss.cuts or (self.loss.restarts and not self.terms.survives_reopen)
        return [sent, Unknown("lost" if cut else "silence")]

    def _receive(self, sent: Sent) -> Evidence:
        """A copy arrives: what the device answers."""
        if self._numbered:
            if sent.session != self.session:
                return BadSession("cmd", self.boot)
            known = sent.seq == self.last_seq
            self.last_seq = sent.seq
            self.record = Record(sent.session or 0, sent.seq, _DIGEST, 0)
        else:
            known = False  # without numbers every copy acts
        if not known:
            self._take_effect()
        if known and self.loss.answers_late and self._numbered:
            return Acked(1, duplicate=False, value=None)  # the late answer fits the number: it ends the wait
        return Acked(sent.attempt, duplicate=known, value=None)

    def _take_effect(self) -> None:
        self.effects += 1
        back = self.terms.readback
        if back is not None:
            self.values[back.setting] = _expected(self.terms, self.at_rest) or self.values[back.setting]

    def _settle(self, step: Settle) -> Evidence:
        if step.session != self.session:
            return BadSession("nop", self.boot)
        if step.seq == self.last_seq:
            return Spent(Owner.OURS, 0)
        self.last_seq = step.seq
        return Burnt()

    def _restart(self) -> None:
        self.boot += 1
        self.session = self.record = None
        back = self.terms.readback
        if back is not None and not back.durable:
            self.values[back.setting] = self.at_rest[back.setting]


# --- its settings ---------------------------------------------------------------------------------------------


def _imagined_values(terms: Terms) -> dict[str, str]:
    """Values before the command such that it can be carried out and its effect can be seen, where there are any."""
    names = [name for name in readback.settings_needed(terms) if name != BOOT]
    values = {name: next(_candidates(terms.types[name], None, None)) for name in names}
    back = terms.readback
    if back is None:
        return values
    tried = [values | {back.setting: text} for text in _candidates(back.type, back.min, back.max)]
    return next((each for each in tried if _suits(terms, each)), tried[0] if tried else values)


def _candidates(type_text: str, low: str | None, high: str | None) -> Iterator[str]:
    if type_text not in ("int", "decimal"):
        yield from enum_values(type_text) or {"bool": ("false", "true")}.get(type_text, ("a", "b"))
        return
    bounds = [Decimal(text) for text in (low, high) if text is not None]
    middle = [plain((bounds[0] + bounds[1]) // 2)] if len(bounds) == 2 else []
    for text in ("0", "1", *middle, *(plain(bound) for bound in bounds)):
        if (low is None or Decimal(text) >= Decimal(low)) and (
            high is None or Decimal(text) <= Decimal(high)
        ):
            yield normalise(type_text, text)


def _suits(terms: Terms, values: dict[str, str]) -> bool:
    """The policy would send the command, it stays within the limits of the setting, and a reading shows it."""
    facts: list[Evidence] = [Found(True, False, None, "nobody"), Connected(1, session=1)]
    facts += [Reading(name, text, 1, Why.BASELINE) for name, text in values.items()]
    back, want = terms.readback, _expected(terms, values)
    if back is None or want is None or readback.is_void(terms, reckon(facts)):
        return False
    too_low = back.min is not None and Decimal(want) < Decimal(back.min)
    too_high = back.max is not None and Decimal(want) > Decimal(back.max)
    boot: list[Evidence] = [Reading(BOOT, "1", 1, Why.BASELINE)]
    return not too_low and not too_high and isinstance(next_step(terms, [*facts, *boot]), Send)


def _expected(terms: Terms, values: dict[str, str]) -> str | None:
    readings = (Reading(name, text, 1, Why.BASELINE) for name, text in values.items())
    return readback.expected(terms, reckon(readings))


# --- words ----------------------------------------------------------------------------------------------------


def _words(terms: Terms, step: Step, left: list[Evidence]) -> str:
    """What the agent does in one step, and where it does not get through, that too."""
    match step:
        case Connect(quiesce_s=quiesce_s):
            if isinstance(left[-1], NotSent):
                return "cannot connect any more"
            quiet = f"lets the line be quiet for {quiesce_s:g} s, " if quiesce_s > 0 else ""
            return f"{quiet}connects" + (
                "" if isinstance(left[-1], Connected) and left[-1].conn == 1 else " anew"
            )
        case Drain(quiet_s=quiet_s):
            return f"listens until the line has been quiet for {quiet_s:g} s"
        case Read(setting=setting, why=why):
            name = "its boot count" if setting == BOOT else setting
            return f"reads {name}" + (" back" if why is Why.VERIFY and setting != BOOT else "")
        case Send(attempt=1, text=text):
            return "sends it" if text == terms.text else "sends the absolute command instead"
        case Send(number=None) if terms.numbering is not Numbering.NONE:
            return "sends it again under a new number"
        case Send():
            return "sends the same again"
        case Settle():
            return "lets a NOP use up the number"
        case Find(at=at):
            return f"looks for it at {at}"
        case Wait(seconds=seconds):
            return f"waits {seconds:g} s"
        case Finish():
            raise TypeError("a finish is not performed")


def _counted(words: list[str]) -> Iterator[str]:
    for word, run in groupby(words):
        times = len(list(run))
        yield word if times == 1 else f"{word} ({times} times)"
