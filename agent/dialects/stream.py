"""How does the agent talk over one stream to equipment without numbers? Its duties of CATALOG.md 2.

Little or nothing in a reply says which request it answers, so a request goes out only where no other answer can come:

* Where opening anew cuts the stream (TCP), an unanswered request ends the connection, and nothing that may still change
  the device is followed by another changing command before the quiet time has passed, whichever process sends it.
* Where it does not (serial, terminal servers: `stream` names it), every request owes its answer, in the store too,
  until it is seen or can no longer come. What is owed is waited out before the next request.
* An answer counts only if no other one follows it at once: of two answers to one question one is somebody else's.

What requests and answers look like is the business of `line` and `modbus`.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

from agent.dialects.debts import Debt
from agent.dialects.strays import Stray, Strays
from agent.dialects.unnumbered import UnnumberedStation
from agent.evidence import (
    Acked,
    Booted,
    Connected,
    Declined,
    Deferred,
    Evidence,
    Nakked,
    NotSent,
    Sent,
    Unknown,
    Unsent,
)
from agent.exchange import POLL_S, READ_ONLY, Answer, Codec, Exchange, Held, Lost, Warrant
from agent.exchange import Outcome as Heard
from agent.journal import Intent
from agent.leases import Lease
from agent.links.link import PortHeld, Unreachable
from agent.registry import WrongDevice
from agent.retry import again_after
from agent.station import NO_WAY, Expected, Identity, Means, Patience, ReadAnswer, not_sent
from agent.steps import Session
from devices.profile import Profile
from logs.text import escape

REACH_TRIES = 4
"""Connections that are tried in one step; equipment with one slot may need a moment to see that the last one ended."""
HELD_TRIES = 7
"""The same, for reads, where another run of ours has the port: it may be a probe that gives way to commands alone."""
HUSH_S = 0.02
"""How long an answer waits for a second one, which would show that one of them is not ours."""
LISTEN_S = 0.05
"""How long a surviving stream is listened to after it was opened: what others were answered ends here."""
STAY_S = 10.0
"""A connection that was silent for longer may be dead without showing it, so the next command gets a new one."""

How = Literal["done", "refused", "queued", "busy", "unknown", "unreached", "no_value"]
"""What a device can say to a request. `queued`: taken, and done later. `busy`: not taken. `unknown`: done or not.
`unreached`: an intermediary says that the device was never asked. `no_value`: read, and there is none."""


class Said(NamedTuple):
    """An answer: `value` of an ack or a reading, or the reason of a refusal; `line` is all of it, for people."""

    how: How
    value: str | None
    line: str


class StreamStation(UnnumberedStation):
    """One device on a stream in the hands of this process; `lease` is None where nothing but reads will be asked."""

    def __init__(
        self,
        lease: Lease | None,
        expected: Expected,
        patience: Patience,
        means: Means,
        profile: Profile,
        *,
        stream: str | None,
        gap_s: float,
        hush_s: float = HUSH_S,
    ) -> None:
        """As `UnnumberedStation`; `gap_s` is the pause that the device needs after each answer.

        `hush_s`: how long an answer waits for a second one; 0 where it surely is the answer to its request.
        """
        super().__init__(lease, expected, patience, means, profile, stream)
        self._clock = means.clock
        self._gap_s = gap_s
        self._hush_s = hush_s
        self._exchange: Exchange | None = None
        self._strays = Strays()
        self._asked_here = False
        self._busy_s: float | None = None
        self._owed = self._debts.now
        self._noticed: list[Evidence] = []
        self._conn = 0
        self._heard_s = 0.0

    # --- what a dialect says ------------------------------------------------------------------------------------------

    @abstractmethod
    def _new_codec(self) -> Codec:
        """The codec of a new connection, which the other methods use from now on."""

    @abstractmethod
    def _copy_of(self, text: str) -> Callable[[], bytes]:
        """What begins a copy and gives its bytes, when it is called."""

    @abstractmethod
    def _question_of(self, query: str, reply: str | None) -> Callable[[], bytes]:
        """What begins a read and gives its bytes, when it is called; `reply` as for `read`."""

    @abstractmethod
    def _said(self, reply: Any) -> Said:  # noqa: ANN401  # events are of the dialect
        """An answer of the codec."""

    @abstractmethod
    def _classify(self, event: Any) -> Answer | Held | None:  # noqa: ANN401
        """As `Exchange` wants it."""

    @abstractmethod
    def _ignored(self, event: Any) -> None:  # noqa: ANN401
        """Tell the log what was credited to nothing."""

    @abstractmethod
    def _is_rival(self, stray: Any, reply: str | None) -> bool:  # noqa: ANN401
        """Whether a stray would answer the question that was asked last, too."""

    @abstractmethod
    def _refuses(self, stray: Any) -> bool:  # noqa: ANN401
        """Whether a stray is a refusal."""

    def _second_thoughts_s(self, said: Said) -> float:  # noqa: ARG002
        """How long to wait, before an answer to a copy is believed, for another one that contradicts it."""
        return 0.0

    async def _is_whole(self, reply: str | None, *, clear: bool) -> bool:  # noqa: ARG002
        """Whether nothing more belongs to a reading that was just answered; else what does may still come.

        `reply` as for `read`; `clear`: nothing else was owed when it was asked.
        """
        return True

    @abstractmethod
    def _why_mute(self) -> str:
        """What may be wrong where a device does not answer a question, in a few words."""

    def _unheard(self) -> None:
        """A request ended without an answer: tell what a person might mend."""

    async def _until_it_hears(self) -> None:
        """Let a device become ready after its link was opened."""
        if self._patience.open_s > 0:
            await self._clock.sleep(self._patience.open_s)

    def _greeting(self) -> tuple[str, str | None] | None:
        """What is asked on a new connection where the profile has no identity: as `_question`."""
        return None

    # --- connecting ---------------------------------------------------------------------------------------------------

    async def connect(self, wanted: Session, conn: int) -> Connected | NotSent:
        """Open anew and check who answers. Raises LeaseLost, StoreError.

        Where a changing command is to follow (`keep`), copies of earlier ones can no longer arrive when this returns. A
        connection that owes nothing serves the next command too.
        """
        self._conn = conn
        if wanted is Session.KEEP and self._may_stay():
            return Connected(conn)
        self.close()
        try:
            await self.reach(self._lease if wanted is Session.KEEP else None)
            self._note_the_start(conn)
        except NO_WAY as problem:
            self.close()
            return not_sent(problem, interrupted=self._means.stopping())
        return Connected(conn)

    async def who(self) -> tuple[Identity, float | None]:
        """Who answers on a new connection, and after how many seconds; None where the profile names no question.

        Raises Unreachable, WrongDevice, StoreError.
        """
        identity, question = await self.reach(None), self._question()
        if question is None:
            return identity, None
        started_s = self._clock.now_s()
        answer = await self.read(*question)
        took_s = self._clock.now_s() - started_s
        if answer == ReadAnswer(None):
            raise self._mute(question[0])
        return identity, took_s

    async def reach(self, changing: Lease | None) -> Identity:
        """A fresh connection to the right device, on which nothing is owed; with a lease its copies have arrived too.

        Raises Unreachable, WrongDevice, Held, LeaseLost, StoreError.
        """
        try:
            return await self._open(changing)
        except Unreachable as first:
            ours = isinstance(first, PortHeld) and first.ours
            return await again_after(
                first,
                partial(self._open, changing),
                on=Unreachable,
                attempts_max=HELD_TRIES if ours and self._lease is None else REACH_TRIES,
                sleep=self._clock.sleep,
                give_up=lambda: self._means.stopping() or self._busy_s is not None,
            )

    async def _open(self, changing: Lease | None) -> Identity:
        self.close()
        if self._debts.stream is None:
            await self._debts.wait_until_quiet(changing)
        link = await self._means.dial()
        self._debts.cut()
        self._exchange = Exchange(
            link,
            self._new_codec(),
            self._means.deadlines,
            self._classify,
            self._ignored,
            self._means.trace,
            busy_max_s=self._patience.busy_max_s,
        )
        if self._debts.stream is not None:
            # Asked only now that nobody else has the port and could owe more on it.
            await self._debts.wait_until_quiet(changing)
        await self._until_it_hears()
        if self._debts.stream is not None:
            await self._clock.sleep(LISTEN_S)  # whatever was on the line for others comes in
        self._strays.forget()
        self._asked_here = False
        return await self._identify()

    async def _identify(self) -> Identity:
        """Ask who it is and compare. Raises Unreachable, WrongDevice, Held, LeaseLost, StoreError."""
        identity, want = self._profile.identity, self._expected
        if want.serial is not None and not self.tells_who_it_is:
            self._means.told.warn(
                f"nobody checks that serial {want.serial} answers: the profile {self._profile.name} does not say "
                "how to ask for it ('identity')"
            )
        if identity is None:
            greeting = self._greeting()
            if greeting is not None and await self.read(*greeting) == ReadAnswer(None):
                raise self._mute(greeting[0])
            return Identity(model=self._profile.model)
        answer = await self.read(identity.read, identity.reply)
        if answer.problem is not None and self._debts.stream is not None:
            # It may have refused the half of a request that a killed process wrote.
            answer = await self.read(identity.read, identity.reply)
        if answer.started:
            self._noticed = [Booted(self._conn)]
        if answer.problem is not None and self._busy_s is None:
            raise WrongDevice(
                f"{want.url} does not know the question who it is ('{identity.read}'): {answer.problem}"
            )
        if answer.value is None:
            raise self._mute(identity.read)
        return self._identified(identity.expect, answer.value)

    def _unanswering(self) -> str | None:
        """What came in instead of an answer, if anything."""
        stray = self._strays.last()
        return stray.line if stray is not None else None

    def _mute(self, query: str) -> Unreachable:
        """What to raise where a question got no answer. What it owes is in the store, for whoever asks next."""
        if self._busy_s is not None:
            return Unreachable(
                f"{self._expected.url} has been busy for {self._busy_s:g} s, and was asked '{query}' all the time"
            )
        heard = self._unanswering()
        ended = self._exchange.broken if self._exchange is not None else None
        if heard is not None and ended is not None:
            return Unreachable(
                f"{self._expected.url} says '{escape(heard)}' and then the connection is gone: {ended} "
                "(a terminal server whose port somebody else uses?)"
            )
        if heard is not None:
            return Unreachable(
                f"{self._expected.url}, asked '{query}', says '{escape(heard)}', which the profile "
                f"{self._profile.name} does not take for the answer ({self._why_mute()})"
            )
        return Unreachable(
            f"{self._expected.url} opens but does not answer '{query}' within {self._patience.silence_s:g} s "
            f"({self._why_mute()}? -vv shows the bytes)"
        )

    def _note_the_start(self, conn: int) -> None:
        """A start that opening caused matters only where something was known of the device before."""
        if self._profile.opening_resets:
            self._noticed = [Booted(conn)] if conn > 1 else []

    def _may_stay(self) -> bool:
        idle_s = self._clock.now_s() - self._heard_s
        quiet = self._lease is None or self._lease.quiet_from is None
        stray = self._strays.last("answer") is not None  # whoever it was for, another one may follow
        return self.alive() and not self._debts.stand and quiet and not stray and idle_s < STAY_S

    def alive(self) -> bool:
        """Whether a connection is open and has not broken."""
        return self._exchange is not None and self._exchange.broken is None

    def close(self) -> None:
        """Close the connection, if one is open."""
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None

    # --- requests -----------------------------------------------------------------------------------------------------

    async def copy(self, intent: Intent, silence_s: float) -> Evidence:
        """Write one copy and report what became of it."""
        sent = intent.sent
        request = self._copy_of(self.veil.lift(sent.text))
        outcome: Heard | None = await self._no_use() or self._stood_still()
        if outcome is None:
            outcome = await self._request(request, intent, silence_s, self._before.owed)
        match outcome:
            case Lost(why=why, left=False):
                self._answered()
                return Unsent(why)
            case Answer(reply=reply):
                return await self._word(sent, self._said(reply), await self._others(None))
            case Held(how=how, waited_s=waited_s):
                return Deferred(how, waited_s)
        return Unknown("lost" if isinstance(outcome, Lost) else "silence")

    async def _word(self, sent: Sent, said: Said, others: list[Stray]) -> Evidence:
        """What an answer to a copy says, in the company of others that came at once."""
        pause_s = self._second_thoughts_s(said)
        if pause_s > 0:
            await self._clock.sleep(pause_s)
            others = [*others, *await self._others(None)]
        if any(self._refuses(other) is (said.how == "done") for other in others):
            self._means.told.warn("an ack and a refusal came for one command: neither is believed")
            return Unknown("silence")
        if said.how in ("queued", "unknown"):
            self._debts.pay(self._before.owed)  # the answer was seen; the effect may still come
        else:
            self._answered()
        alone = all(other.line == said.line for other in others)
        value = said.value if alone else None
        match said.how:
            case "refused":
                return Nakked(sent.attempt, said.value or said.line)
            case "busy":
                return Declined(sent.attempt, said.line, POLL_S)
            case "unreached":
                return Unsent(said.line)
            case "unknown":
                self._means.told.warn(f"the device answers {said.line}, which may come after the effect")
                return Unknown("indeterminate")
        return Acked(sent.attempt, False, value, queued=said.how == "queued")

    async def read(self, query: str, reply: str | None = None) -> ReadAnswer:
        """Ask a query once. Raises StoreError before it is written."""
        said, started = await self._hear(query, reply)
        return self._reading(query, said, started=started)

    def _reading(self, query: str, said: Said | None, *, started: bool) -> ReadAnswer:
        if said is None:
            return ReadAnswer(None)
        if said.how != "done":
            return ReadAnswer(None, f"the device says '{said.line}' to '{query}'")
        if said.value is None:
            return ReadAnswer(None, f"the answer '{said.line}' to '{query}' carries no value")
        return ReadAnswer(said.value, started=started)

    async def _hear(self, query: str, reply: str | None) -> tuple[Said | None, bool]:
        """The answer to a query, None where none came that can be believed; whether a start was announced before it.

        Raises StoreError before the query is written.
        """
        self._busy_s = None
        request = self._question_of(query, reply)
        if await self._no_use():
            return None, False
        clear = not self._debts.stand
        earlier = self._debts.owe()  # dated when the question leaves, however long its pause has really been
        outcome = await self._request(request, READ_ONLY, self._patience.silence_s, earlier)
        if isinstance(outcome, Held):
            self._busy_s = outcome.waited_s
            self._means.told.warn(f"asked '{query}', the device was busy and then said nothing more")
        if not isinstance(outcome, Answer):
            return None, False
        said = self._said(outcome.reply)
        # A start that is announced from here on comes after the answer, and in a list of its own.
        early = self._noticed
        whole = said.how != "done" or await self._is_whole(reply, clear=clear)
        if any(other.line != said.line for other in await self._others(reply)):
            self._means.told.warn("two answers to one question: neither is believed")
            return None, False
        if not whole:
            return None, False
        self._debts.pay(earlier)
        started = said.how == "done" and said.value is not None and bool(early)
        if started and self._noticed is early:
            self._noticed = []
        return said, started

    async def _others(self, reply: str | None) -> list[Stray]:
        """What came besides an answer, or follows it at once, and would answer the same question."""
        if self._hush_s > 0:
            await self._clock.sleep(self._hush_s)
        return [stray for stray in self._strays.beside_an_answer() if self._is_rival(stray, reply)]

    async def _no_use(self) -> Lost | None:
        """Wait until the line may be used; why it is of no use, or None."""
        if self._exchange is None:
            return Lost("there is no connection", left=False)
        pause_s = self._gap_s - (self._clock.now_s() - self._heard_s)
        if not self._asked_here:
            pause_s = max(pause_s, self._hush_s)  # a line that talks by itself is noticed before it is asked
        if pause_s > 0:
            await self._clock.sleep(pause_s)
        if not self._strays.unasked():
            return None
        self.close()
        return Lost("answers come that nobody asked for, so none could be believed", left=False)

    async def _request(
        self, request: Callable[[], bytes], warrant: Warrant, silence_s: float, owed: Debt
    ) -> Heard:
        """Ask one thing. `request` begins it; `owed`: what the stream owed before."""
        if self._exchange is None:
            return Lost("there is no connection", left=False)
        self._owed = owed
        self._asked_here = True
        self._strays.forget()
        outcome = await self._exchange.ask(request(), warrant, silence_s)
        if not isinstance(outcome, Answer):
            self._owed = self._debts.now
            self._unheard()
        return outcome

    # --- what comes in ------------------------------------------------------------------------------------------------

    def noticed(self) -> list[Evidence]:
        """The starts that the device announced since this was last asked."""
        noticed, self._noticed = self._noticed, []
        return noticed

    def _astray(self, stray: Stray) -> None:
        """Something came in that answers nothing."""
        self._strays.add(stray, owed=self._clock.now_s() < self._owed.until_s)

    def _tell_stray(self, stray: Stray, *, of_a_copy: bool) -> None:
        """Tell the log of an answer to nothing; `of_a_copy`: it could be that of an owed copy."""
        copy = self._debts.now.copy
        if copy is not None and self._debts.stand and of_a_copy:
            self._debts.now.copy = None
            self._means.told.late(copy.seq, copy.attempt)
        else:
            self._means.told.stray("an answer that nobody asked for", stray.line, stray.data)
