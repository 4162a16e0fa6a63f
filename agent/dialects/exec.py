"""How does the agent work through the scripts that people already have? One run of a program is one exchange.

`run` of the profile, with the device, its URL and the command filled in (CATALOG.md 4). Rules:

* Exit 0 is an ack, an exit from 1 to 125 a refusal. A program that was not started has sent nothing.
* A run that took too long is killed with all that it started, and means nothing; so do signals, and codes from 126 up,
  with which a shell says that it could not run something, or that something was killed, and ssh that it failed.
* What it prints on stdout is its answer. Of a failure the last line of stderr is told, without secrets.
"""

import re
import shutil

from agent.dialects.program import OUTPUT_MAX, Ended, NotStarted, run
from agent.dialects.unnumbered import UnnumberedStation
from agent.evidence import Acked, Connected, Evidence, Nakked, NotSent, Unknown, Unsent
from agent.journal import Intent
from agent.leases import Lease
from agent.links.link import Unreachable
from agent.station import NO_WAY, Expected, Identity, Means, Patience, ReadAnswer, not_sent
from agent.steps import Session
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

    async def connect(self, wanted: Session, conn: int) -> Connected | NotSent:
        """Find the program, and ask who answers where the profile says how. Raises LeaseLost, StoreError."""
        try:
            await self._debts.wait_until_quiet(self._lease if wanted is Session.KEEP else None)
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
        try:
            ended = await self._run(self.veil.lift(intent.sent.text), silence_s)
        except NotStarted as problem:
            self._answered()
            return Unsent(str(problem))
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
        """Run the program once for a query; its answer is stdout, or the group `value` of `reply` found in it."""
        try:
            ended = await self._run(query, self._patience.silence_s)
        except NotStarted as problem:
            return ReadAnswer(None, str(problem))
        if ended.status is None:
            return ReadAnswer(None)
        if ended.status != 0:
            return ReadAnswer(None, self._failure(ended))
        value = _value(ended, reply)
        return ReadAnswer(value, None if value is not None else self._without_value(ended))

    def close(self) -> None:
        """Nothing stays open between two runs."""

    async def _run(self, command: str, silence_s: float) -> Ended:
        """Run the program once. Raises NotStarted."""
        words = {"device": self._name, "command": command, "url": self._expected.url}
        argv = [render(word, words) for word in self._profile.run]
        if self._means.trace is not None:
            self._means.trace(">", " ".join(argv).encode())
        ended = await run(argv, silence_s)
        if self._means.trace is not None:
            self._means.trace("<", f"{ended.out}\n{ended.err}".strip().encode())
        return ended

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
