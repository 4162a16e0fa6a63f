"""How does the agent talk to equipment with plain text lines and no numbers? Its duties of CATALOG.md 2.

Nothing in a reply says which request it answers, so a request goes out only where no other answer can come:

* Where opening anew cuts the stream (TCP), an unanswered request ends the connection, and nothing that may still change
  the device is followed by another changing command before the quiet time has passed, whichever process sends it.
* Where it does not (serial, terminal servers: `stream` names it), every request owes its answer, in the store too,
  until it is seen or can no longer come. What is owed is waited out before the next request.
* An answer counts only if no other one follows it at once: of two answers to one question one is somebody else's.
"""

import asyncio
import re
from collections.abc import Callable
from functools import partial

from agent.dialects.debts import Debt
from agent.dialects.unnumbered import UnnumberedStation
from agent.evidence import (
    Acked,
    Booted,
    Connected,
    Deferred,
    Evidence,
    Nakked,
    NotSent,
    Sent,
    Unknown,
    Unsent,
)
from agent.exchange import READ_ONLY, Answer, Exchange, Held, Lost, Warrant
from agent.exchange import Outcome as Heard
from agent.journal import Intent
from agent.links.link import Unreachable
from agent.registry import Lease, WrongDevice
from agent.retry import again_after
from agent.station import NO_WAY, Expected, Identity, Means, Patience, ReadAnswer, not_sent
from agent.steps import Session
from devices.profile import Profile
from logs.text import escape
from protocol.line import LINE_MAX, Answered, Event, Grammar, Ignored, LineRequester, Notice, Started, Waiting

REACH_TRIES = 4
"""Connections that are tried in one step; equipment with one slot may need a moment to see that the last one ended."""
HUSH_S = 0.02
"""How long an answer waits for a second one, which would show that one of them is not ours."""
LISTEN_S = 0.05
"""How long a surviving stream is listened to after it was opened: what others were answered ends here."""
STAY_S = 10.0
"""A connection that was silent for longer may be dead without showing it, so the next command gets a new one."""


