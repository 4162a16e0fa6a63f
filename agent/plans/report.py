"""What is told of a run, and how does it stand in Markdown and in CSV? The page is `report_html.py`.

Rule 1. What is told is the journal's word of today: a doubt that was settled since is no doubt any more.
Rule 2. What went plainly is one row. What did not has its picture too: who wrote, who spoke, where was silence.
Rule 3. Whatever a device, a file or a person wrote is text. Markdown finds nothing to obey in it, and a spreadsheet
        no formula: a cell that would begin one gets an apostrophe in front, plain numbers excepted.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.journal import Entry
from agent.operation import Cause, Outcome, Proof, Result
from agent.plans.course import Missed, Note
from logs.picture import LINES, Picture, as_text
from logs.text import escape

PICTURE_COLUMNS = 100
"""Columns of a picture in a report, so that the same run always gives the same file."""

CELL_MAX = 2_000
"""Characters of one cell."""

NEVER_BEGUN = "it did not get its turn"


@dataclass(frozen=True, slots=True)
class StepTold:
    """One step of a run on one device.

    `entry` is what the journal has of it; None where it never came to an operation, and `note` says why if known. It
    may have been asked for under another name of the device: then `note` says that. `picture` is its story,
    for whoever asked for it.
    """

    device: str
    step: str
    command: str
    entry: Entry | None
    note: Note | None = None
    picture: Picture | None = None

    @property
    def result(self) -> Result | None:
        """How its operation ended, if there is one and it ended."""
        return self.entry.result if self.entry is not None else None

    @property
    def name(self) -> str:
        """The command, with the step's own id in front where somebody gave it one."""
        return step_name(self.step, self.command)

    @property
    def word(self) -> str:
        """How it stands, in one or two words that are true."""
        result = self.result
        if self.entry is None:
            return _without_operation(self.note)
        if result is None:
            return "open"
        return "held" if result.cause is Cause.DOUBT else _word(result.outcome)

    @property
    def why(self) -> str:
        """The sentence that goes with the word."""
        if self.entry is None:
            return self.note.text if self.note is not None else NEVER_BEGUN
        if self.result is None:
            return "its process ended before the word was known"
        return f"{self.result.message} ({self.before})" if self.before else self.result.message

    @property
    def before(self) -> str | None:
        """That it was asked for under another name of the device, and under which."""
        other = self.note is not None and self.note.why is Missed.OTHER_NAME
        return self.note.text if self.note is not None and other else None

    @property
    def in_doubt(self) -> bool:
        """Whether nobody can tell yet whether it took effect."""
        return self.entry is not None and self.entry.unsettled

    @property
    def not_reached(self) -> bool:
        """Whether nothing was sent since the device could not be spoken to."""
        if self.entry is None:
            return self.note is not None and self.note.cause in _NOT_REACHED
        return self.result is not None and self.result.cause in _NOT_REACHED

    @property
    def plain(self) -> bool:
        """Whether nobody needs to look at it."""
        return self.result is not None and went_plainly(self.result)


def went_plainly(result: Result) -> bool:
    """Whether it went as everybody hopes: one copy at most, and the device's own word at once."""
    good = result.outcome in (Outcome.APPLIED, Outcome.UNCHANGED)
    return good and result.attempts <= 1 and result.proof in (None, Proof.ACK, Proof.VERIFIED)


_NOT_REACHED = frozenset({Cause.UNREACHABLE, Cause.WRONG_DEVICE, Cause.FOREIGN, Cause.HELD})


def step_name(step: str, command: str) -> str:
    """How a step is called: by its command, with the id that somebody gave it in front."""
    derived = step == command or (step.startswith(f"{command} (") and step.endswith(")"))
    return command if derived else f"{step}: {command}"


def _word(outcome: Outcome) -> str:
    return outcome.value.replace("_", " ")


@dataclass(frozen=True, slots=True)
class RunTold:
    """A run: `header` says which plan, key, who, why, when and where, in its order; steps are in the plan's."""

    run: str
    plan: str
    key: str
    header: Mapping[str, str]
    steps: tuple[StepTold, ...]

    @property
    def summary(self) -> str:
        """How many steps stand how: `12 applied, 1 in doubt`."""
        return counted(self.steps)

    @property
    def not_plain(self) -> tuple[StepTold, ...]:
        """The steps that somebody should look at."""
        return tuple(step for step in self.steps if not step.plain)

    @property
    def doubts(self) -> tuple[StepTold, ...]:
        """The steps that nobody can tell of yet."""
        return tuple(step for step in self.steps if step.in_doubt)

    @property
    def not_reached(self) -> dict[str, str]:
        """The devices that could not be spoken to, and why."""
        found: dict[str, str] = {}
        for step in self.steps:
            if step.not_reached:
                found.setdefault(step.device, step.why)
        return found


_HELD_BACK = {Missed.HELD: "held", Missed.STALE: "stale"}


def _without_operation(note: Note | None) -> str:
    if note is None:
        return "no turn"
    return _HELD_BACK.get(note.why, "not sent" if note.cause is not None else "no turn")


_ORDER = (*map(_word, Outcome), "open", "held", "stale", "no turn")


def counted(steps: Sequence[StepTold]) -> str:
    """How many steps stand how, in words."""
    counts = Counter(step.word for step in steps)
    return ", ".join(f"{counts[word]} {word}" for word in _ORDER if counts[word]) or "no steps"


