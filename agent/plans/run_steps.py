"""Which steps belong to a run, and do they still say what was asked for?

Rule: an id that was used in a run means for ever what it meant then. Else a step could be skipped as done that was
never done, or done a second time in other words.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.store.database import Cursor
from devices.problems import FileProblem, FileProblems

if TYPE_CHECKING:
    from agent.plans.layout import Layout

NAMED_MAX = 3
"""So many devices are named where a step has changed on more."""


def insist_on_the_same(cursor: Cursor, layout: "Layout") -> None:
    """Inside a write: under each id that was used in the run stands what was asked for then.

    Raises:
        FileProblems: each step that was changed since, at its place, with both commands.
    """
    asked = {
        (device, step): command
        for device, step, command in cursor.execute(
            "SELECT name, step, command FROM operation WHERE run = ? ORDER BY created_utc, op", (layout.run,)
        ).fetchall()
    }
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
