"""How does the agent work through the scripts that people already have? One run of a program is one exchange.

`run` of the profile, with the device, its URL and the command filled in (CATALOG.md 4). Rules:

* Exit 0 is an ack, an exit from 1 to 125 a refusal. A program that was not started has sent nothing.
* A run that took too long is killed with all that it started, and means nothing; so do signals, and codes from 126 up,
  with which a shell says that it could not run something, or that something was killed, and ssh that it failed.
* What it prints on stdout is its answer. Of a failure the last line of stderr is told, without secrets.
* Before anything counts as quiet, the program of a copy that was never answered is ended where it still runs: its agent
  was killed, or stood still. What it sent by then may be under way for `late_max_s` from there (`leftover.py`).
* A person who interrupts ends a reading. A copy, and the readings that decide about it, come to their word.
"""

import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from agent.dialects import leftover
from agent.dialects.program import OUTPUT_MAX, Ended, NotStarted, run
from agent.dialects.unnumbered import UnnumberedStation
from agent.evidence import Acked, Connected, Evidence, Nakked, NotSent, Unknown, Unsent
from agent.journal import Intent
from agent.leases import Lease, LeaseLost
from agent.links.link import Unreachable
from agent.station import NO_WAY, Expected, Identity, Means, Patience, ReadAnswer, not_sent
from agent.steps import Session
from agent.store.database import StoreError
from devices.profile import Profile
from devices.templates import render
from logs.text import escape
from protocol.line import LINE_MAX

REFUSALS = range(1, 126)
ANSWER_MAX = LINE_MAX
"""Characters that are kept of what comes with an ack: as many as equipment says with a line."""
SAID_MAX = 300
"""Characters of a program's output that a sentence repeats."""


