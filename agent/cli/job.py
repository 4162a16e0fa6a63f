"""`ackonce job`: plans with a schedule. What a plan asks before it is sent is asked when the job is added."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import danger, exit_codes, output
from agent.cli.exit_codes import Exit
from agent.cli.job_export import export
from agent.cli.job_table import job_json, list_jobs, local_time, show_next
from agent.cli.options import Common, command
from devices.problems import FileProblems, UsageProblem

if TYPE_CHECKING:
    from agent.plans.course import Listener, StepReport
    from agent.plans.job_runs import Told
    from agent.plans.jobs import Job
    from agent.plans.layout import Layout
    from agent.service import Service
    from agent.settings import Settings

Name = Annotated[str, typer.Argument(metavar="NAME", help="The job's name.")]
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, help="Plans with a schedule; `ackonce serve` runs them."
    )
    command(group, "add")(add)
    command(group, "list")(list_jobs)
    command(group, "next")(show_next)
    command(group, "run", epilog=exit_codes.EPILOG)(run)
    command(group, "remove")(remove)
    command(group, "export")(export)
    app.add_typer(group, name="job")


def add(
    common: Common,
    name: Name,
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The plan's file.")],
    cron: Annotated[
        str, typer.Option(metavar="FIELDS", help='Minute, hour, day, month, day of week: "30 2 * * 1-5".')
    ],
    tz: Annotated[str, typer.Option(metavar="ZONE", help="By whose clocks: Europe/Lisbon, UTC.")],
    missed: Annotated[
        str, typer.Option(metavar="skip|once", help="What to do about missed times; never more than one run.")
    ] = "skip",
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the place of the job of this name.")
    ] = False,
    confirm: Annotated[str | None, typer.Option(metavar="NAME", help="Confirms what --yes does not.")] = None,
) -> None:
    """Give a plan a schedule. Asks now what the plan would ask, since nobody is there to be asked at night."""
    from agent.cli.places import settings_of
    from agent.cli.plan import in_project
    from agent.cli.running import run_agent
    from agent.plans import schedule
    from agent.plans.jobs import Jobs, OnMissed

    _insist_on_a_name(name)
    schedule.check(cron, tz)
    if missed not in list(OnMissed):
        raise UsageProblem(f"--missed {missed} is not known", f"Known: {', '.join(OnMissed)}")
    settings = settings_of(common)
    layout = _laid_out(settings, in_project(common, plan), common.reason)
    _ask(common, name, layout, confirm)

    async def work(service: "Service") -> tuple["Job", list["Job"]]:
        job = _job(settings, common, name, layout, (cron, tz, OnMissed(missed)), service.clock.utc())
        jobs = Jobs(service)
        jobs.add(job, in_its_place=replace)
        return job, [other for other in jobs.all() if other.name != name]

    job, others = run_agent(common, settings, work)
    _warn_of_the_window(layout, job)
    _warn_of_jobs_of_the_plan(layout, job, others)
    if common.json:
        output.put_json(job_json(job, None, job.added))
    elif not common.quiet:
        [due] = job.next(job.added)
        output.say(f"Job {name} is next due {local_time(job, due)}. It runs while `ackonce serve` does.")


def _insist_on_a_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageProblem(
            f"'{name}' cannot be a job's name", "1 to 100 letters, digits, dots, dashes, as in: night"
        )


def _laid_out(settings: "Settings", path: Path, reason: str | None) -> "Layout":
    """The plan as it would be carried out now: whatever is wrong with it is said while somebody is there."""
    from agent.plans.layout import lay_out
    from agent.plans.plan_file import load_plan

    plan = load_plan(path)
    if plan.reason_required and not reason:
        raise UsageProblem(f"the plan {plan.name} wants a reason", "Give --reason TEXT")
    return lay_out(settings, plan, run="", key="", reason=reason)


def _ask(common: Common, name: str, layout: "Layout", confirm: str | None) -> None:
    from agent.cli.progress import devices
    from agent.plans.consent import ASKED, needed

    operations = list(layout.operations())
    asked = ", ".join(sorted(ASKED & {operation.kind for operation in operations}))
    question = (
        f"Job {name} will carry out the plan {layout.plan.name} on {devices(len(layout.work))} at each of its times. "
        f"Some of its commands count every time ({asked}). Agree to it as it is now?"
    )
    try:
        danger.ask(common, needed(operations), layout.plan.name, confirm=confirm, question=question)
    except danger.NotAllowed as no:
        output.fail(no.code, str(no), "No job was added, and nothing was sent.", as_json=common.json)


def _job(
    settings: "Settings",
    common: Common,
    name: str,
    layout: "Layout",
    when: tuple[str, str, Any],
    now: datetime,
) -> "Job":
    from agent.plans.consent import needed
    from agent.plans.jobs import Job

    cron, tz, missed = when
    return Job(
        name=name,
        path=layout.plan.path,
        cron=cron,
        tz=tz,
        missed=missed,
        project=str(settings.project),
        inventory=str(settings.inventory),
        timeout_s=settings.timeout_s,
        agreed=needed(layout.operations()),
        digest=layout.plan.digest,
        reason=common.reason,
        added_by=settings.actor,
        added=now,
    )


def _warn_of_the_window(layout: "Layout", job: "Job") -> None:
    from agent.plans.window import is_open

    window = layout.plan.window
    [due] = job.next(job.added)
    if window is not None and not is_open(window, due):
        output.say(
            f"Warning: {local_time(job, due)} is outside the plan's maintenance window ({window}): not run then."
        )


def _warn_of_jobs_of_the_plan(layout: "Layout", job: "Job", others: Sequence["Job"]) -> None:
    """Name the jobs that come at the same time with the same plan: a plan and a due time are one run."""
    from agent.plans.schedule import first_common

    for other in others:
        due = first_common((job.cron, job.tz), (other.cron, other.tz), job.added)
        if due is not None and _plan_of(other) == layout.plan.name:
            output.say(
                f"Warning: job {other.name} is a job of the plan {layout.plan.name} too. At a time at which both are "
                f"due, first {local_time(job, due)}, the plan is carried out once."
            )


def _plan_of(job: "Job") -> str | None:
    """The name of a job's plan; None where its file cannot be read."""
    from agent.plans.plan_file import load_plan

    try:
        return load_plan(Path(job.path)).name
    except FileProblems:
        return None


