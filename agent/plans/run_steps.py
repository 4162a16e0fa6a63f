"""Which steps belong to a run, do they still say what was asked for, and what is kept of how they ended?

Rule: an id that was used in a run means for ever what it meant then. Else a step could be skipped as done that was
never done, or done a second time in other words.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.journal import Entry
from agent.plans.course import Missed, Note, StepReport
from agent.plans.other_names import pointer, pointers
from agent.store.database import Cursor, Row
from devices.problems import FileProblem, FileProblems

if TYPE_CHECKING:
    from agent.plans.layout import Layout

NAMED_MAX = 3
"""So many devices are named where a step has changed on more."""


ASKED = "SELECT name, step, command FROM operation WHERE run = ? ORDER BY rowid"
"""What was asked for in a run so far."""


STEPS = "SELECT device, step, command, note FROM run_step WHERE run = ? ORDER BY n, device, step"
"""The steps of a run, in the order of the plan, device by device."""


@dataclass(frozen=True, slots=True)
class RunStep:
    """A step of a run on a device.

    `note`: why it had no turn when the run was last worked on, or which operation counts for it that was asked for
    under another name of the device.
    """

    device: str
    step: str
    command: str
    note: Note | None

    @property
    def under_another_name(self) -> bool:
        """Whether the operation that counts for it was asked for under another name of its device."""
        return self.note is not None and self.note.why is Missed.OTHER_NAME


def steps_in(rows: Iterable[Row]) -> list[RunStep]:
    """The rows of `STEPS`. Raises ValueError, KeyError, TypeError on what are none."""
    return [
        RunStep(device, step, command, Note.from_json(note) if note is not None else None)
        for device, step, command, note in rows
    ]


def told_of(steps: Iterable[RunStep], entries: Iterable[Entry]) -> list[tuple[RunStep, Entry | None]]:
    """Each step with its operation: the newest of its own, or the one that its note points at.

    `entries`: the operations of the run, oldest first.
    """
    newest: dict[tuple[str | None, str | None], Entry] = {}
    for entry in entries:
        newest[entry.operation.device, entry.operation.step] = entry
        newest[None, entry.operation.op] = entry
    return [
        (
            step,
            newest.get(
                (None, step.note.op) if step.note and step.under_another_name else (step.device, step.step)
            ),
        )
        for step in steps
    ]


def insist_on_the_same(rows: Iterable[Row], layout: "Layout") -> None:
    """Under each id that was used in the run stands what was asked for then; `rows` are those of `ASKED`.

    Raises:
        FileProblems: each step that was changed since, at its place, with both commands.
    """
    asked = {(device, step): command for device, step, command in rows}
    changed: dict[tuple[str, str, str], list[str]] = {}
    for work in layout.work:
        device = work.chosen.device.name
        for step in work.steps:
            new = step.operation.command
            old = asked.get((device, step.id), new)
            if old != new:
                changed.setdefault((step.id, old, new), []).append(device)
    if changed:
        raise FileProblems([_changed(layout, *what, devices) for what, devices in changed.items()])


def _changed(layout: "Layout", step: str, old: str, new: str, devices: Sequence[str]) -> FileProblem:
    line, column = next((each.where for each in layout.plan.steps if each.id == step), (None, None))
    more = len(devices) - NAMED_MAX
    named = ", ".join(devices[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
    return FileProblem(
        layout.plan.path,
        line,
        column,
        f"step '{step}' is now '{new}', but in run {layout.run} (key {layout.key}) it was '{old}' on {named}",
        "Give the changed step another id, or apply the plan under another key",
    )


def note_all(cursor: Cursor, run: str, notes: Mapping[tuple[str, str], Note | None]) -> None:
    """Inside a write: what is noted of steps, by device and id, from now on."""
    cursor.executemany(
        "UPDATE run_step SET note = ? WHERE run = ? AND device = ? AND step = ?",
        [
            (note.to_json() if note is not None else None, run, device, step)
            for (device, step), note in notes.items()
        ],
    )


def forget_old_names(cursor: Cursor, run: str, renamed: Iterable[tuple[str, str]]) -> None:
    """Inside a write: of devices under an old name and one of today, a step that both have is that of today."""
    cursor.executemany(
        "DELETE FROM run_step WHERE run = ? AND device = ? AND step IN "
        "(SELECT step FROM run_step WHERE run = ? AND device = ?)",
        [(run, old, run, new) for old, new in renamed],
    )


def enter(cursor: Cursor, layout: "Layout") -> None:
    """Inside a write: the steps of a run are those of the layout now, and nothing is noted of them yet.

    Rows stay where the layout says nothing about their device, or an operation was begun for them.
    """
    laid_out = [
        (work.chosen.device.name, step.id, step.operation.command)
        for work in layout.work
        for step in work.steps
    ]
    devices = {work.chosen.device.name for work in layout.work}
    known = {(device, step) for device, step, _ in laid_out}
    rows = cursor.execute("SELECT device, step FROM run_step WHERE run = ?", (layout.run,)).fetchall()
    cursor.executemany(
        "DELETE FROM run_step WHERE run = ? AND device = ? AND step = ? AND NOT EXISTS (SELECT 1 FROM operation o "
        "WHERE o.run = run_step.run AND o.name = run_step.device AND o.step = run_step.step)",
        [
            (layout.run, device, step)
            for device, step in rows
            if device in devices and (device, step) not in known
        ],
    )
    cursor.executemany(
        "INSERT INTO run_step (run, n, device, step, command) VALUES (?, ?, ?, ?, ?) ON CONFLICT (run, device, step) "
        "DO UPDATE SET n = excluded.n, command = excluded.command, note = NULL",
        [(layout.run, n, device, step, command) for n, (device, step, command) in enumerate(laid_out)],
    )


# --- what became of them ----------------------------------------------------------------------------------------------


def _on_record(report: StepReport) -> bool:
    return report.result is not None and report.recorded


def all_done(told: Sequence[tuple[RunStep, Entry | None]], reports: Sequence[StepReport]) -> bool:
    """Whether nothing of a run is due any more.

    By what was reported of each step, if it was; of the others, and under another name, by what is on record.
    """
    reported = {(report.device, report.step): report.done for report in reports}
    for step, entry in told:
        done = entry is not None and entry.done
        if not step.under_another_name:
            done = reported.get((step.device, step.step), done)
        if not done:
            return False
    return True


def noted(
    reports: Sequence[StepReport], entries: Sequence[Entry], ids: Mapping[str, int | None]
) -> dict[tuple[str, str], Note | None]:
    """What the store keeps of steps beside their operations: why there is none, or which one under another name."""
    by_op = {entry.operation.op: entry for entry in entries}
    under_old_names = pointers(entries, ids)
    notes: dict[tuple[str, str], Note | None] = {}
    for report in reports:
        at, entry = (report.device, report.step), by_op.get(report.operation.op)
        if not _on_record(report):
            notes[at] = under_old_names.get(at, report.note)
        else:
            other = entry is not None and entry.operation.device != report.device
            notes[at] = pointer(entry) if entry is not None and other else None
    return notes


def ids_in(reports: Sequence[StepReport], entries: Sequence[Entry]) -> dict[str, int | None]:
    """The devices that were reported, by their names; None where nothing of one is on record."""
    devices = {entry.operation.op: entry.device for entry in entries}
    ids: dict[str, int | None] = dict.fromkeys(report.device for report in reports)
    for report in filter(_on_record, reports):
        ids[report.device] = devices.get(report.operation.op, ids[report.device])
    return ids
