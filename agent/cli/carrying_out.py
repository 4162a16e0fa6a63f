"""How is a plan that may be carried out carried out, shown meanwhile, and told at the end?

What became of each step is told as it happens where --json was given, else at the end (`step_words.py`). Whoever leaves
at a second Ctrl-C still learns of each step what the journal has of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent.cli import exit_codes, output
from agent.cli.exit_codes import Abandoned, Exit
from agent.cli.options import Common

if TYPE_CHECKING:
    from agent.cli.progress import Progress
    from agent.journal import Entry
    from agent.operation import Operation
    from agent.plans.course import Note, StepReport
    from agent.plans.layout import Layout
    from agent.plans.runs import Runs
    from agent.plans.saved_plan import SavedPlan
    from agent.service import Service
    from agent.settings import Settings


@dataclass(frozen=True, slots=True)
class Order:
    """A plan laid out, and what it needs to be carried out. `options` are what the store keeps to go on with it."""

    settings: "Settings"
    layout: "Layout"
    saved: "SavedPlan | None"
    options: Mapping[str, Any]
    reason: str | None


@dataclass(slots=True)
class _Ear:
    """Hears how a run goes on: shows it, keeps what was told, and prints objects where --json was given."""

    common: Common
    progress: "Progress"
    told: dict[tuple[str, str], "StepReport"] = field(default_factory=dict)

    def begun(self, device: str) -> None:
        """A device's turn has come."""
        self.progress.begun(device)

    def wave(self, number: int, of: int, devices: Sequence[str]) -> None:
        """A wave begins."""
        self.progress.wave(number, of, devices)

    def device(self, device: str, reports: Sequence["StepReport"]) -> None:
        """A device is through."""
        self.progress.device(device, reports)

    def step(self, report: "StepReport") -> None:
        """A step has its word."""
        self.progress.step(report)
        self.hear(report)

    def hear(self, report: "StepReport") -> None:
        """Keep a report, and print it as an object if it is to be."""
        from agent.cli.step_words import step_json

        self.told[report.device, report.step] = report
        if self.common.json:
            with output.whoever_listens():
                output.put_json(step_json(report))


def carry_out_order(common: Common, order: Order) -> Exit:
    """Carry an order out and tell how it ended; returns the exit code. Raises FileProblems, StoreError."""
    from agent.cli.progress import progress_of
    from agent.cli.running import run_agent
    from agent.plans.apply import carry_out
    from agent.plans.runs import RunHeld, Runs

    layout, settings = order.layout, order.settings
    progress = progress_of(common, layout)
    ear = _Ear(common, progress)

    async def work(service: "Service") -> list["StepReport"]:
        runs = Runs(service)
        row = runs.begin(layout, options=order.options, actor=settings.actor, reason=order.reason)
        left_alone = await _moved(service, runs, order)
        return await carry_out(
            service, runs, row, layout, clock=service.clock, listen=ear, left_alone=left_alone
        )

    try:
        with progress.showing():
            reports = run_agent(common, settings, work, side_by_side=True)
    except RunHeld as held:
        output.fail(Exit.HELD, str(held), "Nothing was sent.", as_json=common.json)
    except Abandoned:
        output.say("ackonce: interrupted twice; not waiting for what is in flight")
        reports = _left(common, order, ear)
        return tell_end(common, layout, reports, [Exit.INTERRUPTED])
    return tell_end(common, layout, reports, [])


async def _moved(service: "Service", runs: "Runs", order: Order) -> dict[str, "Note"]:
    """The devices that are not as the plan was saved for; those that the run itself has changed are not looked at."""
    from agent.plans.look import read_devices
    from agent.plans.saved_plan import moved

    if order.saved is None:
        return {}
    layout = order.layout
    begun = runs.counting(layout).items()
    changed = {device for (device, _), entry in begun if entry.done or entry.unsettled}
    readings = await read_devices(service, layout, parallel=layout.plan.parallel, but=changed)
    return moved(order.saved, readings) if not service.executor.stopping() else {}


_Kept = tuple["Entry", int]
LEFT = "interrupted twice; a copy may have left. The next command to the device, or doubt check, settles it"


def _left(common: Common, order: Order, ear: _Ear) -> list["StepReport"]:
    """The reports of all steps after nobody waited for some: what the journal has of those is all that is known."""
    from agent.cli.running import run_agent
    from agent.plans.runs import Runs
    from agent.store.database import StoreError

    async def work(service: "Service") -> dict[tuple[str, str], _Kept]:
        return {
            step: (entry, len(service.journal.load(entry.operation).copies()))
            for step, entry in Runs(service).counting(order.layout).items()
        }

    kept: dict[tuple[str, str], _Kept] = {}
    unknown = None
    try:
        kept = run_agent(common, order.settings, work)
    except StoreError as problem:
        unknown = f"interrupted twice, and whether a copy left cannot be looked up: {problem}"
    operations = list(order.layout.operations())
    for operation in operations:
        step = (operation.device, operation.step or "")
        if step not in ear.told:
            entry, copies = kept.get(step, (None, 0))
            ear.hear(_unheard(operation, entry, copies, unknown))
    return [ear.told[operation.device, operation.step or ""] for operation in operations]


def _unheard(operation: "Operation", entry: "Entry | None", copies: int, unknown: str | None) -> "StepReport":
    """The report of a step that nobody waited for.

    Args:
        operation: as it was to be carried out.
        entry: what the journal has of the step.
        copies: how many of that were on record, and may have left.
        unknown: why nobody can look into the journal.
    """
    from agent.operation import Outcome, Result
    from agent.plans.course import Missed, Note, StepReport

    step = (operation.device, operation.step or "")
    if unknown is not None:
        return StepReport(*step, operation, Result(Outcome.IN_DOUBT, None, unknown), recorded=False)
    if entry is not None and entry.open and copies:
        return StepReport(*step, entry.operation, Result(Outcome.IN_DOUBT, None, LEFT, attempts=copies))
    if entry is not None and entry.result is not None and (entry.done or entry.unsettled):
        return StepReport(*step, entry.operation, entry.result, skipped=True)
    note = Note(Missed.INTERRUPTED, "interrupted before anything of it was sent")
    return StepReport(*step, operation, None, recorded=False, note=note)


def tell_end(
    common: Common, layout: "Layout", reports: Sequence["StepReport"], codes: Sequence[Exit]
) -> Exit:
    """Tell how a run ended, and which code that makes together with `codes`."""
    from agent.cli import step_words

    plan, run, key = layout.plan.name, layout.run, layout.key
    with output.whoever_listens():
        if common.json:
            output.put_json(step_words.summary_json(reports, run, plan, key))
        else:
            shown = step_words.rows(reports, everything=common.verbose > 0)
            if shown:
                output.put_table(step_words.COLUMNS, shown)
            output.put(step_words.summary_line(reports, run, key))
    if not common.quiet:
        for line in step_words.next_steps(reports, run):
            output.say(line)
    return exit_codes.worst([*codes, *map(step_words.step_exit, reports)])
