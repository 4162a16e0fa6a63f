"""How is an operation carried out? Ask the policy, perform exactly its step, keep the fact, ask again.

Nothing is decided here. A copy leaves only after the journal has it. Cancelling or Ctrl-C never cuts between intent and
outcome: it becomes the fact that nobody wants further copies, and what is in flight reaches its word.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from agent import readback
from agent.clock import Clock
from agent.deadlines import Deadlines
from agent.evidence import (
    Acked,
    Booted,
    Connected,
    Drained,
    Evidence,
    Found,
    GiveUp,
    NotSent,
    Reading,
    Sent,
    Spent,
    TakenUp,
    Waited,
    Why,
    masked,
)
from agent.journal import Case, Journal
from agent.leases import LeaseLost
from agent.narrate import WORTH_TELLING_S, Narrator
from agent.operation import BOOT, Cause, Outcome, Result, Terms
from agent.policy import next_step
from agent.reckoning import reckon
from agent.station import ReadAnswer, Station
from agent.steps import Connect, Drain, Find, Finish, Read, Send, Session, Settle, Step, Wait
from agent.store.database import StoreError
from devices.values import normalise
from logs.events import Event

STEPS_MAX = 10_000
"""A policy that asks for more is broken."""


class Executor:
    """Carries operations out on stations."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        deadlines: Deadlines,
        agent: str,
        tell: Callable[[Event], None],
    ) -> None:
        self.journal = journal
        self.clock = clock
        self.deadlines = deadlines
        self.agent = agent
        self.tell = tell
        self.stop: str | None = None

    def give_up(self, why: str) -> None:
        """Nobody wants further copies; what is in flight still reaches its word."""
        self.stop = why

    def stopping(self) -> bool:
        """Whether `give_up` was called."""
        return self.stop is not None

    async def run(self, station: Station, case: Case) -> Result:
        """Carry an operation out to its word. Cancelling gives up and still waits for the word."""
        return await self._shielded(station, case, None)

    async def take_up(self, station: Station, case: Case, *, resend: bool) -> Result:
        """Go on with an operation that was cut off or is in doubt. `resend`: somebody wants it done."""
        return await self._shielded(station, case, TakenUp(resend))

    async def _shielded(self, station: Station, case: Case, first: TakenUp | None) -> Result:
        walk = _Walk(self, station, case)
        if first is not None:
            walk.keep(None, first)
        work = asyncio.ensure_future(self._run(walk, station, case))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            walk.stop = "cancelled"
            await asyncio.wait({work})
            raise

    async def _run(self, walk: "_Walk", station: Station, case: Case) -> Result:
        try:
            result = await walk.to_the_end()
            await self.journal.close(case, station.lease, result)
        except LeaseLost as lost:
            settled = next(iter(self.journal.find(case.operation.op)), None)
            if settled is not None and settled.result is not None:
                return settled.result  # whoever took the device over has settled it
            result = walk.cut_off(str(lost), "That process settles what was left open", Cause.HELD)
        except StoreError as problem:
            result = walk.cut_off(str(problem), "The next command settles what was left open", Cause.STORE)
        walk.tell_end(result)
        return result


