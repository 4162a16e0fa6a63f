"""How is what happened told in the log? Facts, and input that was credited to nothing, in; log events out.

Nothing is decided here.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.clock import Clock
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
    Owner,
    Person,
    Reading,
    Sent,
    Spent,
    TakenUp,
    Unanswered,
    Unknown,
    Unsent,
)
from agent.operation import Operation, Outcome, Proof, Result
from agent.secrets import Veil
from logs.events import Event, EventName, Level
from logs.text import bytes_text

if TYPE_CHECKING:
    from protocol.native.requester import Ignored

IGNORED_MAX = 100
"""Frames that answer nothing are logged up to this many each time a device is held: a flood must fill no disk."""
WORTH_TELLING_S = 0.1
"""A shorter wait is not told: nobody notices it."""
LONG_S = 1.0
"""A wait of this length looks like a program that hangs, so everybody is told of it."""

_STATUS_WORDS = {0: "applied", 1: "refused", 2: "refused", 3: "refused", 4: "the device itself does not know"}


class Narrator:
    """Tells the story of one operation, fact by fact."""

    def __init__(self, operation: Operation, agent: str) -> None:
        self._operation = operation
        self._agent = agent
        self._last: Sent | None = None
        self._settled = False
        self._asked_again = False
        self._boot: int | None = None

    def fact(self, fact: Evidence, ts: str, elapsed_s: float | None = None) -> Event | None:
        """The event of a fact, None where there is nothing to tell."""
        if isinstance(fact, Sent):
            self._last = fact
        told = self._told(fact)
        if told is None:
            return None
        level, name, attempt, text = told
        return self._event(ts, level, name, attempt=attempt, text=text, elapsed_s=elapsed_s)

    def end(self, result: Result, ts: str) -> Event | None:
        """The event of the word at the end, None where the last fact has told it already."""
        match result.outcome, result.proof:
            case Outcome.IN_DOUBT, _:
                return self._event(ts, "WARN", "in_doubt", text=result.message, elapsed_s=result.elapsed_s)
            case Outcome.NOT_SENT, _:
                return self._event(ts, "WARN", "not_sent", text=result.message, elapsed_s=result.elapsed_s)
            case Outcome.APPLIED, Proof.VERIFIED:
                text = f"{result.expected} = expected, not re-sent"
                return self._event(ts, "INFO", "verify", text=text, elapsed_s=result.elapsed_s)
            case Outcome.UNCHANGED, _:
                return self._event(
                    ts, "INFO", "verify", text=f"{result.value} = wanted already, nothing sent"
                )
            case Outcome.NOT_APPLIED, Proof.VERIFIED:
                return self._event(ts, "INFO", "verify", text=f"{result.before} = as before, not applied")
            case _, Proof.PERSON if self._asked_again:
                return self._event(ts, "INFO", "note", text="nothing new was learnt; it stays as decided")
            case _, Proof.SETTLED if not self._settled:
                words = {Outcome.APPLIED: "applied", Outcome.REFUSED: "refused"}
                text = words.get(result.outcome, "never ran")
                return self._event(ts, "INFO", "settled", text=text, elapsed_s=result.elapsed_s)
        return None

    def _told(self, fact: Evidence) -> tuple[Level, EventName, int | None, str | None] | None:
        attempt = self._last.attempt if self._last is not None else None
        match fact:
            case Sent():
                return "INFO", "sent", attempt, None
            case Acked(attempt=answered, queued=True):
                return "INFO", "busy", answered, "it has taken the command and is not done yet"
            case Acked(attempt=answered, duplicate=duplicate):
                return "INFO", "duplicate_ack" if duplicate else "ack", answered, None
            case Nakked(attempt=answered, text=text):
                return "WARN", "refused", answered, text
            case Unsent(why=why):
                return "WARN", "unsent", attempt, why
            case Unknown(how=how, why=why):
                return "WARN", "lost" if how == "lost" else "timeout", attempt, why or None
            case Deferred():
                return "INFO", "busy", attempt, None
            case Declined(attempt=answered, text=text):
                return "INFO", "busy", answered, f"{text}: nothing was taken"
            case Burnt():
                self._settled = True
                return "INFO", "settled", None, "never ran"
            case Spent():
                self._settled = True
                return "INFO", "settled", None, _spent_words(fact)
        told = self._note(fact)
        return None if told is None else (*told[:2], None, told[2])

    def _note(self, fact: Evidence) -> tuple[Level, EventName, str] | None:
        match fact:
            case Connected(boot=boot):
                before, self._boot = self._boot, boot
                if self._last is not None and before is not None and before != boot:
                    return "WARN", "boot", "the device has restarted"
                numbered = f", session {fact.session}, boot {boot}" if boot is not None else ""
                return "DEBUG", "connected", f"connected{numbered}"
            case BadSession(to=to):
                return "WARN", "note", f"the device does not know the session any more (said to {to.upper()})"
            case Unanswered():
                return "WARN", "note", "no answer to the question what became of the command"
            case Booted():
                return "WARN", "boot", "the device announced a start"
            case Reading(setting=setting, value=value, why=why, problem=problem):
                return "DEBUG", "note", f"read {setting}: {value or problem or 'no answer'} ({why})"
            case Found(answered=answered, text=text):
                return "DEBUG", "note", f"at its other address: {text if answered else f'nobody ({text})'}"
            case Drained(seconds=seconds):
                return "DEBUG", "note", f"listened until {seconds:g} s had passed since the last request"
            case GiveUp(why=why):
                return "WARN", "note", f"no further copies: {why}"
            case TakenUp(resend=resend):
                self._asked_again = True
                return "INFO", "note", "taken up again" if resend else "taken up again to learn its fate"
            case Person(applied=applied, who=who, reason=reason):
                return "INFO", "resolved", f"{who}: {'applied' if applied else 'not applied'} ({reason})"
        return None

    def waiting(self, seconds: float, ts: str, *, copy: bool) -> Event:
        """The event of a wait until the path is quiet; `copy`: until no copy can arrive any more."""
        what = "copy may still arrive" if copy else "request may still be answered"
        return self._event(
            ts, _urgency(seconds), "waiting", text=f"{seconds:.1f} s: an earlier {what} until then"
        )

    def _event(
        self,
        ts: str,
        level: Level,
        name: EventName,
        *,
        attempt: int | None = None,
        text: str | None = None,
        elapsed_s: float | None = None,
    ) -> Event:
        o, last = self._operation, self._last
        sent = o.command if last is None or last.text == o.terms.text else last.text
        return Event(
            ts=ts,
            level=level,
            op=o.op,
            run=o.run,
            device=o.device,
            agent=self._agent,
            policy=o.terms.policy.value,
            session=last.session if last is not None else None,
            seq=last.seq if last is not None else None,
            cmd=sent.partition(" ")[0],
            setting=o.terms.setting,
            attempt=attempt,
            event=name,
            text=text,
            elapsed_s=elapsed_s,
            route=o.route,
        )


def _spent_words(fact: Spent) -> str:
    if fact.by is Owner.NOP:
        return "never ran"
    if fact.by is Owner.OTHER:
        return "the number belongs to somebody else"
    return _STATUS_WORDS.get(fact.status if fact.status is not None else -1, "unknown")


def _urgency(wait_s: float) -> Level:
    return "WARN" if wait_s >= LONG_S else "INFO"


class Bystander:
    """Tells what passes on a device's line and belongs to no fact of an operation, but for what the veil hides."""

    def __init__(
        self,
        device: str,
        agent: str,
        clock: Clock,
        tell: Callable[[Event], None],
        veil: Veil | None = None,
    ) -> None:
        self._device = device
        self._agent = agent
        self._clock = clock
        self._tell = tell
        self._veil = veil or Veil()
        self._ignored = 0

    def ignored(self, event: "Ignored") -> None:
        """Input that answers nothing that was asked; a late ack by its number, all else as bytes, and not for ever."""
        if not self._within_bounds():
            return
        frame = event.frame
        if event.why == "late" and frame is not None and frame.type.name == "CMD":
            late = Event(
                ts=self._clock.stamp(), level="INFO", device=self._device, agent=self._agent, event="late_ack",
                session=frame.session, seq=frame.seq, attempt=frame.attempt,
            )  # fmt: skip
            self._tell(late)
        else:
            self._debug(
                "ignored", f"{event.why}: {event.text}", bytes_text(self._veil.mask_bytes(event.data))
            )

    def heard_or_written(self, way: str, data: bytes) -> None:
        """All bytes, with `>` for written and `<` for heard."""
        self._debug("note", f"{way} {bytes_text(data)}")

    def late(self, seq: int, attempt: int) -> None:
        """An ack came after its copy had been given up."""
        self._tell_as("INFO", "late_ack", seq=seq, attempt=attempt)

    def stray(self, why: str, line: str, data: bytes) -> None:
        """A line that was credited to nothing, and not for ever."""
        if self._within_bounds():
            self._debug("ignored", f"{why}: {line}", bytes_text(self._veil.mask_bytes(data)))

    def notice(self, line: str) -> None:
        """The device told something that nobody asked for."""
        if self._within_bounds():
            self._tell_as("INFO", "notice", text=line)

    def waiting(self, seconds: float, why: str) -> None:
        """Nothing is sent for a while."""
        self._tell_as(_urgency(seconds), "waiting", text=f"{seconds:.1f} s: {why}")

    def warn(self, text: str) -> None:
        """Something about the line that a person should mend."""
        if self._within_bounds():
            self._tell_as("WARN", "note", text=text)

    def note(self, text: str) -> None:
        """Free words."""
        self._debug("note", text)

    def _within_bounds(self) -> bool:
        self._ignored += 1
        if self._ignored == IGNORED_MAX + 1:
            self.note("further input that answers nothing is not logged")
        return self._ignored <= IGNORED_MAX

    def _tell_as(
        self,
        level: Level,
        name: EventName,
        *,
        text: str | None = None,
        seq: int | None = None,
        attempt: int | None = None,
    ) -> None:
        event = Event(
            ts=self._clock.stamp(), level=level, device=self._device, agent=self._agent, event=name,
            text=self._masked(text), seq=seq, attempt=attempt,
        )  # fmt: skip
        self._tell(event)

    def _debug(self, name: EventName, text: str, data: str | None = None) -> None:
        event = Event(
            ts=self._clock.stamp(), level="DEBUG", device=self._device, agent=self._agent, event=name,
            text=self._masked(text), bytes=self._masked(data),
        )  # fmt: skip
        self._tell(event)

    def _masked(self, text: str | None) -> str | None:
        return self._veil.mask(text) if text is not None else None
