"""How are jobs told, to people and to scripts: when they are next due, and what became of the last time?"""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import output
from agent.cli.options import Common

if TYPE_CHECKING:
    from agent.plans.jobs import Job
    from agent.plans.turns import Turn
    from agent.service import Service

COLUMNS = ("job", "cron", "next", "next (UTC)", "last", "state", "plan", "message")
NEXT_DEFAULT = 5
NEXT_MAX = 1000


def list_jobs(common: Common) -> None:
    """List the jobs: when each is next due, and what became of its last due time."""
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.plans.jobs import Jobs
    from agent.plans.turns import Turns

    async def work(service: "Service") -> list[tuple["Job", "Turn | None", datetime]]:
        turns, now = Turns(service), service.clock.utc()
        return [(job, turns.last(job.name), now) for job in Jobs(service).all()]

    rows = run_agent(common, settings_of(common), work)
    if common.json:
        for row in rows:
            output.put_json(job_json(*row))
        return
    output.put_table(COLUMNS, [_row(*row) for row in rows])
    if not rows and not common.quiet:
        output.say("There are no jobs. Add one: ackonce job add NAME --cron FIELDS --tz ZONE PLAN")


def job_json(job: "Job", last: "Turn | None", now: datetime) -> dict[str, Any]:
    """A job as an object."""
    from agent.plans.turns import nominal

    due = job.next(now)
    return {
        "schema": 1,
        "job": job.name,
        "plan": job.path,
        "cron": job.cron,
        "tz": job.tz,
        "missed": job.missed.value,
        "next_utc": nominal(due[0]) if due else None,
        "next_local": _iso(job, due[0]) if due else None,
        "last": last.key if last is not None else None,
        "state": last.state.value if last is not None else None,
        "run": last.run if last is not None else None,
        "message": last.note if last is not None else None,
        "reason": job.reason,
        "added_by": job.added_by,
    }


def _row(job: "Job", last: "Turn | None", now: datetime) -> tuple[object, ...]:
    from agent.plans.turns import nominal

    due = job.next(now)
    following = (local_time(job, due[0]), nominal(due[0])) if due else (None, None)
    before = (last.key, last.state.value) if last is not None else (None, None)
    became = (last.note or f"run {last.run}") if last is not None and (last.note or last.run) else None
    return (job.name, job.cron, *following, *before, job.path, became)


def show_next(
    common: Common,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One job; default: all.")] = None,
    count: Annotated[
        int, typer.Option("-n", "--count", min=1, max=NEXT_MAX, help="How many times.")
    ] = NEXT_DEFAULT,
) -> None:
    """Tell when jobs are due next, by the clocks of their zone and in UTC."""
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.plans.jobs import Jobs
    from agent.plans.turns import nominal

    async def work(service: "Service") -> list[tuple[datetime, "Job"]]:
        jobs, now = Jobs(service), service.clock.utc()
        wanted = [jobs.find(name)] if name is not None else jobs.all()
        return sorted(
            ((due, job) for job in wanted for due in job.next(now, count)), key=lambda each: each[0]
        )

    rows = run_agent(common, settings_of(common), work)[:count]
    if common.json:
        for due, job in rows:
            output.put_json({"schema": 1, "job": job.name, "local": _iso(job, due), "utc": nominal(due)})
        return
    output.put_table(
        ("job", "due", "UTC"), [(job.name, local_time(job, due), nominal(due)) for due, job in rows]
    )


def local_time(job: "Job", due: datetime) -> str:
    """A due time by the clocks of the job's zone, as people read it."""
    from agent.plans.schedule import zone_of

    return f"{due.astimezone(zone_of(job.tz)):%a %Y-%m-%d %H:%M} {job.tz}"


def _iso(job: "Job", due: datetime) -> str:
    """The same for scripts: `2026-11-29T02:30+00:00`."""
    from agent.plans.schedule import zone_of

    return due.astimezone(zone_of(job.tz)).isoformat(timespec="minutes")
