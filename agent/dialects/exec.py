"""How does the agent work through the scripts that people already have? One run of a program is one exchange.

`run` of the profile, with the device, its URL and the command filled in (CATALOG.md 4). Exit 0 is an ack, an exit from
1 to 125 a refusal. A run that took too long is killed with all that it started, and means nothing; so do signals, and
126 and 127, with which a shell says that it could not run something. What a program prints on stdout is its answer.
"""

import asyncio
import contextlib
import os
import re
import shutil
import signal
from asyncio.subprocess import DEVNULL, Process
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO

from agent.dialects.unnumbered import UnnumberedStation
from agent.evidence import Acked, Connected, Evidence, Nakked, NotSent, Unknown, Unsent
from agent.journal import Intent
from agent.leases import Lease
from agent.links.link import Unreachable
from agent.station import NO_WAY, Expected, Identity, Means, Patience, ReadAnswer, not_sent
from agent.steps import Session
from devices.profile import Profile
from devices.templates import render

REFUSALS = range(1, 126)
OUTPUT_MAX = 65_536
"""Bytes of a program's output that are looked at."""
CANNOT_RUN = 127


@dataclass(frozen=True, slots=True)
class _Run:
    """How a program ended: its exit status (negative: a signal), None where it was killed; what it printed."""

    status: int | None
    out: str
    err: str


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
        ended = await self._run(self.veil.lift(intent.sent.text), silence_s)
        if ended.status == 0:
            self._answered()
            return Acked(intent.sent.attempt, False, ended.out or None)
        if ended.status in REFUSALS:
            self._answered()
            return Nakked(intent.sent.attempt, _last_line(ended.err) or f"exit {ended.status}")
        self._means.told.warn(
            f"the program {_ending(ended.status, silence_s)}, which says nothing about the device"
        )
        return Unknown("silence" if ended.status is None else "lost")

    async def read(self, query: str, reply: str | None = None) -> ReadAnswer:
        """Run the program once for a query; its answer is stdout, or the group `value` of `reply` found in it."""
        ended = await self._run(query, self._patience.silence_s)
        if ended.status is None:
            return ReadAnswer(None)
        if ended.status != 0:
            said = _last_line(ended.err)
            return ReadAnswer(None, f"the program {_ending(ended.status, 0.0)}{': ' + said if said else ''}")
        if reply is None:
            return ReadAnswer(ended.out) if ended.out else ReadAnswer(None, "the program printed nothing")
        match = re.search(reply, ended.out, re.MULTILINE)
        value = match.groupdict().get("value") if match is not None else None
        return ReadAnswer(
            value, None if value is not None else f"no value in what the program printed: {ended.out}"
        )

    def close(self) -> None:
        """Nothing stays open between two runs."""

    async def _run(self, command: str, silence_s: float) -> _Run:
        words = {"device": self._name, "command": command, "url": self._expected.url}
        argv = [render(word, words) for word in self._profile.run]
        if self._means.trace is not None:
            self._means.trace(">", " ".join(argv).encode())
        # Files, not pipes: something that the program leaves behind may keep a pipe open for ever.
        with TemporaryFile() as out, TemporaryFile() as err:
            try:
                process = await asyncio.create_subprocess_exec(
                    *argv, stdin=DEVNULL, stdout=out, stderr=err, start_new_session=True
                )
            except OSError as problem:
                return _Run(CANNOT_RUN, "", f"{argv[0]} cannot be run: {problem.strerror}")
            killed = False
            try:
                async with asyncio.timeout(silence_s):
                    await process.wait()
            except TimeoutError:
                killed = True
                _kill(process)
                await process.wait()
            ended = _Run(None if killed else process.returncode, _read(out), _read(err))
        if self._means.trace is not None:
            self._means.trace("<", f"{ended.out}\n{ended.err}".strip().encode())
        return ended


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(OUTPUT_MAX).decode(errors="backslashreplace").strip()


def _kill(process: Process) -> None:
    """End a program and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _last_line(text: str) -> str:
    return text.splitlines()[-1].strip() if text else ""


def _ending(status: int | None, silence_s: float) -> str:
    if status is None:
        return f"did not end within {silence_s:g} s and was killed"
    return f"was ended by signal {-status}" if status < 0 else f"ended with exit {status}"