class _Walk:
    """One way through the steps of one operation."""

    def __init__(self, executor: Executor, station: Station, case: Case) -> None:
        self._x = executor
        self._station = station
        self._case = case
        self._terms: Terms = case.operation.terms
        self._narrator = Narrator(case.operation, executor.agent)
        self._clock = executor.clock
        self._started_s = executor.clock.now_s()
        self._sent_s: float | None = None
        self._asked_s: float | None = None
        self._gave_up = False
        self._veil = station.veil
        self._word: Result | None = None
        self.stop: str | None = None
        for fact in case.facts:
            self._narrator.fact(fact, self._clock.stamp())

    async def to_the_end(self) -> Result:
        """Step after step until the policy says that it is finished. Raises LeaseLost, StoreError."""
        problem = self._veil.begin(self._terms.secrets)
        if problem is not None and not self._case.copies():
            self._send_no_more(problem, Cause.UNFIT)
        for _ in range(STEPS_MAX):
            self._note_the_end_of_patience()
            step = next_step(self._terms, self._case.facts)
            if isinstance(step, Finish):
                self._word = self._result(step)
                return self._word
            await self._perform(step)
        raise RuntimeError(f"no word after {STEPS_MAX} steps")

    def _note_the_end_of_patience(self) -> None:
        if self._gave_up:
            return
        why = self._interrupted()
        limit_s = deadline_s(self._terms)
        if why is not None:
            self._send_no_more(why, Cause.INTERRUPTED)
        elif self._clock.now_s() - self._started_s > limit_s:
            self._send_no_more(f"not done within the deadline of {limit_s:g} s", Cause.UNREACHABLE)

    def _interrupted(self) -> str | None:
        """Why nobody wants further copies, where a person has said so."""
        return self._x.stop or self.stop

    def _send_no_more(self, why: str, cause: Cause) -> None:
        self._gave_up = True
        self.keep(None, GiveUp(why, cause))

    async def _perform(self, step: Step) -> None:
        match step:
            case Connect():
                await self._connect(step)
            case Drain():
                await self._drain(step)
            case Send():
                await self._send(step)
            case Settle():
                self.keep(step, await self._station.settle(step))
            case Read():
                self.keep(step, await self._read(step))
            case Find(at=at):
                self.keep(step, await self._find(at))
            case Wait(seconds=seconds):
                await self._clock.sleep(seconds)
                self.keep(step, Waited(seconds))
            case Finish():
                raise TypeError("a finish is not performed")
        for fact in self._station.noticed():
            self.keep(None, fact)

    async def _connect(self, step: Connect) -> None:
        if step.quiesce_s > 0:
            self._station.close()
            if not await self._keep_quiet(step.quiesce_s):
                return
            self.keep(step, Waited(step.quiesce_s))
        conn = 1 + max((fact.conn for fact in self._case.facts if isinstance(fact, Connected)), default=0)
        fact = await self._station.connect(step.session, conn)
        if isinstance(fact, Connected) and not self._case.copies():
            problem = self._station.unfit(self._terms.text)
            if problem is not None:
                fact = NotSent(Cause.UNFIT, problem)
        self.keep(step if step.quiesce_s <= 0 else None, fact)

    async def _drain(self, step: Drain) -> None:
        if not await self._keep_quiet(step.quiet_s):
            return
        conn = reckon(self._case.facts).conn or 0
        self.keep(step, Drained(conn, step.quiet_s, self._station.alive()))

    async def _keep_quiet(self, quiet_s: float) -> bool:
        """Wait until the path is quiet. False where a person interrupts it before any copy has left."""
        wait_s = self._still_to_wait(quiet_s)
        if wait_s >= WORTH_TELLING_S:
            view = reckon(self._case.facts)
            copy = bool(view.copies) and view.waited_s < self._terms.late_max_s
            self._x.tell(self._narrator.waiting(wait_s, self._clock.stamp(), copy=copy))
        return await self._clock.wait(
            wait_s, lambda: self._interrupted() is not None and not self._case.copies()
        )

    def _still_to_wait(self, quiet_s: float) -> float:
        """The rest of the quiet time since the last request; all of it where this process has sent no copy."""
        if self._asked_s is None:
            return quiet_s
        return max(0.0, quiet_s - (self._clock.now_s() - self._asked_s))

    async def _send(self, step: Send) -> None:
        problem = self._veil.before_copy(step.text, first=not self._case.copies())
        if problem is None and (self._terms.secrets or step.text != self._terms.text):
            # A secret may be another one than when we connected, and a target is computed only now.
            problem = self._station.unfit(step.text)
        if problem is not None:
            self._send_no_more(problem, Cause.UNFIT)
            return
        conn = reckon(self._case.facts).conn or 0
        sent = self._station.draw(step, conn, self._terms.late_max_s)
        try:
            intent = await self._x.journal.intend(self._case, self._station.lease, step, sent)
        except (LeaseLost, StoreError):
            self._station.put_back(sent)
            raise
        self._tell(sent)
        self._sent_s = self._asked_s = self._clock.now_s()
        self.keep(None, await self._station.copy(intent, self._terms.reply_s))

    async def _read(self, step: Read) -> Reading:
        boot = step.setting == BOOT
        conn = reckon(self._case.facts).conn or 0
        query = self._terms.boot_query if boot else self._terms.queries.get(step.setting)
        if query is None:
            return Reading(step.setting, None, conn, step.why, "the profile does not say how to read it")
        asked_s = self._clock.now_s()
        value, problem, started = await self._station.read(query, self._terms.replies.get(step.setting))
        if started:
            self.keep(None, Booted(conn))
        if value is None and problem is None and self._terms.survives_reopen:
            self._asked_s = asked_s  # on such a stream an unanswered read is owed too
        answered = value
        if value is not None and not boot:
            back = self._terms.readback
            try:
                value = normalise(
                    self._terms.types[step.setting],
                    value,
                    back.step if back is not None and back.setting == step.setting else None,
                )
            except ValueError as wrong:
                value, problem = None, f"the device answered a value that is {wrong}"
        if answered is not None and self._veil.hides(answered) and not self._is_no_text(step.setting, value):
            value, problem = None, "the answer holds a secret, so it is not kept"
        return Reading(step.setting, value, conn, step.why, problem)

    async def _find(self, at: str) -> Found:
        """Ask at another address; the connection is closed first, since it may be the same serial port."""
        self._station.close()
        place, before = self._terms.elsewhere, not self._case.copies()
        if place is None:
            raise TypeError("nothing moves the device")
        other = self._station.elsewhere(at)
        try:
            met = await other.connect(Session.NONE, 1)
            if isinstance(met, NotSent):
                return Found(before, met.cause is Cause.WRONG_DEVICE, None, met.why)
            answer = await other.read(place.query)
        finally:
            other.close()
        told = answer.value or answer.problem or "it connects, but does not answer"
        return Found(before, answer != ReadAnswer(None), answer.value, told)

    def _is_no_text(self, setting: str, value: str | None) -> bool:
        """Whether a reading is a number or a word of a list, so that it only looks like a secret."""
        if value is None:
            return False
        return value.isdecimal() if setting == BOOT else self._terms.types[setting] != "text"

    def keep(self, step: Step | None, fact: Evidence) -> None:
        """Add a fact to the case and tell the log, without the secrets that the device may have repeated."""
        fact = masked(fact, self._veil.mask)
        self._case.note(step, fact, self._clock.stamp())
        self._tell(fact)

    def _tell(self, fact: Evidence) -> None:
        elapsed_s = None
        if self._sent_s is not None and not isinstance(fact, Sent):
            elapsed_s = round(self._clock.now_s() - self._sent_s, 3)
        event = self._narrator.fact(fact, self._clock.stamp(), elapsed_s)
        if event is not None:
            self._x.tell(event)

    def tell_end(self, result: Result) -> None:
        """Put the word into the log."""
        event = self._narrator.end(result, self._clock.stamp())
        if event is not None:
            self._x.tell(event)

    # --- the word -----------------------------------------------------------------------------------------------------

    def _result(self, finish: Finish) -> Result:
        facts, terms = self._case.facts, self._terms
        view = reckon(facts)
        copies = view.copies
        back = terms.readback
        before = view.baselines.get(back.setting) if back is not None else None
        wanted = readback.expected(terms, view) if back is not None else None
        return Result(
            outcome=finish.outcome,
            proof=finish.proof,
            message=finish.why,
            cause=finish.cause,
            unread=finish.unread,
            seq=copies[-1].seq if copies else None,
            attempts=len(copies),
            before=before,
            expected=wanted,
            value=_value(facts, finish.outcome, back.setting if back is not None else None),
            elapsed_s=round(self._clock.now_s() - self._started_s, 3),
        )

    def cut_off(self, why: str, then: str, cause: Cause) -> Result:
        """The journal cannot be written in our name any more, so nothing further may be sent.

        `then`: who settles what stays open in it, which is whatever has copies.
        """
        copies = self._case.copies()
        if self._word is not None:
            end = f"{why}. The journal shows it open. {then}" if copies else why
            return replace(self._word, message=f"{self._word.message}; but {end}", cause=cause)
        if not copies:
            return self._result(Finish(Outcome.NOT_SENT, None, why, cause))
        end = f"a copy had left when this happened: {why}. {then}"
        return self._result(Finish(Outcome.IN_DOUBT, None, end, cause))


def _value(facts: list[Evidence], outcome: Outcome, setting: str | None) -> str | None:
    """The value that the device gave last: with its ack or its record, or where the setting was read back."""
    for fact in reversed(facts):
        match fact:
            case Acked(value=value) if value is not None and outcome is Outcome.APPLIED:
                return value
            case Spent(status=0, text=text) if text and outcome is Outcome.APPLIED:
                return text
            case Reading(why=Why.VERIFY, value=value) if value is not None and fact.setting == setting:
                return value
            case Reading(value=value) if outcome is Outcome.UNCHANGED and fact.setting == setting:
                return value
            case Sent():
                return None  # what was read before the last copy is old
    return None


def deadline_s(terms: Terms) -> float:
    """How long an operation may take before nobody waits for further copies, in seconds."""
    once_s = terms.reply_s + terms.settle_s * readback.READINGS_MAX + terms.late_max_s
    return terms.attempts_max * once_s + terms.busy_max_s
