"""`ackonce report`: a run as a document for whoever was not there. Sends nothing, asks no device."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import output
from agent.cli.options import Common, command
from devices.problems import FileProblem, FileProblems, UsageProblem

if TYPE_CHECKING:
    from agent.plans.report import RunTold, StepTold
    from agent.plans.runs import RunRow
    from agent.service import Service
    from logs.picture import Picture


class Format(StrEnum):
    """What a report can be written as."""

    MD = "md"
    CSV = "csv"
    HTML = "html"


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "report")(report)


def report(
    common: Common,
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, or its beginning: ackonce runs")],
    form: Annotated[
        Format | None, typer.Option("--format", help="Default: by the ending of --out, else md.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it there; what is there is never replaced.")
    ] = None,
) -> None:
    """Tell a run as a document: plan, who, why, when, each step, and the story of what did not go plainly.

    With --json stdout has the steps as objects, those of `ackonce runs RUN`, and only --out a document.
    """
    from agent.cli.places import settings_of
    from agent.cli.plan import in_project
    from agent.cli.running import run_agent
    from agent.cli.runs import step_json

    form = _format(form, out)

    async def work(service: "Service") -> tuple["RunRow", "RunTold"]:
        return _told(service, run)

    row, told = run_agent(common, settings_of(common), work)
    if out is not None:
        path = in_project(common, out)
        _write(path, _text(told, form))
        if not common.quiet:
            output.say(f"Written: {path}")
    if common.json:
        for step in told.steps:
            output.put_json(step_json(row, step))
    elif out is None:
        output.put_document(_text(told, form))


_BY_ENDING = {".md": Format.MD, ".csv": Format.CSV, ".html": Format.HTML, ".htm": Format.HTML}


def _format(form: Format | None, out: Path | None) -> Format:
    """What to write. Raises UsageProblem where the ending of the file does not tell, or tells something else."""
    if out is None:
        return form or Format.MD
    by_ending = _BY_ENDING.get(out.suffix.lower())
    told = form or by_ending
    if told is None:
        known = ", ".join(_BY_ENDING)
        raise UsageProblem(
            f"the ending of '{out}' is none of {known}", "Choose one of these, or give --format"
        )
    if by_ending not in (None, told):
        raise UsageProblem(f"--format {told} and the ending of '{out}' do not agree", "Change one of them")
    return told


def _text(told: "RunTold", form: Format) -> str:
    from agent.plans.report import as_csv, as_markdown

    match form:
        case Format.MD:
            return as_markdown(told)
        case Format.CSV:
            return as_csv(told)
    from agent.plans.report_html import as_html

    return as_html(told)


def _told(service: "Service", run: str) -> tuple["RunRow", "RunTold"]:
    """The run with the stories of its steps that did not go plainly. Raises UsageProblem, StoreError."""
    from agent.cli.runs import find_run, steps_of
    from agent.plans.report import RunTold
    from agent.plans.runs import Runs

    known = Runs(service)
    row = find_run(known, run)
    steps = [
        step if step.plain else replace(step, picture=_picture(service, step))
        for step in steps_of(known, row.run)
    ]
    return row, RunTold(row.run, row.plan, row.key, _header(row, steps), tuple(steps))


def _picture(service: "Service", step: "StepTold") -> "Picture | None":
    """What `trace` draws of a step; None where it never came to an operation."""
    from agent.cli.sequence import rows
    from agent.cli.trace import end_of
    from logs.picture import Picture

    if step.entry is None:
        return None
    operation = step.entry.operation
    story = service.journal.story(operation.op)
    end = end_of(step.entry, service.leases.holder_of(step.entry.device), story)
    return Picture(step.device, tuple(rows(operation, story)), end)


def _header(row: "RunRow", steps: "list[StepTold]") -> dict[str, str]:
    """Which plan, under which key, who, why, when and where."""
    from agent.cli.progress import devices
    from agent.cli.runs import state_of, took

    lasted = took(row)
    return {
        "plan": f"{row.plan} ({row.path})",
        "text": f"SHA-256 {row.digest}",
        "run": row.run,
        "key": row.key,
        "state": state_of(row),
        "who": row.actor + (f", by the job {row.job}" if row.job is not None else ""),
        "why": row.reason or "no reason was given",
        "begun": row.begun_utc,
        "ended": f"{row.ended_utc} ({lasted})" if row.ended_utc is not None else "not yet, or cut off",
        "where": f"{devices(len({step.device for step in steps}))}, from {row.agent}",
    }


def _write(path: Path, text: str) -> None:
    """Write a document into a file that is not there yet, whole or not at all. Raises FileProblems."""
    try:
        file = path.open("x", encoding="utf-8", newline="")
    except FileExistsError:
        there = FileProblem(str(path), None, None, "this is there already", "Choose another --out")
        raise FileProblems([there]) from None
    except OSError as error:
        raise _cannot_be_written(path, error) from None
    try:
        with file:
            file.write(text)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise _cannot_be_written(path, error) from None


def _cannot_be_written(path: Path, error: OSError) -> FileProblems:
    return FileProblems([FileProblem(str(path), None, None, f"cannot be written: {error.strerror or error}")])
