"""What was sent and heard? `ackonce log` prints the records, and waits for more with `--follow`.

It reads a file and nothing else, so it neither loads nor opens what commands for devices need: it starts at once.
A person ends `--follow` with Ctrl-C, silently and with exit 130 as from `tail -f`; a reader that goes away, such as
`head`, ends it with exit 0.

`--setting` and `--retried` answer a question: a value is odd, was a retry the cause? They choose whole operations, of
which every line is shown, and close with the count on stderr.
"""

import select
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from agent.cli import output
from agent.cli.exit_codes import Exit
from agent.cli.options import Common, command
from agent.cli.places import log_path, settings_of
from agent.cli.review import Review, review
from devices.problems import UsageProblem
from logs import reader
from logs.events import Event, Level, dated, human, timestamp
from logs.place import previous_path
from logs.retries import trails

PAUSE_MS = 200
"""How long `--follow` waits before it looks again."""

OPS_SHOWN_MAX = 5
OP_LENGTH = 26
"""Characters of an operation's id, so that what stands behind it lines up."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "log")(log)


def log(
    common: Common,
    device: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this device.")] = None,
    seq: Annotated[int | None, typer.Option(metavar="N", help="Only of this sequence number.")] = None,
    op: Annotated[
        str | None, typer.Option(metavar="OP", help="Only of this operation; a unique beginning will do.")
    ] = None,
    setting: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only operations that change this setting.")
    ] = None,
    retried: Annotated[
        bool, typer.Option("--retried", help="Only operations that were sent more than once.")
    ] = False,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Not older than 10m, 2h, or 2026-11-29T22:48Z.")
    ] = None,
    level: Annotated[
        Level | None, typer.Option(case_sensitive=False, help="At least this urgent; INFO, with -v DEBUG.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more; Ctrl-C ends it.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Without time and device in front.")] = False,
) -> None:
    """Print the record of what was sent and heard, oldest first; with -v the operation's id in front."""
    if plain and common.json:
        raise UsageProblem("--plain and --json exclude each other", "Give one of them")
    if retried and follow:
        raise UsageProblem("--retried looks back, so it cannot --follow", "Leave one of them out")
    path = log_path(settings_of(common))
    found: Review | None = None
    try:
        moment = _moment(since) if since is not None else None
        urgency: Level = level or ("DEBUG" if common.verbose else "INFO")
        source = partial(reader.follow, wait=_pause) if follow else reader.read
        look = partial(
            source, path, device=device, seq=seq, op=_whole_op(path, op) if op is not None else None
        )
        there_is_a_log = path.exists() or previous_path(path).exists()
        if not common.quiet and not there_is_a_log:
            output.say(f"There is no log yet: {path}")
        if follow or not (retried or setting is not None):
            records = look(setting=setting, since=moment, level=urgency)
        else:
            earliest = timestamp(moment) if moment is not None else None
            told = trails(_readable(look(), path))
            found = review(told, setting=setting, since=earliest, retried=retried)
            records = look(level=urgency)
        shown = 0
        for event in _readable(records, path):
            if found is None or event.op in found.ops:
                output.put(_line(event, common, plain=plain))
                shown += 1
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None
    except BrokenPipeError:
        output.forget_stdout()
        raise typer.Exit(Exit.OK) from None
    if common.quiet:
        return
    for sentence in found.sentences if found is not None else ():
        output.say(sentence)
    if found is None and not shown and not follow and there_is_a_log:
        output.say(_nothing(urgency, device=device, seq=seq, op=op, since=since, level=level))
    if records.skipped:
        output.say(f"Lines that are no records, skipped: {records.skipped} ({path})")


def _line(event: Event, common: Common, *, plain: bool) -> str:
    if common.json:
        return event.to_json()
    if plain:
        return human(event)
    front = f"{event.op or '-':<{OP_LENGTH}} " if common.verbose else ""
    shows_bytes = common.verbose > 1 and event.bytes is not None
    return f"{front}{dated(event)} | {event.bytes}" if shows_bytes else f"{front}{dated(event)}"


def _nothing(urgency: Level, **filters: object) -> str:
    """Why no line came: `filters` by their options, of which None was not given."""
    asked = " ".join(f"--{name} {value}" for name, value in filters.items() if value is not None)
    return f"No record matches {asked}." if asked else f"No record in this log is as urgent as {urgency}."


def _whole_op(path: Path, beginning: str) -> str:
    """The one operation in the log whose id is, or begins with, `beginning`, whatever its case."""
    folded = beginning.casefold()
    records = _readable(reader.read(path), path)
    ops = {event.op for event in records if event.op is not None and event.op.casefold().startswith(folded)}
    exact = {op for op in ops if op.casefold() == folded}
    if len(exact or ops) == 1:
        return (exact or ops).pop()
    if not ops:
        raise UsageProblem(f"no operation in {path} begins with '{beginning}'", "See: ackonce log -v")
    some = ", ".join(sorted(ops)[:OPS_SHOWN_MAX])
    raise UsageProblem(f"{len(ops)} operations begin with '{beginning}'", f"Such as {some}")


def _moment(text: str) -> datetime:
    try:
        return reader.parse_since(text, datetime.now(UTC))
    except ValueError as problem:
        raise UsageProblem(f"--since: {problem}") from None


def _readable(records: reader.Records, path: Path) -> Iterator[Event]:
    """The records; a log that cannot be read ends the run. Failures of whoever prints them are not caught here."""
    try:
        yield from records
    except OSError as problem:
        output.fail(Exit.FILE, f"the log {path} cannot be read: {problem.strerror or problem}")


def _pause() -> bool:
    """Wait before the next look; False as soon as nobody reads our output."""
    if sys.stdout is None:  # closed by whoever started us
        return False
    poller = select.poll()
    poller.register(sys.stdout.fileno(), 0)  # 0: nothing but errors and hang-ups
    return not poller.poll(PAUSE_MS)
