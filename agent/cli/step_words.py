"""How is it told what became of the steps of a plan, to scripts and to people?

Whoever reads it at three in the morning sees what did not go plainly, each with its reason, and the rest as counts;
then what to type next. Steps that had no turn because the run ended are counted: they share one reason.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from agent.cli.exit_codes import Exit
from agent.cli.progress import WORDS
from agent.cli.wording import exit_code, operation_json
from agent.operation import Outcome, Result
from agent.plans.course import KINDS, Missed, StepReport, kind_of, summary
from agent.plans.report import step_name, went_plainly
from logs.text import escape

COLUMNS = ("device", "step", "outcome", "evidence", "value", "tries", "time", "message")

SHOWN_MAX = 5
"""So many doubts are told with what to type; of more, where to find them."""

_ALWAYS = frozenset({"changed", "unchanged", "refused", "not_applied", "in_doubt", "held", "not_sent"})
"""Kinds that the line of counts has even where there are none."""
_ENDED = frozenset({Missed.ABORTED, Missed.WINDOW, Missed.INTERRUPTED})
"""What ends a whole run."""


def step_json(report: StepReport) -> dict[str, Any]:
    """One step as an object (CLI.md 2): its operation, or where it had none, that nothing was sent and why."""
    result = report.result
    if result is None:
        result = Result(Outcome.NOT_SENT, None, report.note.text if report.note is not None else "")
    record = operation_json(report.operation, result, recorded=report.recorded)
    record |= {"device": report.device, "step": report.step}
    return record | ({"skipped": True} if report.skipped else {})


def summary_json(reports: Sequence[StepReport], run: str, plan: str, key: str) -> dict[str, Any]:
    """The last object of a run: how many steps of each kind."""
    return {"summary": {"run": run, "plan": plan, "key": key} | summary(reports)}


def step_exit(report: StepReport) -> Exit:
    """The exit code of one step."""
    if report.result is not None:
        return exit_code(report.result)
    interrupted = report.note is not None and report.note.why is Missed.INTERRUPTED
    return Exit.INTERRUPTED if interrupted else Exit.NOT_ALL_DONE


def rows(reports: Sequence[StepReport], *, everything: bool) -> list[tuple[object, ...]]:
    """Rows under `COLUMNS`: what was not plain, or `everything`.

    A step that had no turn for the reason that the row before it tells of its device is only counted there.
    """
    if everything:
        return [_row(report) for report in reports]
    found: list[list[StepReport]] = []
    for report in filter(_to_be_seen, reports):
        if found and _goes_with(found[-1][0], report):
            found[-1].append(report)
        else:
            found.append([report])
    return [_row(first, more=len(others)) for first, *others in found]


def _to_be_seen(report: StepReport) -> bool:
    if report.note is not None and report.note.why in _ENDED:
        return False
    if report.result is None or kind_of(report) == "skipped":
        return report.result is None
    return not went_plainly(report.result)


def _goes_with(first: StepReport, report: StepReport) -> bool:
    same = first.device == report.device and kind_of(first) == kind_of(report)
    return same and report.note is not None and report.note.why is not Missed.NOT_BEGUN


_ASKED_BEFORE = {True: " (asked before)", False: " (done before)"}


def _row(report: StepReport, more: int = 0) -> tuple[object, ...]:
    name, result, kind = step_name(report.step, report.operation.command), report.result, kind_of(report)
    name = f"{name} and {more} more" if more else name
    if result is None:
        why = report.note.text if report.note is not None else None
        return (report.device, name, kind, None, None, None, None, why)
    word = kind if kind == "held" else result.outcome.value
    again = _ASKED_BEFORE[result.outcome is Outcome.IN_DOUBT] if report.skipped else ""
    return (
        report.device,
        name,
        f"{word}{again}",
        result.proof.value if result.proof is not None else None,
        result.value,
        result.attempts,
        f"{result.elapsed_s:.2f} s" if result.elapsed_s is not None else None,
        result.message,
    )


def summary_line(reports: Sequence[StepReport], run: str, key: str) -> str:
    """All steps in one line: `changed 5, unchanged 2, ...; run 01J...`, with the key where somebody gave one."""
    counts = summary(reports)
    told = ", ".join(f"{WORDS[kind]} {counts[kind]}" for kind in KINDS if counts[kind] or kind in _ALWAYS)
    return f"{told}; run {run}" + (f" (key {key})" if key != run else "")


def next_steps(reports: Sequence[StepReport], run: str) -> Iterator[str]:
    """What a person should know beyond rows and counts, and what to type."""
    doubts = [report for report in reports if kind_of(report) == "in_doubt"]
    if doubts:
        yield (
            f"In doubt: {_steps(len(doubts))}. What was sent may have taken effect or not; until that is settled, "
            "nothing that changes the device is sent."
        )
        for report in doubts[:SHOWN_MAX]:
            name, op = report.operation.command, report.operation.op
            yield f"  {report.device}: '{escape(name)}': ackonce doubt check {op}"
        if len(doubts) > SHOWN_MAX:
            yield f"  and {len(doubts) - SHOWN_MAX} more: ackonce doubt list"
        named = doubts[0].operation.op if len(doubts) == 1 else "OP"
        yield f"  or, when you have looked: ackonce doubt resolve {named} --applied|--not-applied --reason TEXT"
    held = sum(kind_of(report) == "held" for report in reports)
    if held and not doubts:
        yield f"Held: {_steps(held)}, by what is in doubt on the device: ackonce doubt list"
    ended = Counter(report.note.text for report in reports if report.note and report.note.why in _ENDED)
    for why, count in ended.items():
        yield f"No turn: {_steps(count)}, of which nothing was sent: {why}."
    if any(report.note is not None and report.note.why is Missed.STALE for report in reports):
        yield "Stale: the devices are not as they were when this was planned. Look again: ackonce plan FILE --out FILE"
    if any(not report.done and kind_of(report) != "stale" for report in reports):
        yield f"Go on with what is left: ackonce resume {run}"


def _steps(count: int) -> str:
    return f"{count} step{'' if count == 1 else 's'}"
