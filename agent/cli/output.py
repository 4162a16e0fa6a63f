"""How is something said? Results on stdout, everything else on stderr; nothing from a device or a path is ever markup.

A table on a terminal; elsewhere tab-separated lines that are never cut, no colour, no animation.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import typer

from agent.cli.exit_codes import Exit
from logs.text import escape


def say(text: str) -> None:
    """One line on stderr."""
    print(text, file=sys.stderr, flush=True)


def put(text: str) -> None:
    """One line on stdout."""
    print(text, flush=True)


def put_json(record: Mapping[str, Any]) -> None:
    """One JSON object, one line, on stdout."""
    print(json.dumps(record, ensure_ascii=False), flush=True)


def fail(code: Exit, message: str, *more: str) -> NoReturn:
    """Say what went wrong and end with a code. `more`: further lines, such as what to type next."""
    for line in (f"ackonce: {message}", *more):
        say(line)
    raise typer.Exit(code)


def on_terminal() -> bool:
    """Whether stdout is a terminal that a table suits."""
    return sys.stdout.isatty()


def put_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows under their headings on a terminal, else tab-separated lines without headings. None shows as `-`."""
    cells = [["-" if cell is None else escape(str(cell)) for cell in row] for row in rows]
    if not on_terminal():
        for row in cells:
            put("\t".join(row))
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
