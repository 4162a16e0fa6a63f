"""How does the agent talk to a device that numbers its commands? LSQ1, the agent's duties of WIRE.md 4.

A station is one device as this process works with it: its lease, its open connection, its session. It performs single
steps and reports facts; whether a step is wise was decided before, by the policy.
"""

import secrets
from contextlib import suppress
from typing import NoReturn

from agent.dialects.lsq_facts import (
    DURABLE_TIER,
    classify,
    connected,
    fate_of,
    foreign,
    meaning_of,
    record_of,
)
from agent.evidence import Connected, Deferred, Evidence, NotSent, Sent, Unanswered, Unknown, Unsent
from agent.exchange import READ_ONLY, Answer, Durable, Exchange, Held, Lost, Outcome, ReadOnly, Silence
from agent.journal import Intent
from agent.leases import Lease, LeaseLost, Session
from agent.links.link import Unreachable
from agent.operation import Cause
from agent.retry import again_after
from agent.secrets import Veil
from agent.station import NO_WAY, Expected, Identity, Means, Patience, ReadAnswer, check_identity, not_sent
from agent.steps import Send, Settle
from agent.steps import Session as Wanted
from agent.store.database import StoreError
from protocol.native.codes import HEADER_SIZE, SEQ_MAX, Status, Type
from protocol.native.frame import digest
from protocol.native.messages import CommandReply, HelloReply, NopReply, OpenReply, ReadReply
from protocol.native.requester import Answered, Ignored, Requester, Waiting

HELLO_TRIES = 2
REACH_TRIES = 3
"""Connections that are tried until one answers HELLO, in one step."""
OPEN_TRIES = 5
GATE_TRIES = 3
SILENCES_MAX = 3
"""How often a harmless request of ours (a read, a number spent before sending) may go unanswered."""


