"""`ackonce apply` and `resume`: carry a plan out, and go on with one that was not finished.

Whatever is wrong with files, and whatever asks for a yes, is told before any connection. Then it is an order, and what
becomes of it is told by `carrying_out.py`.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import exit_codes, output
from agent.cli.carrying_out import Order, carry_out_order
from agent.cli.exit_codes import Exit
from agent.cli.keys import check_key
from agent.cli.options import Common, command
from agent.cli.plan import (
    KeyOption,
    OnlyArgument,
    PlanArgument,
    in_project,
    read_plan,
    run_of,
    shut_window,
)
from devices.problems import FileProblem, FileProblems, UsageProblem

if TYPE_CHECKING:
    from agent.plans.layout import Layout
    from agent.plans.runs import RunRow
    from agent.plans.saved_plan import SavedPlan
    from agent.service import Service
    from agent.settings import Settings

ConfirmOption = Annotated[str | None, typer.Option(metavar="NAME", help="Confirms what --yes does not.")]
ParallelOption = Annotated[
    int | None, typer.Option(min=1, max=256, help="Devices worked with at once; default: as the plan says.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "apply", epilog=exit_codes.EPILOG)(apply)
    command(app, "resume", epilog=exit_codes.EPILOG)(resume)


def apply(
    common: Common,
    file: PlanArgument,
    only: OnlyArgument = None,
    key: KeyOption = None,
    confirm: ConfirmOption = None,
    parallel: ParallelOption = None,
) -> None:
    """Carry a plan out; safe to repeat under its key."""
    from ulid import ULID

    from agent.cli.places import settings_of
    from agent.plans.layout import lay_out
    from agent.plans.saved_plan import refuse_other_work

    check_key(key)
    settings = settings_of(common)
    draft, saved = read_plan(common, settings, file)
    if saved is not None and only:
        hint = f"Leave {only[0]} out, or plan anew for it: ackonce plan FILE {only[0]} --out FILE"
        raise UsageProblem("a saved plan is for the devices that it was made for", hint)
    key = key or (saved.key if saved is not None else None)
    run = run_of(common, settings, draft.plan, key) if key is not None else str(ULID())
    patterns = only or (saved.devices if saved is not None else ())
    layout = lay_out(
        settings,
        draft.plan,
        run=run,
        key=key or run,
        reason=common.reason,
        only=patterns,
        found=draft.problems,
    )
    if saved is not None:
        refuse_other_work(saved, layout)
    options = {
        "project": str(settings.project),
        "inventory": str(settings.inventory),
        "timeout_s": settings.timeout_s,
        "only": list(patterns),
        "parallel": parallel,
        "saved": {"path": str(in_project(common, file)), "key": saved.key} if saved is not None else None,
    }
    order = Order(settings, layout, saved, options, common.reason)
    raise typer.Exit(carry_out_order(common, _allowed(common, order, confirm)))


def resume(
    common: Common,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]", help="The run's id, or its beginning; default: the newest unfinished."
        ),
    ] = None,
    confirm: ConfirmOption = None,
    parallel: ParallelOption = None,
) -> None:
    """Go on with a run after a crash, an interruption or an abort.

    The plan is as it was when the run began, the inventory as it is now.

    Asks before it sends what cannot be taken back, whatever was answered when the run began: --yes, --confirm.
    """
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.cli.runs import find_run
    from agent.plans.runs import Runs, RunState

    settings = settings_of(common)

    async def work(service: "Service") -> "RunRow | None":
        runs = Runs(service)
        return find_run(runs, run) if run is not None else runs.unfinished()

    row = run_agent(common, settings, work)
    if row is None or row.state is RunState.DONE:
        what = f"Run {row.run} is done" if row is not None else "No run is unfinished"
        output.say(f"{what}: nothing to go on with. Nothing was sent.")
        raise typer.Exit(Exit.OK)
    order = _order_of(common, settings, row, parallel)
    raise typer.Exit(carry_out_order(common, _allowed(common, order, confirm)))


def _order_of(common: Common, settings: "Settings", row: "RunRow", parallel: int | None) -> Order:
    """A run of the store as an order: its own text, and today's inventory. Raises UsageProblem, FileProblems."""
    from agent.plans.layout import lay_out
    from agent.plans.plan_file import parse_plan
    from agent.plans.saved_plan import refuse_other_work
    from agent.settings import resolve

    options = dict(row.options)
    project, inventory = common.project or Path(options["project"]), common.inventory
    there = resolve(
        project=project, inventory=inventory or Path(options["inventory"]), timeout=common.timeout
    )
    timeout_s = there.timeout_s if common.timeout is not None else options["timeout_s"]
    there = replace(settings, project=there.project, inventory=there.inventory, timeout_s=timeout_s)
    plan, reason = parse_plan(row.text, row.path), common.reason or row.reason
    only = options.get("only") or ()
    layout = lay_out(there, plan, run=row.run, key=row.key, reason=reason, only=only)
    saved = _saved_of(options.get("saved"))
    if saved is not None:
        refuse_other_work(saved, layout)
    options |= {"inventory": str(there.inventory), "timeout_s": timeout_s}
    options["parallel"] = parallel or options.get("parallel")
    return Order(there, layout, saved, options, reason)