class LineStation(UnnumberedStation):
    """One text device in the hands of this process; `lease` is None where nothing but reads will be asked."""

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
    ) -> None:
        """As `UnnumberedStation`; `gap_s` is the pause that the device needs after each answer."""
        super().__init__(lease, expected, patience, means, profile, stream)
        self._clock = means.clock
        self._grammar = _grammar(profile)
        self._gap_s = gap_s
        self._requester = LineRequester(self._grammar)
        self._exchange: Exchange | None = None
        self._strays: list[Ignored] = []
        self._explained = 0
        self._asked_here = False
        self._owed = self._debts.now
        self._noticed: list[Evidence] = []
        self._conn = 0
        self._started = asyncio.Event()
        self._heard_s = 0.0

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
            raise await self._mute(question[0])
        return identity, took_s

    async def reach(self, changing: Lease | None) -> Identity:
        """A fresh connection to the right device, on which nothing is owed; with a lease its copies have arrived too.

        Raises Unreachable, WrongDevice, Held, LeaseLost, StoreError.
        """
        try:
            return await self._open(changing)
        except Unreachable as first:
            return await again_after(
                first,
                partial(self._open, changing),
                on=Unreachable,
                attempts_max=REACH_TRIES,
                sleep=self._clock.sleep,
                give_up=self._means.stopping,
            )

    async def _open(self, changing: Lease | None) -> Identity:
        self.close()
        if self._debts.stream is None:
            await self._debts.wait_until_quiet(changing)
        link = await self._means.dial()
        self._requester = LineRequester(self._grammar)
        self._debts.cut()
        self._started.clear()
        self._exchange = Exchange(
            link,
            self._requester,
            self._means.deadlines,
            self._classify,
            self._ignored,
            self._means.trace,
            busy_max_s=self._patience.busy_max_s,
        )
        if self._debts.stream is not None:
            # Asked only now that nobody else has the port and could owe more on it.
            await self._debts.wait_until_quiet(changing)
        await self._listen_first()
        self._forget_strays()
        self._asked_here = False
        return await self._identify()

    async def _listen_first(self) -> None:
        """Let the board boot where opening makes it, and whatever was on the line for others come in."""
        boots, wait_s = self._profile.opening_resets, self._patience.open_s
        if boots and self._profile.line is not None and self._profile.line.boot is not None:
            await self._until_started(wait_s)
        elif wait_s > 0:
            await self._clock.sleep(wait_s)
        if self._debts.stream is not None:
            await self._clock.sleep(LISTEN_S)

    async def _until_started(self, wait_s: float) -> None:
        try:
            async with asyncio.timeout(wait_s):
                await self._started.wait()
        except TimeoutError:
            return

    async def _identify(self) -> Identity:
        """Ask who it is and compare. Raises Unreachable, WrongDevice, Held, LeaseLost, StoreError."""
        identity, want = self._profile.identity, self._expected
        if want.serial is not None and not self.tells_who_it_is:
            self._means.told.warn(
                f"nobody checks that serial {want.serial} answers: the profile {self._profile.name} does not say "
                "how to ask for it ('identity')"
            )
        if identity is None:
            return Identity(model=self._profile.model)
        answer = await self.read(identity.read, identity.reply)
        if answer.problem is not None and self._debts.stream is not None:
            # It may have refused the half of a line that a killed process wrote.
            answer = await self.read(identity.read, identity.reply)
        if answer.started:
            self._noticed = [Booted(self._conn)]
        if answer.problem is not None:
            raise WrongDevice(f"asked who it is ('{identity.read}'), {want.url} says: {answer.problem}")
        if answer.value is None:
            raise await self._mute(identity.read)
        return self._identified(identity.expect, answer.value)

    async def _mute(self, query: str) -> Unreachable:
        """What to raise where a question got no answer, once the answer can no longer come."""
        heard = self._strays[-1].line if self._strays else None
        await self._debts.wait_out()
        if heard is not None:
            return Unreachable(
                f"{self._expected.url}, asked '{query}', says '{escape(heard)}', which no pattern of the profile "
                f"{self._profile.name} takes for the answer (a prompt, another ack, another device?)"
            )
        return Unreachable(
            f"{self._expected.url} opens but does not answer '{query}' within {self._patience.silence_s:g} s "
            "(another device, another speed, another line ending? -vv shows the bytes)"
        )

    def _note_the_start(self, conn: int) -> None:
        """A start that opening caused matters only where something was known of the device before."""
        if self._profile.opening_resets:
            self._noticed = [Booted(conn)] if conn > 1 else []

    def _may_stay(self) -> bool:
        idle_s = self._clock.now_s() - self._heard_s
        quiet = self._lease is None or self._lease.quiet_from is None
        stray = any(s.why == "answer" for s in self._strays)  # whoever it was for, another one may follow
        return self.alive() and not self._debts.stand and quiet and not stray and idle_s < STAY_S

    def alive(self) -> bool:
        """Whether a connection is open and has not broken."""
        return self._exchange is not None and self._exchange.broken is None

    # --- requests -----------------------------------------------------------------------------------------------------

    def unfit(self, text: str) -> str | None:
        """Why a command can never be carried to this device, or None."""
        text = self.veil.lift(text)
        size = len(text.encode())
        if self._grammar.eol in text:
            return "the command holds what ends a line of this device"
        return f"the command is {size} bytes long, a line takes {LINE_MAX}" if size > LINE_MAX else None

    async def copy(self, intent: Intent, silence_s: float) -> Evidence:
        """Write one copy and report what became of it."""
        sent = intent.sent
        request = partial(self._requester.ask, self.veil.lift(sent.text))
        outcome: Heard | None = await self._no_use() or self._stood_still()
        if outcome is None:
            outcome = await self._request(request, intent, silence_s, self._before.owed)
        match outcome:
            case Lost(why=why, left=False):
                self._answered()
                return Unsent(why)
            case Answer(reply=Answered() as answer):
                return self._word(sent, answer, await self._others(None))
            case Held(how=how, waited_s=waited_s):
                return Deferred(how, waited_s)
        return Unknown("lost" if isinstance(outcome, Lost) else "silence")

    def _word(self, sent: Sent, answer: Answered, others: list[str]) -> Evidence:
        """What an answer to a copy says, in the company of others that came at once."""
        if any(self._refuses(line) is not answer.refused for line in others):
            self._means.told.warn("an ack and a refusal came for one command: neither is believed")
            return Unknown("silence")
        self._answered()
        if answer.refused:
            return Nakked(sent.attempt, answer.value or answer.line)
        alone = all(line == answer.line for line in others)
        return Acked(sent.attempt, False, answer.value if alone else None)

    def _answers_copies(self, line: str) -> bool:
        return self._refuses(line) or re.search(self._grammar.ack, line) is not None

    def _refuses(self, line: str) -> bool:
        return self._grammar.nak is not None and re.search(self._grammar.nak, line) is not None

    async def read(self, query: str, reply: str | None = None) -> ReadAnswer:
        """Ask a query once. Raises StoreError before it is written.

        While a copy is owed only `reply` answers: a refusal could be the copy's.
        """
        request = partial(self._requester.ask, query, reply, refusable=not self._debts.stand)
        if await self._no_use():
            return ReadAnswer(None)
        earlier = self._debts.owe()  # dated when the question leaves, however long its pause has really been
        outcome = await self._request(request, READ_ONLY, self._patience.silence_s, earlier)
        if isinstance(outcome, Held):
            self._means.told.warn(f"asked '{query}', the device was busy and then said nothing more")
        if not isinstance(outcome, Answer):
            return ReadAnswer(None)
        answer: Answered = outcome.reply
        # A start that is announced from here on comes after the answer, and in a list of its own.
        early = self._noticed
        if any(line != answer.line for line in await self._others(reply)):
            self._means.told.warn("two answers to one question: neither is believed")
            return ReadAnswer(None)
        self._debts.pay(earlier)
        if answer.refused:
            return ReadAnswer(None, f"the device says '{answer.line}' to '{query}'")
        if answer.value is None:
            return ReadAnswer(None, f"the answer '{answer.line}' to '{query}' carries no value")
        if self._noticed is early:
            self._noticed = []
        return ReadAnswer(answer.value, started=bool(early))

    async def _others(self, reply: str | None) -> list[str]:
        """The lines that came besides an answer, or follow it at once, and would answer the same question."""
        await self._clock.sleep(HUSH_S)
        self._explained = len(self._strays)
        return [s.line for s in self._strays if (re.search(reply, s.line) if reply else s.why == "answer")]

    async def _no_use(self) -> Lost | None:
        """Wait until the line may be used; why it is of no use, or None."""
        if self._exchange is None:
            return Lost("there is no connection", left=False)
        pause_s = self._gap_s - (self._clock.now_s() - self._heard_s)
        if not self._asked_here:
            pause_s = max(pause_s, HUSH_S)  # a line that talks by itself is noticed before it is asked
        if pause_s > 0:
            await self._clock.sleep(pause_s)
        if not self._unasked():
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
        self._forget_strays()
        outcome = await self._exchange.ask(request(), warrant, silence_s)
        if not isinstance(outcome, Answer):
            self._owed = self._debts.now
        return outcome

    def _forget_strays(self) -> None:
        self._strays.clear()
        self._explained = 0

    def _unasked(self) -> bool:
        """Whether answers came, since the last question was answered, that belong to none and were not owed."""
        return any(stray.why == "answer" for stray in self._strays[self._explained :])

    def close(self) -> None:
        """Close the connection, if one is open."""
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None

    # --- what comes in ------------------------------------------------------------------------------------------------

    def noticed(self) -> list[Evidence]:
        """The starts that the device announced since this was last asked."""
        noticed, self._noticed = self._noticed, []
        return noticed

    def _classify(self, event: Event) -> Answer | Held | None:
        self._heard_s = self._clock.now_s()
        match event:
            case Answered():
                return Answer(event)
            case Waiting():
                return Held("busy", 0.0)
            case Started():
                self._started.set()
                self._noticed = [Booted(self._conn)]
            case Ignored(why="answer" | "junk"):
                self._strays.append(event)
                if self._clock.now_s() < self._owed.until_s:
                    self._explained = len(self._strays)
        return None

    def _ignored(self, event: Event) -> None:
        """Tell the log what was credited to nothing."""
        told = self._means.told
        match event:
            case Notice(line=line):
                told.notice(line)
            case Ignored(why="answer", line=line, data=data):
                copy = self._debts.now.copy
                if copy is not None and self._debts.stand and self._answers_copies(line):
                    self._debts.now.copy = None
                    told.late(copy.seq, copy.attempt)
                else:
                    told.stray("an answer that nobody asked for", line, data)
            case Ignored(why="junk", line=line, data=data):
                told.stray("not understood", line, data)
            case Ignored(why=why, line=line):
                told.warn(f"{_HINTS[why]} ({line})")


_HINTS = {
    "echo": "the device or its adapter sends our own line back; if it always does, the profile needs 'echo: true'",
    "collision": "another line than ours came back, though the profile says that the device echoes: it is not believed",
    "telnet": "a terminal server negotiates telnet options: set its port to raw",
}


def _grammar(profile: Profile) -> Grammar:
    line = profile.line
    if line is None:
        raise ValueError(f"{profile.name} is not of dialect line")
    return Grammar(
        ack=line.ack, nak=line.nak, busy=line.busy, notice=line.notice, boot=line.boot, prompt=line.prompt,
        echo=line.echo, eol=line.eol,
    )  # fmt: skip