class LsqStation:
    """One LSQ1 device in the hands of this process.

    `lease` is None where nothing but reads will be asked. `stays_open`: the port is not opened again while the device
    answers on it, because opening it does not cut the stream and may boot the board, which costs it its memory.
    """

    tells_who_it_is = True

    def __init__(
        self,
        lease: Lease | None,
        expected: Expected,
        patience: Patience,
        means: Means,
        *,
        stays_open: bool = False,
    ) -> None:
        self._lease = lease
        self.hello: HelloReply | None = None
        self._means = means
        self._registry = means.registry
        self._leases = means.leases
        self._expected = expected
        self._patience = patience
        self._requester = Requester(expected.unit)
        self._exchange: Exchange | None = None
        self._asked: Sent | None = None
        self._opened: int | None = None
        self._stays_open = stays_open
        # On a stream that reopening does not cut, an answer to an earlier station's request must not fit one of ours.
        self._ids = secrets.randbits(16)

    @property
    def lease(self) -> Lease:
        """The right to write to the device. Raises RuntimeError on a station for reads."""
        if self._lease is None:
            raise RuntimeError("this station was made for reads")
        return self._lease

    @property
    def veil(self) -> Veil:
        """What hides the secrets of commands to this device."""
        return self._means.veil

    # --- connecting ---------------------------------------------------------------------------------------------------

    async def connect(self, wanted: Wanted, conn: int) -> Connected | NotSent:
        """Open anew, check who answers, and enter the wanted session. Raises LeaseLost, StoreError.

        A clean connection on which this process has entered its session serves the next command too.
        """
        if wanted is Wanted.KEEP and self.hello is not None and self._may_stay():
            session = self.lease.session  # it may have been opened after a start that came after HELLO
            boot = session.boot if session is not None else None
            return connected(conn, self.hello, session, record_of(self.hello.record), boot, self._opened)
        try:
            hello = await self._hello_here() or await self.reach()
            self.check_identity(hello)
        except NO_WAY as problem:
            self.close()
            return not_sent(problem)
        if wanted is Wanted.NONE:
            return connected(conn, hello, None, record_of(hello.record))
        drawn = self._leases.counter(self.lease)
        if hello.epoch > drawn:
            self.close()
            return NotSent(Cause.FOREIGN, foreign(hello.epoch, drawn))
        if wanted is Wanted.KEEP:
            kept = await self._go_on(hello)
            if isinstance(kept, NotSent):
                return kept
            if kept is not None:
                return connected(conn, hello, kept, record_of(hello.record))
        return await self._open_anew(hello, conn)

    def _may_stay(self) -> bool:
        return (
            self._exchange is not None
            and self._exchange.clean
            and self._exchange.broken is None
            and self._lease is not None
            and self._lease.session is not None
            and self._lease.session.ours
            and self._lease.session.last_seq < SEQ_MAX
        )

    async def _hello_here(self) -> HelloReply | None:
        """HELLO on the port that is open, None where nobody answers on it or it must be opened anew anyway."""
        for _ in range(HELLO_TRIES if self._stays_open else 0):
            if not self.alive():
                break
            outcome = await self._ask(self._requester.hello(self._next_id()), READ_ONLY)
            if isinstance(outcome, Answer) and isinstance(outcome.reply, HelloReply):
                self.hello = outcome.reply
                return self.hello
        return None

    async def reach(self) -> HelloReply:
        """A fresh connection on which HELLO was answered. Raises Unreachable."""
        try:
            self.hello = await self._hello_on_a_new_link()
        except Unreachable as first:
            self.hello = await again_after(
                first,
                self._hello_on_a_new_link,
                on=Unreachable,
                attempts_max=REACH_TRIES,
                sleep=self._means.clock.sleep,
                give_up=self._means.stopping,
            )
        return self.hello

    async def _hello_on_a_new_link(self) -> HelloReply:
        self.close()
        self._opened = None
        link = await self._means.dial()
        if self._patience.open_s > 0:
            await self._means.clock.sleep(self._patience.open_s)
        self._requester = Requester(self._expected.unit)
        self._exchange = Exchange(
            link,
            self._requester,
            self._means.deadlines,
            classify,
            self._ignored,
            self._means.trace,
            busy_max_s=self._patience.busy_max_s,
        )
        return await self.greet()

    async def greet(self) -> HelloReply:
        """HELLO on the open connection. Raises Unreachable, after which it is closed."""
        outcome = await self._ask(self._requester.hello(self._next_id()), READ_ONLY)
        if isinstance(outcome, Answer) and isinstance(outcome.reply, HelloReply):
            return outcome.reply
        self.close()
        where = f"{self._expected.url} unit {self._expected.unit}"
        if isinstance(outcome, Lost):
            raise Unreachable(f"{where} accepts connections but ends them: {outcome.why}")
        raise Unreachable(
            f"{where} accepts connections but does not answer HELLO within {self._patience.silence_s:g} s "
            "(not an LSQ1 device, another unit, a malformed answer? -vv shows the bytes)"
        )

    def check_identity(self, hello: HelloReply) -> None:
        """Compare who answered with who must. Raises WrongDevice, Held, LeaseLost, StoreError."""
        want, lease = self._expected, self._lease
        check_identity(self._registry, lease, want, hello.model, hello.serial, hello.firmware)

    async def who(self) -> tuple[Identity, float]:
        """Who answers on a new connection, and after how many seconds. Raises Unreachable, WrongDevice, StoreError."""
        hello = await self.reach()
        started_s = self._means.clock.now_s()
        await self.greet()
        round_trip_s = self._means.clock.now_s() - started_s
        self.check_identity(hello)
        return Identity(hello.serial, hello.model, hello.firmware, hello.nv_tier, hello.epoch), round_trip_s

    async def _go_on(self, hello: HelloReply) -> Session | NotSent | None:
        """The stored session, where it may go on (WIRE.md 4.1); None where a new one must be opened."""
        kept = self.lease.session
        if kept is None or (kept.boot != hello.boot_id and hello.nv_tier < DURABLE_TIER):
            return None
        if not kept.ours:
            problem = await self._through_the_gate(kept)
            if problem is not None:
                return problem
            if not kept.ours:
                self.lease.session = None
                return None
        return kept if kept.last_seq < SEQ_MAX else None

    async def _through_the_gate(self, kept: Session) -> NotSent | None:
        """Spend a number on a NOP: a fresh OK shows that nobody else counts in the session, nor did a later us.

        The session is `ours` then; it stays foreign where the device says anything else.
        """
        for _ in range(GATE_TRIES):
            if kept.last_seq >= SEQ_MAX:
                return None
            kept.last_seq += 1
            await self._leases.spend(self.lease)
            reply = await self._nop(kept.session, kept.last_seq, f"number {kept.last_seq}")
            if reply is None:
                self.close()
                return NotSent(Cause.UNREACHABLE, "the device stopped answering before the command was sent")
            if reply.status is not Status.OK:
                break
            if not reply.replayed:
                kept.ours = True
                break
        return None

    async def _open_anew(self, hello: HelloReply, conn: int, above: int = 0) -> Connected | NotSent:
        """A new session under a new epoch and nonce for every try (WIRE.md 4.1, 4.7)."""
        busy_s, tries = 0.0, 0
        while tries < OPEN_TRIES and busy_s < self._patience.busy_max_s:
            if self._means.stopping():
                self.close()
                return NotSent(Cause.INTERRUPTED, "interrupted before the device opened a session")
            tries += 1
            epoch = await self._leases.draw_epoch(self.lease, above)
            request = self._requester.open(self._leases.agent_id, epoch, secrets.randbits(64))
            outcome = await self._ask(request, Durable(f"epoch {epoch}"))
            if isinstance(outcome, Held):
                busy_s, tries = busy_s + outcome.waited_s, 0
                continue
            if isinstance(outcome, Lost):
                try:
                    hello = await self.reach()
                    self.check_identity(hello)
                except NO_WAY as problem:
                    self.close()
                    return not_sent(problem)
                continue
            if not isinstance(outcome, Answer) or not isinstance(outcome.reply, OpenReply):
                continue
            opened = outcome.reply
            if opened.status is Status.OK:
                record = record_of(opened.record)
                self.lease.session = Session(opened.session, opened.boot_id, 0, record, ours=True)
                self._opened = epoch
                return connected(conn, hello, self.lease.session, record, opened.boot_id, epoch)
            if opened.epoch > epoch:
                self.close()
                return NotSent(Cause.FOREIGN, foreign(opened.epoch, epoch))
        self.close()
        if busy_s >= self._patience.busy_max_s:
            return NotSent(
                Cause.UNREACHABLE, f"the device has been busy with another command for {busy_s:g} s"
            )
        return NotSent(Cause.UNREACHABLE, "the device answers HELLO but opened no session")

    async def take_over(self) -> Connected | NotSent:
        """Draw an epoch above the device's, which another store has used: a person wanted it. As `connect`."""
        hello = self.hello or await self.reach()
        return await self._open_anew(hello, 1, above=hello.epoch)

    # --- commands -----------------------------------------------------------------------------------------------------

    def elsewhere(self, at: str) -> NoReturn:
        """Never asked for: a number tells what became of a command, wherever the device is."""
        raise TypeError(f"no need to look at {at}")

    def unfit(self, text: str) -> str | None:
        """Why a command can never be carried to this device, or None."""
        room = self._requester.max_body - HEADER_SIZE
        size = len(self.veil.lift(text).encode())
        if size > room:
            return f"the command is {size} bytes long, the device takes {room}"
        return None

    def draw(self, step: Send, conn: int, late_s: float) -> Sent:  # noqa: ARG002 - an old copy carries a spent number
        """The copy that is to leave, with its number; nothing is sent and nothing is on record yet."""
        session = self.lease.session
        if step.number is not None:
            number = step.number
        elif session is None:
            raise RuntimeError("no session to draw a number in")
        else:
            session.last_seq += 1
            number = (session.session, session.last_seq)
        told = digest(Type.CMD, self.veil.lift(step.text).encode())
        return Sent(step.attempt, conn, step.text, number[1], number[0], told)

    def put_back(self, sent: Sent) -> None:
        """The copy did not get on record, so its number was not used."""
        session = self.lease.session
        if session is not None and (session.session, session.last_seq) == (sent.session, sent.seq):
            session.last_seq -= 1

    async def copy(self, intent: Intent, silence_s: float) -> Evidence:
        """Write one copy and report what became of it."""
        self._asked = sent = intent.sent
        if self._exchange is None or sent.session is None:
            return self._not_left(sent, "there is no connection")
        text = self.veil.lift(sent.text)
        request = self._requester.command(sent.session, sent.seq, sent.attempt, text)
        outcome = await self._exchange.ask(request, intent, silence_s)
        if isinstance(outcome, Answer) and isinstance(outcome.reply, CommandReply):
            return meaning_of(outcome.reply, sent.digest)
        if isinstance(outcome, Held):
            return Deferred(outcome.how, outcome.waited_s)
        if isinstance(outcome, Lost) and not outcome.left:
            return self._not_left(sent, outcome.why)
        return Unknown("lost" if isinstance(outcome, Lost) else "silence")

    def _not_left(self, sent: Sent, why: str) -> Unsent:
        """The first copy gives its number back, in the store too: a gap would end the session (WIRE.md 4.1).

        Where it cannot be written, whoever comes next meets that gap.
        """
        if sent.attempt == 1:
            self.put_back(sent)
            with suppress(LeaseLost, StoreError):
                self._leases.keep(self.lease)
        return Unsent(why)

    async def settle(self, step: Settle) -> Evidence:
        """Spend the command's own number on a NOP (WIRE.md 4.5)."""
        outcome = await self._ask(
            self._requester.nop(step.session, step.seq, step.attempt),
            Durable("the number of the command itself"),
        )
        match outcome:
            case Answer(reply=NopReply() as reply):
                return fate_of(reply, step.digest)
            case Held(how=how, waited_s=waited_s):
                return Deferred(how, waited_s, "nop")
        return Unanswered("settle")

    async def read(self, query: str, reply: str | None = None) -> ReadAnswer:  # noqa: ARG002 - LSQ1 tells them apart
        """The answer to a query. A read is asked again freely: its id tells answers apart."""
        waited_s, silences = 0.0, 0
        while waited_s < self._patience.busy_max_s and silences < SILENCES_MAX:
            outcome = await self._ask(self._requester.read(self._next_id(), query), READ_ONLY)
            match outcome:
                case Answer(reply=ReadReply(status=Status.OK, text=text)):
                    return ReadAnswer(text)
                case Answer(reply=ReadReply(status=status, text=text)):
                    return ReadAnswer(None, f"the device says {text or status.name} to '{query}'")
                case Held(waited_s=more_s):
                    waited_s += more_s
                case Silence():
                    silences += 1
                case _:
                    break
        return ReadAnswer(None)

    def alive(self) -> bool:
        """Whether a connection is open and has not broken."""
        return self._exchange is not None and self._exchange.broken is None

    def noticed(self) -> list[Evidence]:
        """Facts that the device told by itself: none, an LSQ1 device only answers."""
        return []

    def close(self) -> None:
        """Close the connection, if one is open. The session lives on."""
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None

    def _ignored(self, event: Answered | Waiting | Ignored) -> None:
        """Tell the log what was credited to nothing; an answer may come in the very turn in which its wait ended."""
        told = self._means.told
        match event:
            case Ignored():
                told.ignored(event)
            case Answered(reply=CommandReply(attempt=attempt)) if self._asked is not None:
                told.late(self._asked.seq, attempt)
            case _:
                told.note(f"too late: {event}")

    # --- parts --------------------------------------------------------------------------------------------------------

    async def _nop(self, session: int, seq: int, what: str) -> NopReply | None:
        waited_s, silences, attempt = 0.0, 0, 0
        while waited_s < self._patience.busy_max_s and silences < SILENCES_MAX:
            attempt += 1
            outcome = await self._ask(self._requester.nop(session, seq, attempt), Durable(what))
            match outcome:
                case Answer(reply=NopReply() as reply):
                    return reply
                case Held(waited_s=more_s):
                    waited_s += more_s
                case Silence():
                    silences += 1
                case _:
                    return None
        return None

    async def _ask(self, request: bytes, warrant: Durable | ReadOnly) -> Outcome:
        if self._exchange is None:
            return Lost("there is no connection")
        return await self._exchange.ask(request, warrant, self._patience.silence_s)

    def _next_id(self) -> int:
        self._ids = self._ids % 0xFFFF + 1
        return self._ids
