"""How does somebody see how far a plan is? On stderr, and nothing of it is a result.

A terminal shows the devices in work and how many are done, moving, and nothing of that is left at the end. Elsewhere
each finished device is one plain line. What goes wrong is a line that stays, in both.
"""

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

from agent.cli import output
from agent.cli.options import Common
from agent.operation import Outcome
from agent.plans.course import KINDS, Listener, Missed, StepReport, kind_of
from logs.text import escape

if TYPE_CHECKING:
    from rich.progress import TaskID

    from agent.plans.layout import Layout

WORDS = {kind: kind.replace("_", " ") for kind in KINDS} | {"skipped": "done before"}
"""How the kinds of steps are called."""

BAR_COLUMNS, TIME_COLUMNS = 16, 7

_TROUBLE = frozenset({Outcome.REFUSED, Outcome.NOT_APPLIED, Outcome.NOT_SENT, Outcome.IN_DOUBT})
_ENDS_THE_RUN = frozenset({Missed.ABORTED, Missed.WINDOW})


class Progress(Listener, Protocol):
    """Hears how a run goes on; what it shows meanwhile is shown between `showing` and its end."""

    def showing(self) -> AbstractContextManager[object]:
        """Shows from entering it until leaving it, and leaves nothing that moves."""


def progress_of(common: Common, layout: "Layout") -> Progress:
    """What suits stderr: nothing with --quiet, moving lines on a terminal, else plain ones.

    Nothing moves either where --json prints its objects on the same terminal.
    """
    if common.quiet:
        return Lines(layout, say=lambda _: None)
    terminal = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if terminal and not (common.json and output.on_terminal()):
        return Bars(layout)
    return Lines(layout)


def counted(counts: Mapping[str, int]) -> str:
    """Counts of `KINDS` in words, those that are not zero: `3 changed, 1 in doubt`."""
    return ", ".join(f"{counts[kind]} {WORDS[kind]}" for kind in KINDS if counts.get(kind))


def devices(count: int) -> str:
    """`1 device`, `2 devices`."""
    return f"{count} device{'' if count == 1 else 's'}"


class _Troubles:
    """Says what went wrong at once; what ends the run once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._ended = False

    def step(self, report: StepReport) -> None:
        result, note = report.result, report.note
        if note is not None and note.why in _ENDS_THE_RUN and not self._ended:
            self._ended = True
            self._say(f"nothing more is begun: {note.text}")
        tried = note is None or note.why is Missed.NOT_BEGUN
        if tried and result is not None and result.outcome in _TROUBLE:
            word, command = WORDS[kind_of(report)], report.operation.command
            self._say(f"{report.device}: '{command}': {word}: {result.message}")


class Lines:
    """A plain line for each wave and each finished device."""

    def __init__(self, layout: "Layout", say: Callable[[str], None] = output.say) -> None:
        self._devices = len(layout.work)
        self._say = say
        self._done = 0
        self._troubles = _Troubles(say)

    def showing(self) -> AbstractContextManager[object]:
        """Nothing moves."""
        return nullcontext()

    def begun(self, device: str) -> None:
        """Nothing to say."""

    def wave(self, number: int, of: int, devices_of_it: Sequence[str]) -> None:
        """Where there are several."""
        if of > 1:
            self._say(f"wave {number} of {of}: {devices(len(devices_of_it))}")

    def step(self, report: StepReport) -> None:
        """Where it went wrong."""
        self._troubles.step(report)

    def device(self, device: str, reports: Sequence[StepReport]) -> None:
        """How its steps ended; where none had its turn, the results tell."""
        self._done += 1
        counts = Counter(map(kind_of, reports))
        if set(counts) != {"no_turn"}:
            self._say(f"{device}: {counted(counts)} ({self._done} of {devices(self._devices)})")


class Bars:
    """A bar for all devices, and a moving line for each one in work."""

    def __init__(self, layout: "Layout") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        self._commands = {
            work.chosen.device.name: [step.operation.command for step in work.steps] for work in layout.work
        }
        self._rich = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=BAR_COLUMNS, table_column=Column(min_width=BAR_COLUMNS)),
            TextColumn("{task.completed}/{task.total}", markup=False),
            TimeElapsedColumn(table_column=Column(min_width=TIME_COLUMNS)),
            # The one to be cut where the terminal is narrow.
            TextColumn("{task.fields[now]}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
            console=Console(stderr=True, highlight=False),
            transient=True,
            redirect_stdout=False,
            expand=True,
        )
        # The first line: a terminal that is too low for all of them leaves out the last ones.
        self._all = self._rich.add_task("devices", total=len(self._commands), now="")
        self._lines: dict[str, TaskID] = {}
        self._told: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._wave = ""
        self._troubles = _Troubles(output.say)

    def showing(self) -> AbstractContextManager[object]:
        """Moves until it is left; what is said meanwhile stands above it."""
        return self._rich

    def begun(self, device: str) -> None:
        """A line for it."""
        total = len(self._commands[device])
        self._lines[device] = self._rich.add_task(escape(device), total=total, now="")
        self._show(device)

    def wave(self, number: int, of: int, devices_of_it: Sequence[str]) -> None:
        """Which one it is, where there are several."""
        self._wave = f"wave {number} of {of} ({devices(len(devices_of_it))})" if of > 1 else ""
        self._show_all()

    def step(self, report: StepReport) -> None:
        """Its device is a step further."""
        self._troubles.step(report)
        self._counts[kind_of(report)] += 1
        self._told[report.device] += 1
        self._show(report.device)
        self._show_all()

    def device(self, device: str, reports: Sequence[StepReport]) -> None:  # noqa: ARG002 - as the protocol has it
        """Its line goes."""
        if device in self._lines:
            self._rich.remove_task(self._lines.pop(device))
        self._rich.advance(self._all)

    def _show(self, device: str) -> None:
        """Where a device is: how many steps are told, and which one is under way."""
        if device in self._lines:
            done, commands = self._told[device], self._commands[device]
            now = escape(commands[done]) if done < len(commands) else ""
            self._rich.update(self._lines[device], completed=done, now=now)

    def _show_all(self) -> None:
        now = ", ".join(part for part in (self._wave, counted(self._counts)) if part)
        self._rich.update(self._all, now=now)
