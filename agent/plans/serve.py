"""How are due jobs run, day after day, while clocks are set, machines sleep and processes end?

One loop over one store. It looks at the wall clock at least once a second and never trusts a long sleep: after every
nap it asks whether the moment still lies between its last look and the next due time, so a clock that was set either
way, or a machine that slept, only means another look. Jobs are read anew at least every `REREAD_S`. Any number of such
loops may work on one store: whoever claims a due time runs it (`turns.py`).

Runs of different jobs go on side by side; where they share a stream they take turns. When a person interrupts, nothing
new begins and what is in flight reaches its word (`apply.py`).
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, timedelta
from typing import Any

from agent.plans.job_runs import JobRuns, Told
from agent.plans.jobs import Job, Jobs, OnMissed
from agent.plans.turns import GRACE, Standing, State, Turn, Turns, nominal, standing
from agent.service import Service
from agent.settings import Settings
from agent.store.database import StoreError

NAP_S = 1.0
"""How long nobody looks at the clock, nor for an interruption."""
REREAD_S = 30.0
"""How long a job that was added goes unnoticed."""

_ORPHANED = {
    State.NOT_BEGUN: "its process ended before it began",
    State.CUT_OFF: "its process ended while it ran. Go on with it: ackonce resume {run}",
    State.DONE: "its process ended before it could say so",
}
"""What to say of a turn whose process has gone."""

Duty = Callable[[], Coroutine[Any, Any, None]]
"""Something that goes on until a person interrupts."""


async def serve(duties: Sequence[Duty]) -> None:
    """Do all duties side by side until the last one has ended. Raises an ExceptionGroup where one fails."""
    async with asyncio.TaskGroup() as group:
        for duty in duties:
            group.create_task(duty())


class Server:
    """Runs the jobs of a store."""

    def __init__(
        self, service: Service, settings: Settings, tell: Callable[[Told], None], *, only: str | None = None
    ) -> None:
        """A server of a store.

        Args:
            service: the agent in this process.
            settings: of this process; each job has its own project, inventory and patience.
            tell: hears of every event.
            only: the one job to look after; None: all of them.
        """
        self._runs = JobRuns(service, settings, tell)
        self._jobs = Jobs(service)
        self._turns = Turns(service)
        self._say = self._runs.say
        self._clock = service.clock
        self._stopping = service.executor.stopping
        self._only = only
        self._store_fails = False
        self._waiting: set[str] = set()

    async def keep_time(self) -> None:
        """The duty: run what is due until a person interrupts, then wait for what is under way."""
        self._say_what_is_served()
        async with asyncio.TaskGroup() as group:
            while not self._stopping():
                looked, reread_s = self._clock.utc(), self._clock.now_s() + REREAD_S
                upcoming = looked + timedelta(seconds=REREAD_S)
                try:
                    jobs = self._start_due(looked, group)
                    upcoming = min([due for _, due in _upcoming(jobs, looked)], default=upcoming)
                except StoreError as problem:
                    self._say_store_fails(problem)
                while (
                    not self._stopping()
                    and self._clock.now_s() < reread_s
                    and looked <= (now := self._clock.utc()) < upcoming
                ):
                    await self._clock.sleep(min(NAP_S, (upcoming - now).total_seconds()))

    async def run_due(self) -> None:
        """Run what is due now to its end, and nothing else. Raises StoreError."""
        failed: StoreError | None = None
        async with asyncio.TaskGroup() as group:
            try:
                self._start_due(self._clock.utc(), group)
            except StoreError as problem:
                failed = problem
        if failed is not None:
            raise failed

    def _say_what_is_served(self) -> None:
        try:
            upcoming = _upcoming(self._mine(), self._clock.utc())
        except StoreError:
            return  # the first look tells
        if not upcoming:
            self._say("serving", "no jobs yet; add one with: ackonce job add")
            return
        job, due = min(upcoming, key=lambda each: each[1])
        count = f"{len(upcoming)} job{'' if len(upcoming) == 1 else 's'}"
        self._say("serving", f"{count}, the next is {job.name} at {nominal(due)}")

    def _say_store_fails(self, problem: StoreError) -> None:
        """Once, until something was written again: a look at which nothing is due says nothing of the store."""
        if not self._store_fails:
            self._say("store", f"{problem}. Tried again every {REREAD_S:.0f} s")
        self._store_fails = True

    def _mine(self) -> list[Job]:
        return [job for job in self._jobs.all() if self._only in (None, job.name)]

    def _start_due(self, now: datetime, group: asyncio.TaskGroup) -> list[Job]:
        """Claim what is due and begin it at once, so that nothing claimed waits for anything; returns all jobs.

        Raises:
            StoreError: what was begun goes on.
        """
        self._runs.record_late()
        for orphan in self._turns.orphans():
            self._runs.say_turn(orphan, _ORPHANED[orphan.state].format(run=orphan.run))
        jobs = self._mine()
        for job in jobs:
            considered = self._turns.considered(job, now)
            self._say_whether_it_waits(job, considered, now)
            turn = self._claim_due(job, standing(job, considered, now))
            if turn is not None:
                self._store_fails = False
                group.create_task(self._runs.take(job, turn))
        return jobs

    def _say_whether_it_waits(self, job: Job, considered: datetime, now: datetime) -> None:
        """Say once that nothing of a job is due for long, since its clock has been set back, or was wrong before."""
        if considered <= now + GRACE:
            self._waiting.discard(job.name)
        elif job.name not in self._waiting:
            self._waiting.add(job.name)
            until = f"the clock shows a time before those that are settled: not run until after {nominal(considered)}"
            self._say("waiting", f"{until}. If the clock was wrong then, add it under another name", job.name)

    def _claim_due(self, job: Job, at: Standing) -> Turn | None:
        """The turn of a job that is to be run now; what is not to be run is recorded and said. Raises StoreError."""
        due, why = at.on_time, None
        if at.newest is not None:
            if due is None and job.missed is OnMissed.ONCE:
                due, why = at.newest, f"{at.told()}; to be run once, for the last one"
            elif self._turns.pass_over(job, at.newest, at.told()):
                self._store_fails = False
                self._say(State.MISSED.value, f"{at.told()}; not run", job.name, nominal(at.newest))
        if due is None:
            return None
        if (turn := self._turns.claim(job, nominal(due))) is None:
            return None
        if why is not None:
            self._say(State.MISSED.value, why, job.name, turn.key)
        return turn


def _upcoming(jobs: Sequence[Job], now: datetime) -> list[tuple[Job, datetime]]:
    """The next due time of each job that has one."""
    return [(job, due) for job in jobs for due in job.next(now)]
