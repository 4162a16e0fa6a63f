"""`ackonce plan`: what would a plan change? Reads the devices and sends nothing."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import exit_codes, output
from agent.cli.exit_codes import Abandoned, Exit
from agent.cli.keys import check_key
from agent.cli.options import Common, command
from devices.problems import FileProblem, FileProblems, UsageProblem
from logs.text import escape

if TYPE_CHECKING:
    from agent.plans.look import Action, Row
    from agent.plans.plan_file import Draft, PlanFile
    from agent.plans.saved_plan import SavedPlan
    from agent.service import Service
    from agent.settings import Settings

COLUMNS = ("", "device", "step", "policy", "now", "target", "why")

_MARKS = {"send": "~", "unchanged": "=", "held": "?", "done": "✓"}
_MARKS_ASCII = _MARKS | {"done": "*"}

PlanArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A plan, or one saved with --out.")]
OnlyArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[TARGET]...", help="Only these of the plan's devices.")
]
KeyOption = Annotated[
    str | None, typer.Option(metavar="KEY", help="Run key: no step is done twice under it.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "plan", epilog=f"{exit_codes.EPILOG} · 10 with --exit-code: something would change")(plan)


def plan(
    common: Common,
    file: PlanArgument,
    only: OnlyArgument = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save it with the values read, for apply.")
    ] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with 10 where something would change.")
    ] = False,
    key: KeyOption = None,
) -> None:
    """Show what a plan would change; nothing is sent."""
    from ulid import ULID

    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.clock import stamp
    from agent.plans.layout import lay_out
    from agent.plans.look import look
    from agent.plans.runs import Runs
    from agent.plans.saved_plan import save

    check_key(key)
    settings = settings_of(common)
    draft, saved = read_plan(common, settings, file)
    plan_file = draft.plan
    run_key = key or (saved.key if saved is not None else None)
    run = run_of(common, settings, plan_file, run_key) if run_key is not None else str(ULID())
    layout = lay_out(
        settings, plan_file, run=run, key=run_key or run, reason=None, only=only or (), found=draft.problems
    )

    async def work(service: "Service") -> tuple[list["Row"], datetime]:
        Runs(service).insist_on_the_same(layout)
        rows = await look(service, layout, parallel=plan_file.parallel)
        if service.executor.stopping():
            raise Abandoned
        return rows, service.clock.utc()

    try:
        rows, made = run_agent(common, settings, work, side_by_side=True)
    except Abandoned:
        output.fail(Exit.INTERRUPTED, "interrupted", "Nothing was sent.", as_json=common.json)
    if out is not None:
        save(in_project(common, out), layout, rows, stamp(made))
    _put(common, rows)
    if not common.quiet:
        words = ["ackonce", "apply", str(out or file), *(only or () if out is None else ())]
        words += ["--key", key] if key is not None and out is None else []
        for line in _said(rows, shut_window(plan_file, made), shlex.join(words)):
            output.say(line)
    raise typer.Exit(_code(rows, differences=exit_code))


def read_plan(common: Common, settings: "Settings", file: Path) -> tuple["Draft", "SavedPlan | None"]:
    """The plan of a file as a draft, and where it is one saved with the values read, that too.

    Raises FileProblems where nothing of it can be laid out: then with what is wrong with the inventory.
    """
    from agent.plans.plan_file import Draft, load_draft
    from agent.plans.saved_plan import load_saved

    path = in_project(common, file)
    try:
        saved = load_saved(path)
        return (Draft(saved.plan) if saved is not None else load_draft(path)), saved
    except FileProblems as wrong:
        raise FileProblems([*wrong.problems, *_wrong_with_the_inventory(settings)]) from None


def _wrong_with_the_inventory(settings: "Settings") -> Sequence[FileProblem]:
    from agent.targets import inventory_of

    try:
        inventory_of(settings)
    except UsageProblem:
        return ()  # that there is none is said once the plan is right
    except FileProblems as wrong:
        return wrong.problems
    return ()


def run_of(common: Common, settings: "Settings", plan: "PlanFile", key: str) -> str:
    """The id of the plan's run under a key: the one that the store has, or a new one. Raises StoreError."""
    from agent.cli.running import run_agent
    from agent.plans.runs import Runs

    async def work(service: "Service") -> str:
        return Runs(service).id_of(plan.name, key)

    return run_agent(common, settings, work)


def in_project(common: Common, path: Path) -> Path:
    """A path as typed, in the folder that `-C` names; absolute, since a run is gone on with from anywhere."""
    return ((common.project or Path()) / path).absolute()


def row_json(row: "Row") -> dict[str, Any]:
    """A row as an object (CLI.md 2); `reason` where there is something to say about it."""
    record = {
        "device": row.device,
        "step": row.step,
        "command": row.command,
        "policy": row.policy,
        "before": row.before,
        "target": row.target,
        "action": row.action,
    }
    return record | ({"reason": row.why} if row.why is not None else {})


def _put(common: Common, rows: Sequence["Row"]) -> None:
    from agent.plans.report import step_name

    if common.json:
        for row in rows:
            output.put_json(row_json(row))
        return
    marks = {}
    if output.on_terminal():
        marks = _MARKS if output.can_show("".join(_MARKS.values())) else _MARKS_ASCII
    output.put_table(
        COLUMNS,
        [
            (
                f"{marks.get(row.action, '')} {row.action}".lstrip(),
                row.device,
                step_name(row.step, row.command),
                row.policy,
                row.before,
                row.target,
                row.why if row.reached else None,
            )
            for row in rows
        ],
    )


_COUNTED: tuple[tuple["Action", str], ...] = (
    ("send", "to change"),
    ("unchanged", "unchanged"),
    ("held", "held"),
    ("done", "done"),
)


def _said(rows: Sequence["Row"], window: str | None, apply_line: str) -> Iterator[str]:
    """What people should know beyond the rows: devices not reached, counts, what to type, and when."""
    unreached = {row.device: row.why or "" for row in rows if not row.reached and row.action == "send"}
    for device, why in unreached.items():
        yield f"{device} could not be asked, so its values are not known: {escape(why)}"
    counts = Counter(row.action for row in rows)
    told = ", ".join(f"{counts[action]} {word}" for action, word in _COUNTED if counts[action])
    yield f"{told}. Nothing was sent." + (f" Next: {apply_line}" if counts["send"] else "")
    if window is not None and counts["send"]:
        yield window


def shut_window(plan: "PlanFile", now: datetime) -> str | None:
    """That the plan's window is shut, and when it opens; None where it is open or there is none. `now` is UTC."""
    from agent.clock import stamp
    from agent.plans.window import is_open, opens_next

    if plan.window is None or is_open(plan.window, now):
        return None
    opens = stamp(opens_next(plan.window, now))
    return f"the maintenance window is shut: {plan.window}. It opens next at {opens}"


def _code(rows: Sequence["Row"], *, differences: bool) -> Exit:
    """7 where a device could not be asked; else 10 where `differences` count and not everything stands already."""
    if any(not row.reached for row in rows):
        return Exit.NOT_SENT
    if differences and any(row.action in ("send", "held") for row in rows):
        return Exit.DIFFERENT
    return Exit.OK
