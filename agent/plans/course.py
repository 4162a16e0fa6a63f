"""What becomes of the steps of a run, and when does nothing new begin any more? No device, no store.

A step that had its turn has a result. One that had none has a note that says why. What holds one device holds its later
steps only; what ends the run (a person, a limit of the plan, the window, the store) holds everything not begun yet.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from agent.operation import Cause, Operation, Outcome, Result
from agent.plans.window import is_open

if TYPE_CHECKING:
    from agent.plans.plan_file import PlanFile


class Missed(StrEnum):
    """Why a step had no turn."""

    HELD = "held"  # an operation on its device is in doubt
    AFTER_FAILURE = "after_failure"  # its device could not be worked with, or refused an earlier step
    NOT_BEGUN = "not_begun"  # the store or another process was in the way before there was an operation
    STALE = "stale"  # the device has moved since the plan was saved
    OTHER_NAME = "other_name"  # what counts for it was asked for while its device was called otherwise
    ABORTED = "aborted"  # a limit of the plan was reached
    WINDOW = "window"  # the maintenance window was shut
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Note:
    """Why a step had no turn, with a sentence for people.

    `op`: the operation in doubt that holds it, or the one that counts for it. `cause`: why nothing could be sent, where
    that is known of its device.
    """

    why: Missed
    text: str
    op: str | None = None
    cause: Cause | None = None

    def to_json(self) -> str:
        """As the store keeps it."""
        return json.dumps(asdict(self), separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Note":
        """The inverse of `to_json`. Raises ValueError, TypeError or KeyError on what is none."""
        data = json.loads(text)
        cause = Cause(data["cause"]) if data["cause"] is not None else None
        return cls(Missed(data["why"]), data["text"], data["op"], cause)


@dataclass(frozen=True, slots=True)
class StepReport:
    """What became of one step on one device.

    `operation` is the one that the journal has, where `skipped` the earlier one. `result` is None where the step had no
    turn: then `note` says why. A step that was not tried since its device cannot be worked with has both. `skipped`:
    asked for under its key before, and done or still in doubt. `recorded`: the operation stands in the journal.
    """

    device: str
    step: str
    operation: Operation
    result: Result | None
    skipped: bool = False
    recorded: bool = True
    note: Note | None = None

    @property
    def done(self) -> bool:
        """It stands on the device, and the journal says so."""
        r = self.result
        return r is not None and r.outcome in (Outcome.APPLIED, Outcome.UNCHANGED) and r.cause is None


class Listener(Protocol):
    """Who is told how a run goes on. Nothing is awaited, and nothing may be raised.

    `begun` is told only of devices whose turn came; `step` and `device` of all.
    """

    def begun(self, device: str) -> None:
        """A device's turn has come."""

    def step(self, report: StepReport) -> None:
        """A step has its word, or will have no turn in this run."""

    def device(self, device: str, reports: Sequence[StepReport]) -> None:
        """All steps of a device have theirs."""

    def wave(self, number: int, of: int, devices: Sequence[str]) -> None:
        """Wave `number` of `of`, from 1, begins."""


KINDS = (
    "changed", "unchanged", "skipped", "refused", "not_applied", "in_doubt", "held", "not_sent", "stale", "no_turn",
)  # fmt: skip
"""What a step is counted as in the summary of a run, each as exactly one of these."""

_BY_OUTCOME = {
    Outcome.APPLIED: "changed",
    Outcome.UNCHANGED: "unchanged",
    Outcome.REFUSED: "refused",
    Outcome.NOT_APPLIED: "not_applied",
    Outcome.NOT_SENT: "not_sent",
    Outcome.IN_DOUBT: "in_doubt",
}
_WITHOUT_TURN = {Missed.HELD: "held", Missed.STALE: "stale"}


def kind_of(report: StepReport) -> str:
    """What a step is counted as, one of `KINDS`. `skipped` are those done before; a doubt stays a doubt."""
    if report.result is None:
        return _WITHOUT_TURN.get(report.note.why, "no_turn") if report.note is not None else "no_turn"
    if report.skipped and report.result.outcome is not Outcome.IN_DOUBT:
        return "skipped"
    if report.result.cause is Cause.DOUBT:
        return "held"
    return _BY_OUTCOME[report.result.outcome]


