"""How is something said? Results on stdout, everything else on stderr; nothing from a device or a path is ever markup.

A table on a terminal; elsewhere tab-separated lines that are never cut, no colour, no animation. Whatever does not
print is escaped, JSON included. A stderr that has gone changes nothing: what is under way matters more than listeners.

Commands to type next (`ackonce VERB ...` in what `say` and `in_place` are given) get the project and inventory that
this run was given, so that they run as printed from the same folder.
"""

import json
import os
import re
import shlex
import shutil
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import typer

from agent.cli.exit_codes import Exit
from agent.cli.layout import GAP, UNDER, beside, packed, padded, width
from logs.text import escape

LINE_MAX = 1_000_000
"""Characters of one line; beyond it is no text for anybody."""


class OutputLost(Exception):  # noqa: N818 - it reads as what happened
    """Stdout cannot be written, for another reason than that its reader has gone (BrokenPipeError says that)."""


_TYPED = re.compile(
    r"\backonce (?=(?:send|set|get|explain|probe|devices|plan|apply|resume|runs|report|job|serve|fleet|doubt|log|trace"
    r"|profile|config|doctor)\b)(?!.* (?:-[Ci] |--help))"
)
"""Where a command to type begins that works in a project, and does not say yet in which."""
_place = ""


def work_in(project: Path | None, inventory: Path | None) -> None:
    """From now on commands to type next are those of this project and inventory, as typed; None: not typed."""
    global _place  # noqa: PLW0603 - one run of the process is in one place
    given = (("-C", project), ("-i", inventory))
    _place = "".join(f"{option} {shlex.quote(str(path))} " for option, path in given if path is not None)


def in_place(text: str) -> str:
    """A text whose commands to type next run in the project and with the inventory that this run was given."""
    return _TYPED.sub(lambda found: found[0] + _place, text) if _place else text


def say(text: str) -> None:
    """Lines on stderr, with commands as `in_place` has them."""
    echo(in_place(text))


def echo(text: str) -> None:
    """Lines on stderr as they are."""
    if sys.stderr is None:  # closed by whoever started us; print would turn to stdout
        return
    with suppress(OSError):
        for line in text.split("\n"):
            print(escape(line, LINE_MAX), file=sys.stderr, flush=True)


def put(text: str) -> None:
    """Lines on stdout. Raises BrokenPipeError, OutputLost."""
    for line in text.split("\n"):
        _print(escape(line, LINE_MAX))


def put_json(record: Mapping[str, Any]) -> None:
    """One JSON object, one line, on stdout. Raises as `put`."""
    _print(json.dumps(record))


def put_document(text: str) -> None:
    """A whole text that is clean already, with the line ends that it has, on stdout. Raises as `put`."""
    _print(text, end="")


def _print(line: str, end: str = "\n") -> None:
    try:
        print(line, end=end, flush=True)
    except BrokenPipeError:
        raise
    except OSError as problem:
        forget_stdout()
        raise OutputLost(f"the output cannot be written: {problem.strerror or problem}") from problem


def can_show(characters: str) -> bool:
    """Whether stdout's encoding has all the characters."""
    try:
        characters.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def forget_stdout() -> None:
    """Let all further output go nowhere, what is still buffered too: nobody complains about it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def whoever_listens() -> Iterator[None]:
    """Print what has happened already: nobody who stops reading changes it, nor the exit code that tells it."""
    try:
        yield
    except BrokenPipeError:
        forget_stdout()
    except OutputLost as lost:
        say(f"ackonce: {lost}")


def ask(question: str) -> str:
    """Ask on stderr, answer from stdin; empty where there is no answer. Raises KeyboardInterrupt.

    What a terminal had typed before the question is dropped: it was meant for something else.
    """
    if sys.stdin.isatty():
        with suppress(termios.error):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
    with suppress(OSError):
        print(escape(question, LINE_MAX), end=" ", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        say("")  # the input ended in the middle of our line
    return answer.strip()


def put_json_failure(message: str) -> None:
    """The object of a run that ended before there was an operation or a result (CLI.md 2)."""
    put_json({"schema": 1, "op": None, "outcome": "not_sent", "message": message})


def fail(code: Exit, message: str, *more: str, as_json: bool = False) -> NoReturn:
    """Say what went wrong and end with a code. `more`: further lines, such as what to type next."""
    if as_json:
        put_json_failure(message)
    for line in (f"ackonce: {message}", *more):
        say(line)
    raise typer.Exit(code)


def on_terminal() -> bool:
    """Whether stdout is a terminal that a table suits."""
    return sys.stdout is not None and sys.stdout.isatty()


def columns() -> int | None:
    """How wide the terminal is that stdout is; None elsewhere, where nothing is ever folded."""
    return shutil.get_terminal_size().columns if on_terminal() else None


def put_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows under their headings on a terminal, else tab-separated lines without headings. None shows as `-`.

    Without rows nothing is printed.

    Where a terminal is too narrow, the last column, the one for sentences, stands under each row instead of beside it;
    and where that is not enough, so do the columns before it, each cell that says something behind its heading. No cell
    is ever folded, so that everything can be copied.
    """
    cells = [["-" if cell is None else escape(str(cell), LINE_MAX) for cell in row] for row in rows]
    room = columns()
    if room is None or not cells:
        for row in cells:
            _print("\t".join(row))
        return
    widths = [max(map(width, column)) for column in zip(headings, *cells, strict=True)]
    shown = beside(widths, room)
    _print(_beside(headings[:shown], widths))
    for row in cells:
        _print(_beside(row[:shown], widths))
        if shown < len(row):
            moved = zip(headings[shown:-1], row[shown:-1], strict=True)
            for line in packed((f"{name} {cell}" for name, cell in moved if cell != "-"), room):
                _print(line)
            if row[-1] != "-":
                _print(UNDER + row[-1])


def _beside(row: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(padded(cell, wide) for cell, wide in zip(row, widths, strict=False)).rstrip()