def commands_for(step: StepTold) -> tuple[str, str]:
    """What to type about a doubt: to ask the device, and to say what somebody found."""
    op = step.entry.operation.op if step.entry is not None else ""
    return (
        f"ackonce doubt check {op}",
        f"ackonce doubt resolve {op} --applied|--not-applied --reason TEXT",
    )


def picture_lines(picture: Picture) -> list[str]:
    """A picture as lines, the same in every kind of report."""
    return as_text(picture, PICTURE_COLUMNS, LINES)


# --- as a table -------------------------------------------------------------------------------------------------------

HEADINGS = ("device", "step", "word", "proof", "before", "value", "copies", "time", "why")


def cells(step: StepTold) -> tuple[str, ...]:
    """A step as a row under `HEADINGS`; empty where there is nothing to say."""
    result = step.result
    if result is None:
        return (step.device, step.name, step.word, "", "", "", "", "", step.why)
    return (
        step.device,
        step.name,
        step.word,
        result.proof.value.replace("_", " ") if result.proof is not None else "",
        result.before or "",
        result.value or "",
        str(result.attempts),
        f"{result.elapsed_s:.2f} s" if result.elapsed_s is not None else "",
        (step.before or "") if step.plain else step.why,
    )


# --- Markdown ---------------------------------------------------------------------------------------------------------


def as_markdown(told: RunTold) -> str:
    """The whole report as Markdown with tables (GitHub's)."""
    return "\n".join(_markdown(told)) + "\n"


def _markdown(told: RunTold) -> Iterator[str]:
    yield f"# Run {_md(told.run)} of plan {_md(told.plan)}"
    yield ""
    yield from _md_table(("", ""), list(told.header.items()))
    yield ""
    yield f"**{_md(told.summary)}**"
    if told.doubts:
        yield from (
            "",
            "## In doubt",
            "",
            "Nothing that changes these devices is sent until it is settled.",
            "",
        )
        for step in told.doubts:
            yield f"* {_md(step.device)}: {_md(step.name)}: {_md(step.why)}"
            yield from (f"  * `{line}`" for line in commands_for(step))
    if told.not_reached:
        yield from ("", "## Not reached", "")
        yield from (f"* {_md(device)}: {_md(why)}" for device, why in told.not_reached.items())
    yield from ("", "## Steps", "")
    yield from _md_table(HEADINGS, [cells(step) for step in told.steps])
    pictured = [step for step in told.not_plain if step.picture is not None]
    if pictured:
        yield from ("", "## What did not go plainly")
        for step in pictured:
            yield from ("", f"### {_md(step.device)}: {_md(step.name)}: {_md(step.word)}", "")
            # A block by its indent: no text inside can end it.
            yield from (
                (f"    {line}".rstrip() for line in picture_lines(step.picture)) if step.picture else ()
            )


def _md_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    yield from (f"| {' | '.join(map(_md, row))} |" for row in rows)


_MD_SPECIAL = re.compile(r"[\\`*_\[\]<>|&~#!$@]|:(?=//)|(?<=www)\.", re.IGNORECASE)


def _md(text: str) -> str:
    """Text in which Markdown finds nothing to obey: no markup, no HTML, no link, no end of a cell."""
    return _MD_SPECIAL.sub(lambda found: f"\\{found[0]}", escape(text, CELL_MAX))


# --- CSV --------------------------------------------------------------------------------------------------------------

CSV_COLUMNS = (
    "run", "plan", "key", "device", "step", "command", "class", "kind", "policy", "outcome", "evidence", "before",
    "expected", "value", "attempts", "elapsed_s", "begun_utc", "ended_utc", "op", "route", "message",
)  # fmt: skip
"""The first row; the words are those of the JSON objects (CLI.md 2)."""


def as_csv(told: RunTold) -> str:
    """One row for each step, under `CSV_COLUMNS`, as RFC 4180 has it (lines end in CR LF)."""
    page = io.StringIO(newline="")
    writer = csv.writer(page, lineterminator="\r\n")
    writer.writerow(CSV_COLUMNS)
    for step in told.steps:
        writer.writerow([_csv(cell) for cell in (told.run, told.plan, told.key, *_csv_cells(step))])
    return page.getvalue()


def _csv_cells(step: StepTold) -> tuple[object, ...]:
    what = (step.device, step.step, step.command)
    if step.entry is None:
        return (*what, *[None] * 3, "not_sent", *[None] * 10, step.why)
    o, r = step.entry.operation, step.entry.result
    return (
        *what, o.effect_class, o.kind, o.terms.policy.value,
        r.outcome.value if r is not None else Outcome.IN_DOUBT.value,
        r.proof.value if r is not None and r.proof is not None else None,
        *((r.before, r.expected, r.value, r.attempts, r.elapsed_s) if r is not None else [None] * 5),
        step.entry.created_utc, step.entry.closed_utc, o.op, o.route, step.why,
    )  # fmt: skip


_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")  # noqa: RUF001 - spreadsheets take the wide ones for the others
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)


def _csv(cell: object) -> str:
    """A cell that a spreadsheet shows and never computes."""
    text = "" if cell is None else escape(str(cell), CELL_MAX)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
