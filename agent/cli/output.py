"""How is something said? Results on stdout, everything else on stderr; nothing from a device or a path is ever markup.

A table on a terminal; elsewhere tab-separated lines that are never cut, no colour, no animation. Whatever does not
print is escaped, JSON included. A stderr that has gone changes nothing: what is under way matters more than listeners.
"""

import json
import os
import shutil
import sys
import termios
import unicodedata
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


def put_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows under their headings on a terminal, else tab-separated lines without headings. None shows as `-`.

    Where a terminal is too narrow, the last column, the one for sentences, stands under each row instead of beside it.
    No cell is ever folded, so that everything can be copied.
    """
    cells = [["-" if cell is None else escape(str(cell), LINE_MAX) for cell in row] for row in rows]
    if not on_terminal():
        for row in cells:
            _print("\t".join(row))
        return
    widths = [max(map(_width, column)) for column in zip(columns, *cells, strict=True)]
    beside = sum(widths) + len(_GAP) * (len(columns) - 1) <= shutil.get_terminal_size().columns
    shown = len(columns) if beside else len(columns) - 1
    for row in [list(columns), *cells]:
        _print(
            _GAP.join(_padded(cell, width) for cell, width in zip(row[:shown], widths, strict=False)).rstrip()
        )
        if not beside and row[-1] not in ("-", columns[-1]):
            _print(_UNDER + row[-1])


_GAP, _UNDER = "  ", "    "


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    """Columns that a printable text takes on a terminal: East Asian characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum((unicodedata.combining(c) == 0) + (unicodedata.east_asian_width(c) in "WF") for c in text)