class ExecStation(UnnumberedStation):
    """One device behind a program; `lease` is None where nothing but reads will be asked."""

    def __init__(
        self,
        lease: Lease | None,
        expected: Expected,
        patience: Patience,
        means: Means,
        profile: Profile,
        *,
        name: str,
    ) -> None:
        """As `UnnumberedStation`; `name` is what the program is told as `{device}`."""
        super().__init__(lease, expected, patience, means, profile, None)
        self._name = name
        self._made_late = means.stopping()
        self._ending: int | None = None
        """The program of the last copy, once it has been ended and until it is known to be gone."""
        self._over: str | None = None
        """The mark of a copy whose program runs no more."""
        self._was_closed = False
        """Somebody closed it, so that it may have been waited for quiet since then."""

    async def connect(self, wanted: Session, conn: int) -> Connected | NotSent:
        """Find the program, and ask who answers where the profile says how. Raises LeaseLost, StoreError."""
        try:
            await self._until_quiet(wanted)
            self._find_the_program()
            if self._profile.identity is not None:
                await self.who()
        except NO_WAY as problem:
            return not_sent(problem, interrupted=self._means.stopping())
        return Connected(conn)

    def _find_the_program(self) -> None:
        program = self._profile.run[0]
        if shutil.which(program) is None:
            raise Unreachable(
                f"{program}, the program of profile {self._profile.name}, does not exist or is not executable; "
                "nothing was run"
            )

    async def who(self) -> tuple[Identity, float | None]:
        """Who answers, and after how many seconds; None where the profile names no question.

        Raises Unreachable, WrongDevice, Held, LeaseLost, StoreError.
        """
        self._find_the_program()
        identity, question = self._profile.identity, self._question()
        if question is None:
            return Identity(model=self._profile.model), None
        started_s = self._means.clock.now_s()
        answer = await self.read(*question)
        took_s = self._means.clock.now_s() - started_s
        if answer.value is None:
            why = answer.problem or "it took too long"
            raise Unreachable(f"asked '{question[0]}', the program gives no answer: {why}")
        if identity is None:
            return Identity(model=self._profile.model), took_s
        return self._identified(identity.expect, answer.value), took_s

    def alive(self) -> bool:
        """Each run stands for itself."""
        return True

    def noticed(self) -> list[Evidence]:
        """A program tells nothing by itself."""
        return []

    def unfit(self, text: str) -> str | None:
        """Why a command can never be carried to this device, or None."""
        holds_nul = "\0" in self.veil.lift(text)
        return "the command holds a NUL, which no program can be given" if holds_nul else None

    async def copy(self, intent: Intent, silence_s: float) -> Evidence:
        """Run the program once for a copy and report what became of it."""
        still = self._stood_still()
        if still is not None:
            self._answered()
            return Unsent(still.why)
        mark = self._mark(self.lease)
        try:
            ended = await self._run(self.veil.lift(intent.sent.text), silence_s, mark=mark)
        except NotStarted as problem:
            self._answered()
            return Unsent(str(problem))
        self._ending, self._over = ended.stays, mark if ended.stays is None else None
        if ended.status == 0:
            self._answered()
            return Acked(intent.sent.attempt, False, self._answer(ended.out))
        if ended.status in REFUSALS:
            self._answered()
            return Nakked(intent.sent.attempt, self._said(ended) or f"exit {ended.status}")
        said = self._said(ended)
        self._means.told.warn(
            f"the program {ended.how}, which says nothing about the device{': ' + said if said else ''}"
        )
        return Unknown("silence" if ended.status is None else "lost", self._failure(ended))

    async def read(self, query: str, reply: str | None = None) -> ReadAnswer:
        """Run the program once for a query; its answer is stdout, or the group `value` of `reply` found in it.

        An interruption ends it, and all further ones that nothing depends on. Whoever holds the device and asks after
        an interruption wants to know all the same: what became of a copy.
        """
        stopping = self._means.stopping
        before = self._made_late if self._lease is None else stopping()
        if stopping() and not before:
            return ReadAnswer(None, "interrupted")
        try:
            ended = await self._run(
                query, self._patience.silence_s, stopped=lambda: stopping() and not before
            )
        except NotStarted as problem:
            return ReadAnswer(None, str(problem))
        if ended.status is None:
            return ReadAnswer(None, "interrupted" if stopping() and not before else None)
        if ended.status != 0:
            return ReadAnswer(None, self._failure(ended))
        value = _value(ended, reply)
        return ReadAnswer(value, None if value is not None else self._without_value(ended))

    def close(self) -> None:
        """Nothing stays open between two runs; but what is to be quiet from now on must not run."""
        self._was_closed = True
        with suppress(LeaseLost, StoreError):  # whoever connects meets it again
            self._end_the_last_run()

    async def _run(
        self,
        command: str,
        silence_s: float,
        *,
        mark: str | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Ended:
        """Run the program once. Raises NotStarted."""
        words = {"device": self._name, "command": command, "url": self._expected.url}
        argv = [render(word, words) for word in self._profile.run]
        if self._means.trace is not None:
            self._means.trace(">", " ".join(argv).encode())
        ended = await run(argv, silence_s, mark=mark, stopped=stopped)
        if self._means.trace is not None:
            self._means.trace("<", f"{ended.out}\n{ended.err}".strip().encode())
        return ended

    # --- what an earlier run has left ---------------------------------------------------------------------------------

    async def _until_quiet(self, wanted: Session) -> None:
        """Wait until nothing of earlier runs goes on or is under way. Raises Unreachable, LeaseLost, StoreError."""
        lease = self._lease
        if lease is not None:
            self._end_the_last_run()
            await self._until_it_is_gone(lease)
        counts_on_it = wanted is Session.KEEP or self._was_closed
        await self._debts.wait_until_quiet(lease if counts_on_it else None)
        self._was_closed = False

    def _end_the_last_run(self) -> None:
        """End the program of a copy that was never answered, where it still runs. Raises LeaseLost, StoreError."""
        lease = self._lease
        if lease is None or lease.quiet_from is None or self._over == self._mark(lease):
            return
        pid = self._ending
        if pid is None:
            pid = leftover.still_running(self._mark(lease))
            if pid is None:
                self._over = self._mark(lease)
                return
            self._means.told.warn(f"the program of an earlier run still runs (pid {pid}), and is ended")
        self._date_anew(lease)  # first: if this process is killed in between, the next one must wait too
        leftover.end(pid)
        self._ending = pid

    async def _until_it_is_gone(self, lease: Lease) -> None:
        """What was ended must not act any more. Raises Unreachable, LeaseLost, StoreError."""
        pid = self._ending
        if pid is None:
            return
        if not leftover.is_gone(pid):
            if not await leftover.is_gone_soon(pid):
                raise Unreachable(_still_runs(pid))
            self._date_anew(lease)
        self._ending, self._over = None, self._mark(lease)

    def _date_anew(self, lease: Lease) -> None:
        """What the program has sent may be under way for as long as ever from now. Raises LeaseLost, StoreError."""
        taken_s = (command.execution_s or 0.0 for command in self._profile.commands)
        until = self._means.steady.now() + timedelta(seconds=max(self._debts.late_s, *taken_s))
        lease.quiet_from = max(until, lease.quiet_from or until)
        self._means.leases.keep(lease)

    def _mark(self, lease: Lease) -> str:
        """What the program of the lease's last copy is found by."""
        return f"{self._means.leases.agent_id}:{lease.device}:{lease.number}"

    # --- what it says -------------------------------------------------------------------------------------------------

    def _failure(self, ended: Ended) -> str:
        """How a program failed, and what it said of it."""
        said = self._said(ended)
        return f"the program {ended.how}{': ' + said if said else ''}"

    def _without_value(self, ended: Ended) -> str:
        """Why a program that ended well gave no value."""
        if ended.cut:
            return f"the program printed more than {OUTPUT_MAX} bytes, and no value is found in the first of them"
        if not ended.out:
            return "the program printed nothing"
        return f"no value in what the program printed: {self._told(ended.out)}"

    def _said(self, ended: Ended) -> str:
        """The last line that a program wrote to stderr."""
        lines = ended.err.splitlines()
        return self._told(lines[-1].strip()) if lines else ""

    def _told(self, text: str) -> str:
        """A program's words as a sentence repeats them; masked before they are cut: a piece of a secret is one, too."""
        return escape(self.veil.mask(text), SAID_MAX)

    def _answer(self, out: str) -> str | None:
        """What comes with an ack."""
        out = self.veil.mask(out)
        return (out if len(out) <= ANSWER_MAX else f"{out[: ANSWER_MAX - 3]}...") or None


def _value(ended: Ended, reply: str | None) -> str | None:
    """What stands in a program's answer; the beginning of a long one could be any other value."""
    if reply is None:
        return None if ended.cut else ended.out or None
    match = re.search(reply, ended.out, re.MULTILINE)
    return match.groupdict().get("value") if match is not None else None


def _still_runs(pid: int) -> str:
    return (
        f"the program of an earlier run (pid {pid}) still runs and cannot be ended; nothing was run. End it, then try "
        "again"
    )