def run(common: Common, name: Name) -> None:
    """Carry out a job's plan now, whatever its schedule says: a run of its own beside those of its due times."""
    from ulid import ULID

    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.cli.serve import exit_code, say
    from agent.plans.job_runs import JobRuns
    from agent.plans.jobs import Jobs
    from agent.plans.turns import BY_HAND, Turns

    settings = settings_of(common)
    events: list[Told] = []
    begun: list[Layout] = []

    def told(event: "Told") -> None:
        if not event.reports:
            say(common, event)
        events.append(event)

    def show(layout: "Layout") -> AbstractContextManager["Listener"]:
        begun.append(layout)
        return _progress(common, layout)

    async def work(service: "Service") -> None:
        job = Jobs(service).find(name)
        runs = JobRuns(service, settings, told, show)
        turn = Turns(service).claim(job, f"{BY_HAND}{ULID()}")
        if turn is None:
            raise UsageProblem(f"the job {name} was removed or replaced just now", "See: ackonce job list")
        await runs.take(job, turn, actor=settings.actor, reason=common.reason)

    run_agent(common, settings, work, side_by_side=True)
    end = events[-1]
    if begun:
        raise typer.Exit(_tell_run(common, begun[0], end.reports))
    if common.json:
        output.put_json_failure(end.message)
    raise typer.Exit(Exit.NOT_ALLOWED if end.event in _NOT_ALLOWED else exit_code(end))


@contextmanager
def _progress(common: Common, layout: "Layout") -> Iterator["Listener"]:
    from agent.cli.progress import progress_of

    progress = progress_of(common, layout)
    with progress.showing():
        yield progress


def _tell_run(common: Common, layout: "Layout", reports: Sequence["StepReport"]) -> Exit:
    """What became of the steps, as `apply` tells it; objects only now, since a turn that comes to nothing is one."""
    from agent.cli.carrying_out import tell_end
    from agent.cli.step_words import step_json

    if common.json:
        with output.whoever_listens():
            for report in reports:
                output.put_json(step_json(report))
    return tell_end(common, layout, reports, [])


_NOT_ALLOWED = frozenset({"window", "changed"})
"""What a person who starts a job learns as exit 4."""


def remove(common: Common, name: Name) -> None:
    """Remove a job. What became of its due times is kept, and so are its runs."""
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.plans.jobs import Jobs

    async def work(service: "Service") -> None:
        Jobs(service).remove(name)

    run_agent(common, settings_of(common), work)
    if common.json:
        output.put_json({"schema": 1, "job": name, "removed": True})
    elif not common.quiet:
        output.say(f"Job {name} is removed. What it did is kept: ackonce runs")
