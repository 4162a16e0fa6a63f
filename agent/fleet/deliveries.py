"""How does every notice get to somebody, although services fail and agents end?

* Whoever has [notify] urls sends what is due, several notices in one message. A row is claimed before it is sent, so
  two agents do not send one; whoever ends in between leaves it to the next one after `CLAIM_S`. So a notice may come
  twice where an agent ends just after it was taken, and is never lost for that.
* What is not taken is tried again after `PAUSES_S`, with those URLs only that have not taken it. Then it is
  `undeliverable`: kept, and shown to whoever types a command next (`errands.py`). So is what nobody could send for
  `UNSENT_MAX`, because no agent has URLs, or apprise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from agent.clock import stamp
from agent.fleet import messenger
from agent.fleet.facts import name_of
from agent.fleet.messenger import Letter, Send
from agent.fleet.notice_rows import State, mark, told_in
from agent.fleet.store_clock import StoreClock
from agent.service import Service
from agent.store.database import Cursor, StoreError

PAUSES_S = (30.0, 60.0, 120.0, 240.0, 480.0)
"""How long to wait after each try that failed; after one more it is undeliverable."""
CLAIM_S = 180.0
"""How long a try may take; longer than `messenger.SEND_MAX_S`."""
UNSENT_MAX = timedelta(hours=1)
"""How long a notice waits for an agent that can send it; longer than all pauses together."""
BATCH_MAX = 50
"""So many notices go into one message."""
NAP_S = 1.0
_NOBODY = "no agent could send it: see [notify] in ackonce.toml"


@dataclass(frozen=True, slots=True)
class _Due:
    """A notice that this agent has claimed. `given`: who has taken it before."""

    n: int
    about: str
    kind: str
    text: str
    utc: str
    given: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Result:
    """What became of a try: who has taken the notice so far, and why others have not."""

    n: int
    given: frozenset[str]
    why: str | None


class Deliveries:
    """Sends the notices of one store, as one process does."""

    def __init__(
        self,
        service: Service,
        urls: Sequence[str],
        tell: Callable[[str], None],
        *,
        send: Send | None = None,
    ) -> None:
        """Nothing is sent yet.

        Args:
            service: the agent in this process.
            urls: where to send, as apprise has them; empty where this agent sends nothing.
            tell: hears sentences about the sending itself.
            send: another way to send than apprise, for tests.
        """
        self._service = service
        self._db = service.database
        self._clock = StoreClock(service)
        self._urls = {messenger.label(urls, place): url for place, url in enumerate(urls)}
        self._tell = tell
        self._send = send
        self._unwritten: list[_Result] = []
        self._told_to_install = False

    async def keep_delivering(self) -> None:
        """The duty: send what is due until a person interrupts."""
        failing = False
        while not self._service.executor.stopping():
            try:
                await self.deliver()
                failing = False
            except StoreError as problem:
                if not failing:
                    self._tell(f"notices cannot be sent: {problem}")
                failing = True
            await self._service.clock.sleep(NAP_S)

    async def deliver(self) -> None:
        """Send once what is due. Raises StoreError: what was taken is not sent again by this process."""
        self._write_results([])
        if not self._can_send():
            self._give_up_what_nobody_sends()
            return
        due = self._claim()
        if not due:
            return
        letters = {
            name: self._letter(url, for_it)
            for name, url in self._urls.items()
            if (for_it := [each for each in due if name not in each.given])
        }
        problems = dict(
            zip(letters, await (self._send or messenger.send)(list(letters.values())), strict=True)
        )
        taken = frozenset(name for name, problem in problems.items() if problem is None)
        results = []
        for each in due:
            missing = [name for name in letters if name not in each.given | taken]
            why = ", ".join(f"{name} {problems[name]}" for name in missing) or None
            results.append(_Result(each.n, each.given | taken, why))
        self._write_results(results)

    def _can_send(self) -> bool:
        if not self._urls:
            return False
        if self._send is not None or messenger.is_installed():
            return True
        if not self._told_to_install:
            self._tell(messenger.INSTALL)
        self._told_to_install = True
        return False

    def _letter(self, url: str, due: Sequence[_Due]) -> Letter:
        first = due[0]
        title = f"{first.kind.replace('_', ' ')}: {name_of(first.about) or first.about}"
        title = title if len(due) == 1 else f"{len(due)} notices"
        body = "\n".join(f"{each.utc} {each.text}" for each in due)
        return Letter(url, f"ackonce: {title}", f"{body}\n\nFrom agent {self._service.holder.agent}")

    def _claim(self) -> list[_Due]:
        """Take what is due and nobody else is sending; the others of the store leave it alone for a while."""
        now_s = self._clock.now_s()
        if not any(_is_ready(told_in(self._db, row[-1]), now_s) for row in self._db.read(_DUE)):
            return []

        def write(cursor: Cursor) -> list[_Due]:
            claimed: list[_Due] = []
            for n, about, kind, text, utc, told_text in cursor.execute(_DUE).fetchall():
                told = told_in(self._db, told_text)
                if len(claimed) < BATCH_MAX and _is_ready(told, now_s):
                    tries = {"tries": told.get("tries", 0) + 1, "next_s": now_s + CLAIM_S}
                    mark(cursor, n, State.DUE, told | tries)
                    claimed.append(_Due(n, about, kind, text, utc, frozenset(told.get("given", ()))))
            return claimed

        return self._db.commit_now(write)

    def _write_results(self, results: Sequence[_Result]) -> None:
        """Write what became of a try, and what could not be written before. Raises StoreError: it is kept."""
        self._unwritten += results
        if not self._unwritten:
            return
        unwritten, now_s = self._unwritten, self._clock.now_s()

        def write(cursor: Cursor) -> list[str]:
            return [lost for result in unwritten if (lost := self._write_result(cursor, result, now_s))]

        lost = self._db.commit_now(write)
        self._unwritten = []
        for why in dict.fromkeys(lost):
            self._tell(f"notices could not be delivered, and are shown instead: {why}")

    def _write_result(self, cursor: Cursor, result: _Result, now_s: float) -> str | None:
        """Returns why a notice is undeliverable now, None where it is not."""
        row = cursor.execute("SELECT told FROM notice WHERE n = ? AND state = 'due'", (result.n,)).fetchone()
        if row is None:
            return None
        told = told_in(self._db, row[0]) | {"given": sorted(result.given), "why": result.why}
        if result.why is None:
            mark(cursor, result.n, State.GIVEN, told)
            return None
        if told["tries"] > len(PAUSES_S):
            mark(cursor, result.n, State.UNDELIVERABLE, told)
            return result.why
        mark(cursor, result.n, State.DUE, told | {"next_s": now_s + PAUSES_S[told["tries"] - 1]})
        return None

    def _give_up_what_nobody_sends(self) -> None:
        before = stamp(self._service.clock.utc() - UNSENT_MAX)
        if not self._db.read(_UNSENT, (before,)):
            return

        def write(cursor: Cursor) -> None:
            for n, told_text in cursor.execute(_UNSENT, (before,)).fetchall():
                mark(cursor, n, State.UNDELIVERABLE, told_in(self._db, told_text) | {"why": _NOBODY})

        self._db.commit_now(write)


_DUE = (
    """SELECT n, about, kind, text, utc, told FROM notice WHERE state = 'due' AND "to" IS NULL ORDER BY n"""
)
_UNSENT = """SELECT n, told FROM notice WHERE state = 'due' AND "to" IS NULL AND utc <= ?"""


def _is_ready(told: dict[str, Any], now_s: float) -> bool:
    """Nobody is sending it and its pause is over; a moment further off is of before a restart of the machine."""
    next_s = told.get("next_s")
    return next_s is None or next_s <= now_s or next_s - now_s > max(CLAIM_S, *PAUSES_S)
