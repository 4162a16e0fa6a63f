"""Which jobs are there? A job is a plan with a schedule, and what a person agreed to when it was added."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from agent.clock import moment, stamp
from agent.plans import schedule
from agent.plans.consent import Consent
from agent.service import Service
from agent.store.database import Cursor, Row, StoreError
from devices.problems import UsageProblem, did_you_mean


class OnMissed(StrEnum):
    """What to do about missed times: skip them all, or run once for the newest."""

    SKIP = "skip"
    ONCE = "once"


@dataclass(frozen=True, slots=True)
class Job:
    """A plan with a schedule.

    `path`, `project` and `inventory` are absolute. `digest` is that of the plan's text when it was agreed to, `agreed`
    how far. `added` is UTC.
    """

    name: str
    path: str
    cron: str
    tz: str
    missed: OnMissed
    project: str
    inventory: str
    timeout_s: float | None
    agreed: Consent
    digest: str
    reason: str | None
    added_by: str
    added: datetime

    def next(self, now: datetime, count: int = 1) -> list[datetime]:
        """The next due times after `now`, in UTC, of those that count."""
        return schedule.next_due(self.cron, self.tz, max(now, self.added), count)


class Jobs:
    """The jobs of one store, as one process sees them."""

    def __init__(self, service: Service) -> None:
        self._db = service.database
        self._me = service.holder
        self._clock = service.clock

    def add(self, job: Job, *, in_its_place: bool) -> None:
        """Keep a job. Raises UsageProblem where the name is taken, and the job is not to take its place; StoreError."""
        options = {
            "project": job.project, "inventory": job.inventory, "timeout_s": job.timeout_s, "agreed": job.agreed.value
        }  # fmt: skip
        row = (
            job.name, job.path, job.cron, job.tz, job.missed.value, json.dumps(options), job.digest, job.reason,
            job.added_by, stamp(job.added),
        )  # fmt: skip

        def write(cursor: Cursor) -> bool:
            if in_its_place:
                cursor.execute("DELETE FROM job WHERE job = ?", (job.name,))
            marks = ", ".join("?" * len(row))
            cursor.execute(f"INSERT INTO job ({_JOB}) VALUES ({marks}) ON CONFLICT (job) DO NOTHING", row)  # noqa: S608
            return cursor.rowcount == 1

        if not self._db.commit_now(write):
            raise UsageProblem(
                f"there is a job {job.name} already", "Another name, or --replace to put this in its place"
            )

    def all(self) -> list[Job]:
        """Every job, by name. Raises StoreError."""
        rows = self._db.read(f"SELECT {_JOB} FROM job ORDER BY job")  # noqa: S608 - names of our own columns
        with making_sense():
            return [_job(row) for row in rows]

    def find(self, name: str) -> Job:
        """The job of a name. Raises UsageProblem where there is none, StoreError."""
        jobs = {job.name: job for job in self.all()}
        if name not in jobs:
            hint = did_you_mean(name, jobs) or ("See: ackonce job list" if jobs else "There are no jobs")
            raise UsageProblem(f"there is no job {name}", hint)
        return jobs[name]

    def remove(self, name: str) -> None:
        """Forget a job; what became of its due times is kept. Raises UsageProblem where there is none, StoreError."""
        self.find(name)
        self._db.commit_now(lambda cursor: cursor.execute("DELETE FROM job WHERE job = ?", (name,)).rowcount)


@contextmanager
def making_sense() -> Iterator[None]:
    """Rows that mean nothing are a damaged store. Raises StoreError."""
    try:
        yield
    except (ValueError, KeyError, TypeError, UsageProblem) as problem:
        what = f"its jobs make no sense ({type(problem).__name__}: {problem})"
        raise StoreError(f"the journal is damaged: {what}. Restore a backup") from problem


_JOB = "job, path, cron, tz, missed, options, consent, reason, added_by, added_utc"


def _job(row: Row) -> Job:
    name, path, cron, tz, missed, options, digest, reason, added_by, added_utc = row
    how = json.loads(options)
    schedule.check(cron, tz)
    return Job(
        name=name,
        path=path,
        cron=cron,
        tz=tz,
        missed=OnMissed(missed),
        project=how["project"],
        inventory=how["inventory"],
        timeout_s=how["timeout_s"],
        agreed=Consent(how["agreed"]),
        digest=digest,
        reason=reason,
        added_by=added_by,
        added=moment(added_utc),
    )