def summary(reports: Iterable[StepReport]) -> dict[str, int]:
    """How many steps of each of `KINDS` there are, zeros included."""
    counts = dict.fromkeys(KINDS, 0)
    for report in reports:
        counts[kind_of(report)] += 1
    return counts


# --- what one result means for what follows -----------------------------------------------------------------------

_NO_USE = frozenset({Cause.UNREACHABLE, Cause.WRONG_DEVICE, Cause.FOREIGN, Cause.HELD, Cause.STORE})
"""Causes that meet the next step of the device too."""
_SINCE = {
    Cause.HELD: "another process has taken the device over",
    Cause.STORE: "the journal could not be written",
}
"""What to say of such a cause where the message of the step that met it is about its own word."""
_NOT_ITS_FAULT = frozenset({Cause.DOUBT, Cause.INTERRUPTED})
"""Causes that do not count as a failure of the device."""


def what_holds(report: StepReport, held_by: str | None, *, hold_after_refused: bool) -> Note | None:
    """What a step's end means for the later ones of its device: why they have no turn, or None.

    Args:
        report: of the step.
        held_by: the operation that holds the device, where the step was held by one.
        hold_after_refused: the plan goes on on no device that refused a step.
    """
    result, operation = report.result, report.operation
    if result is None:
        return report.note
    command = operation.command
    if result.outcome is Outcome.IN_DOUBT:
        return Note(
            Missed.HELD, f"held by operation {operation.op} ('{command}'), which is in doubt", operation.op
        )
    if result.cause is Cause.DOUBT:
        return Note(Missed.HELD, result.message, held_by)
    if result.cause in _NO_USE:
        return _not_tried(result)
    if hold_after_refused and result.outcome in (Outcome.REFUSED, Outcome.NOT_APPLIED):
        said = "was refused" if result.outcome is Outcome.REFUSED else "has not been applied"
        return Note(Missed.AFTER_FAILURE, f"the plan holds a device on which '{command}' {said}")
    return None


def _not_tried(result: Result) -> Note:
    """Why a step is not tried, by the result of the one that met the cause."""
    why = result.message
    if result.outcome is not Outcome.NOT_SENT and result.cause is not None:
        why = _SINCE.get(result.cause, why)
    return Note(Missed.AFTER_FAILURE, f"not tried: {why}", cause=result.cause)


class Course:
    """How far a run has come, and whether anything new may begin."""

    def __init__(
        self, plan: "PlanFile", *, devices: int, utc: Callable[[], datetime], stopping: Callable[[], bool]
    ) -> None:
        """A run that has not begun.

        Args:
            plan: whose limits and window hold.
            devices: of the whole run.
            utc: the wall clock.
            stopping: whether a person has interrupted.
        """
        self._plan = plan
        self._devices = devices
        self._utc = utc
        self._stopping = stopping
        self._failed: set[str] = set()
        self._in_doubt: set[str] = set()
        self._ended: Note | None = None

    def stop(self) -> Note | None:
        """Why no new step begins anywhere, None while one may. Once there is a reason it stays."""
        if self._ended is None:
            self._ended = self._why()
        return self._ended

    def store_failed(self, why: str) -> None:
        """The journal cannot be read: nothing more is sent."""
        self._ended = _not_tried(Result(Outcome.NOT_SENT, None, why, Cause.STORE))

    def device_failed(self, device: str) -> None:
        """A device cannot be worked with, so that none of its steps gets a turn."""
        self._failed.add(device)

    def count(self, report: StepReport) -> None:
        """Take note of what became of a step that had its turn."""
        result = report.result
        if result is None:
            return
        if result.cause is Cause.STORE:
            self._ended = _not_tried(result)
        if result.outcome is Outcome.IN_DOUBT:
            self._in_doubt.add(report.device)
        elif not report.done and result.cause not in _NOT_ITS_FAULT:
            self._failed.add(report.device)

    def _why(self) -> Note | None:
        if self._stopping():
            return Note(Missed.INTERRUPTED, "interrupted before its turn")
        limit = self._plan.abort_after.why(
            failed=len(self._failed), in_doubt=len(self._in_doubt), devices=self._devices
        )
        if limit is not None:
            return Note(Missed.ABORTED, f"the run was aborted before its turn: {limit}")
        window = self._plan.window
        if window is not None and not is_open(window, self._utc()):
            return Note(Missed.WINDOW, f"the maintenance window is shut: {window}")
        return None
