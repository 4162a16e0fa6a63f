"""How does a run stand on one page that a browser shows and a printer prints?

Rule 1. The page is one file: no script, no font, no picture from anywhere, and its own policy forbids them.
Rule 2. Text becomes part of the page in one place only, `Markup.of`, which escapes it.
Rule 3. No word is told by its colour alone: it is read on paper too.
"""

import html
from collections.abc import Iterable, Sequence
from typing import Final

from agent.plans.report import CELL_MAX, HEADINGS, RunTold, StepTold, cells, commands_for, picture_lines
from logs.text import escape

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --line: #c9ced6; --soft: #f3f5f7; --quiet: #57606a;
  --good: #17692b; --bad: #b3261e; --open: #8a5300; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --paper: #14171b; --line: #3b424b; --soft: #1e2329;
  --quiet: #9aa4af; --good: #6fcf8a; --bad: #ff8a80; --open: #ffbe5c; } }
* { box-sizing: border-box; }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: var(--ink); background: var(--paper);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1rem; margin-bottom: .3rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
thead th { border-bottom: 2px solid var(--line); color: var(--quiet); font-weight: 600; overflow-wrap: normal; }
.about { width: auto; } .about th { color: var(--quiet); font-weight: 600; }
.summary { font-size: 1.1rem; font-weight: 600; }
.applied, .unchanged { color: var(--good); } .refused, .not_applied { color: var(--bad); font-weight: 600; }
.in_doubt, .open { color: var(--open); font-weight: 600; } .not_sent, .no_turn { color: var(--quiet); }
pre, code { font: 12.5px/1.35 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { background: var(--soft); border: 1px solid var(--line); padding: .7rem; overflow-x: auto; }
code { background: var(--soft); padding: .1rem .3rem; overflow-wrap: anywhere; }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --line: #999; --soft: #fff; --quiet: #333;
  --good: #000; --bad: #000; --open: #000; }
  body { margin: 0; max-width: none; font-size: 9.5pt; } pre { font-size: 7pt; white-space: pre-wrap; }
  thead { display: table-header-group; } tr, pre { break-inside: avoid; } h2, h3 { break-after: avoid; } }
"""

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()

    @classmethod
    def of(cls, text: str) -> "Markup":
        """Any text, so that it shows as it is; what is markup already stays."""
        return text if isinstance(text, cls) else cls(html.escape(escape(text, CELL_MAX)))


def as_html(told: RunTold) -> str:
    """The whole report as one HTML page."""
    title = f"Run {told.run} of plan {told.plan}"
    head = (
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_POLICY)}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        _tag("title", title),
        _tag("style", Markup(_STYLE)),
    )
    body = (_tag("h1", title), _about(told), _tag("p", told.summary, kind="summary"), *_sections(told))
    page = _tag("html", _tag("head", *head), _tag("body", *body), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _sections(told: RunTold) -> Iterable[Markup]:
    if told.doubts:
        yield _tag("h2", "In doubt")
        yield _tag("p", "Nothing that changes these devices is sent until it is settled.")
        yield _tag("ul", *(_doubt(step) for step in told.doubts))
    if told.not_reached:
        yield _tag("h2", "Not reached")
        yield _tag("ul", *(_tag("li", f"{device}: {why}") for device, why in told.not_reached.items()))
    yield _tag("h2", "Steps")
    yield _steps(told.steps)
    pictured = [(step, step.picture) for step in told.not_plain if step.picture is not None]
    if pictured:
        yield _tag("h2", "What did not go plainly")
    for step, picture in pictured:
        yield _tag("h3", f"{step.device}: {step.name}: {step.word}")
        yield _tag("pre", Markup("\n".join(Markup.of(line) for line in picture_lines(picture))))


def _about(told: RunTold) -> Markup:
    rows = (
        _tag("tr", _tag("th", name, scope="row"), _tag("td", value)) for name, value in told.header.items()
    )
    return _tag("table", *rows, kind="about")


def _doubt(step: StepTold) -> Markup:
    ask, settle = commands_for(step)
    said = f"{step.device}: {step.name}: {step.why}. "
    return _tag("li", said, _tag("code", ask), " or, when you have looked: ", _tag("code", settle))


def _steps(steps: Sequence[StepTold]) -> Markup:
    headings = _tag("tr", *(_tag("th", heading, scope="col") for heading in HEADINGS))
    return _tag("table", _tag("thead", headings), _tag("tbody", *map(_row, steps)))


def _row(step: StepTold) -> Markup:
    kinds = {HEADINGS.index("word"): step.word.replace(" ", "_")}
    return _tag("tr", *(_tag("td", cell, kind=kinds.get(n)) for n, cell in enumerate(cells(step))))


def _tag(name: str, *inside: str, kind: str | None = None, **attributes: str) -> Markup:
    """An element; `kind` is its class. What is inside is text unless it is markup."""
    given = attributes | ({"class": kind} if kind is not None else {})
    said = "".join(f' {key}="{html.escape(value)}"' for key, value in given.items())
    return Markup(f"<{name}{said}>{''.join(Markup.of(part) for part in inside)}</{name}>")
