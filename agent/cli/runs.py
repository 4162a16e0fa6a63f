"""`ackonce runs`: which runs of plans were there, and how do they stand today?"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import output
from agent.cli.options import Common, command
from devices.problems import UsageProblem

if TYPE_CHECKING:
    from agent.plans.report import StepTold
    from agent.plans.runs import RunRow, Runs
    from agent.service import Service

LIMIT_DEFAULT = 20
LIMIT_MAX = 10_000

RUN_COLUMNS = ("run", "plan", "key", "begun", "took", "state", "steps")
STEP_COLUMNS = ("device", "step", "word", "evidence", "value", "tries", "op", "message")


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "runs")(runs)


def runs(
    common: Common,
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="A run's id, or its beginning: its steps.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=LIMIT_MAX, help="So many runs.")] = LIMIT_DEFAULT,
) -> None:
    """List runs of plans, newest first; with RUN what became of each of its steps."""
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.plans.runs import Runs

    async def work(service: "Service") -> list[tuple["RunRow", list["StepTold"]]]:
        known = Runs(service)
        rows = known.newest(limit) if run is None else [find_run(known, run)]
        return [(row, steps_of(known, row.run)) for row in rows]

    found = run_agent(common, settings_of(common), work)
    if run is None:
        _put_runs(common, found)
    else:
        [(row, steps)] = found
        _put_steps(common, row, steps)


def find_run(known: "Runs", run: str) -> "RunRow":
    """The one run whose id is, or begins with, `run`. Raises UsageProblem, StoreError."""
    found = known.find(run)
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageProblem(f"no run {run} in this store", "See: ackonce runs")
    raise UsageProblem(f"several runs begin with {run}", f"Which of {', '.join(row.run for row in found)}?")


def steps_of(known: "Runs", run: str) -> list["StepTold"]:
    """The steps of a run as the journal has them today, in the plan's order. Raises StoreError."""
    from agent.plans.report import StepTold

    return [
        StepTold(step.device, step.step, step.command, entry, step.note) for step, entry in known.told(run)
    ]


def took(row: "RunRow") -> str | None:
    """How long a run took, from its first beginning to its last end: `41 s`, `1 min 03 s`, `2 h 05 min`."""
    seconds = took_s(row)
    if seconds is None:
        return None
    minutes, hours = int(seconds) // 60, int(seconds) // 3600
    if hours:
        return f"{hours} h {minutes % 60:02} min"
    return f"{minutes} min {int(seconds) % 60:02} s" if minutes else f"{seconds:.1f} s"


def took_s(row: "RunRow") -> float | None:
    """As `took`, in seconds; None where it did not end, or was cut off."""
    from agent.clock import moment

    if row.ended_utc is None:
        return None
    return (moment(row.ended_utc) - moment(row.begun_utc)).total_seconds()


def state_of(row: "RunRow") -> str:
    """How a run stands, and who works on it."""
    return f"{row.state.value} ({row.holder})" if row.holder is not None else row.state.value


def _put_runs(common: Common, found: Sequence[tuple["RunRow", list["StepTold"]]]) -> None:
    from agent.plans.report import counted

    if common.json:
        for row, steps in found:
            output.put_json(run_json(row, steps))
        return
    output.put_table(
        RUN_COLUMNS,
        [
            (
                row.run,
                row.plan,
                row.key if row.key != row.run else None,
                f"{row.begun_utc[:19]}Z",
                took(row),
                state_of(row),
                counted(steps),
            )
            for row, steps in found
        ],
    )
    if not found and not common.quiet:
        output.say("No run of a plan yet. Next: ackonce plan FILE")


def run_json(row: "RunRow", steps: Sequence["StepTold"]) -> dict[str, Any]:
    """A run as an object; `steps` counts them by how they stand today."""
    return {
        "run": row.run,
        "plan": row.plan,
        "key": row.key,
        "path": row.path,
        "digest": row.digest,
        "state": row.state.value,
        "holder": str(row.holder) if row.holder is not None else None,
        "begun_utc": row.begun_utc,
        "ended_utc": row.ended_utc,
        "took_s": took_s(row),
        "actor": row.actor,
        "agent": row.agent,
        "job": row.job,
        "reason": row.reason,
        "steps": dict(Counter(step.word.replace(" ", "_") for step in steps)),
    }


def _put_steps(common: Common, row: "RunRow", steps: Sequence["StepTold"]) -> None:
    from agent.plans.runs import RunState

    if common.json:
        for step in steps:
            output.put_json(step_json(row, step))
        return
    output.put_table(STEP_COLUMNS, [_step_row(step) for step in steps])
    if common.quiet:
        return
    if row.state is RunState.UNFINISHED:
        output.say(f"Run {row.run} of plan {row.plan} is unfinished. Go on with it: ackonce resume {row.run}")
    output.say(f"As a document: ackonce report {row.run} --format html --out FILE")


def step_json(row: "RunRow", step: "StepTold") -> dict[str, Any]:
    """A step as `apply` has it: its operation, or that there was none and why."""
    from agent.cli.wording import operation_json

    if step.entry is not None:
        record = operation_json(step.entry.operation, step.result)
        again = {"skipped": True} if step.before else {}
        return record | {"device": step.device, "message": step.why, "step": step.step} | again
    return {
        "schema": 1,
        "op": None,
        "run": row.run,
        "device": step.device,
        "command": step.command,
        "outcome": "not_sent",
        "message": step.why,
        "step": step.step,
    }


def _step_row(step: "StepTold") -> tuple[object, ...]:
    result = step.result
    told = (step.device, step.name, step.word)
    if step.entry is None or result is None:
        return (
            *told,
            None,
            None,
            None,
            step.entry.operation.op if step.entry is not None else None,
            step.why,
        )
    proof = result.proof.value if result.proof is not None else None
    return (*told, proof, result.value, result.attempts, step.entry.operation.op, step.why)
