"""How is something said? Results on stdout, everything else on stderr; nothing from a device or a path is ever markup.

A table on a terminal; elsewhere tab-separated lines that are never cut, no colour, no animation. Whatever does not
print is escaped, JSON included. A stderr that has gone changes nothing: what is under way matters more than listeners.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import typer

from agent.cli.exit_codes import Exit
from logs.text import escape

LINE_MAX = 1_000_000
"""Characters of one line; beyond it is no text for anybody."""


class OutputLost(Exception):  # noqa: N818 - it reads as what happened
    """Stdout cannot be written, for another reason than that its reader has gone (BrokenPipeError says that)."""


def say(text: str) -> None:
    """Lines on stderr."""
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


def _print(line: str) -> None:
    try:
        print(line, flush=True)
    except BrokenPipeError:
        raise
    except OSError as problem:
        forget_stdout()
        raise OutputLost(f"the output cannot be written: {problem.strerror or problem}") from problem


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
    """Ask on stderr, answer from stdin; empty where there is no answer. Raises KeyboardInterrupt."""
    with suppress(OSError):
        print(escape(question, LINE_MAX), end=" ", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        say("")  # the input ended in the middle of our line
    return answer.strip()


def fail(code: Exit, message: str, *more: str) -> NoReturn:
    """Say what went wrong and end with a code. `more`: further lines, such as what to type next."""
    for line in (f"ackonce: {message}", *more):
        say(line)
    raise typer.Exit(code)


def on_terminal() -> bool:
    """Whether stdout is a terminal that a table suits."""
    return sys.stdout is not None and sys.stdout.isatty()


def put_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows under their headings on a terminal, else tab-separated lines without headings. None shows as `-`."""
    cells = [["-" if cell is None else escape(str(cell), LINE_MAX) for cell in row] for row in rows]
    if not on_terminal():
        for row in cells:
            _print("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    Console(markup=False, highlight=False).print(table)