def _saved_of(kept: Mapping[str, str] | None) -> "SavedPlan | None":
    """The saved plan that a run was begun with. Raises FileProblems where it is not there any more."""
    from agent.plans.saved_plan import load_saved

    if kept is None:
        return None
    saved = load_saved(Path(kept["path"]))
    if saved is None or saved.key != kept["key"]:
        hint = "Look again: ackonce plan FILE --out FILE"
        raise FileProblems(
            [
                FileProblem(
                    kept["path"],
                    None,
                    None,
                    "this is not the saved plan any more that the run began with",
                    hint,
                )
            ]
        )
    return saved


# --- what has to be allowed -------------------------------------------------------------------------------------------


def _allowed(common: Common, order: Order, confirm: str | None) -> Order:
    """The order, once it may be carried out. Ends with exit 4 where it may not; raises UsageProblem."""
    from agent.cli import danger
    from agent.clock import Clock
    from agent.plans.consent import needed

    plan = order.layout.plan
    if plan.reason_required and not order.reason:
        raise UsageProblem(f"the plan {plan.name} wants a reason", "Give --reason TEXT")
    shut = shut_window(plan, Clock().utc())
    if shut is not None:
        output.fail(Exit.NOT_ALLOWED, f"{shut}.", "Nothing was sent.", as_json=common.json)
    wanted = needed(order.layout.operations())
    try:
        danger.ask(common, wanted, plan.name, confirm=confirm, question=_question(order.layout))
    except danger.NotAllowed as no:
        output.fail(no.code, str(no), "Nothing was sent.", as_json=common.json)
    layout = order.layout
    if order.options.get("parallel") is not None:
        layout = replace(layout, plan=replace(plan, parallel=order.options["parallel"]))
    return replace(order, layout=layout)


NAMED_MAX = 3
"""So many commands that count every time are named in the question."""


def _question(layout: "Layout") -> str:
    """What somebody is asked: how much it is, and which commands cannot be taken back."""
    from agent.cli.progress import devices
    from agent.plans.consent import ASKED

    operations = list(layout.operations())
    serious = [f"{o.command} ({o.kind})" for o in operations if o.kind in ASKED or o.kind == "link"]
    named = list(dict.fromkeys(serious))
    more = f" and {len(named) - NAMED_MAX} more" if len(named) > NAMED_MAX else ""
    steps = f"{len(operations)} step{'' if len(operations) == 1 else 's'} on {devices(len(layout.work))}"
    return (
        f"Plan {layout.plan.name}: {steps}. What cannot be taken back: {', '.join(named[:NAMED_MAX])}{more}. "
        "Carry it out?"
    )
