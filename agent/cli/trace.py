"""What happened in one operation? `ackonce trace [OP]` draws it: agent, wire, device.

It is drawn from the journal, which is the truth; the log may have lost lines. Nothing is sent to any device.
"""

import shutil
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import output
from agent.cli.operations import find_operation, newest_operation
from agent.cli.options import Common, command
from devices.problems import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.evidence import Evidence
    from agent.journal import Entry
    from agent.processes import Holder
    from agent.service import Service
    from logs.picture import Picture

    Story = Sequence[tuple[str | None, Evidence, str]]

WIDTH = 100
"""Columns of the picture where stdout is no terminal, so that files and pipes always get the same."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "trace")(trace)


def trace(
    common: Common,
    op: Annotated[
        str | None,
        typer.Argument(
            metavar="[OP]", help="The operation's id, or its beginning; without it the newest one."
        ),
    ] = None,
    mermaid: Annotated[
        bool, typer.Option("--mermaid", help="As a Mermaid sequenceDiagram, for reports.")
    ] = False,
) -> None:
    """Draw one operation: what was sent, what was heard, where was silence, how it ended.

    Without OP it is the newest of the store. `ackonce log -v` shows the ids of all of them.
    """
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.cli.sequence import rows
    from agent.cli.wording import doubt_json
    from logs.picture import Picture, as_mermaid

    if mermaid and common.json:
        raise UsageProblem("--mermaid and --json exclude each other", "Give one of them")

    async def work(service: "Service") -> tuple["Entry", "Picture"]:
        entry = find_operation(service, op) if op is not None else newest_operation(service)
        o = entry.operation
        story = service.journal.story(o.op)
        end = end_of(entry, service.leases.holder_of(entry.device), story)
        return entry, Picture(o.device, tuple(rows(o, story)), end)

    entry, picture = run_agent(common, settings_of(common), work)
    if common.json:
        story = [
            {"at_s": row.at_s, "way": row.way.value, "text": row.text, "label": row.label or None}
            for row in picture.rows
        ]
        output.put_json(doubt_json(entry) | {"story": story})
    elif mermaid:
        for line in as_mermaid(picture):
            output.put(line)
    else:
        _put_text(entry, picture)


def _put_text(entry: "Entry", picture: "Picture") -> None:
    from logs.picture import ASCII, LINES, LINES_USED, Way, as_text

    o = entry.operation
    output.put(f"{o.op}  {o.device}  {o.command}")
    output.put(
        f"{o.kind} ({o.effect_class}), policy {o.terms.policy.value}, by {o.submitted_by}, via {o.route}, "
        f"{entry.created_utc}"
    )
    output.put("")
    width = shutil.get_terminal_size().columns if output.on_terminal() else WIDTH
    for line in as_text(picture, width, LINES if output.can_show(LINES_USED) else ASCII):
        output.put(line)
    if any(row.way is Way.SILENCE for row in picture.rows):
        output.put(
            "Where silence is drawn, either way may have been lost; nobody at this end can tell which."
        )
    if entry.unsettled:
        output.put(output.in_place(f"Next: ackonce doubt show {o.op}"))


def end_of(entry: "Entry", holder: "Holder | None", story: "Story") -> str:
    """The word with what it stands on, and why; how long it took only where that is the time of the whole story."""
    from agent.evidence import TakenUp

    result = entry.result
    if result is None:
        return f"open: {_whose(holder)}"
    proof = f" ({result.proof.value})" if result.proof is not None else ""
    copies = f"{result.attempts} {'copy' if result.attempts == 1 else 'copies'} sent"
    at_once = not any(isinstance(fact, TakenUp) for _, fact, _ in story)
    time = f", {result.elapsed_s:.2f} s" if result.elapsed_s is not None and at_once else ""
    return f"{result.outcome.value}{proof}, {copies}{time}: {result.message}"


def _whose(holder: "Holder | None") -> str:
    from agent.cli.wording import CUT_OFF

    return CUT_OFF if holder is None else f"under way, {holder} has the device"
